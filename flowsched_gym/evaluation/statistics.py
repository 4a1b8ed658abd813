"""Bootstrap intervals over episodes and training seeds (Efron 1979; Agarwal et al., NeurIPS 2021).

Schedulers that are compared on the same flows are paired episode by episode: the interval of their difference, or of
the ratio of their means, is much narrower than the two single intervals suggest.

An agent that was trained several times has a row of values for each training. Its trainings are drawn with replacement
as its episodes are, so that an interval tells what another training would do on other episodes. This is the stratified
bootstrap of Agarwal et al., where runs are drawn for each task alone, with a second draw of the episodes.

Percentiles of few samples are too narrow: of five trainings, 84 to 90 of 100 such intervals contain the truth, not 95.
They are widened here about the estimate, as Student's quantile is larger than the normal one. What trainings add to the
variance, and what episodes add, is found by drawing these alone; n / (n - 1) corrects each, and Satterthwaite's formula
gives the degrees of freedom of the sum (Hesterberg, The American Statistician 69, 2015, expands percentiles likewise).
``tests/evaluation/test_coverage.py`` simulates what such intervals contain.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Final, NamedTuple, TypedDict, Unpack

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.checks import check_integer
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.seeding import SeedStreams

MIN_EPISODES: Final = 10
"""Episodes below which no interval is given: resampling fewer says little about the mean."""
CONFIDENCE: Final = 0.95
NUM_RESAMPLES: Final = 10_000
NUM_VARIANCE_RESAMPLES: Final = 1_000
"""Resamples of trainings, or of episodes, alone; they know a standard deviation to 2 %."""
LEAST_FREEDOM: Final = 2.0
"""Degrees of freedom below which the approximation of Student's quantiles is too small: two trainings are too few."""
BLOCK_SIZE: Final = 1_000_000
"""Numbers drawn at a time, so that memory does not grow with the number of episodes."""
NORMAL: Final = NormalDist()

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
        p_value: Of a difference: how probable one as large is where there is none, in both directions; else NaN.
    """

    mean: float
    low: float
    high: float
    confidence: float = CONFIDENCE
    num_samples: int
    p_value: float = field(default=math.nan, compare=False)  # NaN is not equal to itself

    def __post_init__(self) -> None:
        _check_confidence(self.confidence)
        if self.num_samples < 0:
            raise ConfigError(f"num_samples is {self.num_samples!r}: it must be >= 0")

    @property
    def known(self) -> bool:
        """Whether there are enough samples for the ends to mean something."""
        return not math.isnan(self.low)


class StandardError(NamedTuple):
    """Standard deviation of an estimate, and its degrees of freedom."""

    deviation: float
    freedom: float

    @classmethod
    def of_sources(cls, sources: Iterable[tuple[float, int, int]]) -> "StandardError":
        """Adds sources of variance up, which are independent of each other.

        Args:
            sources: Of each the variance of resamples of it alone, the number of samples in a draw, and how many such
                draws are added or averaged.
        """
        parts = [(variance * number / (number - 1), draws * (number - 1)) for variance, number, draws in sources]
        whole, squares = sum(part for part, _ in parts), sum(part**2 / freedom for part, freedom in parts)
        return cls(math.sqrt(whole), max(whole**2 / squares, LEAST_FREEDOM) if squares else LEAST_FREEDOM)

    def quantile(self, confidence: float) -> float:
        """Returns how many standard errors from the estimate the end of an interval lies, by Student's distribution.

        Within 3 % from 3 degrees of freedom on (Wallace, Annals of Mathematical Statistics 30, 1959).
        """
        normal = _normal_quantile(confidence)
        return math.sqrt(self.freedom * math.expm1(self._scale * normal * normal))

    def ends(self, estimate: float, resamples: FloatArray, confidence: float) -> tuple[float, float]:
        """Returns the ends of an interval: percentiles of the resamples, widened about the estimate."""
        tail = (1 - confidence) / 2
        low, high = np.quantile(resamples, [tail, 1 - tail]).tolist()
        spread = _normal_quantile(confidence) * float(resamples.std())
        widening = self.quantile(confidence) * self.deviation / spread if spread else 1.0
        return estimate + widening * (low - estimate), estimate + widening * (high - estimate)

    def p_value(self, estimate: float) -> float:
        """Returns how probable it is that an estimate of what is 0 is as far from it; NaN of too few trainings."""
        if self.deviation == 0:
            return float(estimate == 0)
        if self.freedom <= LEAST_FREEDOM:
            return math.nan
        distance = estimate / self.deviation
        normal = math.sqrt(math.log1p(distance * distance / self.freedom) / self._scale)
        return 2 * NORMAL.cdf(-normal)

    @property
    def _scale(self) -> float:
        return (self.freedom - 5 / 6) / (self.freedom - 2 / 3 + 1 / (10 * self.freedom)) ** 2


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
    """Estimates the mean of the values with a bootstrap interval.

    Args:
        values: One value per episode, (num_episodes,), or for each training and episode, (num_runs, num_episodes). A
            NaN, here or in the values that these are paired with, leaves the episode out.
        statistic: What to estimate along the last axis, such as ``interquartile_mean``; default: the mean.
        **resampling: Fields of ``Resampling``.
    """
    estimator = _mean if statistic is None else lambda samples: statistic(_flat(samples))
    known = _known(values)
    interval = _resample([known], estimator, **resampling)[0]
    return within(interval, *known) if statistic in (None, interquartile_mean) else interval


def bootstrap_intervals(columns: Mapping[str, Values], **resampling: Unpack[Resampling]) -> dict[str, Interval]:
    """Estimates the means of several columns, each as `bootstrap_interval` does, from the same draws."""
    known = {name: _known(values) for name, values in columns.items()}
    found: dict[str, Interval] = {}
    for shape in {values.shape for (values,) in known.values()}:
        names = [name for name, (values,) in known.items() if values.shape == shape]
        found |= zip(names, _resample([known[name] for name in names], _mean, **resampling), strict=True)
    return {name: within(found[name], *known[name]) for name in columns}


def known_mean(values: Values) -> float:
    """Returns the mean that `bootstrap_interval` gives of the values, NaN of none."""
    (known,) = _known(values)
    return float(_mean(known)) if known.size else math.nan


def paired_difference(values: Values, baseline: Values, **resampling: Unpack[Resampling]) -> Interval:
    """Estimates the mean of ``values - baseline``, episode by episode on the same flows."""
    groups = [_known(values, baseline)]
    interval, error = _estimates(groups, lambda ours, theirs: _mean(ours) - _mean(theirs), **resampling)[0]
    return replace(interval, p_value=error.p_value(interval.mean)) if interval.known else interval


def paired_ratio(values: Values, baseline: Values, **resampling: Unpack[Resampling]) -> Interval:
    """Estimates ``mean(values) / mean(baseline)``, resampling both by the same episodes; no value there may be 0.

    Of values none of which is negative, no end is below 0.
    """
    pair = _known(values, baseline)
    if not pair[1].all():
        row = int(np.argmin((pair[1] != 0).all(axis=0)))
        raise ConfigError(f"baseline is 0 in row {row}: a ratio needs values other than 0")
    interval = _resample([pair], lambda ours, theirs: _mean(ours) / _mean(theirs), **resampling)[0]
    return within(interval, np.array([0.0, np.inf])) if all((each >= 0).all() for each in pair) else interval


def probability_of_improvement(values: Values, baseline: Values, **resampling: Unpack[Resampling]) -> Interval:
    """Estimates how probable it is that a value is larger than the baseline's in the same episode.

    The mean over the episodes of the Mann-Whitney statistic of all pairs of trainings; equal values count half (Agarwal
    et al., section 4, with episodes in the place of tasks).
    """

    def share_larger(ours: FloatArray, theirs: FloatArray) -> FloatArray:
        first, second = ours[..., :, None, :], theirs[..., None, :, :]
        share: FloatArray = ((first > second) + 0.5 * (first == second)).mean(axis=(-3, -2, -1))
        return share

    return within(_resample([_known(values, baseline)], share_larger, **resampling)[0], np.array([0.0, 1.0]))


def within(interval: Interval, values: FloatArray) -> Interval:
    """Returns an interval that does not reach beyond the values of which it is: widened, it may."""
    if not interval.known:
        return interval
    return replace(interval, low=max(interval.low, float(values.min())), high=min(interval.high, float(values.max())))


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


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ConfigError(f"confidence is {confidence!r}: it must lie in (0, 1)")


def _normal_quantile(confidence: float) -> float:
    """Returns how many standard deviations from the mean a central share of a normal distribution ends."""
    return NORMAL.inv_cdf(0.5 + confidence / 2)


def _resample(
    groups: Sequence[tuple[FloatArray, ...]], statistic: Callable[..., FloatArray], **resampling: Unpack[Resampling]
) -> list[Interval]:
    """Estimates a statistic of groups of columns, (num_runs, num_episodes) each."""
    return [interval for interval, _ in _estimates(groups, statistic, **resampling)]


def _estimates(
    groups: Sequence[tuple[FloatArray, ...]],
    statistic: Callable[..., FloatArray],
    *,
    confidence: float = CONFIDENCE,
    num_resamples: int = NUM_RESAMPLES,
    seed: int = 0,
) -> list[tuple[Interval, StandardError]]:
    """Estimates a statistic of groups of columns, and its standard errors."""
    check_integer("num_resamples", num_resamples, at_least=1)
    _check_confidence(confidence)
    estimates = [float(statistic(*columns)) if columns[0].size else math.nan for columns in groups]
    streams, count = SeedStreams(seed), groups[0][0].shape[1]
    ends, errors = [(math.nan, math.nan)] * len(groups), [StandardError(math.nan, LEAST_FREEDOM)] * len(groups)
    if count >= MIN_EPISODES:
        resampled = _draw(groups, statistic, num_resamples, streams)
        sources = [[(variance, count, 1)] for variance in resampled.var(axis=1)]
        if run_counts := [len(column) for column in groups[0] if len(column) > 1]:
            few = min(num_resamples, NUM_VARIANCE_RESAMPLES)
            of_runs = _draw(groups, statistic, few, streams, with_episodes=False).var(axis=1)
            of_episodes = _draw(groups, statistic, few, streams, with_runs=False).var(axis=1)
            sources = [
                [(runs, min(run_counts), len(run_counts)), (episodes, count, 1)]
                for runs, episodes in zip(of_runs, of_episodes, strict=True)
            ]
        errors = [StandardError.of_sources(each) for each in sources]
        ends = [
            error.ends(estimate, row, confidence)
            for estimate, error, row in zip(estimates, errors, resampled, strict=True)
        ]
    intervals = (
        Interval(mean=estimate, low=low, high=high, confidence=confidence, num_samples=count)
        for estimate, (low, high) in zip(estimates, ends, strict=True)
    )
    return list(zip(intervals, errors, strict=True))


def _draw(
    groups: Sequence[tuple[FloatArray, ...]],
    statistic: Callable[..., FloatArray],
    num_resamples: int,
    streams: SeedStreams,
    *,
    with_runs: bool = True,
    with_episodes: bool = True,
) -> FloatArray:
    """Computes a statistic of columns whose runs, episodes, or both are resampled, (num_groups, num_resamples).

    All groups have the same episodes drawn, and columns of one place in their groups the same runs.
    """
    generator = streams["bootstrap"]
    run_counts = [len(column) for column in groups[0]]
    count = groups[0][0].shape[1]
    of_runs = [streams[f"runs {place}"] for place in range(len(run_counts))]
    block = max(1, BLOCK_SIZE // (count * math.prod(run_counts)))
    resampled = np.empty((len(groups), num_resamples))
    for begin in range(0, num_resamples, block):
        size = min(begin + block, num_resamples) - begin
        rows = generator.integers(count, size=(size, 1, count)) if with_episodes else np.arange(count)[None, None]
        runs = [
            draws.integers(number, size=(size, number, 1))
            if with_runs and number > 1
            else np.arange(number)[None, :, None]
            for draws, number in zip(of_runs, run_counts, strict=True)
        ]
        for number, columns in enumerate(groups):
            samples = (column.take(chosen * count + rows) for column, chosen in zip(columns, runs, strict=True))
            resampled[number, begin : begin + size] = statistic(*samples)
    return resampled
