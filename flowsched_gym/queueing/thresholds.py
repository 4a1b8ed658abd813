"""Finds thresholds of multi-level queues: the best ones, those of PIAS's rule, and bad ones.

The mean FCT of ``multilevel.py`` is a sum over queues, and each term depends on the two ends of its queue alone. So the
best thresholds among a set of sizes are a shortest path from 0 to infinity with as many steps as there are queues, and
dynamic programming finds it: no start, no local minima, though the optimum often sits where a distribution changes its
form. It is flat, so the thresholds themselves say little; hold the mean FCT (``multilevel_fct``).
"""

import math
from typing import Final

import numpy as np

from flowsched_gym.core import numerics
from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.queueing.moments import as_size_distribution, size_grid
from flowsched_gym.queueing.multilevel import KINDS, check_load, multilevel_fct, queue_times
from flowsched_gym.workload import Distribution
from flowsched_gym.workload.checks import check_choice, check_integer, check_number
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


def optimal_thresholds(kind: str, distribution: Distribution | str, load: float, num_queues: int) -> FloatArray:
    """Finds the thresholds with the least mean FCT on one link, each queue served first in, first out.

    The mean FCT is within 1e-4 of the least. Where fewer queues would do, thresholds lie above the largest size.

    Args:
        kind: ``"qlas"``, queues by attained bytes; ``"qsjf"``, queues by size.
        distribution: Distribution of sizes in B, or the name of a packaged one.
        load: Bytes offered per s over the capacity, > 0, < 1.
        num_queues: Number of queues, 2 to 8.

    Returns:
        Thresholds in B, (num_queues - 1,) float64, increasing.

    Raises:
        ConfigError: An argument is not allowed, or no mean FCT is finite as the sizes have no finite variance.
    """
    check_choice("kind", kind, KINDS)
    sizes = as_size_distribution(distribution)
    check_load(load)
    _check_num_queues(num_queues)
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
    above the least. PIAS's objective itself (``published.py`` has its authors' thresholds) is least with empty queues.

    Args:
        distribution: Distribution of sizes in B, or the name of a packaged one.
        load: Bytes offered per s over the capacity, > 0, < 1.
        num_queues: Number of queues, 2 to 8.

    Returns:
        Thresholds in B, (num_queues - 1,) float64, increasing; 1e-6 apart where many flows have one size.

    Raises:
        ConfigError: An argument is not allowed.
    """
    sizes = as_size_distribution(distribution)
    check_load(load)
    _check_num_queues(num_queues)
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
    packet after n bytes if its size is larger, so the shares are exact sums of the size distribution. Thresholds are
    multiples of the payload, those with the nearest shares: where more than 60 % of packets are the first ones of
    flows, all are 0.

    Args:
        distribution: Distribution of sizes in B with a largest one, or the name of a packaged one.
        num_queues: Number of queues, 2 to 8; with two, the last has 40 %.
        payload: Payload of a full packet in B, > 0.

    Returns:
        Thresholds in B, (num_queues - 1,) float64, non-decreasing.

    Raises:
        ConfigError: An argument is not allowed, or sizes have no bound or one of more than ten million packets.
    """
    sizes = as_size_distribution(distribution)
    _check_num_queues(num_queues)
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


def _check_num_queues(num_queues: object) -> None:
    check_integer("num_queues", num_queues, at_least=NUM_QUEUES.start, below=NUM_QUEUES.stop)


def _shortest_path(cost: FloatArray, num_steps: int) -> IntArray:
    """Finds the cheapest way from the first node to the last, (num_steps + 1,) nodes.

    Args:
        cost: Cost of a step from each node to each other, (num_nodes, num_nodes).
        num_steps: Number of steps.
    """
    cheapest = cost[0]
    came_from = []
    for _ in range(num_steps - 1):
        total = cheapest[:, None] + cost
        came_from.append(total.argmin(axis=0))
        cheapest = total.min(axis=0)
    path = [len(cost) - 1]
    for previous in reversed(came_from):
        path.append(previous[path[-1]])
    return np.array([0, *reversed(path)])
