"""Measures tasks: flows per CPU second under each discipline that looks at tasks, beside two that look at flows.

``python -m benchmarks.speed.tasks`` prints a table; ``--write`` keeps the figures in ``tasks.json`` and fills the table
of ``README.md`` here. All times are CPU seconds of one thread, and include everything from the workload given to the
records returned; compiling comes before.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

import flowsched_gym
from benchmarks.speed.page import machine_of, run_benchmark
from flowsched_gym.core.units import BYTES_PER_SECOND_PER_GBPS
from flowsched_gym.workload import make_workload

FIGURES: Final = Path(__file__).with_name("tasks.json")
LOAD: Final = 0.9
REPETITIONS: Final = 5
TASKS: Final = {"compiled": 20_000, "simpy": 400}
"""Tasks of one repetition on each engine, of five flows in the mean."""
CLIENTS: Final = 3
"""Hosts that receive: on the switch each has a third of the capacity, and so the same load."""
TOPOLOGIES: Final[Mapping[str, tuple[str, float]]] = {
    "one link": ("one-link", BYTES_PER_SECOND_PER_GBPS),
    "switch": ("big-switch", BYTES_PER_SECOND_PER_GBPS / CLIENTS),
}
THRESHOLDS: Final = (2e6, 7.5e6)
CASES: Final[dict[str, tuple[str, dict[str, object]]]] = {
    "fair sharing (`ps`)": ("ps", {}),
    "`srpt`": ("srpt", {}),
    "`tafe`, serial": ("tafe", {"thresholds": THRESHOLDS}),
    "`tafe`, shortest": ("tafe", {"thresholds": THRESHOLDS, "within": "shortest"}),
    "`tafe`, remaining": ("tafe", {"within": "remaining"}),
    "`fifo-lm`": ("fifo-lm", {}),
    "`task-las`": ("task-las", {"thresholds": THRESHOLDS}),
    "`d2tcp`": ("d2tcp", {}),
    "`stf`": ("stf", {}),
    "`sebf`": ("sebf", {}),
}


def main() -> None:
    """Measures, prints, and writes where asked."""
    run_benchmark("Measures tasks.", measure_all, FIGURES, table)


def measure_all(share: int) -> dict[str, Any]:
    """Measures all disciplines, with a part of the tasks each."""
    rates: dict[str, dict[str, float]] = {name: {} for name in CASES}
    for where in TOPOLOGIES:
        for engine, count in TASKS.items():
            for name, rate in measure(where, engine, count // share).items():
                rates[name][f"{where} {engine}"] = rate
    return {"rates": rates}


def table(figures: Mapping[str, Any]) -> str:
    """Lays the figures out."""
    columns = [f"{where} {engine}" for where in TOPOLOGIES for engine in ("simpy", "compiled")]
    lines = [
        f"Thousands of flows per CPU second on one core, {machine_of(figures)}; "
        f"the best of {REPETITIONS} interleaved repetitions.",
        f"`tafe-log`, tasks of 2 to 8 flows, at load {LOAD} on one link, or on three clients' links behind a switch.",
        "",
        "| discipline | one link, SimPy | one link, compiled | switch, SimPy | switch, compiled |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, rates in figures["rates"].items():
        lines.append(f"| {name} | {' | '.join(f'{rates[column] / 1e3:,.1f}' for column in columns)} |")
    return "\n".join([*lines, "", f"Command: `{figures['command']}`", ""])


def measure(where: str, engine: str, num_tasks: int) -> dict[str, float]:
    """Measures the disciplines in turns; returns flows per CPU second of each."""
    topology, capacity = TOPOLOGIES[where]
    tasks = make_workload("tafe-log", num_tasks=num_tasks, load=LOAD).draw(0)
    least = dict.fromkeys(CASES, np.inf)
    for repetition in range(REPETITIONS + 1):
        for name, (discipline, parameters) in CASES.items():
            begin = time.process_time()
            flowsched_gym.replay(
                tasks,
                discipline=discipline,
                topology=topology,
                capacity=capacity,
                parameters=parameters,
                engine=engine,
            )
            if repetition > 0:  # the first one compiles
                least[name] = min(least[name], time.process_time() - begin)
    return {name: len(tasks.size) / seconds for name, seconds in least.items()}


if __name__ == "__main__":
    main()
