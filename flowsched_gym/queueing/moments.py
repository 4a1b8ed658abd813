"""Computes moments of flow sizes up to a limit, exactly: what the formulas of queueing theory are made of."""

import math
from typing import Final, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from flowsched_gym.core import numerics
from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.workload import Constant, Discrete, Distribution, Empirical, Exponential, LogNormal, Pareto, Uniform
from flowsched_gym.workload.specs import parse_distribution

PiecewiseLinear = Constant | Discrete | Empirical | Uniform
SizeDistribution = PiecewiseLinear | Exponential | LogNormal | Pareto
"""Kinds of distributions whose moments are known."""

SMALLEST_SHARE: Final = 1e-9
"""Share of the flows below the grid, where sizes have no lower bound above 0."""
LARGEST_BYTES: Final = 1e-6
"""Share of the bytes in flows above the grid, where sizes have no upper bound."""
LARGEST_SIZE: Final = 1e150
"""End of grids: squares of sizes are finite."""
UNDERFLOW: Final = 745.0
"""The exponential of the negative is 0 in float64."""


class SizeMoments(NamedTuple):
    """Moments of the sizes S around limits a; each has the shape of the limits.

    Attributes:
        probability: P(S <= a).
        partial_mean: E[S; S <= a] in B: the mean over all flows, larger ones counted as 0.
        partial_square: E[S^2; S <= a] in B^2.
        capped_mean: E[min(S, a)] in B.
        capped_square: E[min(S, a)^2] in B^2.
    """

    probability: FloatArray
    partial_mean: FloatArray
    partial_square: FloatArray
    capped_mean: FloatArray
    capped_square: FloatArray


def as_size_distribution(distribution: Distribution | str) -> SizeDistribution:
    """Finds a distribution whose moments are known: itself, by its packaged name, or by the path of a CDF file.

    Raises:
        ConfigError: It does not exist, or is of a kind whose moments are not known.
    """
    found = parse_distribution("distribution", distribution)
    if not isinstance(found, SizeDistribution):
        names = ", ".join(sorted(kind.__name__ for kind in get_args(SizeDistribution)))
        raise ConfigError(f"distribution is {found!r}: moments are known of {names} alone")
    return found


def size_moments(distribution: Distribution | str, limit: npt.ArrayLike) -> SizeMoments:
    """Computes the moments, in closed form, of a distribution of sizes in B, or of a packaged one by its name.

    Limits a are in B, >= 0; inf gives the moments of all flows, the second of which may be inf.

    Raises:
        ConfigError: The distribution does not exist, or is of a kind whose moments are not known.
    """
    known = as_size_distribution(distribution)
    limits = np.asarray(limit, dtype=np.float64)
    match known:
        case Exponential():
            first, second = _exponential(known, limits)
        case LogNormal():
            first, second = _log_normal(known, limits)
        case Pareto():
            first, second = _pareto(known, limits)
        case _:
            first, second = _linear(known, limits)
    probability = known.cdf(limits)
    above = 1.0 - probability
    cap = np.where(above > 0, limits, 0.0)
    return SizeMoments(probability, first, second, first + above * cap, second + above * cap * cap)


def size_grid(distribution: SizeDistribution, count: int) -> FloatArray:
    """Spreads sizes in B, increasing, > 0: so many evenly on a logarithmic scale, and wherever the form changes.

    Raises:
        ConfigError: So many of the bytes are in so large flows that float64 does not hold their squares.
    """
    smallest = float(distribution.quantile(0.0)) or float(distribution.quantile(SMALLEST_SHARE))
    largest = float(distribution.quantile(1.0))
    if largest == math.inf:
        largest = max(smallest, distribution.mean)
        while size_moments(distribution, largest).partial_mean < (1.0 - LARGEST_BYTES) * distribution.mean:
            largest *= 2.0
            if largest > LARGEST_SIZE:
                raise ConfigError(f"distribution is {distribution!r}: its tail is too heavy, give it a maximum")
    logarithm = numerics.log([smallest, largest])
    inner = numerics.exp(logarithm[0] + (logarithm[1] - logarithm[0]) * (np.arange(1, count - 1) / (count - 1)))
    edges = _points(distribution)[0] if isinstance(distribution, PiecewiseLinear) else np.empty(0)
    return np.unique(np.concatenate([[smallest], inner, edges, [largest]]))


def _exponential(distribution: Exponential, limit: FloatArray) -> tuple[FloatArray, FloatArray]:
    mean = distribution.mean
    ratio = np.minimum(limit / mean, UNDERFLOW)
    above, below = numerics.exp(-ratio), -numerics.expm1(-ratio)
    return mean * (below - ratio * above), mean * mean * (2.0 * below - (2.0 + ratio) * ratio * above)


def _log_normal(distribution: LogNormal, limit: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Returns E[S; S <= a] and E[S^2; S <= a]: sizes weighted by a power of the size are log-normal, too."""
    mean, shrink = distribution.mean, float(numerics.exp(-distribution.sigma * distribution.sigma))
    return mean * distribution.cdf(limit * shrink), mean * mean / shrink * distribution.cdf(limit * shrink * shrink)


def _pareto(distribution: Pareto, limit: FloatArray) -> tuple[FloatArray, FloatArray]:
    shape, scale = distribution.shape, distribution.scale
    end = math.inf if distribution.maximum is None else distribution.maximum
    logarithm = numerics.log(np.clip(limit, scale, end) / scale)

    def partial(order: int) -> FloatArray:
        excess = order - shape
        integral = logarithm if excess == 0 else numerics.expm1(excess * logarithm) / excess
        moment: FloatArray = shape * (scale if order == 1 else scale * scale) * integral / distribution.inside
        return moment

    return partial(1), partial(2)


def _linear(distribution: PiecewiseLinear, limit: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Returns E[S; S <= a] and E[S^2; S <= a] of a CDF that is linear between points."""
    size, probability = _points(distribution)
    low, high, share = size[:-1], size[1:], np.diff(probability)
    last = np.maximum(np.searchsorted(size, limit, side="right") - 1, 0)
    # The points up to the limit, and the part of the next piece below it.
    start, end = size[last], np.clip(limit, size[0], size[-1])
    rest = np.where(limit < size[0], 0.0, distribution.cdf(limit) - probability[last])

    def partial(low_term: FloatArray, rest_term: FloatArray) -> FloatArray:
        return np.concatenate([[0.0], np.cumsum(share * low_term)])[last] + rest * rest_term

    return (
        partial((low + high) / 2, (start + end) / 2),
        partial((low * low + low * high + high * high) / 3, (start * start + start * end + end * end) / 3),
    )


def _points(distribution: PiecewiseLinear) -> tuple[FloatArray, FloatArray]:
    """Returns points between which a CDF is linear, from probability 0 to 1; two of one size are an atom."""
    match distribution:
        case Constant():
            size, probability = np.full(1, float(distribution.value)), np.ones(1)
        case Uniform():
            return np.array([distribution.low, distribution.high], dtype=np.float64), np.array([0.0, 1.0])
        case Discrete():
            size, probability = distribution.steps
        case Empirical():
            points = np.array(distribution.points, dtype=np.float64)
            smallest = max(distribution.minimum, points[0, 0])
            points = points[points[:, 0] > smallest]
            size = np.concatenate([[smallest, smallest], points[:, 0]])
            return size, np.concatenate([[0.0, distribution.cdf(smallest)], points[:, 1]])
    return np.repeat(size, 2), np.concatenate([[0.0], np.repeat(probability, 2)[:-1]])
