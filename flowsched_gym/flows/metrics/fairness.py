"""Measures how evenly a quantity is spread over flows."""

import math

from flowsched_gym.core.arrays import FloatArray


def jain_index(values: FloatArray) -> float:
    """Returns Jain's fairness index ``(sum x)^2 / (n sum x^2)`` (Jain, Chiu and Hawe, DEC-TR-301, 1984, Eq. 2).

    Args:
        values: One value per flow, (num_flows,) float64, >= 0, no NaN.

    Returns:
        The index, in [1 / num_flows, 1]: 1 where all values are equal; NaN where there is no value or all are zero.
    """
    total = float(values.sum())
    squares = float((values * values).sum())
    return total * total / (len(values) * squares) if squares > 0 else math.nan
