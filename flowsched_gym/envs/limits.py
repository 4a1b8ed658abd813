"""Turns actions into ordered thresholds and back, on a logarithmic scale of sizes."""

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from flowsched_gym.core import numerics
from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.fluid.rules.ordering.feedback import spread_limits
from flowsched_gym.machine_code.numerics import take_exponentials

LEAST_RATIO: Final = 1.01
"""A threshold is larger than the one before by this factor at least."""


@dataclass(frozen=True)
class ThresholdScale:
    """A logarithmic scale on which each number of an action chooses a threshold above the one before.

    With u = (action + 1) / 2, log t_1 = log lowest + u_1 (h_1 - log lowest) and log t_i = l_i + u_i (h_i - l_i), where
    l_i is the logarithm of 1.01 t_(i-1), and h_i leaves room below the highest for the thresholds that follow. So
    thresholds are ordered whatever the agent says.

    Attributes:
        lowest: Smallest threshold in B.
        highest: Largest threshold in B.
        bottom: Logarithm of the smallest.
        top: Logarithm of the largest.
        step: Least difference of neighbouring logarithms.
    """

    lowest: float
    highest: float
    bottom: float = field(init=False)
    top: float = field(init=False)
    step: float = field(init=False)

    def __post_init__(self) -> None:
        for name, value in (("bottom", self.lowest), ("top", self.highest), ("step", LEAST_RATIO)):
            object.__setattr__(self, name, float(numerics.log(value)))

    def thresholds_of(self, action: FloatArray) -> FloatArray:
        """Returns the thresholds that an action stands for.

        Args:
            action: Numbers in [-1, 1], (num_rows, count) float64.

        Returns:
            Thresholds in whole B, the same shape, increasing in each row, from the lowest to the highest.
        """
        logarithm = np.empty(action.shape)
        spread_limits(action, self.bottom, self.top, self.step, logarithm)
        # Whole bytes, so that no last bit of a logarithm decides.
        take_exponentials(logarithm)
        return np.rint(logarithm)

    def action_of(self, thresholds: FloatArray) -> FloatArray:
        """Returns the action that stands for thresholds, or, where they are outside its range, for the nearest ones.

        Args:
            thresholds: Thresholds in B, > 0, non-decreasing, (num_rows, count).

        Returns:
            Numbers in [-1, 1], the same shape.
        """
        wanted = numerics.log(thresholds)
        logarithm, share = np.empty_like(wanted), np.zeros_like(wanted)
        count = wanted.shape[1]
        for index in range(count):
            low = np.full(len(wanted), self.bottom) if index == 0 else logarithm[:, index - 1] + self.step
            high = self.top - self.step * (count - 1 - index)
            logarithm[:, index] = np.clip(wanted[:, index], low, high)
            np.divide(logarithm[:, index] - low, high - low, out=share[:, index], where=high > low)
        return np.clip(2.0 * share - 1.0, -1.0, 1.0)

    def position_of(self, size: FloatArray) -> FloatArray:
        """Returns where sizes in B, > 0, stand on the scale from the lowest (0) to the highest (1), cut to that."""
        position: FloatArray = ((numerics.log(size) - self.bottom) / (self.top - self.bottom)).clip(0.0, 1.0)
        return position
