"""Reads demotion thresholds: whether they may be, and those that an action spreads over a logarithmic scale."""

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.machine_code.decorators import rule


@rule
def are_limits(limits: FloatArray) -> bool:
    """Returns whether each row of thresholds in B, (num_rows, count), is positive, finite and increasing."""
    allowed = True
    for row in range(limits.shape[0]):
        before = 0.0
        for index in range(limits.shape[1]):
            limit = limits[row, index]
            allowed = allowed and before < limit < np.inf
            before = limit
    return allowed


@rule
def are_within(values: FloatArray, most: float) -> bool:
    """Returns whether each of some values, (count,), is a number from ``-most`` to ``most``."""
    allowed = True
    for value in values:
        allowed = allowed and abs(value) <= most
    return allowed


@rule
def spread_limits(action: FloatArray, bottom: float, top: float, step: float, logarithm: FloatArray) -> None:
    """Chooses the logarithms of thresholds, each between the one before, a step further, and what leaves room below.

    Args:
        action: Where they stand between these, from -1 to 1, (num_rows, count).
        bottom: Logarithm of the smallest threshold.
        top: Logarithm of the largest.
        step: Least difference of neighbouring logarithms.
        logarithm: Receives them, (num_rows, count), increasing in each row.
    """
    num_rows, count = action.shape
    for row in range(num_rows):
        low = bottom
        for index in range(count):
            high = top - step * (count - 1 - index)
            logarithm[row, index] = low + (action[row, index] + 1.0) / 2.0 * (high - low)
            low = logarithm[row, index] + step
