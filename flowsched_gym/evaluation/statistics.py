"""Says how sure a mean over episodes is: percentile bootstrap intervals (Efron, Annals of Statistics 7, 1979).

Schedulers that are compared on the same flows are paired episode by episode: the interval of their difference, or of
the ratio of their means, is much narrower than the two single intervals suggest.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.errors import ConfigError
from flowsched_gym.seeding import SeedStreams

__all__ = [
    "MIN_EPISODES",
    "Interval",
    "bootstrap_interval",
    "interquartile_mean",
    "paired_difference",
    "paired_ratio",
]

FloatArray = npt.NDArray[np.float64]

MIN_EPISODES: Final = 10
"""Episodes below which no interval is given: resampling fewer says little about the mean."""
CONFIDENCE: Final = 0.95
NUM_RESAMPLES: Final = 10_000
BLOCK_SIZE: Final = 1_000_000
"""Numbers drawn at a time, so that memory does not grow with the number of episodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Holds an estimate and how far it may be off.

    Attributes:
        mean: The estimate: a mean, an interquartile mean, a difference or a ratio of means; NaN where nothing is known.
        low: Lower end of the interval; NaN where there are fewer than ``MIN_EPISODES`` samples.
        high: Upper end of it.
        confidence: Share of such intervals that contain the truth, in (0, 1).
        num_samples: Episodes with a value.
    """

    mean: float
    low: float
    high: float
    confidence: float = CONFIDENCE
    num_samples: int

    def __post_init__(self) -> None:
        """Checks the numbers that have a range."""
        if not 0 < self.confidence < 1:
            raise ConfigError(f"confidence is {self.confidence!r}: it must lie in (0, 1)")
        if self.num_samples < 0:
            raise ConfigError(f"num_samples is {self.num_samples!r}: it must be >= 0")

    @property
    def known(self) -> bool:
        """Whether there are enough samples for the ends to mean something."""
        return not math.isnan(self.low)


def interquartile_mean(samples: FloatArray) -> FloatArray:
    """Returns the mean of the middle half of the samples, along the last axis, (..., num_samples) to (...).

    A quarter, rounded down, of the samples is left out at each end (Agarwal et al., NeurIPS 2021, section 4).
    """
    cut = samples.shape[-1] // 4
    ordered = np.sort(samples, axis=-1)
    middle: FloatArray = ordered[..., cut : samples.shape[-1] - cut].mean(axis=-1)
    return middle


def bootstrap_interval(
    values: Sequence[float] | FloatArray,
    *,
    statistic: Callable[[FloatArray], FloatArray] | None = None,
    confidence: float = CONFIDENCE,
    num_resamples: int = NUM_RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Estimates the mean of the values, one per episode, with a percentile bootstrap interval.

    Args:
        values: One value per episode, (num_episodes,); NaN where the episode has none, which leaves it out.
        statistic: What to estimate along the last axis, such as ``interquartile_mean``; default: the mean.
        confidence: Share of such intervals that contain the truth, in (0, 1).
        num_resamples: Resamples drawn, >= 1.
        seed: Seed of the resampling, an integer >= 0.

    Raises:
        ConfigError: An argument is not allowed.
    """
    known = _one_dimensional(values, "values")
    known = known[~np.isnan(known)]
    return _resample((known,), statistic or _mean, confidence=confidence, num_resamples=num_resamples, seed=seed)


def paired_difference(
    values: Sequence[float] | FloatArray,
    baseline: Sequence[float] | FloatArray,
    *,
    confidence: float = CONFIDENCE,
    num_resamples: int = NUM_RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Estimates the mean of ``values - baseline``, episode by episode on the same flows.

    Args:
        values: One value per episode, (num_episodes,).
        baseline: The value of the same episodes to compare with, (num_episodes,). A NaN on either side leaves the
            episode out.
        confidence: As in `bootstrap_interval`.
        num_resamples: As in `bootstrap_interval`.
        seed: As in `bootstrap_interval`.

    Raises:
        ConfigError: The lengths differ, or an argument is not allowed.
    """
    first, second = _pair(values, baseline)
    return _resample((first - second,), _mean, confidence=confidence, num_resamples=num_resamples, seed=seed)


def paired_ratio(
    values: Sequence[float] | FloatArray,
    baseline: Sequence[float] | FloatArray,
    *,
    confidence: float = CONFIDENCE,
    num_resamples: int = NUM_RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Estimates ``mean(values) / mean(baseline)``, resampling both by the same episodes.

    Args:
        values: One value per episode, (num_episodes,).
        baseline: The value of the same episodes to compare with, (num_episodes,), of mean other than 0. A NaN on
            either side leaves the episode out.
        confidence: As in `bootstrap_interval`.
        num_resamples: As in `bootstrap_interval`.
        seed: As in `bootstrap_interval`.

    Raises:
        ConfigError: The lengths differ, a mean to divide by is 0, or an argument is not allowed.
    """
    first, second = _pair(values, baseline)
    if len(second) and not second.all():
        raise ConfigError(f"baseline is 0 in row {int(np.argmin(second != 0))}: a ratio needs values other than 0")
    return _resample((first, second), _ratio, confidence=confidence, num_resamples=num_resamples, seed=seed)


def _mean(samples: FloatArray) -> FloatArray:
    """Averages along the last axis."""
    mean: FloatArray = samples.mean(axis=-1)
    return mean


def _ratio(samples: FloatArray, baseline: FloatArray) -> FloatArray:
    """Divides averages along the last axis."""
    return _mean(samples) / _mean(baseline)


def _one_dimensional(values: Sequence[float] | FloatArray, name: str) -> FloatArray:
    """Makes an array, or says why it is none."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ConfigError(f"{name} has shape {array.shape}: it must have one dimension, one value per episode")
    return array


def _pair(
    values: Sequence[float] | FloatArray, baseline: Sequence[float] | FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Keeps the episodes that both sides have a value of."""
    first, second = _one_dimensional(values, "values"), _one_dimensional(baseline, "baseline")
    if len(first) != len(second):
        raise ConfigError(f"values has {len(first)} episodes, baseline {len(second)}: pairs need the same episodes")
    known = ~(np.isnan(first) | np.isnan(second))
    return first[known], second[known]


def _resample(
    columns: tuple[FloatArray, ...],
    statistic: Callable[..., FloatArray],
    *,
    confidence: float,
    num_resamples: int,
    seed: int,
) -> Interval:
    """Draws episodes with replacement, the same ones for all columns, and reads the interval off the percentiles."""
    if isinstance(num_resamples, bool) or not isinstance(num_resamples, int) or num_resamples < 1:
        raise ConfigError(f"num_resamples is {num_resamples!r}: it must be an integer >= 1")
    generator = SeedStreams(seed)["bootstrap"]
    count = len(columns[0])
    estimate = float(statistic(*columns)) if count else math.nan
    if count < MIN_EPISODES:
        return Interval(mean=estimate, low=math.nan, high=math.nan, confidence=confidence, num_samples=count)
    resampled = np.empty(num_resamples)
    block = max(1, BLOCK_SIZE // count)
    for begin in range(0, num_resamples, block):
        end = min(begin + block, num_resamples)
        rows = generator.integers(count, size=(end - begin, count))
        resampled[begin:end] = statistic(*(column[rows] for column in columns))
    tail = (1 - confidence) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail])
    return Interval(mean=estimate, low=float(low), high=float(high), confidence=confidence, num_samples=count)
