"""Finds thresholds of multi-level queues: the best ones, those of PIAS's rule, bad ones, published ones, QCluster's.

The mean FCT of ``one_link.py`` is a sum over queues, and each term depends on the two ends of its queue alone. So the
best thresholds among a set of sizes are a shortest path from 0 to infinity with as many steps as there are queues, and
dynamic programming finds it: no start, no local minima, though the optimum often sits where a distribution changes its
form. It is flat, so the thresholds themselves say little; hold the mean FCT (``multilevel_fct``).
"""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np

from flowsched_gym.core import numerics
from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.checks import check_choice, check_integer, check_number, check_numbers
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.flows.thresholds import RULES, ClusterSize, ThresholdRule, thresholds_between
from flowsched_gym.queueing.moments import SizeDistribution, as_size_distribution, size_grid
from flowsched_gym.queueing.one_link import KINDS, check_load, multilevel_fct, queue_times
from flowsched_gym.workload import Distribution
from flowsched_gym.workload.empirical import PACKET_PAYLOAD

NUM_QUEUES: Final = range(2, 9)
"""Numbers of queues: switches have eight at most."""
NUM_SIZES: Final = 1_000
"""Sizes among which thresholds are looked for, besides those at which the distribution changes its form."""
WORST_FIRST: Final = 0.6
WORST_LAST: Final = 0.3
"""Shares of packets in the first and in the last queue with PIAS-WST (QCluster, section 6.2)."""
MOST_PACKETS: Final = 10_000_000
"""Packets of the largest flow at most, one array entry for each."""
APART: Final = 1e-6
"""Part of a threshold by which the next is larger at least."""
PIAS_PACKET: Final = 1460.0
"""B of payload in a packet of PIAS's simulations."""
IN_PACKETS: Final = ("web_search", "data_mining")
PUBLISHED: Final[Mapping[str, Mapping[float, tuple[int, ...]]]] = MappingProxyType(
    {
        "web_search": {
            0.5: (1059, 1412, 1643, 1869, 2008, 2115, 2184),
            0.6: (956, 1381, 1718, 2028, 2297, 2551, 2660),
            0.7: (999, 1305, 1564, 1763, 1956, 2149, 2309),
            0.8: (909, 1329, 1648, 1960, 2143, 2337, 2484),
            0.9: (759, 1132, 1456, 1737, 2010, 2199, 2325),
        },
        "data_mining": {
            0.5: (805, 1106, 1401, 10693, 11970, 21162, 22272),
            0.6: (840, 1232, 1617, 11950, 12238, 21494, 25720),
            0.7: (907, 1301, 1619, 12166, 12915, 21313, 26374),
            0.8: (745, 1083, 1391, 13689, 14936, 21149, 27245),
            0.9: (750, 1083, 1416, 13705, 14952, 21125, 28253),
        },
        "w1": {0.5: (207, 268, 287, 306, 318, 329, 336), 0.8: (183, 259, 287, 314, 332, 352, 367)},
        "w2": {0.5: (382, 414, 422, 431, 437, 441, 444), 0.8: (368, 410, 422, 435, 442, 451, 457)},
        "w3": {0.5: (466, 579, 631, 693, 736, 774, 799), 0.8: (436, 554, 633, 720, 784, 865, 939)},
        "w4": {
            0.5: (43898, 49621, 50878, 64461, 70549, 73131, 74788),
            0.8: (38210, 48958, 50905, 68384, 73799, 76588, 78129),
        },
    }
)
"""Thresholds that were published with PIAS and Homa, each for eight queues, by size distribution and load.

``web_search`` and ``data_mining``: HKUST-SING/PIAS-NS2, ``scripts/run_pias_dctcp.py`` and ``scripts/run_pias_vl2.py``,
in packets of 1460 B, for the distributions ``web_search_ns2`` and ``data_mining_ns2``. ``w1`` to ``w4``:
PlatformLab/HomaSimulation, branch ``pias``, ``ns2_Simulations/scripts/pias*Params.py``, in B. The numbers are facts,
carried over from these sources; none of their code is here.
"""


def optimal_thresholds(kind: str, distribution: Distribution | str, load: float, num_queues: int) -> FloatArray:
    """Finds the thresholds with the least mean FCT on one link, each queue served first in, first out.

    The mean FCT is within 1e-4 of the least. Where fewer queues would do, thresholds lie above the largest size. Sizes
    without a finite variance are refused, as no mean FCT is finite then.
    """
    check_choice("kind", kind, KINDS)
    sizes = _sizes(distribution, num_queues)
    check_load(load)
    if multilevel_fct(kind, sizes, load, ()).overall == math.inf:
        raise ConfigError(f"distribution is {sizes!r}: its variance must be finite, or the mean FCT is not")
    inside = size_grid(sizes, NUM_SIZES)
    beyond = np.ldexp(inside[-1], np.arange(1, num_queues))
    ends = np.concatenate([[0.0], inside, beyond, [math.inf]])
    index = np.arange(len(ends))
    cost = queue_times(kind, sizes, load, ends).between(index[:, None], index[None, :])
    cost[np.tril_indices(len(ends))] = math.inf
    return ends[_shortest_path(cost, num_queues)[1:-1]]


def pias_thresholds(distribution: Distribution | str, load: float, num_queues: int) -> FloatArray:
    """Finds thresholds by PIAS's rule, a sum of linear ratios, whose optimum has a closed form.

    With a share ``theta_l`` of the flows in queue l, ``sum theta_l / (1 - load * sum_{j<l} theta_j)`` is largest where
    the shares up to queue l add up to ``(1 - (1 - load)^(l / num_queues)) / load``. The rule counts flows where links
    count bytes, so it is a baseline and no optimum: for web search at load 0.8 and four queues its mean FCT is 25 %
    above the least. PIAS's objective itself (``PUBLISHED`` has its authors' thresholds) is least with empty queues.

    Thresholds are 1e-6 apart, relatively, where many flows have one size.
    """
    sizes = _sizes(distribution, num_queues)
    check_load(load)
    share = np.arange(1, num_queues) / num_queues
    thresholds = sizes.quantile((1.0 - numerics.power(1.0 - load, share)) / load)
    for index in range(1, len(thresholds)):
        thresholds[index] = max(thresholds[index], thresholds[index - 1] * (1.0 + APART))
    return thresholds


def pias_worst_thresholds(
    distribution: Distribution | str, num_queues: int, payload: float = PACKET_PAYLOAD
) -> FloatArray:
    """Finds PIAS-WST: 60 % of packets in the first queue, 30 % in the last, the others evenly in between.

    A packet's queue is the first whose threshold is at least the bytes that its flow has sent before. A flow has a
    packet after n bytes if its size is larger, so the shares are exact sums of the size distribution, which must have a
    largest size, of at most ten million packets. Thresholds are multiples of the payload of a full packet in B, > 0,
    those with the nearest shares, and may be equal: where more than 60 % of packets are the first ones of flows, all
    are 0. With two queues, the last has 40 %.
    """
    sizes = _sizes(distribution, num_queues)
    check_number("payload", payload, above=0)
    packets = float(sizes.quantile(1.0)) / payload
    if packets > MOST_PACKETS:
        raise ConfigError(f"distribution is {sizes!r}: flows may have at most {MOST_PACKETS} packets of {payload:g} B")
    sent_before = payload * np.arange(math.ceil(packets), dtype=np.float64)
    share = np.cumsum(1.0 - sizes.cdf(sent_before))
    share /= share[-1]
    wanted = np.linspace(WORST_FIRST, 1.0 - WORST_LAST, num_queues - 1)
    above = np.searchsorted(share, wanted).clip(1, len(share) - 1) if len(share) > 1 else np.zeros(len(wanted), int)
    below = np.maximum(above - 1, 0)
    return sent_before[np.where(wanted - share[below] <= share[above] - wanted, below, above)]


def cluster_thresholds(
    weights: Sequence[float] | FloatArray,
    *,
    rule: str,
    packets: Sequence[float] | FloatArray | IntArray | None = None,
    alpha: Sequence[float] | FloatArray | float | None = None,
    cluster_size: str = ClusterSize.PROPORTIONAL,
) -> FloatArray:
    """Computes the thresholds between the clusters of a port's queues, of these weights (QCluster, section 3.4).

    With weights m and packets p, ``adaptive`` thresholds are ``m_i beta + m_(i+1) (1 - beta)``, where
    ``beta = (p_i / (p_i + p_(i+1))) ** alpha_i``, and ``p_i / m_i`` takes the place of ``p_i`` for clusters whose size
    is proportional to their weight. Where both queues are empty, the ratio is 0.5; the paper prints nothing for it.

    Args:
        weights: Weight of each queue in B, (num_queues,), > 0, at least two.
        rule: ``arithmetic``, ``geometric`` or ``harmonic``: a mean of neighbouring weights; or ``adaptive``.
        packets: For ``adaptive``, which needs them, packets of each queue, (num_queues,), >= 0.
        alpha: For ``adaptive``, exponents between neighbours, (num_queues - 1,), or one for all, > 0; ``None`` for 1.
        cluster_size: For ``adaptive``, ``same`` or ``proportional``.
    """
    means = check_numbers("weights", weights, at_least=0)
    if len(means) <= 1 or not (means > 0).all():
        raise ConfigError(f"weights is {means.tolist()}: they must be at least two, each > 0 B")
    which = check_choice("rule", rule, ThresholdRule)
    size = check_choice("cluster_size", cluster_size, ClusterSize)
    count, powers = np.zeros(len(means)), np.ones(len(means) - 1)
    if packets is not None:
        count = check_numbers("packets", packets, count=len(means), at_least=0)
    elif which is ThresholdRule.ADAPTIVE:
        raise ConfigError("packets is None: rule 'adaptive' needs the packets of each queue")
    if alpha is not None:
        given = [alpha] * len(powers) if np.ndim(alpha) == 0 else alpha
        powers = check_numbers("alpha", given, count=len(powers), at_least=0)
        if not (powers > 0).all():
            raise ConfigError(f"alpha is {shown(alpha)}: each must be > 0")
    thresholds = np.zeros(len(powers))
    thresholds_between(means, count, powers, RULES[which], size is ClusterSize.PROPORTIONAL, thresholds)
    return thresholds


def published_thresholds(workload: str, load: float) -> FloatArray:
    """Returns the published thresholds of eight queues, (7,).

    Workloads are ``web_search`` and ``data_mining``, with the loads 0.5, 0.6, 0.7, 0.8 and 0.9, and Homa's ``w1`` to
    ``w4``, with 0.5 and 0.8.
    """
    check_choice("workload", workload, tuple(PUBLISHED))
    check_number("load", load, above=0)
    thresholds = PUBLISHED[workload].get(load)
    if thresholds is None:
        loads = ", ".join(map(str, PUBLISHED[workload]))
        raise ConfigError(f"load is {load!r}: thresholds for {workload} were published at {loads}")
    return np.array(thresholds, dtype=np.float64) * (PIAS_PACKET if workload in IN_PACKETS else 1.0)


def _sizes(distribution: Distribution | str, num_queues: int) -> SizeDistribution:
    check_integer("num_queues", num_queues, at_least=NUM_QUEUES.start, below=NUM_QUEUES.stop)
    return as_size_distribution(distribution)


def _shortest_path(cost: FloatArray, num_steps: int) -> IntArray:
    """Finds the cheapest way from the first node to the last, (num_steps + 1,), by the costs of steps between any."""
    cheapest, came_from = cost[0], []
    for _ in range(num_steps - 1):
        total = cheapest[:, None] + cost
        came_from.append(total.argmin(axis=0))
        cheapest = total.min(axis=0)
    path = [len(cost) - 1]
    for previous in reversed(came_from):
        path.append(previous[path[-1]])
    return np.array([0, *reversed(path)])
