"""Holds the moments of sizes to numerical integration, to samples and to each other."""

import math

import numpy as np
import pytest
from scipy import integrate

from flowsched_gym.queueing import size_moments
from flowsched_gym.queueing.moments import SizeDistribution, size_grid
from flowsched_gym.workload import Constant, Discrete, Empirical, Exponential, LogNormal, Pareto, Uniform, load_cdf

EVERY_KIND: list[SizeDistribution] = [
    Constant(value=5.0),
    Discrete(values=(9.0, 1.0, 4.0), probabilities=(0.2, 0.5, 0.3)),
    Uniform(low=2.0, high=6.0),
    Exponential(mean=3.0),
    LogNormal(mean=3.0, sigma=0.7),
    Pareto(shape=3.5, mean=3.0),
    Pareto(shape=1.05, mean=3.0, maximum=300.0),
    Pareto(shape=1.0, mean=3.0, maximum=300.0),
    Pareto(shape=2.0, mean=3.0, maximum=300.0),
    Pareto(shape=0.6, mean=3.0, maximum=30.0),
    Empirical(points=((1.0, 0.2), (4.0, 0.5), (4.0, 0.9), (10.0, 1.0)), minimum=2.0),
    Empirical(points=((1.0, 0.2), (10.0, 1.0))),
    load_cdf("web_search"),
    load_cdf("data_mining"),
]

each_kind = pytest.mark.parametrize("distribution", EVERY_KIND, ids=lambda kind: repr(kind)[:60])


def limits_of(distribution: SizeDistribution) -> list[float]:
    inside = distribution.quantile([0.0, 0.1, 0.3, 0.5, 0.6, 0.9, 0.999])
    return [float(inside[0]) / 2, *inside.tolist(), distribution.mean]


@each_kind
def test_capped_moments_are_integrals_of_the_tail(distribution: SizeDistribution) -> None:
    """E[min(S, a)] is the integral of P(S > x) up to a, and E[min(S, a)^2] that of 2 x P(S > x)."""
    edges = size_grid(distribution, 200)
    for limit in limits_of(distribution):
        moments = size_moments(distribution, limit)
        pieces = np.concatenate([[0.0], edges[edges < limit], [limit]])
        # Between neighbours the tail is smooth, so a few nodes are exact to rounding.
        node, weight = np.polynomial.legendre.leggauss(8)
        low, high = pieces[:-1, None], pieces[1:, None]
        x = low + (high - low) * (node + 1) / 2
        tail = (1.0 - distribution.cdf(x)) * weight * (high - low) / 2

        assert moments.capped_mean == pytest.approx(tail.sum(), rel=1e-8)
        assert moments.capped_square == pytest.approx((2 * x * tail).sum(), rel=1e-8)


@each_kind
def test_partial_moments_are_capped_moments_without_the_larger_flows(distribution: SizeDistribution) -> None:
    limit = np.array(limits_of(distribution))
    moments = size_moments(distribution, limit)
    above = 1.0 - distribution.cdf(limit)
    np.testing.assert_array_equal(moments.probability, distribution.cdf(limit))
    np.testing.assert_allclose(moments.partial_mean + above * limit, moments.capped_mean, rtol=1e-12)
    np.testing.assert_allclose(moments.partial_square + above * limit**2, moments.capped_square, rtol=1e-12)


@each_kind
def test_without_a_limit_the_mean_is_the_mean_of_the_distribution(distribution: SizeDistribution) -> None:
    moments = size_moments(distribution, math.inf)

    assert moments.probability == 1.0
    assert moments.partial_mean == pytest.approx(distribution.mean, rel=1e-12)
    assert moments.capped_mean == pytest.approx(distribution.mean, rel=1e-12)
    assert moments.capped_square == moments.partial_square
    assert moments.partial_square >= distribution.mean**2 * (1 - 1e-12)
    assert [float(value) for value in size_moments(distribution, 0.0)] == [0.0] * 5


def test_a_pareto_tail_without_a_variance_has_an_infinite_second_moment() -> None:
    moments = size_moments(Pareto(shape=1.5, mean=3.0), [3.0, math.inf])
    assert np.isfinite(moments.capped_square[0])
    assert moments.capped_square[1] == math.inf
    assert moments.capped_mean[1] == pytest.approx(3.0)


def test_small_sizes_of_an_exponential_distribution_are_not_lost_to_rounding() -> None:
    tiny = 1e-4
    mean, _ = integrate.quad(lambda x: x * math.exp(-x), 0, tiny, epsabs=0)
    square, _ = integrate.quad(lambda x: x * x * math.exp(-x), 0, tiny, epsabs=0)
    moments = size_moments(Exponential(mean=1.0), tiny)
    assert moments.partial_mean == pytest.approx(mean, rel=1e-7)
    assert moments.partial_square == pytest.approx(square, rel=1e-3)
