"""Runs QCluster's experiments, section 6, at one port: ``python -m benchmarks.paper.qcluster``, part of ``make paper``.

What the runs gave, one value for each seed, goes to ``data/qcluster.json`` point by point: a run that was cut off goes
on where it was. ``qcluster_studies.py`` lists what is run; ``qcluster_tables.py`` makes the page and its figures of the
results.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

import flowsched_gym
from benchmarks.paper import qcluster_studies as given
from benchmarks.paper.merp import rounded
from flowsched_gym.cli.output import ProgressBar
from flowsched_gym.core.files import read_json
from flowsched_gym.core.packed import is_file
from flowsched_gym.core.units import BYTES_PER_KILOBYTE
from flowsched_gym.evaluation import write_json
from flowsched_gym.packets.rules.clusters import AGED, LEAST_ALPHA, LEAST_WEIGHT, MOST_ALPHA
from flowsched_gym.packets.schedulers.qcluster import AGEING, ALPHA_STEP, INTERVAL
from flowsched_gym.packets.state import PacketRecords, PacketTrace
from flowsched_gym.queueing import cluster_thresholds
from flowsched_gym.topology import one_link
from flowsched_gym.workload import Workload, make_workload

RESULTS: Final = Path(__file__).resolve().parent / "data" / "qcluster.json"
COMMAND: Final = "python -m benchmarks.paper.qcluster"
BINS: Final = 40


def main() -> None:
    """Runs all that results which are not complete lack, otherwise everything anew, and says where the results are."""
    results = read_json(RESULTS) if is_file(RESULTS) else {}
    if results.get("complete") or results.get("version") != flowsched_gym.__version__:
        results = {"command": COMMAND, "version": flowsched_gym.__version__, "complete": False, "studies": {}}
    lacking = [
        (name, key, point)
        for name, points in given.studies().items()
        for key, point in points.items()
        if key not in results["studies"].get(name, {})
    ]
    with ProgressBar("QCluster's experiments") as bar:
        for done, (name, key, point) in enumerate(lacking):
            results["studies"].setdefault(name, {})[key] = measure(point)
            write_json(results, RESULTS)
            bar(done + 1, len(lacking) + 1)
    write_json(results | {"convergence": convergence(), "complete": True}, RESULTS)
    print(f"written to {RESULTS}")


def measure(point: given.Point) -> dict[str, dict[str, list[float]]]:
    """Runs all schemes of a point on the same flows; returns each metric of each, one value for each seed."""
    found: dict[str, dict[str, list[float]]] = {}
    for seed in point.seeds:
        flows = draw(point.workload, point.load, point.num_flows, seed, topology=point.topology, **point.changes)
        for name, (scheduler, parameters) in point.schemes.items():
            records = replay(flows, scheduler, parameters, seed=seed, topology=point.topology)
            for metric, value in metrics_of(records, point.workload).items():
                values = found.setdefault(name, {}).setdefault(metric, [])
                values.append(rounded(value))
    return found


def draw(
    name: str, load: float | None, num_flows: int | None, seed: int, *, topology: str = "one-link", **changes: object
) -> Workload:
    """Draws the messages of a run; on the leaf-spine, between all of its hosts, at the load of their links."""
    arguments: dict[str, Any] = {"load": load, "num_flows": num_flows}
    if topology == "leaf-spine":
        arguments |= {"num_hosts": given.NUM_HOSTS, "busiest_share": 1 / given.NUM_HOSTS}
    arguments |= changes
    return make_workload(name, **{key: value for key, value in arguments.items() if value is not None}).draw(seed)


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
        topology=one_link(capacity=given.CAPACITY, delay=given.HOST_DELAY)
        if topology == "one-link"
        else given.fabric(),
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
    found = {"mean": fct.mean()}
    if workload == "qcluster-changing":
        found["slowdown"] = records.slowdown.mean()
    for name, chosen in (("small", small), ("medium", ~small & ~large), ("large", large)):
        if chosen.any():
            found[name] = fct[chosen].mean()
    if small.any():
        found["p95 small"], found["p99 small"] = np.percentile(fct[small], [95, 99])
    packets = records.packets.sum()
    found |= {"disorder": records.disordered.sum() / packets, "drops": records.drops.sum() / packets}
    if workload == "qcluster-w6-fq":
        throughput, decade = size / fct, np.floor(np.log10(size))
        groups = [throughput[decade == each].mean() for each in np.unique(decade)]
        for name, values in (("jain", throughput), ("jain of decades", np.array(groups))):
            found[name] = values.sum() ** 2 / (len(values) * (values**2).sum())
    due = np.isfinite(records.deadline_span)
    if due.any():
        met = records.deadline_met[due]
        possible = records.deadline_span[due] >= records.ideal_fct[due]
        found |= {"deadlines met": met.mean(), "of possible ones": met[possible].mean(), "other": fct[~due].mean()}
    return {name: float(value) for name, value in found.items()}


def convergence() -> dict[str, list[list[float]]]:
    """Follows QC-FQ on W6 at load 0.9 from each start, without PDA (Figures 6 to 9).

    Returns rows of the time in s, the share of packets in each queue since the row before, and thresholds in B.
    """
    flows = draw("qcluster-w6", 0.9, given.FLOWS["qcluster-w6"], 0)
    found = {}
    for name, weights in given.INITIAL.items():
        parameters = {"goal": "fq", "initial_weights": weights, "disorder": "none", **given.TRANSPORTS["lossless"]}
        trace = replay(flows, "qcluster", parameters, keep_trace=True).trace
        assert trace is not None
        # Early changes are the point of it: bins of packets grow from a hundred on.
        ends = np.unique(np.geomspace(100, len(trace.queue), BINS).astype(int))
        rows = []
        thresholds = thresholds_at(ends.tolist(), trace, weights)
        for (begin, end), limits in zip(pairwise([0, *ends.tolist()]), thresholds, strict=True):
            share = np.bincount(trace.queue[begin:end], minlength=given.QUEUES) / (end - begin)
            numbers = (trace.arrival_time[end - 1], *share, *limits)
            rows.append([float(f"{each:.4g}") for each in numbers])
        found[name] = rows
    return found


def thresholds_at(
    ends: Sequence[int], trace: PacketTrace, initial_weights: Sequence[float]
) -> list[npt.NDArray[np.float64]]:
    """Computes the thresholds of QC-FQ in B, (queues - 1,), after so many packets, by ``packets.rules.clusters``.

    A trace has what packets weighed, and no thresholds.
    """
    total, count = np.zeros(given.QUEUES), np.zeros(given.QUEUES)
    weights, alpha = np.array(initial_weights), np.ones(given.QUEUES - 1)
    moved = {0: (weights, count, alpha)}
    for end in range(INTERVAL, len(trace.queue) + 1, INTERVAL):
        last = slice(end - INTERVAL, end)
        total = total + np.bincount(trace.queue[last], trace.weight[last], given.QUEUES)
        count = count + np.bincount(trace.queue[last], minlength=given.QUEUES)
        mean = np.maximum(total / np.maximum(count, AGED), LEAST_WEIGHT)
        weights = np.maximum.accumulate(np.where(count > 0, mean, weights))
        alpha = np.clip(alpha * ALPHA_STEP ** np.sign(np.diff(count)), LEAST_ALPHA, MOST_ALPHA)
        moved[end] = weights, count, alpha
        if end % AGEING == 0:
            total, count = AGED * total, AGED * count
    law = {"rule": "adaptive", "cluster_size": "same"}
    states = (moved[end - end % INTERVAL] for end in ends)
    return [cluster_thresholds(means, packets=packets, alpha=powers, **law) for means, packets, powers in states]


if __name__ == "__main__":
    main()
