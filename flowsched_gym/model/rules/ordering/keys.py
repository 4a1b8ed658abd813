"""Puts active flows in the order in which a discipline serves them.

Every ordered discipline is two keys per flow and one sort: smaller keys go first, ties go to the earlier arrival, then
to the lower row. The index in that order becomes the flow's priority.
"""

import numpy as np

from flowsched_gym.arrays import FloatArray, IntArray
from flowsched_gym.model.rules.compile import rule

__all__ = [
    "order_by_arrival",
    "order_by_deadline",
    "order_by_rank",
    "order_by_ratio",
    "order_by_remaining",
    "order_by_size",
    "order_without_preemption",
    "serve_first",
    "size_deadline_ratio",
]


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
def order_by_arrival(active: IntArray, count: int, arrival: FloatArray, priority: IntArray) -> None:
    """Serves first in, first out (FIFO)."""
    _rank(active, count, arrival, arrival, arrival)
    _number(active, count, priority)


@rule
def order_by_size(active: IntArray, count: int, size: FloatArray, arrival: FloatArray, priority: IntArray) -> None:
    """Serves the smallest original size first, preemptively (PSJF)."""
    _rank(active, count, size, size, arrival)
    _number(active, count, priority)


@rule
def order_by_remaining(
    active: IntArray, count: int, remaining: FloatArray, arrival: FloatArray, priority: IntArray
) -> None:
    """Serves the shortest remaining flow first (SRPT)."""
    _rank(active, count, remaining, remaining, arrival)
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
def order_by_deadline(
    active: IntArray,
    count: int,
    deadline: FloatArray,
    remaining: FloatArray,
    arrival: FloatArray,
    priority: IntArray,
    second: FloatArray,
) -> None:
    """Serves the earliest absolute deadline first (EDF); flows without one come last, by remaining bytes."""
    for index in range(count):
        row = active[index]
        second[row] = remaining[row] if deadline[row] == np.inf else 0.0
    _rank(active, count, deadline, second, arrival)
    _number(active, count, priority)


@rule
def order_by_ratio(
    active: IntArray,
    count: int,
    ratio: FloatArray,
    remaining: FloatArray,
    arrival: FloatArray,
    priority: IntArray,
    second: FloatArray,
) -> None:
    """Serves the smallest given ratio first (SSDF, LSDF); flows whose ratio is inf come last, by remaining bytes."""
    for index in range(count):
        row = active[index]
        second[row] = remaining[row] if ratio[row] == np.inf else 0.0
    _rank(active, count, ratio, second, arrival)
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
def order_by_rank(active: IntArray, count: int, rank: IntArray, arrival: FloatArray, priority: IntArray) -> None:
    """Serves the smallest given rank first."""
    _rank(active, count, rank, rank, arrival)
    _number(active, count, priority)


@rule
def serve_first(n: int, row: int, rank: IntArray, front: IntArray) -> None:
    """Sets the smallest rank of all for a flow of network ``n``.

    Args:
        rank: Ranks; the flow's is set.
        front: Smallest rank given so far in each network, <= 0, (num_networks,); updated.
    """
    front[n] -= 1
    rank[row] = front[n]
