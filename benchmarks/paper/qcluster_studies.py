"""QCluster's experiments, section 6: what each figure compares, on which messages and at which loads."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np

from benchmarks.paper.auto import mixture_of
from flowsched_gym.core.units import gbps_to_capacity
from flowsched_gym.queueing import optimal_thresholds, pias_thresholds, pias_worst_thresholds
from flowsched_gym.topology import Topology, leaf_spine
from flowsched_gym.workload import MESSAGE_GAPS, ClusterWorkload, Empirical, Exponential, make_workload

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
PDA: Final = " with PDA"
"""Ends the name of a scheme that avoids disorder as the paper's Table 3 has it for the goal, in flowlets of 0.5 ms."""
GOALS: Final = {"QC-LAS": "las", "QC-SRPT": "srpt", "QC-FQ": "fq"}
FLOWLETS: Final = {"20 us": 2e-5, "5 us": 5e-6}
"""Shorter silences in s after which flowlets begin; 0.5 ms is that of the authors' P4 program."""
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
MARKED: Final = {"transport": "dctcp", "initial_window": 70, "mark_at": 65 * PACKET - 1, "buffer": 240 * PACKET}
TRANSPORTS: Final[Mapping[str, Mapping[str, object]]] = {
    "lossless": {"initial_window": 64},
    "DCTCP": {**MARKED, "min_rto": 2e-3},
}
"""Senders and ports: fixed windows before a port that drops nothing, and the settings of the authors for ns-2."""
PFABRIC: Final[Mapping[str, object]] = {
    "transport": "newreno",
    "initial_window": 70,
    "buffer": 140 * PACKET,
    "min_rto": 2.5e-4,
}
"""pFabric's senders and ports where others have DCTCP's: no marks, small buffers, retransmissions soon (ns-2 again)."""
TESTBED: Final = {"mark_at": 200 * PACKET - 1, "buffer": 300 * PACKET, "min_rto": 1e-2, "initial_window": 10}
"""Marks and least timeout of the testbed (section 5.1), with a small buffer and Linux's first window."""
INITIAL: Final = {
    "low": [1.0] * 8,
    "middle": [1.0] * 4 + [1e9] * 4,
    "high": [1e9] * 8,
    "high or low": [1e5] * 8,
}
"""First weights with which all packets begin in the lowest, a middle or the highest queue, or in one of both ends."""

Scheme = tuple[str, Mapping[str, object]]
"""Name of a scheduler and its parameters."""


def qcluster(**parameters: object) -> Scheme:
    """Returns QCluster with these parameters."""
    return "qcluster", parameters


SCHEMES: Final[Mapping[str, Mapping[str, Scheme]]] = {
    "flowlets": {
        f"{name}, {text}": qcluster(goal=goal, disorder="fq" if goal == "fq" else "las", flowlet_gap=gap)
        for name, goal in GOALS.items()
        for text, gap in FLOWLETS.items()
    },
    "rules": {
        rule: qcluster(rule=rule, disorder="none") for rule in ("adaptive", "geometric", "harmonic", "arithmetic")
    },
    "laws": {
        "geometric": qcluster(disorder="none"),
        **{
            f"{name} {value:g}": qcluster(rule="adaptive", disorder="none", **{name: value})
            for name, values in (("alpha_step", (1.0, 1.2)), ("ageing", (1_000, 100_000)), ("interval", (20, 2_000)))
            for value in values
        },
    },
    "initial": {name: qcluster(goal="fq", initial_weights=weights) for name, weights in INITIAL.items()},
    "queues": {
        f"{name}, {number} queues": qcluster(goal=GOALS[name], queues=number)
        for name in ("QC-LAS", "QC-SRPT")
        for number in (2, 4, 8)
    },
    "sketch": {str(number): qcluster(arrays=4, buckets=number // 4) for number in (20, 100, 400, 800)},
    "fairness": {"QC-FQ": qcluster(goal="fq"), "ideal": ("fq", {}), "AFQ": ("afq", {}), "FIFO": ("fifo", {})},
    "deadlines": {"QC-DDL": qcluster(goal="deadline"), "pFabric-EDF": ("pfabric-edf", {}), "FIFO": ("fifo", {})},
}
"""What is the same for each load: PDA's flowlets; Figure 15, and other laws of alpha and ageing than ours, as the paper
prints none; Figures 5, 24, 25 (buckets of all four arrays together), 26 and 27, and 28."""


class Point(NamedTuple):
    """A point on the axis of a figure: what is sent, and the schemes that are compared.

    The name of the workload tells which messages are small; None for its own load of the port, or number of messages.
    Changes are those of the workload besides.
    """

    workload: str
    load: float | None
    num_flows: int | None
    schemes: Mapping[str, Scheme]
    seeds: Sequence[int] = SEEDS
    topology: str = "one-link"
    changes: Mapping[str, object] = MappingProxyType({})


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
    """Returns all studies by name and transport: points by their names."""
    every = {"lossless": _studies(), "DCTCP": _main_studies((4, 6), FABRIC_LOADS)}
    every["DCTCP"] |= {
        f"leaf-spine W{number}": _by_load(
            f"qcluster-w{number}", on_leaf_spine, FABRIC_LOADS, num_flows=flows, topology="leaf-spine", seeds=SEEDS[:1]
        )
        for number, flows in ((4, 20_000), (6, 2_000))
    }
    every["DCTCP"] |= {
        f"timeouts W{each}": _by_load(f"qcluster-w{each}", with_timeouts, FABRIC_LOADS) for each in (4, 6)
    }
    return {
        f"{name}, {transport}": {
            key: point._replace(schemes=with_senders(transport, with_pda(point.schemes)))
            for key, point in points.items()
        }
        for transport, found in every.items()
        for name, points in found.items()
    }


def _by_load(
    workload: str, schemes: str | Callable[[str, float], Mapping[str, Scheme]], loads: Sequence[float], **fields: Any
) -> dict[str, Point]:
    """Returns points by load."""

    def compared(load: float) -> Mapping[str, Scheme]:
        return SCHEMES[schemes] if isinstance(schemes, str) else schemes(workload, load)

    fields = {"num_flows": FLOWS[workload], **fields}
    return {str(load): Point(workload=workload, load=load, schemes=compared(load), **fields) for load in loads}


def _main_studies(numbers: Sequence[int], loads: Sequence[float]) -> dict[str, dict[str, Point]]:
    """Returns what Figures 10 to 14, 16 to 22 and what is said of PDA are read from."""
    found = {f"W{number}": _by_load(f"qcluster-w{number}", main_schemes, loads) for number in numbers}
    return found | {f"flowlets W{each}": _by_load(f"qcluster-w{each}", "flowlets", FABRIC_LOADS) for each in (4, 6)}


def _studies() -> dict[str, dict[str, Point]]:
    """Returns studies without senders."""
    found = _main_studies(range(1, 7), LOADS)
    for number in (4, 6):
        workload = f"qcluster-w{number}"
        found[f"rules W{number}"] = _by_load(workload, "rules", LOADS, num_flows=3 * FLOWS[workload])
        found[f"laws W{number}"] = _by_load(workload, "laws", FABRIC_LOADS)
        found[f"thresholds W{number}"] = _by_load(workload, moved_thresholds, (0.9,))
        found[f"initial W{number}"] = _by_load(workload, "initial", LOADS)
    # A few small messages that are taken for the rest of a large one decide: more seeds.
    found["messages"] = _by_load("qcluster-w6", messages, LOADS, seeds=MORE_SEEDS)
    for name, factor in (("gaps / 10", 0.1), ("gaps x 10", 10.0)):
        found[name] = _by_load("qcluster-w6", partial(messages, factor=factor), FABRIC_LOADS)
    found["queues"] = _by_load("qcluster-w4", "queues", LOADS)
    found["sketch"] = _by_load("qcluster-w6", "sketch", LOADS)
    found["fairness"] = _by_load("qcluster-w6-fq", "fairness", LOADS)
    found["deadlines"] = _by_load("qcluster-deadlines", "deadlines", LOADS)
    for name, mean in (("tight deadlines", 5e-5), ("loose deadlines", 2e-3)):
        changes = {"deadline": Exponential(mean=mean)}
        found[name] = _by_load("qcluster-deadlines", "deadlines", FABRIC_LOADS, changes=changes)
    found["switch"] = {"0.6": Point("qcluster-changing", None, None, switching(), MORE_SEEDS)}
    return found


def with_pda(schemes: Mapping[str, Scheme]) -> dict[str, Scheme]:
    """Sets beside each scheme of QCluster without the avoidance of disorder one with that of Table 3, its default."""
    found = {}
    for name, (scheduler, parameters) in schemes.items():
        both = scheduler == "qcluster" and "disorder" not in parameters
        found[name] = (scheduler, {**parameters, "disorder": "none"} if both else parameters)
        if both:
            found[name + PDA] = (scheduler, parameters)
    return found


def with_senders(transport: str, schemes: Mapping[str, Scheme]) -> dict[str, Scheme]:
    """Gives schemes their senders and their port; pFabric has its own where others have marks."""
    own = TRANSPORTS[transport]
    pfabric = own if transport == "lossless" else PFABRIC
    return {
        name: (scheduler, {**(pfabric if scheduler.startswith("pfabric") else own), **parameters})
        for name, (scheduler, parameters) in schemes.items()
    }


def main_schemes(workload: str, load: float) -> dict[str, Scheme]:
    """Returns what Figures 10 to 14 and 16 to 22 compare; only testbed and leaf-spine have WST and fair queueing."""
    static = static_thresholds(workload, load)
    found = {
        "FIFO": ("fifo", {}),
        "PIAS-OPT": ("pias", {"thresholds": static["theory"]}),
        "PIAS-WST": ("pias", {"thresholds": static["WST"]}),
        **{name: qcluster(goal=goal) for name, goal in GOALS.items()},
        "pFabric": ("pfabric", {}),
        "PIFO-LAS": ("pifo-las", {"thresholds": [static["theory"][-1]]}),
    }
    left_out = () if workload in ("qcluster-w4", "qcluster-w6") else ("PIAS-WST", "QC-FQ", "PIFO-LAS")
    return {name: scheme for name, scheme in found.items() if name not in left_out}


def with_timeouts(workload: str, load: float) -> dict[str, Scheme]:
    """Returns what Figures 10 to 12 compare, with senders and marks of the testbed."""
    compared = main_schemes(workload, load)
    names = ("FIFO", "PIAS-OPT", "PIAS-WST", "QC-FQ")
    return {name: (compared[name][0], {**compared[name][1], **TESTBED}) for name in names}


def on_leaf_spine(workload: str, load: float) -> dict[str, Scheme]:
    """Returns what is compared on the leaf-spine, with sketches as large as the authors'."""
    return {
        name: (scheduler, {**parameters, **(SKETCH if scheduler == "qcluster" else {})})
        for name, (scheduler, parameters) in main_schemes(workload, load).items()
        if name != "PIFO-LAS"
    }


def moved_thresholds(workload: str, load: float) -> dict[str, Scheme]:
    """Returns PIAS with the thresholds of theory, with one of these halved or doubled, and with those of its rule."""
    static = static_thresholds(workload, load)
    tried = {"PIAS-OPT": static["theory"], "PIAS's rule": static["rule"]}
    for place in range(QUEUES - 1):
        for factor in (0.5, 2.0):
            moved = [each * (factor if at == place else 1.0) for at, each in enumerate(static["theory"])]
            tried[f"{place + 1} x {factor}"] = sorted(moved)
    return {name: ("pias", {"thresholds": thresholds}) for name, thresholds in tried.items()}


def messages(workload: str, load: float, factor: float = 1.0) -> dict[str, Scheme]:
    """Returns what Figure 23 compares: messages that are known, and told apart by silence."""
    pias = {"thresholds": static_thresholds(workload, load)["theory"]}
    real = {"messages": "time", "message_gap": factor * MESSAGE_GAPS[workload]}
    return {
        "QC-LAS-Ideal": qcluster(),
        "QC-LAS-Real": qcluster(**real),
        "PIAS-Ideal": ("pias", pias),
        "PIAS-Real": ("pias", {**pias, **real}),
    }


def switching() -> dict[str, Scheme]:
    """Returns what is compared while W6 and W4 take turns: thresholds that move, and ones that stay."""
    static = {f"W{number}": static_thresholds(f"qcluster-w{number}", 0.6) for number in (4, 6)}
    config = make_workload("qcluster-changing")
    assert isinstance(config, ClusterWorkload)
    both = optimal_thresholds("qlas", mixture_of(config).size, 0.6, QUEUES).tolist()
    fixed = {
        f"{kind} of {name}": each[of]
        for kind, of in (("OPT", "theory"), ("WST", "WST"))
        for name, each in static.items()
    }
    return {
        "QC-LAS, adaptive": qcluster(rule="adaptive"),
        "QC-LAS": qcluster(),
        **{name: ("pias", {"thresholds": thresholds}) for name, thresholds in fixed.items()},
        "OPT of the mixture": ("pias", {"thresholds": both}),
    }


@cache
def static_thresholds(workload: str, load: float) -> Mapping[str, list[float]]:
    """Returns PIAS's thresholds in B: of its rule, least by theory, and bad ones."""
    sizes = make_workload(workload).size  # type: ignore[union-attr]
    assert isinstance(sizes, Empirical)
    return {
        "rule": pias_thresholds(sizes, load, QUEUES).tolist(),
        "theory": optimal_thresholds("qlas", sizes, load, QUEUES).tolist(),
        "WST": pias_worst_thresholds(sizes, QUEUES).tolist(),
    }
