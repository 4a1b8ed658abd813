"""Draws flow sizes and deadlines from probability distributions.

Every distribution here draws finite values above 0 (a size of 0 B or an allowed time of 0 s means nothing), knows its
mean, its cumulative distribution and its quantiles exactly, and consumes its generator value by value: the first n of
n + m drawn values are the n values that a shorter draw gives. Distributions given by measured points live in
``empirical.py``.
"""

import math
from dataclasses import dataclass, field
from typing import Final, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from flowsched_gym.core import numerics
from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.checks import as_tuple, check_number, settle_numbers
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.seeding import uniforms
from flowsched_gym.machine_code.drawing import exp, log1p, power

PROBABILITY_TOLERANCE: Final = 1e-9
"""How far the sum of given probabilities may be from 1: room for decimal notation."""
MAX_BISECTIONS: Final = 2_000
"""Halvings that surely bring two float64 of any magnitude together."""


@runtime_checkable
class Distribution(Protocol):
    """A distribution of positive values."""

    @property
    def mean(self) -> float:
        """Mean of the distribution; inf where it has none."""

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Draws values, (count,) float64, > 0."""


class Inverted:
    """A distribution that draws by inverting its cumulative distribution."""

    __slots__ = ()

    def cdf(self, value: npt.ArrayLike) -> FloatArray:
        """Returns the probability of a value at most this large, of the shape of the values asked for."""
        return self._cdf(np.asarray(value, dtype=np.float64))[()]

    def quantile(self, probability: npt.ArrayLike) -> FloatArray:
        """Returns the smallest value of each cumulative probability, 0 to 1; inf for 1 where values have no bound."""
        probabilities = np.asarray(probability, dtype=np.float64)
        allowed = (probabilities >= 0) & (probabilities <= 1)
        if not allowed.all():
            raise ConfigError(f"probability is {probabilities[~allowed][0]!r}: it must be from 0 to 1")
        return self._invert(probabilities)[()]

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Draws values, (count,) float64."""
        return self._invert(uniforms(rng, count))

    def _cdf(self, value: FloatArray) -> FloatArray:
        raise NotImplementedError

    def _invert(self, probability: FloatArray) -> FloatArray:
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant(Inverted):
    """One value > 0 always."""

    value: float

    def __post_init__(self) -> None:
        settle_numbers(self)
        check_number("value", self.value, above=0)

    @property
    def mean(self) -> float:
        """The value."""
        return float(self.value)

    def _cdf(self, value: FloatArray) -> FloatArray:
        return np.where(value >= self.value, 1.0, 0.0)

    def _invert(self, probability: FloatArray) -> FloatArray:
        return np.full_like(probability, self.value)

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Repeats the value, (count,) float64; draws nothing."""
        return np.full(count, self.value, dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Discrete(Inverted):
    """One of a few values, each > 0, by their probabilities, each >= 0, with sum 1."""

    values: tuple[float, ...]
    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        settle_numbers(self)
        object.__setattr__(self, "values", as_tuple("values", self.values))
        object.__setattr__(self, "probabilities", as_tuple("probabilities", self.probabilities))
        if not self.values or len(self.values) != len(self.probabilities):
            raise ConfigError(
                f"values has {len(self.values)} entries and probabilities {len(self.probabilities)}: "
                "they must be as many, and at least one"
            )
        for value, probability in zip(self.values, self.probabilities, strict=True):
            check_number("values", value, above=0)
            check_number("probabilities", probability, at_least=0)
        total = math.fsum(self.probabilities)
        if abs(total - 1.0) > PROBABILITY_TOLERANCE:
            raise ConfigError(f"probabilities is {self.probabilities!r} with sum {total!r}: the sum must be 1")

    @property
    def mean(self) -> float:
        """Sum of values times probabilities."""
        return math.fsum(v * p for v, p in zip(self.values, self.probabilities, strict=True))

    @property
    def steps(self) -> tuple[FloatArray, FloatArray]:
        """The values in rising order and their cumulative probabilities, each (num_values,) float64."""
        order = np.argsort(self.values, kind="stable")
        ordered = tuple(self.probabilities[index] for index in order)
        return np.asarray(self.values, dtype=np.float64)[order], cumulative_weights(ordered)

    def _cdf(self, value: FloatArray) -> FloatArray:
        values, cumulative = self.steps
        return np.concatenate([[0.0], cumulative])[np.searchsorted(values, value, side="right")]

    def _invert(self, probability: FloatArray) -> FloatArray:
        values, cumulative = self.steps
        return values[np.searchsorted(cumulative, probability)]

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Draws values, (count,) float64."""
        values = np.asarray(self.values, dtype=np.float64)
        return values[np.searchsorted(cumulative_weights(self.probabilities), rng.random(count), side="right")]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Interval(Inverted):
    """A distribution on an interval."""

    low: float
    high: float

    def __post_init__(self) -> None:
        settle_numbers(self)
        check_number("low", self.low, above=0)
        check_number("high", self.high, above=self.low)


@dataclass(frozen=True, slots=True, kw_only=True)
class Uniform(_Interval):
    """The uniform distribution from low > 0 to high > low."""

    @property
    def mean(self) -> float:
        """Middle of the interval."""
        return 0.5 * (self.low + self.high)

    def _cdf(self, value: FloatArray) -> FloatArray:
        return np.clip((value - self.low) / (self.high - self.low), 0.0, 1.0)

    def _invert(self, probability: FloatArray) -> FloatArray:
        return self.low + (self.high - self.low) * probability


@dataclass(frozen=True, slots=True, kw_only=True)
class LogUniform(_Interval):
    """The distribution from low > 0 to high > low whose logarithm is uniform: each decade is equally likely."""

    _width: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _Interval.__post_init__(self)
        object.__setattr__(self, "_width", float(numerics.log(self.high / self.low)))

    @property
    def mean(self) -> float:
        """Length of the interval over that of its logarithms."""
        return (self.high - self.low) / self._width

    def _cdf(self, value: FloatArray) -> FloatArray:
        inside = np.clip(value, self.low, self.high)
        return np.minimum(numerics.log(inside / self.low) / self._width, 1.0)

    def _invert(self, probability: FloatArray) -> FloatArray:
        return np.minimum(self.low * exp(probability * self._width), self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exponential(Inverted):
    """The exponential distribution with a mean > 0."""

    mean: float

    def __post_init__(self) -> None:
        settle_numbers(self)
        check_number("mean", self.mean, above=0)

    def _cdf(self, value: FloatArray) -> FloatArray:
        return -numerics.expm1(-np.maximum(value, 0.0) / self.mean)

    def _invert(self, probability: FloatArray) -> FloatArray:
        return -self.mean * log1p(-probability)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogNormal(Inverted):
    """The log-normal distribution: mean of the values, > 0, and standard deviation sigma > 0 of their logarithm."""

    mean: float
    sigma: float

    def __post_init__(self) -> None:
        settle_numbers(self)
        check_number("mean", self.mean, above=0)
        check_number("sigma", self.sigma, above=0)

    def _cdf(self, value: FloatArray) -> FloatArray:
        logarithm = numerics.log(np.maximum(value, 0.0))
        return numerics.normal_cdf((logarithm - self._location) / self.sigma)

    def _invert(self, probability: FloatArray) -> FloatArray:
        return exp(self._location + self.sigma * numerics.normal_quantile(probability))

    @property
    def _location(self) -> float:
        return float(numerics.log(self.mean)) - 0.5 * self.sigma * self.sigma


@dataclass(frozen=True, slots=True, kw_only=True)
class Pareto(Inverted):
    """The Pareto distribution: ``P(X > x) = (scale / x)**shape`` for x above the scale.

    With a maximum the distribution is the Pareto distribution on the condition that the value is not above it, and
    ``mean`` is the mean on that condition: an offered load that is computed from the mean is exact. Near shape 1 most
    bytes are in flows so rare that few episodes have one: give a maximum there.

    Attributes:
        shape: Exponent of the tail, > 0; > 1 without a maximum, as there is no finite mean otherwise. MERP's heavy
            tail is read as 1.5, the ns-2 default.
        mean: Mean of the values, > 0.
        maximum: Largest value, > mean, or None for no bound.
        scale: Smallest value; computed.
        inside: Share of the distribution without a maximum that is not above the maximum, 1 if there is none; computed.
    """

    shape: float
    mean: float
    maximum: float | None = None
    scale: float = field(init=False, repr=False, compare=False)
    inside: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        settle_numbers(self)
        check_number("shape", self.shape, above=0)
        check_number("mean", self.mean, above=0)
        if self.maximum is None:
            if self.shape <= 1:
                raise ConfigError(f"shape is {self.shape!r}: without a maximum it must be > 1, for a finite mean")
            scale, inside = self.mean * (self.shape - 1) / self.shape, 1.0
        else:
            check_number("maximum", self.maximum, above=self.mean)
            scale = _truncated_pareto_scale(self.shape, self.mean, self.maximum)
            inside = -float(numerics.expm1(self.shape * numerics.log(scale / self.maximum)))
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "inside", inside)

    def _cdf(self, value: FloatArray) -> FloatArray:
        ratio = np.maximum(value / self.scale, 1.0)
        return np.minimum(-numerics.expm1(-self.shape * numerics.log(ratio)) / self.inside, 1.0)

    def _invert(self, probability: FloatArray) -> FloatArray:
        values = self.scale * power(1.0 - probability * self.inside, -1.0 / self.shape)
        return values if self.maximum is None else np.minimum(values, self.maximum)


def check_distribution(name: str, value: object) -> None:
    """Refuses what has no mean, or cannot be sampled."""
    if not isinstance(value, Distribution):
        raise ConfigError(f"{name} is {shown(value)}: it must be a distribution, with mean and sample")


def cumulative_weights(weights: tuple[float, ...]) -> FloatArray:
    """Adds up weights to a cumulative distribution that ends at exactly 1, (num_weights,) float64."""
    cumulative = np.cumsum(np.asarray(weights, dtype=np.float64))
    cumulative /= cumulative[-1]
    # Weights of zero at the end share the 1, so that no uniform draw below 1 can reach them.
    last = max(index for index, weight in enumerate(weights) if weight > 0)
    cumulative[last:] = 1.0
    return cumulative


def _truncated_pareto_mean(shape: float, scale: float, maximum: float) -> float:
    """Returns the mean of a Pareto distribution on the condition of at most the maximum."""
    log_ratio = float(numerics.log(maximum / scale))
    inside = -float(numerics.expm1(-shape * log_ratio))
    excess = shape - 1.0
    # The integral of (maximum / scale)**-excess over its exponent; its limit at excess = 0 is the logarithm.
    tail = log_ratio if excess == 0 else -float(numerics.expm1(-excess * log_ratio)) / excess
    return scale * shape * tail / inside


def _truncated_pareto_scale(shape: float, mean: float, maximum: float) -> float:
    """Finds by bisection the scale at which the truncated mean is the wanted one; the mean grows with the scale."""
    low, high = 0.0, mean
    for _ in range(MAX_BISECTIONS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if _truncated_pareto_mean(shape, middle, maximum) < mean:
            low = middle
        else:
            high = middle
    return high
