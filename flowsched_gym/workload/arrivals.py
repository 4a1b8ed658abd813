"""Draws the instants of Poisson arrivals."""

import math
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.workload.distributions import Exponential

SPARE_DEVIATIONS: Final = 5.0
"""Standard deviations above the expected number of arrivals that are drawn at once: a second draw is then rare."""


def poisson_arrivals(
    rng: np.random.Generator, rate: float, *, count: int | None = None, duration: float | None = None
) -> FloatArray:
    """Draws the arrivals of a Poisson process that starts at 0; exactly one of count and duration is given.

    More arrivals or a longer duration from the same generator state begin with the same arrivals, bit by bit.

    Args:
        rng: Generator of this purpose.
        rate: Arrivals per s, > 0.
        count: Number of arrivals.
        duration: Arrivals are those before this time in s.

    Returns:
        Arrival times in s, (num_arrivals,) float64, increasing.
    """
    gap = Exponential(mean=1.0 / rate)
    if count is not None:
        return np.cumsum(gap.sample(rng, count))
    assert duration is not None
    expected = rate * duration
    block = int(expected + SPARE_DEVIATIONS * math.sqrt(expected)) + 1
    gaps = gap.sample(rng, block)
    times = np.cumsum(gaps)
    while times[-1] < duration:
        # Summed anew from the first gap: a sum that goes on from a rounded total would round otherwise.
        gaps = np.concatenate([gaps, gap.sample(rng, block)])
        times = np.cumsum(gaps)
    return times[: np.searchsorted(times, duration, side="left")]
