"""Replays the public trace of coflows: ``python -m benchmarks.paper.coflows FB2010-1Hr-150-0.txt``.

The trace is not ours to ship. What the runs gave goes to ``data/coflows.json``, scheme by scheme: a run that was cut
off goes on where it was. ``tafe_tables.py`` makes the tables from there.
"""

import argparse
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import numpy as np

import flowsched_gym
from benchmarks.paper.coflow_rules import Coflows
from benchmarks.paper.merp import rounded
from flowsched_gym.cli.output import ProgressBar
from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.files import read_json
from flowsched_gym.core.packed import is_file
from flowsched_gym.evaluation import write_json
from flowsched_gym.flows.metrics import task_completion_times
from flowsched_gym.workload import Workload, read_coflows

RESULTS: Final = Path(__file__).resolve().parent / "data" / "coflows.json"
COMMAND: Final = "python -m benchmarks.paper.coflows"
PORTS: Final = 150
CAPACITY: Final = 128 * 2**20
"""Capacity of a port in B/s."""
SCHEMES: Final[Mapping[str, tuple[str, Mapping[str, object]]]] = {
    "SEBF": ("sebf", {}),
    "STF, longest flow": ("stf", {"key": "longest"}),
    "Aalo-like": ("task-las", {}),
    "fair": ("ps", {}),
    "FIFO": ("fifo-lm", {}),
    "FIFO, heavy 1 GiB": ("fifo-lm", {"heavy": 2**30}),
    "FIFO, heavy 10 MiB": ("fifo-lm", {"heavy": 10 * 2**20}),
    "FIFO of flows": ("fifo", {}),
}
"""Name of a scheme, its discipline and its parameters."""
RULES: Final[Mapping[str, Callable[[Coflows], FloatArray]]] = {
    "SEBF": Coflows.smallest_bottleneck_first,
    "STF, longest flow": Coflows.longest_flow_first,
    "Aalo-like": Coflows.least_attained_first,
    "fair": Coflows.fair,
    "FIFO": Coflows.first_come_first_served,
    "FIFO without sharing": Coflows.first_come_first_served_without_sharing,
}
"""The same by the rules of the simulator that the table is compared with."""
PARTS: Final[Mapping[str, Mapping[str, object]]] = {"schemes": SCHEMES, "rules": RULES}


def main() -> None:
    """Runs the schemes that results which are not complete lack, otherwise all of them."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="Replays the public trace of coflows.")
    parser.add_argument("trace", type=Path, help="FB2010-1Hr-150-0.txt of coflow/coflow-benchmark")
    trace = parser.parse_args().trace
    results = read_json(RESULTS) if is_file(RESULTS) else {}
    if results.get("complete") or results.get("version") != flowsched_gym.__version__:
        results = {}
    head = {"command": f"{COMMAND} {trace.name}", "version": flowsched_gym.__version__, "complete": False}
    results = head | {"flows": 0, "schemes": {}, "rules": {}} | results
    coflows, one = (read_coflows(trace, coflows=number) for number in (None, 1))
    results["flows"] = len(coflows.size)
    lacking = [(part, name) for part in PARTS for name in PARTS[part] if name not in results[part]]
    with ProgressBar("coflows") as bar:
        for done, (part, name) in enumerate(lacking):
            if part == "rules":
                again = Coflows(coflows, ports=PORTS, capacity=CAPACITY)
                results[part][name] = rounded(RULES[name](again).mean())
            else:
                summary(one, name)
                results[part][name] = summary(coflows, name)
            write_json(results, RESULTS)
            bar(done + 1, len(lacking))
    write_json(results | {"complete": True}, RESULTS)
    print(f"written to {RESULTS}")


def summary(coflows: Workload, scheme: str) -> dict[str, float]:
    """Replays coflows in the compiled engine; returns their completion times summed up, and the CPU time, in s."""
    discipline, parameters = SCHEMES[scheme]
    start = time.process_time()
    records = flowsched_gym.replay(
        coflows,
        discipline=discipline,
        topology="big-switch",
        num_hosts=2 * PORTS,
        capacity=CAPACITY,
        parameters=parameters,
        engine="compiled",
    )
    tct, cpu_time = task_completion_times(records).tct, time.process_time() - start
    found = {"mean": tct.mean(), "median": np.median(tct), "p95": np.percentile(tct, 95), "cpu_s": cpu_time}
    return {name: rounded(value) for name, value in found.items()}


if __name__ == "__main__":
    main()
