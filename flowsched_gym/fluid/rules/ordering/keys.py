"""Puts active flows in the order in which a discipline serves them.

Every ordered discipline is two keys per flow and one sort: smaller keys go first, ties go to the earlier arrival, then
to the lower row. The index in that order becomes the flow's priority.
"""

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.machine_code.decorators import rule


@rule
def sort_rows(
    rows: IntArray, count: int, first: FloatArray | IntArray, second: FloatArray | IntArray, third: FloatArray
) -> None:
    """Sorts the first ``count`` rows by (first, second, third, row); quick where they are nearly in order."""
    for index in range(1, count):
        row = rows[index]
        hole = index
        while hole > 0:
            other = rows[hole - 1]
            if first[other] != first[row]:
                later = first[other] > first[row]
            elif second[other] != second[row]:
                later = second[other] > second[row]
            elif third[other] != third[row]:
                later = third[other] > third[row]
            else:
                later = other > row
            if not later:
                break
            rows[hole] = other
            hole -= 1
        rows[hole] = row


@rule
def number_rows(active: IntArray, count: int, priority: IntArray) -> None:
    """Sets the index of each active flow as its priority."""
    for index in range(count):
        priority[active[index]] = index


@rule
def order_by(active: IntArray, count: int, key: FloatArray | IntArray, arrival: FloatArray, priority: IntArray) -> None:
    """Serves the smallest key first."""
    sort_rows(active, count, key, key, arrival)
    number_rows(active, count, priority)


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
    sort_rows(active, count, first, second, arrival)
    number_rows(active, count, priority)


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
    sort_rows(active, count, key, second, arrival)
    number_rows(active, count, priority)


@rule
def size_deadline_ratio(row: int, size: FloatArray, arrival: FloatArray, deadline: FloatArray, sign: float) -> float:
    """Returns the ratio by which SSDF (sign 1) and LSDF (sign -1) order, in B/s; inf without a deadline."""
    span = deadline[row] - arrival[row]
    if span == np.inf:
        return np.inf
    ratio: float = sign * size[row] / span
    return ratio
