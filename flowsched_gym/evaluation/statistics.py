"""Percentile bootstrap intervals of means over episodes (Efron, Annals of Statistics 7, 1979).

Schedulers that are compared on the same flows are paired episode by episode: the interval of their difference, or of
the ratio of their means, is much narrower than the two single intervals suggest.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypedDict, Unpack

import numpy as np

from flowsched_gym.arrays import FloatArray
from flowsched_gym.errors import ConfigError
from flowsched_gym.seeding import SeedStreams

__all__ = [
    "MIN_EPISODES",
    "Interval",
    "Resampling",
    "bootstrap_interval",
    "bootstrap_intervals",
    "interquartile_mean",
    "paired_difference",
    "paired_ratio",
]

MIN_EPISODES: Final = 10
"""Episodes below which no interval is given: resampling fewer says little about the mean."""
CONFIDENCE: Final = 0.95
NUM_RESAMPLES: Final = 10_000
BLOCK_SIZE: Final = 1_000_000
"""Numbers drawn at a time, so that memory does not grow with the number of episodes."""


class Resampling(TypedDict, total=False):
    """Settings of the bootstrap.

    Attributes:
        confidence: Share of such intervals that contain the truth, in (0, 1); 0.95 by default.
        num_resamples: Resamples drawn, >= 1; 10,000 by default.
        seed: Seed of the resampling, an integer >= 0; 0 by default.
    """

    confidence: float
    num_resamples: int
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An estimate with its confidence interval.

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
    **resampling: Unpack[Resampling],
) -> Interval:
    """Estimates the mean of the values, one per episode, with a percentile bootstrap interval.

    Args:
        values: One value per episode, (num_episodes,); NaN where the episode has none, which leaves it out.
        statistic: What to estimate along the last axis, such as ``interquartile_mean``; default: the mean.
        **resampling: Fields of ``Resampling``.

    Raises:
        ConfigError: An argument is not allowed.
    """
    known = _known(values)
    (interval,) = _resample([(known,)], statistic or _mean, **resampling)
    return interval


def bootstrap_intervals(
    columns: Mapping[str, Sequence[float] | FloatArray], **resampling: Unpack[Resampling]
) -> dict[str, Interval]:
    """Estimates the means of several columns, each as `bootstrap_interval` does, from the same draws.

    Args:
        columns: Values by name, each as in `bootstrap_interval`.
        **resampling: Fields of ``Resampling``.

    Raises:
        ConfigError: An argument is not allowed.
    """
    known = {name: _known(values) for name, values in columns.items()}
    found: dict[str, Interval] = {}
    for count in {len(values) for values in known.values()}:
        names = [name for name, values in known.items() if len(values) == count]
        groups = [(known[name],) for name in names]
        intervals = _resample(groups, _mean, **resampling)
        found |= zip(names, intervals, strict=True)
    return {name: found[name] for name in columns}


def paired_difference(
    values: Sequence[float] | FloatArray, baseline: Sequence[float] | FloatArray, **resampling: Unpack[Resampling]
) -> Interval:
    """Estimates the mean of ``values - baseline``, episode by episode on the same flows.

    Args:
        values: One value per episode, (num_episodes,).
        baseline: The value of the same episodes to compare with, (num_episodes,). A NaN on either side leaves the
            episode out.
        **resampling: Fields of ``Resampling``.

    Raises:
        ConfigError: The lengths differ, or an argument is not allowed.
    """
    first, second = _pair(values, baseline)
    (interval,) = _resample([(first - second,)], _mean, **resampling)
    return interval


def paired_ratio(
    values: Sequence[float] | FloatArray, baseline: Sequence[float] | FloatArray, **resampling: Unpack[Resampling]
) -> Interval:
    """Estimates ``mean(values) / mean(baseline)``, resampling both by the same episodes.

    Args:
        values: One value per episode, (num_episodes,).
        baseline: The value of the same episodes to compare with, (num_episodes,), of mean other than 0. A NaN on
            either side leaves the episode out.
        **resampling: Fields of ``Resampling``.

    Raises:
        ConfigError: The lengths differ, a mean to divide by is 0, or an argument is not allowed.
    """
    first, second = _pair(values, baseline)
    if len(second) and not second.all():
        raise ConfigError(f"baseline is 0 in row {int(np.argmin(second != 0))}: a ratio needs values other than 0")
    (interval,) = _resample([(first, second)], _ratio, **resampling)
    return interval


def _mean(samples: FloatArray) -> FloatArray:
    mean: FloatArray = samples.mean(axis=-1)
    return mean


def _ratio(samples: FloatArray, baseline: FloatArray) -> FloatArray:
    return _mean(samples) / _mean(baseline)


def _one_dimensional(values: Sequence[float] | FloatArray, name: str) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ConfigError(f"{name} has shape {array.shape}: it must have one dimension, one value per episode")
    return array


def _known(values: Sequence[float] | FloatArray) -> FloatArray:
    """Returns the episodes that have a value."""
    array = _one_dimensional(values, "values")
    return array[~np.isnan(array)]


def _pair(
    values: Sequence[float] | FloatArray, baseline: Sequence[float] | FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Returns the episodes that both sides have a value of."""
    first, second = _one_dimensional(values, "values"), _one_dimensional(baseline, "baseline")
    if len(first) != len(second):
        raise ConfigError(f"values has {len(first)} episodes, baseline {len(second)}: pairs need the same episodes")
    known = ~(np.isnan(first) | np.isnan(second))
    return first[known], second[known]


def _resample(
    groups: Sequence[tuple[FloatArray, ...]],
    statistic: Callable[..., FloatArray],
    *,
    confidence: float = CONFIDENCE,
    num_resamples: int = NUM_RESAMPLES,
    seed: int = 0,
) -> list[Interval]:
    """Draws episodes with replacement and reads an interval for each group off the percentiles.

    A group has the columns of a statistic, (num_episodes,), all of one length; the same episodes are drawn for all.
    """
    if isinstance(num_resamples, bool) or not isinstance(num_resamples, int) or num_resamples < 1:
        raise ConfigError(f"num_resamples is {num_resamples!r}: it must be an integer >= 1")
    generator = SeedStreams(seed)["bootstrap"]
    count = len(groups[0][0])
    estimates = [float(statistic(*columns)) if count else math.nan for columns in groups]
    ends = np.full((2, len(groups)), math.nan)
    if count >= MIN_EPISODES:
        resampled = np.empty((len(groups), num_resamples))
        block = max(1, BLOCK_SIZE // count)
        for begin in range(0, num_resamples, block):
            end = min(begin + block, num_resamples)
            rows = generator.integers(count, size=(end - begin, count))
            for number, columns in enumerate(groups):
                resampled[number, begin:end] = statistic(*(column[rows] for column in columns))
        tail = (1 - confidence) / 2
        ends = np.quantile(resampled, [tail, 1 - tail], axis=1)
    return [
        Interval(mean=estimate, low=low, high=high, confidence=confidence, num_samples=count)
        for estimate, (low, high) in zip(estimates, ends.T.tolist(), strict=True)
    ]
