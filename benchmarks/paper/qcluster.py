"""Runs QCluster's experiments, section 6, at one port: ``python -m benchmarks.paper.qcluster``, part of ``make paper``.

What the runs gave, one value for each seed, goes to ``data/qcluster.json`` point by point: a run that was cut off goes
on where it was. ``qcluster_studies.py`` lists what is run; ``qcluster_tables.py`` and ``qcluster_figures.py`` make the
page and its figures of the results.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

import flowsched_gym
from benchmarks.paper.auto_search import descend
from benchmarks.paper.merp import rounded
from benchmarks.paper.qcluster_studies import (
    CAPACITY,
    FLOWS,
    HOST_DELAY,
    INITIAL,
    MORE_SEEDS,
    NUM_HOSTS,
    QUEUES,
    TRANSPORTS,
    Point,
    fabric,
    static_thresholds,
    studies,
)
from flowsched_gym.cli.output import ProgressBar
from flowsched_gym.core.files import read_json
from flowsched_gym.core.packed import is_file
from flowsched_gym.core.units import BYTES_PER_KILOBYTE
from flowsched_gym.evaluation import write_json
from flowsched_gym.packets.state import PacketRecords
from flowsched_gym.topology import one_link
from flowsched_gym.workload import Workload, make_workload

RESULTS: Final = Path(__file__).resolve().parent / "data" / "qcluster.json"
COMMAND: Final = "python -m benchmarks.paper.qcluster"
SEARCH_SEEDS: Final = (1000, 1001)
SEARCHED: Final = tuple((name, load) for name in ("qcluster-w4", "qcluster-w6") for load in (0.6, 0.9))
BINS: Final = 40


def main() -> None:
    """Runs all that results which are not complete lack, otherwise everything anew, and says where the results are."""
    results = read_json(RESULTS) if is_file(RESULTS) else {}
    if results.get("complete") or results.get("version") != flowsched_gym.__version__:
        results = {}
    head = {"command": COMMAND, "version": flowsched_gym.__version__, "complete": False}
    results = head | {"search": {}, "studies": {}} | results
    lacking = [
        (name, key, point)
        for name, points in studies().items()
        for key, point in points.items()
        if key not in results["studies"].get(name, {})
    ]
    total = len(SEARCHED) + len(lacking) + 1
    with ProgressBar("QCluster's experiments") as bar:
        for done, (workload, load) in enumerate(SEARCHED):
            key = f"{workload} at {load}"
            if key not in results["search"]:
                results["search"][key] = search(workload, load)
                write_json(results, RESULTS)
            bar(done + 1, total)
        for done, (name, key, point) in enumerate(lacking):
            results["studies"].setdefault(name, {})[key] = measure(point)
            write_json(results, RESULTS)
            bar(len(SEARCHED) + done + 1, total)
        results |= {"convergence": convergence(), "complete": True}
        write_json(results, RESULTS)
    print(f"written to {RESULTS}")


def measure(point: Point) -> dict[str, dict[str, list[float]]]:
    """Runs all schemes of a point on the same flows; returns each metric of each, one value for each seed."""
    found: dict[str, dict[str, list[float]]] = {}
    for seed in point.seeds:
        flows = draw(point.workload, point.load, point.num_flows, seed, topology=point.topology)
        for name, (scheduler, parameters) in point.schemes.items():
            records = replay(flows, scheduler, parameters, seed=seed, topology=point.topology)
            for metric, value in metrics_of(records, point.workload).items():
                values = found.setdefault(name, {}).setdefault(metric, [])
                values.append(rounded(value))
    return found


def draw(name: str, load: float | None, num_flows: int | None, seed: int, *, topology: str = "one-link") -> Workload:
    """Draws the messages of a run; on the leaf-spine, between all of its hosts, at the load of their links."""
    given: dict[str, float | None] = {"load": load, "num_flows": num_flows}
    if topology == "leaf-spine":
        given |= {"num_hosts": NUM_HOSTS, "busiest_share": 1 / NUM_HOSTS}
    return make_workload(name, **{key: value for key, value in given.items() if value is not None}).draw(seed)


def replay(
    flows: Workload,
    scheduler: str,
    parameters: Mapping[str, object],
    *,
    seed: int = 0,
    keep_trace: bool = False,
    topology: str = "one-link",
) -> PacketRecords:
    """Sends messages through one port, or the leaf-spine, in the compiled engine."""
    return flowsched_gym.replay_packets(
        flows,
        scheduler=scheduler,
        topology=one_link(capacity=CAPACITY, delay=HOST_DELAY) if topology == "one-link" else fabric(),
        parameters=parameters if topology == "one-link" else {"paths": "packet", **parameters},
        seed=seed,
        engine="compiled",
        keep_trace=keep_trace,
    )


def classes(workload: str) -> tuple[float, float]:
    """Returns below which size in B messages are small, and above which they are large (section 6.1).

    The paper has W5 with W1 to W4, but our W5, like W6, has no message below one packet.
    """
    small = 10 if workload.startswith(("qcluster-w5", "qcluster-w6")) else 1
    return small * BYTES_PER_KILOBYTE, 10 * small * BYTES_PER_KILOBYTE


def metrics_of(records: PacketRecords, workload: str) -> dict[str, float]:
    """Returns mean FCT in s by class of size where there are messages, disorder, losses, fairness and deadlines met."""
    low, high = classes(workload)
    fct, size = records.fct, records.size
    small, large = size < low, size > high
    found = {"mean": fct.mean(), "slowdown": records.slowdown.mean()}
    for name, chosen in (("small", small), ("medium", ~small & ~large), ("large", large)):
        if chosen.any():
            found[name] = fct[chosen].mean()
    if small.any():
        found["p95 small"], found["p99 small"] = np.percentile(fct[small], [95, 99])
    packets = records.packets.sum()
    found |= {"disorder": records.disordered.sum() / packets, "drops": records.drops.sum() / packets}
    throughput = size / fct
    decade = np.floor(np.log10(size))
    groups = [throughput[decade == each].mean() for each in np.unique(decade)]
    found |= {"jain": jain(throughput), "jain of decades": jain(np.array(groups))}
    due = np.isfinite(records.deadline_span)
    if due.any():
        met = records.deadline_met[due]
        possible = records.deadline_span[due] >= records.ideal_fct[due]
        found |= {"deadlines met": met.mean(), "of possible ones": met[possible].mean(), "other": fct[~due].mean()}
    return {name: float(value) for name, value in found.items()}


def jain(values: npt.NDArray[np.float64]) -> float:
    """Computes Jain's fairness index."""
    return float(values.sum() ** 2 / (len(values) * (values**2).sum()))


def search(workload: str, load: float) -> dict[str, Any]:
    """Looks for better static thresholds than the rule's; returns them, and mean FCT on flows of other seeds, in s."""
    episodes = [draw(workload, load, FLOWS[workload], seed) for seed in SEARCH_SEEDS]
    known = static_thresholds(workload, load)

    def cost(thresholds: Sequence[float], flows: Sequence[Workload] = episodes) -> float:
        parameters = {"thresholds": list(thresholds), **TRANSPORTS["lossless"]}
        return float(np.mean([replay(each, "pias", parameters).fct.mean() for each in flows]))

    start = min((known["rule"], known["theory"]), key=cost)
    known = {**known, "searched": descend(cost, [max(each, 1.0 + place) for place, each in enumerate(start)])}
    unseen = [draw(workload, load, FLOWS[workload], seed) for seed in MORE_SEEDS]
    return {"thresholds": known, "mean_fct": {name: cost(each, unseen) for name, each in known.items()}}


def convergence() -> dict[str, list[list[float]]]:
    """Returns the share of packets in each queue over time from each start, for QC-FQ on W6 at load 0.9 (Figure 8)."""
    flows = draw("qcluster-w6", 0.9, FLOWS["qcluster-w6"], 0)
    found = {}
    for name, weights in INITIAL.items():
        parameters = {"goal": "fq", "initial_weights": weights, **TRANSPORTS["lossless"]}
        trace = replay(flows, "qcluster", parameters, keep_trace=True).trace
        assert trace is not None
        # Early changes are the point of it: bins of packets grow from a hundred on.
        ends = np.unique(np.geomspace(100, len(trace.queue), BINS).astype(int))
        rows = []
        for begin, end in pairwise([0, *ends.tolist()]):
            share = np.bincount(trace.queue[begin:end], minlength=QUEUES) / (end - begin)
            rows.append([float(f"{each:.4g}") for each in (trace.arrival_time[end - 1], *share)])
        found[name] = rows
    return found


if __name__ == "__main__":
    main()
