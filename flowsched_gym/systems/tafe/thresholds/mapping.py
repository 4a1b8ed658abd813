"""Turns actions into thresholds of tasks and back."""

from typing import Final

import numpy as np

from flowsched_gym.core import numerics
from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.units import BYTES_PER_KILOBYTE, BYTES_PER_MEGABYTE
from flowsched_gym.envs.limits import ThresholdScale

SCALE: Final = ThresholdScale(BYTES_PER_KILOBYTE, 1000 * BYTES_PER_MEGABYTE)
"""From the smallest to the largest threshold in B."""


def equal_steps(num_thresholds: int) -> FloatArray:
    """Returns thresholds in B in equal steps on the logarithmic scale, (num_thresholds,)."""
    share = np.arange(1, num_thresholds + 1) / (num_thresholds + 1)
    thresholds: FloatArray = np.rint(numerics.exp(SCALE.bottom + (SCALE.top - SCALE.bottom) * share))
    return thresholds
