"""Turns actions into thresholds and back.

AuTO prints neither the scale of its actor's outputs nor how they become ordered thresholds. Here each number chooses a
position on a logarithmic scale between the threshold before it and the largest one, so that thresholds are ordered
whatever the agent says.
"""

from typing import Final

import numpy as np

from flowsched_gym.arrays import FloatArray
from flowsched_gym.model.rules import numerics
from flowsched_gym.model.rules.numerics.compiled import take_exponentials
from flowsched_gym.model.rules.ordering.limits import spread_limits
from flowsched_gym.units import BYTES_PER_KILOBYTE, BYTES_PER_MEGABYTE

__all__ = [
    "BOTTOM",
    "HIGHEST",
    "LEAST_RATIO",
    "LOWEST",
    "TOP",
    "action_of_thresholds",
    "position_of_size",
    "thresholds_of_action",
]


LOWEST: Final = BYTES_PER_KILOBYTE
HIGHEST: Final = 1000 * BYTES_PER_MEGABYTE
"""Smallest and largest threshold in B: below one packet, and from the largest flows on, it would change nothing."""
LEAST_RATIO: Final = 1.01
"""A threshold is larger than the one before by this factor at least."""

BOTTOM, TOP, STEP = (float(numerics.log(value)) for value in (LOWEST, HIGHEST, LEAST_RATIO))


def thresholds_of_action(action: FloatArray) -> FloatArray:
    """Returns the thresholds that an action stands for.

    With u = (action + 1) / 2, log t_1 = log LOWEST + u_1 (h_1 - log LOWEST) and log t_i = l_i + u_i (h_i - l_i), where
    l_i is the logarithm of LEAST_RATIO t_(i-1), and h_i leaves room below HIGHEST for the thresholds that follow.

    Args:
        action: Numbers in [-1, 1], (num_clusters, num_queues - 1) float64.

    Returns:
        Thresholds in whole B, the same shape, increasing in each row, from LOWEST to HIGHEST.
    """
    logarithm = np.empty(action.shape)
    spread_limits(action, BOTTOM, TOP, STEP, logarithm)
    # Whole bytes, so that no last bit of a logarithm decides.
    take_exponentials(logarithm)
    return np.rint(logarithm)


def action_of_thresholds(thresholds: FloatArray) -> FloatArray:
    """Returns the action that stands for thresholds, or, where they are outside its range, for the nearest ones.

    Args:
        thresholds: Thresholds in B, > 0, increasing, (num_clusters, num_queues - 1).

    Returns:
        Numbers in [-1, 1], the same shape.
    """
    wanted = numerics.log(thresholds)
    logarithm, share = np.empty_like(wanted), np.zeros_like(wanted)
    for index in range(wanted.shape[1]):
        low, high = _range_of(index, logarithm)
        logarithm[:, index] = np.clip(wanted[:, index], low, high)
        np.divide(logarithm[:, index] - low, high - low, out=share[:, index], where=high > low)
    return np.clip(2.0 * share - 1.0, -1.0, 1.0)


def position_of_size(size: FloatArray) -> FloatArray:
    """Returns where sizes in B, > 0, stand on the logarithmic scale from LOWEST (0) to HIGHEST (1), cut to that."""
    position: FloatArray = ((numerics.log(size) - BOTTOM) / (TOP - BOTTOM)).clip(0.0, 1.0)
    return position


def _range_of(index: int, logarithm: FloatArray) -> tuple[FloatArray, float]:
    """Returns between which logarithms a threshold may lie, by those before it: (num_clusters,), and the upper end."""
    num_clusters, count = logarithm.shape
    low = np.full(num_clusters, BOTTOM) if index == 0 else logarithm[:, index - 1] + STEP
    return low, TOP - STEP * (count - 1 - index)
