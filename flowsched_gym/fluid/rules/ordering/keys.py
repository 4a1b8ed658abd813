"""Puts active flows in the order in which a discipline serves them.

Every ordered discipline is two keys per flow and one sort: smaller keys go first, ties go to the earlier arrival, then
to the lower row. The index in that order becomes the flow's priority.
"""

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.machine_code.decorators import rule


@rule
def _rank(
    active: IntArray, count: int, first: FloatArray | IntArray, second: FloatArray | IntArray, arrival: FloatArray
) -> None:
    """Sorts the active flows by (first, second, arrival, row); quick where they are nearly in order."""
    for index in range(1, count):
        row = active[index]
        hole = index
        while hole > 0:
            other = active[hole - 1]
            if first[other] != first[row]:
                later = first[other] > first[row]
            elif second[other] != second[row]:
                later = second[other] > second[row]
            elif arrival[other] != arrival[row]:
                later = arrival[other] > arrival[row]
            else:
                later = other > row
            if not later:
                break
            active[hole] = other
            hole -= 1
        active[hole] = row


@rule
def _number(active: IntArray, count: int, priority: IntArray) -> None:
    """Sets the index of each active flow as its priority."""
    for index in range(count):
        priority[active[index]] = index


@rule
def order_by(active: IntArray, count: int, key: FloatArray | IntArray, arrival: FloatArray, priority: IntArray) -> None:
    """Serves the smallest key first."""
    _rank(active, count, key, key, arrival)
    _number(active, count, priority)


@rule
def order_without_preemption(
    active: IntArray,
    count: int,
    size: FloatArray,
    attained: FloatArray,
    arrival: FloatArray,
    priority: IntArray,
    first: FloatArray,
    second: FloatArray,
) -> None:
    """Serves the smallest flow first, but never interrupts one that has begun (SJF); these keep their order."""
    for index in range(count):
        row = active[index]
        if attained[row] > 0.0:
            first[row], second[row] = -1.0, priority[row]
        else:
            first[row], second[row] = size[row], 0.0
    _rank(active, count, first, second, arrival)
    _number(active, count, priority)


@rule
def order_by_finite(
    active: IntArray,
    count: int,
    key: FloatArray,
    remaining: FloatArray,
    arrival: FloatArray,
    priority: IntArray,
    second: FloatArray,
) -> None:
    """Serves the smallest key first; flows whose key is inf come last, by remaining bytes."""
    for index in range(count):
        row = active[index]
        second[row] = remaining[row] if key[row] == np.inf else 0.0
    _rank(active, count, key, second, arrival)
    _number(active, count, priority)


@rule
def size_deadline_ratio(row: int, size: FloatArray, arrival: FloatArray, deadline: FloatArray, sign: float) -> float:
    """Returns the ratio by which SSDF (sign 1) and LSDF (sign -1) order, in B/s; inf without a deadline."""
    span = deadline[row] - arrival[row]
    if span == np.inf:
        return np.inf
    ratio: float = sign * size[row] / span
    return ratio


@rule
def serve_first(n: int, row: int, rank: IntArray, front: IntArray) -> None:
    """Sets the smallest rank of all for a flow of network ``n``.

    Args:
        rank: Ranks; the flow's is set.
        front: Smallest rank given so far in each network, <= 0, (num_networks,); updated.
    """
    front[n] -= 1
    rank[row] = front[n]
