"""Holds moments of sizes, and mean FCTs, to known values, integrals, special cases and limits."""

import math

import numpy as np
import pytest
from scipy import integrate

from flowsched_gym.queueing import mean_fct, multilevel_fct, size_moments
from flowsched_gym.queueing.moments import SizeDistribution, size_grid
from flowsched_gym.queueing.one_link import DISCIPLINES, KINDS
from flowsched_gym.workload import (
    CDF_NAMES,
    Constant,
    Discrete,
    Empirical,
    Exponential,
    LogNormal,
    Pareto,
    Uniform,
    load_cdf,
)

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

each_distribution = pytest.mark.parametrize("distribution", EVERY_KIND, ids=lambda kind: repr(kind)[:60])


def limits_of(distribution: SizeDistribution) -> list[float]:
    inside = distribution.quantile([0.0, 0.1, 0.3, 0.5, 0.6, 0.9, 0.999])
    return [float(inside[0]) / 2, *inside.tolist(), distribution.mean]


@each_distribution
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


@each_distribution
def test_partial_moments_are_capped_moments_without_the_larger_flows(distribution: SizeDistribution) -> None:
    limit = np.array(limits_of(distribution))
    moments = size_moments(distribution, limit)
    above = 1.0 - distribution.cdf(limit)
    np.testing.assert_array_equal(moments.probability, distribution.cdf(limit))
    np.testing.assert_allclose(moments.partial_mean + above * limit, moments.capped_mean, rtol=1e-12)
    np.testing.assert_allclose(moments.partial_square + above * limit**2, moments.capped_square, rtol=1e-12)


@each_distribution
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


each_kind = pytest.mark.parametrize("kind", KINDS)

QLAS = (200_000.0, 2_000_000.0, 10_000_000.0)
QSJF = (962_572.0, 4_525_602.0, 13_705_731.0)
"""Thresholds in B for web search at load 0.6."""


@pytest.mark.parametrize(
    ("kind", "thresholds", "load", "expected"),
    [
        ("qlas", (), 0.6, 5.779),
        ("qlas", QLAS, 0.6, 2.1937),
        ("qsjf", QSJF, 0.6, 1.6682),
        ("qlas", (), 0.8, 13.744),
        ("qlas", QLAS, 0.8, 3.9134),
        ("qsjf", QSJF, 0.8, 2.4886),
    ],
)
def test_mean_fct_of_web_search_is_what_was_worked_out_apart(kind, thresholds, load, expected) -> None:
    assert multilevel_fct(kind, "web_search", load, thresholds).overall == pytest.approx(expected, rel=1e-4)


@each_kind
@pytest.mark.parametrize("load", [0.1, 0.5, 0.9])
def test_one_queue_is_a_fifo_link(kind: str, load: float) -> None:
    """The mean FCT of the M/G/1 queue by Pollaczek and Khinchine; 1 / (1 - load) for exponential sizes."""
    assert multilevel_fct(kind, Exponential(mean=7.0), load, ()).overall == pytest.approx(1 / (1 - load))
    assert multilevel_fct(kind, Constant(value=7.0), load, ()).overall == pytest.approx(1 + load / (2 * (1 - load)))


@pytest.mark.parametrize("thresholds", [(1.0,), (0.1, 7.0), (2.0, 8.0, 9.0, 50.0)])
def test_sizes_without_memory_cannot_be_told_by_attained_bytes(thresholds: tuple[float, ...]) -> None:
    """Every discipline that does not know sizes has the same mean FCT in the M/M/1 queue."""
    assert multilevel_fct("qlas", Exponential(mean=7.0), 0.8, thresholds).overall == pytest.approx(5.0)


def test_two_classes_of_size_are_a_preemptive_priority_queue() -> None:
    """The textbook's mean FCT of two classes of exact sizes 1 and 10 (rates 0.3 and 0.05, loads 0.3 and 0.5)."""
    distribution = Discrete(values=(1.0, 10.0), probabilities=(0.3 / 0.35, 0.05 / 0.35))
    found = multilevel_fct("qsjf", distribution, 0.8, (1.0,))
    high = 1.0 + 0.3 * 1.0 / 2 / 0.7
    low = 10.0 / 0.7 + (0.3 * 1.0 + 0.05 * 100.0) / 2 / (0.7 * 0.2)
    assert found.mean_fct * distribution.mean == pytest.approx([high, low])
    assert found.share == pytest.approx([0.3 / 0.35, 0.05 / 0.35])


def test_small_flows_are_served_as_if_larger_ones_were_not_there() -> None:
    alone = Uniform(low=1.0, high=2.0)
    # Half of these flows are uniform on [1, 2], with a third of the bytes; the others have 3 B.
    beside = Empirical(points=((1.0, 0.0), (2.0, 0.5), (3.0, 0.5), (3.0, 1.0)))
    found = multilevel_fct("qsjf", beside, 0.9, (2.0,)).mean_fct[0] * beside.mean
    assert found == pytest.approx(multilevel_fct("qsjf", alone, 0.3, ()).overall * alone.mean)


@each_kind
def test_many_queues_come_near_to_the_discipline_that_they_approximate(kind: str) -> None:
    distribution = LogNormal(mean=3.0, sigma=1.5)
    limit = mean_fct({"qlas": "las", "qsjf": "psjf"}[kind], distribution, 0.8)
    gaps = [
        abs(multilevel_fct(kind, distribution, 0.8, np.geomspace(1e-3, 1e3, count)).overall / limit - 1)
        for count in (100, 1_000, 10_000)
    ]

    assert gaps[0] < 0.05
    assert gaps[1] < gaps[0] / 5
    assert gaps[2] < gaps[1] / 5


@each_kind
def test_the_overall_mean_is_the_mean_over_the_queues(kind: str) -> None:
    found = multilevel_fct(kind, "data_mining", 0.8, QSJF)
    assert found.share.sum() == pytest.approx(1.0)
    assert (found.share * found.mean_fct).sum() == pytest.approx(found.overall)
    assert (np.diff(found.mean_fct) > 0).all()


@each_kind
def test_only_the_last_queue_waits_for_ever_if_the_variance_is_infinite(kind: str) -> None:
    found = multilevel_fct(kind, Pareto(shape=1.5, mean=3.0), 0.8, (2.0, 20.0))
    assert np.isfinite(found.mean_fct).tolist() == [True, True, False]
    assert found.overall == math.inf


@pytest.mark.parametrize(
    ("discipline", "expected"), [("ps", 5.000), ("fifo", 5.000), ("srpt", 2.353), ("psjf", 2.659), ("las", 5.000)]
)
def test_exponential_sizes_at_load_0_8_give_the_published_values(discipline: str, expected: float) -> None:
    assert mean_fct(discipline, Exponential(mean=7.0), 0.8) == pytest.approx(expected, abs=5e-4)


def test_srpt_of_uniform_sizes_is_the_textbook_integral() -> None:
    """Schrage and Miller's formula, integrated by SciPy: sizes uniform on [0.5, 1.5], load 0.8."""
    load = 0.8

    def below(x: float) -> float:
        return load * (min(x, 1.5) ** 2 - 0.25) / 2 if x > 0.5 else 0.0

    def given_size(x: float) -> float:
        square = (x**3 - 0.125) / 3 + x**2 * (1.5 - x)
        residence, _ = integrate.quad(lambda t: 1 / (1 - below(t)), 0, x, points=[0.5])
        return load * square / (2 * (1 - below(x)) ** 2) + residence

    expected, _ = integrate.quad(given_size, 0.5, 1.5)
    assert mean_fct("srpt", Uniform(low=0.5, high=1.5), load) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("discipline", ["fifo", "psjf", "srpt"])
def test_flows_of_one_size_are_served_first_in_first_out(discipline: str) -> None:
    assert mean_fct(discipline, Constant(value=3.0), 0.8) == pytest.approx(1 + 0.8 / 0.4)
    # Under LAS, all of them wait for the end of the busy period.
    assert mean_fct("las", Constant(value=3.0), 0.8) == pytest.approx(0.8 / (2 * 0.2**2) + 1 / 0.2)


def test_psjf_of_a_few_sizes_is_a_priority_queue_with_a_class_for_each() -> None:
    distribution = Discrete(values=(5.0, 1.0, 100.0), probabilities=(0.3, 0.6, 0.1))
    classes = multilevel_fct("qsjf", distribution, 0.8, (1.0, 5.0))
    assert mean_fct("psjf", distribution, 0.8) == pytest.approx(classes.overall, rel=1e-9)


@pytest.mark.parametrize("name", CDF_NAMES)
def test_srpt_is_the_least_and_psjf_less_than_ps_on_every_packaged_distribution(name: str) -> None:
    load = 0.8
    found = {discipline: mean_fct(discipline, name, load) for discipline in DISCIPLINES}
    assert 1.0 < found["srpt"] == min(found.values())
    assert found["psjf"] < found["ps"] == 1 / (1 - load)


def test_fifo_waits_for_ever_where_the_variance_is_infinite_and_the_others_do_not() -> None:
    found = {discipline: mean_fct(discipline, Pareto(shape=1.5, mean=3.0), 0.8) for discipline in DISCIPLINES}
    assert found.pop("fifo") == math.inf
    assert np.isfinite(list(found.values())).all()
