"""Turns actions into thresholds of tasks and back."""

from typing import Final

import numpy as np

from flowsched_gym.arrays import FloatArray
from flowsched_gym.encoders.thresholds import ThresholdScale
from flowsched_gym.model.rules import numerics
from flowsched_gym.units import BYTES_PER_KILOBYTE, BYTES_PER_MEGABYTE

__all__ = ["SCALE", "equal_steps"]

SCALE: Final = ThresholdScale(BYTES_PER_KILOBYTE, 1000 * BYTES_PER_MEGABYTE)
"""From the smallest to the largest threshold in B."""


def equal_steps(num_thresholds: int) -> FloatArray:
    """Returns thresholds in B in equal steps on the logarithmic scale, (num_thresholds,)."""
    share = np.arange(1, num_thresholds + 1) / (num_thresholds + 1)
    thresholds: FloatArray = np.rint(numerics.exp(SCALE.bottom + (SCALE.top - SCALE.bottom) * share))
    return thresholds
