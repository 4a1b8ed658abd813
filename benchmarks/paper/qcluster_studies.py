"""QCluster's experiments, section 6: what each figure compares, on which messages and at which loads."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

import numpy as np

from benchmarks.paper.auto import mixture_of
from flowsched_gym.core.units import gbps_to_capacity
from flowsched_gym.queueing import optimal_thresholds, pias_thresholds, pias_worst_thresholds
from flowsched_gym.topology import Topology, leaf_spine
from flowsched_gym.workload import MESSAGE_GAPS, ClusterWorkload, Empirical, make_workload

SEEDS: Final = (0, 1, 2)
CAPACITY: Final = gbps_to_capacity(10)
UPLINK_FACTOR: Final = 4
"""Capacity of a link between leaf and spine over that of a host's: 40 Gbps over 10."""
HOST_DELAY: Final = 2e-5
LINK_DELAY: Final = 1e-7
"""Delays in s that make the paper's round trip of 40.8 us: two of hosts, and eight of links."""
NUM_LEAVES: Final = 9
NUM_SPINES: Final = 4
HOSTS_PER_LEAF: Final = 16
NUM_HOSTS: Final = NUM_LEAVES * HOSTS_PER_LEAF
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
PACKET: Final = 1_500
"""Bytes of a full packet on the wire, in which the authors count."""
TRANSPORTS: Final[Mapping[str, Mapping[str, object]]] = {
    "lossless": {"losses": "told", "initial_window": 64},
    "DCTCP": {
        "losses": "told",
        "transport": "dctcp",
        "initial_window": 70,
        "mark_at": 65 * PACKET - 1,
        "buffer": 240 * PACKET,
        "min_rto": 2e-3,
    },
}
"""Senders and ports: fixed windows before a port that drops nothing, and the settings of the authors for ns-2."""
PFABRIC: Final[Mapping[str, object]] = {
    "losses": "told",
    "initial_window": 70,
    "buffer": 140 * PACKET,
    "min_rto": 2.5e-4,
}
"""pFabric's senders and ports in place of DCTCP's: no marks, small buffers, retransmissions soon (ns-2 again)."""
INITIAL: Final = {
    "low": [1.0] * 8,
    "middle": [1.0] * 4 + [1e9] * 4,
    "high": [1e9] * 8,
    "high or low": [1e5] * 8,
}
"""First weights with which all packets begin in the lowest, a middle or the highest queue, or in one of both ends."""

Scheme = tuple[str, Mapping[str, object]]
"""Name of a scheduler and its parameters."""


class Point(NamedTuple):
    """A point on the axis of a figure: what is sent, and the schemes that are compared.

    The name of the workload tells which messages are small; None for its own load of the port, or number of messages.
    """

    workload: str
    load: float | None
    num_flows: int | None
    schemes: Mapping[str, Scheme]
    seeds: Sequence[int] = SEEDS
    topology: str = "one-link"


def fabric() -> Topology:
    """Builds the leaf-spine of QCluster's simulations (section 6.3); hosts delay what they receive."""
    uplinks = 2 * NUM_LEAVES * NUM_SPINES
    return leaf_spine(
        num_leaves=NUM_LEAVES,
        num_spines=NUM_SPINES,
        hosts_per_leaf=HOSTS_PER_LEAF,
        capacity=CAPACITY * np.repeat([1.0, UPLINK_FACTOR], [2 * NUM_HOSTS, uplinks]),
        delay=LINK_DELAY + HOST_DELAY * np.repeat([0.0, 1.0, 0.0], [NUM_HOSTS, NUM_HOSTS, uplinks]),
    )


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
