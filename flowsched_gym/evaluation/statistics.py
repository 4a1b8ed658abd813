"""Percentile bootstrap intervals over episodes and training seeds (Efron 1979; Agarwal et al., NeurIPS 2021).

Schedulers that are compared on the same flows are paired episode by episode: the interval of their difference, or of
the ratio of their means, is much narrower than the two single intervals suggest.

An agent that was trained several times has a row of values for each training. Its trainings are drawn with replacement
as its episodes are, so that an interval tells what another training would do on other episodes. This is the stratified
bootstrap of Agarwal et al., where runs are drawn for each task alone, with a second draw of the episodes.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypedDict, Unpack

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.checks import check_integer
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.seeding import SeedStreams

MIN_EPISODES: Final = 10
"""Episodes below which no interval is given: resampling fewer says little about the mean."""
CONFIDENCE: Final = 0.95
NUM_RESAMPLES: Final = 10_000
BLOCK_SIZE: Final = 1_000_000
"""Numbers drawn at a time, so that memory does not grow with the number of episodes."""

Values = Sequence[float] | FloatArray


class Resampling(TypedDict, total=False):
    """Settings of the bootstrap: confidence, in (0, 1) (0.95); number of resamples (10,000); their seed (0)."""

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
    values: Values, *, statistic: Callable[[FloatArray], FloatArray] | None = None, **resampling: Unpack[Resampling]
) -> Interval:
    """Estimates the mean of the values with a percentile bootstrap interval.

    Args:
        values: One value per episode, (num_episodes,), or for each training and episode, (num_runs, num_episodes). A
            NaN, here or in the values that these are paired with, leaves the episode out.
        statistic: What to estimate along the last axis, such as ``interquartile_mean``; default: the mean.
        **resampling: Fields of ``Resampling``.
    """
    estimator = _mean if statistic is None else lambda samples: statistic(_flat(samples))
    return _resample([_known(values)], estimator, **resampling)[0]


def bootstrap_intervals(columns: Mapping[str, Values], **resampling: Unpack[Resampling]) -> dict[str, Interval]:
    """Estimates the means of several columns, each as `bootstrap_interval` does, from the same draws."""
    known = {name: _known(values) for name, values in columns.items()}
    found: dict[str, Interval] = {}
    for shape in {values.shape for (values,) in known.values()}:
        names = [name for name, (values,) in known.items() if values.shape == shape]
        found |= zip(names, _resample([known[name] for name in names], _mean, **resampling), strict=True)
    return {name: found[name] for name in columns}


def paired_difference(values: Values, baseline: Values, **resampling: Unpack[Resampling]) -> Interval:
    """Estimates the mean of ``values - baseline``, episode by episode on the same flows."""
    return _resample([_known(values, baseline)], lambda ours, theirs: _mean(ours) - _mean(theirs), **resampling)[0]


def paired_ratio(values: Values, baseline: Values, **resampling: Unpack[Resampling]) -> Interval:
    """Estimates ``mean(values) / mean(baseline)``, resampling both by the same episodes; no value there may be 0."""
    pair = _known(values, baseline)
    if not pair[1].all():
        row = int(np.argmin((pair[1] != 0).all(axis=0)))
        raise ConfigError(f"baseline is 0 in row {row}: a ratio needs values other than 0")
    return _resample([pair], lambda ours, theirs: _mean(ours) / _mean(theirs), **resampling)[0]


def probability_of_improvement(values: Values, baseline: Values, **resampling: Unpack[Resampling]) -> Interval:
    """Estimates how probable it is that a value is larger than the baseline's in the same episode.

    The mean over the episodes of the Mann-Whitney statistic of all pairs of trainings; equal values count half (Agarwal
    et al., section 4, with episodes in the place of tasks).
    """

    def share_larger(ours: FloatArray, theirs: FloatArray) -> FloatArray:
        first, second = ours[..., :, None, :], theirs[..., None, :, :]
        share: FloatArray = ((first > second) + 0.5 * (first == second)).mean(axis=(-3, -2, -1))
        return share

    return _resample([_known(values, baseline)], share_larger, **resampling)[0]


def _flat(samples: FloatArray) -> FloatArray:
    """Lines up the runs of samples, (..., num_runs, num_episodes) to (..., num_runs * num_episodes)."""
    return samples.reshape(*samples.shape[:-2], -1)


def _mean(samples: FloatArray) -> FloatArray:
    """Returns the mean over runs and episodes, (..., num_runs, num_episodes) to (...)."""
    mean: FloatArray = _flat(samples).mean(axis=-1)
    return mean


def _known(*columns: Values) -> tuple[FloatArray, ...]:
    """Returns the episodes that all columns have a value of, (num_runs, num_episodes) each."""
    arrays = [np.atleast_2d(np.asarray(values, dtype=np.float64)) for values in columns]
    for name, array in zip(("values", "baseline"), arrays, strict=False):
        if array.ndim != 2:
            raise ConfigError(f"{name} has shape {array.shape}: it must be (num_episodes,) or (num_runs, num_episodes)")
    counts = [array.shape[1] for array in arrays]
    if len(set(counts)) > 1:
        raise ConfigError(f"values has {counts[0]} episodes, baseline {counts[1]}: pairs need the same episodes")
    known = np.logical_and.reduce([~np.isnan(array).any(axis=0) for array in arrays])
    return tuple(array[:, known] for array in arrays)


def _resample(
    groups: Sequence[tuple[FloatArray, ...]],
    statistic: Callable[..., FloatArray],
    *,
    confidence: float = CONFIDENCE,
    num_resamples: int = NUM_RESAMPLES,
    seed: int = 0,
) -> list[Interval]:
    """Reads intervals off the percentiles of resampled groups of columns, (num_runs, num_episodes) each."""
    check_integer("num_resamples", num_resamples, at_least=1)
    streams = SeedStreams(seed)
    generator = streams["bootstrap"]
    run_counts = [len(column) for column in groups[0]]
    count = groups[0][0].shape[1]
    estimates = [float(statistic(*columns)) if count else math.nan for columns in groups]
    ends = np.full((2, len(groups)), math.nan)
    if count >= MIN_EPISODES:
        resampled = np.empty((len(groups), num_resamples))
        of_runs = [streams[f"runs {place}"] for place in range(len(run_counts))]
        block = max(1, BLOCK_SIZE // (count * math.prod(run_counts)))
        # All groups have the same episodes drawn, and columns of one place in their groups the same runs.
        for begin in range(0, num_resamples, block):
            size = min(begin + block, num_resamples) - begin
            rows = generator.integers(count, size=(size, count))[:, None, :]
            runs = [
                draws.integers(number, size=(size, number, 1)) if number > 1 else np.zeros((1, 1, 1), np.int64)
                for draws, number in zip(of_runs, run_counts, strict=True)
            ]
            for number, columns in enumerate(groups):
                drawn = (column[chosen, rows] for column, chosen in zip(columns, runs, strict=True))
                resampled[number, begin : begin + size] = statistic(*drawn)
        tail = (1 - confidence) / 2
        ends = np.quantile(resampled, [tail, 1 - tail], axis=1)
    return [
        Interval(mean=estimate, low=low, high=high, confidence=confidence, num_samples=count)
        for estimate, (low, high) in zip(estimates, ends.T.tolist(), strict=True)
    ]
