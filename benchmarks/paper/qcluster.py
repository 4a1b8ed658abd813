"""Runs QCluster's experiments, section 6, at one port: ``python -m benchmarks.paper.qcluster``, part of ``make paper``.

What the runs gave, one value for each seed, goes to ``data/qcluster.json`` point by point: a run that was cut off goes
on where it was. ``qcluster_tables.py`` and ``qcluster_figures.py`` make the page and its figures from there.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

import flowsched_gym
from benchmarks.paper.auto import mixture_of
from benchmarks.paper.auto_search import descend
from benchmarks.paper.merp import DIGITS
from flowsched_gym.cli.progress import ProgressBar
from flowsched_gym.evaluation import write_json
from flowsched_gym.model.packet_fabric import NUM_HOSTS
from flowsched_gym.model.packets import PacketRecords
from flowsched_gym.queueing import optimal_thresholds, pias_thresholds, pias_worst_thresholds
from flowsched_gym.units import BYTES_PER_KILOBYTE, gbps_to_capacity
from flowsched_gym.workload import MESSAGE_GAPS, ClusterWorkload, Empirical, Workload, make_workload

RESULTS: Final = Path(__file__).resolve().parent / "data" / "qcluster.json"
COMMAND: Final = "python -m benchmarks.paper.qcluster"
CAPACITY: Final = gbps_to_capacity(10)
SEEDS: Final = (0, 1, 2)
MORE_SEEDS: Final = tuple(range(10))
LOADS: Final = (0.5, 0.6, 0.7, 0.8, 0.9)
FABRIC_LOADS: Final = (0.6, 0.9)
SKETCH: Final = {"arrays": 4, "buckets": 1_600}
"""Sketch of each port of the leaf-spine: the authors' has 6,401 buckets in all."""
QUEUES: Final = 8
FLOWS: Final = {
    "qcluster-w1": 100_000,
    "qcluster-w2": 100_000,
    "qcluster-w3": 100_000,
    "qcluster-w4": 20_000,
    "qcluster-w5": 500,
    "qcluster-w6": 1_500,
    "qcluster-w6-fq": 2_000,
    "qcluster-deadlines": 20_000,
}
"""Messages of a run: 0.1 to 3 million packets."""
TRANSPORTS: Final[Mapping[str, Mapping[str, object]]] = {
    "lossless": {"delay": 2e-5, "window": 64},
    "DCTCP": {"delay": 2e-5, "window": 70, "transport": "dctcp", "mark_at": 65, "buffer": 240, "min_rto": 2e-3},
}
"""Senders and ports: fixed windows before a port that drops nothing, and the settings of the authors for ns-2."""
PFABRIC: Final[Mapping[str, object]] = {"delay": 2e-5, "window": 70, "buffer": 140, "min_rto": 2.5e-4}
"""pFabric's senders and ports in place of DCTCP's: no marks, small buffers, retransmissions soon (ns-2 again)."""
INITIAL: Final = {
    "low": [1.0] * 8,
    "middle": [1.0] * 4 + [1e9] * 4,
    "high": [1e9] * 8,
    "high or low": [1e5] * 8,
}
"""First weights with which all packets begin in the lowest, a middle or the highest queue, or in one of both ends."""
SEARCH_SEEDS: Final = (1000, 1001)
SEARCHED: Final = tuple((name, load) for name in ("qcluster-w4", "qcluster-w6") for load in (0.6, 0.9))
BINS: Final = 40

Scheme = tuple[str, Mapping[str, object]]
"""Name of a scheduler and its parameters."""


class Point(NamedTuple):
    """A point on the axis of a figure.

    Attributes:
        workload: What is sent; its name tells which messages are small.
        load: Load of the port; None for the workload's own.
        num_flows: Messages; None for the workload's own.
        schemes: What is compared.
        seeds: Seeds of the flows.
        topology: ``one-link`` or ``leaf-spine``.
    """

    workload: str
    load: float | None
    num_flows: int | None
    schemes: Mapping[str, Scheme]
    seeds: Sequence[int] = SEEDS
    topology: str = "one-link"


def main() -> None:
    """Runs all that results which are not complete lack, otherwise everything anew, and says where the results are."""
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
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
                values.append(float(f"{value:.{DIGITS}g}"))
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
        topology=topology,
        capacity=CAPACITY,
        parameters=parameters,
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


def sizes_of(workload: str) -> Empirical:
    """Returns the sizes of a workload."""
    sizes = make_workload(workload).size  # type: ignore[union-attr]
    assert isinstance(sizes, Empirical)
    return sizes


@cache
def static_thresholds(workload: str, load: float, num_queues: int = QUEUES) -> Mapping[str, list[float]]:
    """Returns PIAS's thresholds in B: of its rule, least by theory, and bad ones."""
    sizes = sizes_of(workload)
    return {
        "rule": pias_thresholds(sizes, load, num_queues).tolist(),
        "theory": optimal_thresholds("qlas", sizes, load, num_queues).tolist(),
        "WST": pias_worst_thresholds(sizes, num_queues).tolist(),
    }


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


def qcluster(**parameters: object) -> Scheme:
    """Returns QCluster with these parameters."""
    return "qcluster", parameters


def with_senders(transport: str, schemes: Mapping[str, Scheme]) -> dict[str, Scheme]:
    """Gives schemes their senders and their port; pFabric has its own where others have DCTCP's."""
    own = TRANSPORTS[transport]
    return {
        name: (
            scheduler,
            {**parameters, **(PFABRIC if transport == "DCTCP" and scheduler.startswith("pfabric") else own)},
        )
        for name, (scheduler, parameters) in schemes.items()
    }


def studies() -> dict[str, dict[str, Point]]:
    """Returns all studies, by transport where both are run: points by their names."""
    found: dict[str, dict[str, Point]] = {}
    for transport in TRANSPORTS:
        for name, points in _studies().items():
            found[f"{name}, {transport}"] = {
                key: point._replace(schemes=with_senders(transport, point.schemes)) for key, point in points.items()
            }
    for number, num_flows in ((4, 20_000), (6, 2_000)):
        found[f"leaf-spine W{number}"] = {
            str(load): Point(
                f"qcluster-w{number}",
                load,
                num_flows,
                with_senders("DCTCP", on_leaf_spine(f"qcluster-w{number}", load)),
                topology="leaf-spine",
            )
            for load in FABRIC_LOADS
        }
    return found


def _studies() -> dict[str, dict[str, Point]]:
    """Returns studies without senders."""

    def by_load(workload: str, schemes: Callable[[float], Mapping[str, Scheme]], times: int = 1) -> Iterator[Point]:
        return (Point(workload, load, times * FLOWS[workload], schemes(load)) for load in LOADS)

    def keyed(points: Iterator[Point]) -> dict[str, Point]:
        return {str(point.load): point for point in points}

    found = {}
    for number in range(1, 7):
        workload = f"qcluster-w{number}"
        found[f"W{number}"] = keyed(by_load(workload, lambda load, name=workload: main_schemes(name, load)))  # type: ignore[misc]
    for number in (4, 6):
        workload = f"qcluster-w{number}"
        found[f"rules W{number}"] = keyed(by_load(workload, lambda _: rules(), times=3))
        starts = {name: qcluster(goal="fq", initial_weights=weights) for name, weights in INITIAL.items()}
        found[f"initial W{number}"] = keyed(by_load(workload, lambda _, starts=starts: starts))  # type: ignore[misc]
    found["PDA"] = keyed(by_load("qcluster-w6", lambda _: disorder()))
    told = keyed(by_load("qcluster-w6", lambda load: messages("qcluster-w6", load)))
    # A few small messages that are taken for the rest of a large one decide: more seeds.
    found["messages"] = {load: point._replace(seeds=MORE_SEEDS) for load, point in told.items()}
    for number in (1, 4):
        workload = f"qcluster-w{number}"
        found[f"queues W{number}"] = keyed(by_load(workload, lambda _: queues()))
    found["sketch"] = keyed(by_load("qcluster-w6", lambda _: sketches()))
    found["fairness"] = keyed(by_load("qcluster-w6-fq", lambda _: fair()))
    found["deadlines"] = keyed(by_load("qcluster-deadlines", lambda _: deadlines()))
    found["switch"] = {"0.6": Point("qcluster-changing", None, None, switching(), MORE_SEEDS)}
    return found


def main_schemes(workload: str, load: float) -> dict[str, Scheme]:
    """Returns what Figures 10 to 14 and 17 to 22 compare."""
    static = static_thresholds(workload, load)
    return {
        "FIFO": ("fifo", {}),
        "PIAS-OPT": ("pias", {"thresholds": static["theory"]}),
        "PIAS, its rule": ("pias", {"thresholds": static["rule"]}),
        "PIAS-WST": ("pias", {"thresholds": static["WST"]}),
        "QC-LAS": qcluster(),
        "QC-LAS, adaptive": qcluster(rule="adaptive"),
        "QC-SRPT": qcluster(goal="srpt"),
        "QC-FQ": qcluster(goal="fq"),
        "pFabric": ("pfabric", {}),
        "PIFO-LAS": ("pifo-las", {"thresholds": [static["theory"][-1]]}),
    }


def on_leaf_spine(workload: str, load: float) -> dict[str, Scheme]:
    """Returns what is compared on the leaf-spine, with sketches as large as the authors'."""
    schemes = main_schemes(workload, load)
    names = ("FIFO", "PIAS-OPT", "PIAS-WST", "QC-LAS", "QC-SRPT", "QC-FQ", "pFabric")
    return {
        name: (scheduler, {**parameters, **(SKETCH if scheduler == "qcluster" else {})})
        for name, (scheduler, parameters) in schemes.items()
        if name in names
    }


def rules() -> dict[str, Scheme]:
    """Returns what Figure 15 compares."""
    return {rule: qcluster(rule=rule) for rule in ("adaptive", "geometric", "harmonic", "arithmetic")}


def disorder() -> dict[str, Scheme]:
    """Returns what Figure 16 compares."""
    return {
        f"{title}{ending}": qcluster(goal=goal, disorder=avoided)
        for title, goal in (("QC-LAS", "las"), ("QC-SRPT", "srpt"))
        for ending, avoided in (("", "none"), (" with PDA", "las"))
    }


def messages(workload: str, load: float) -> dict[str, Scheme]:
    """Returns what Figure 23 compares: messages that are known, and told apart by silence."""
    gap = MESSAGE_GAPS[workload]
    pias = {"thresholds": static_thresholds(workload, load)["theory"]}
    real = {"messages": "time", "message_gap": gap}
    return {
        "QC-LAS-Ideal": qcluster(),
        "QC-LAS-Real": qcluster(**real),
        "PIAS-Ideal": ("pias", pias),
        "PIAS-Real": ("pias", {**pias, **real}),
    }


def queues() -> dict[str, Scheme]:
    """Returns what Figure 24 compares."""
    return {
        f"{title}, {number} queues": qcluster(goal=goal, queues=number)
        for title, goal in (("QC-LAS", "las"), ("QC-SRPT", "srpt"))
        for number in (2, 4, 8)
    }


def sketches() -> dict[str, Scheme]:
    """Returns what Figure 25 compares: buckets of all four arrays together."""
    return {str(number): qcluster(arrays=4, buckets=number // 4) for number in (20, 40, 100, 200, 400, 800)}


def fair() -> dict[str, Scheme]:
    """Returns what Figures 26 and 27 compare."""
    return {"QC-FQ": qcluster(goal="fq"), "ideal": ("fq", {}), "AFQ": ("afq", {}), "FIFO": ("fifo", {})}


def deadlines() -> dict[str, Scheme]:
    """Returns what Figure 28 compares."""
    return {"QC-DDL": qcluster(goal="deadline"), "pFabric-EDF": ("pfabric-edf", {}), "FIFO": ("fifo", {})}


def switching() -> dict[str, Scheme]:
    """Returns what is compared while W6 and W4 take turns: thresholds that move, and ones that stay."""
    w4, w6 = (static_thresholds(f"qcluster-w{number}", 0.6) for number in (4, 6))
    config = make_workload("qcluster-changing")
    assert isinstance(config, ClusterWorkload)
    both = mixture_of(config).size
    return {
        "QC-LAS, adaptive": qcluster(rule="adaptive"),
        "QC-LAS": qcluster(),
        "OPT of W4": ("pias", {"thresholds": w4["theory"]}),
        "OPT of W6": ("pias", {"thresholds": w6["theory"]}),
        "OPT of the mixture": ("pias", {"thresholds": optimal_thresholds("qlas", both, 0.6, QUEUES).tolist()}),
        "PIAS's rule for W4": ("pias", {"thresholds": w4["rule"]}),
        "PIAS's rule for W6": ("pias", {"thresholds": w6["rule"]}),
        "WST of W4": ("pias", {"thresholds": w4["WST"]}),
        "WST of W6": ("pias", {"thresholds": w6["WST"]}),
    }


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
