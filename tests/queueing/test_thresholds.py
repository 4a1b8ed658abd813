"""Holds the thresholds that are found to known optima and SciPy's minimisers, published ones to their source."""

import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import differential_evolution, minimize

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.fluid.disciplines import make_discipline
from flowsched_gym.queueing import (
    mean_fct,
    multilevel_fct,
    optimal_thresholds,
    pias_thresholds,
    pias_worst_thresholds,
    published_thresholds,
    size_moments,
)
from flowsched_gym.queueing.moments import SizeDistribution, size_grid
from flowsched_gym.queueing.one_link import KINDS
from flowsched_gym.queueing.thresholds import PUBLISHED
from flowsched_gym.workload import CDF_NAMES, Constant, Discrete, Exponential, LogNormal, Pareto, load_cdf

each_kind = pytest.mark.parametrize("kind", KINDS)


def best(kind: str, distribution: SizeDistribution | str, load: float, num_queues: int) -> float:
    thresholds = optimal_thresholds(kind, distribution, load, num_queues)
    return multilevel_fct(kind, distribution, load, thresholds).overall


@pytest.mark.parametrize(("kind", "expected"), [("qlas", 2.1937), ("qsjf", 1.6682)])
def test_the_optimum_of_web_search_is_what_was_worked_out_apart(kind: str, expected: float) -> None:
    assert best(kind, "web_search", 0.6, 4) == pytest.approx(expected, rel=1e-4)
    # The best demotion thresholds are where its distribution changes its slope.
    assert optimal_thresholds("qlas", "web_search", 0.6, 4).tolist() == [200_000.0, 2_000_000.0, 10_000_000.0]


@each_kind
@pytest.mark.parametrize(
    "distribution",
    ["data_mining", "w4", LogNormal(mean=3.0, sigma=1.5), Pareto(shape=2.5, mean=3.0)],
    ids=["data_mining", "w4", "lognormal", "pareto"],
)
def test_no_minimiser_finds_less(kind: str, distribution: SizeDistribution | str) -> None:
    """SciPy searches the neighbourhood of the thresholds, and all orders of magnitude for three queues."""
    sizes = load_cdf(distribution) if isinstance(distribution, str) else distribution

    def mean_at(logarithm: np.ndarray) -> float:
        """Returns the mean FCT at thresholds in any order; inf where two are equal."""
        thresholds = np.sort(np.exp(logarithm))
        return multilevel_fct(kind, sizes, 0.8, thresholds).overall if (np.diff(thresholds) > 0).all() else math.inf

    near = np.log(optimal_thresholds(kind, sizes, 0.8, 4))
    bounds = [(x - 0.05, x + 0.05) for x in near]
    local = minimize(mean_at, near, method="Powell", bounds=bounds, options={"maxiter": 5})
    ends = tuple(np.log(sizes.quantile([0.01, 0.99999])))
    everywhere = differential_evolution(mean_at, [ends] * 2, seed=1, maxiter=40, tol=1e-6, polish=False)

    assert best(kind, sizes, 0.8, 4) <= local.fun * (1 + 1e-4)
    assert best(kind, sizes, 0.8, 3) <= everywhere.fun * (1 + 1e-4)


@each_kind
@pytest.mark.parametrize("name", CDF_NAMES)
def test_more_queues_never_do_worse_and_knowing_sizes_helps(kind: str, name: str) -> None:
    means = [best(kind, name, 0.8, num_queues) for num_queues in (2, 4, 8)]
    assert means[0] < multilevel_fct(kind, name, 0.8, ()).overall
    assert means[2] <= means[1] * (1 + 1e-4)
    assert means[1] <= means[0] * (1 + 1e-4)
    assert mean_fct("srpt", name, 0.8) < means[2]
    assert best("qsjf", name, 0.8, 4) < best("qlas", name, 0.8, 4)


@each_kind
@pytest.mark.parametrize("num_queues", [2, 5, 8])
@pytest.mark.parametrize(
    "distribution",
    ["web_search", Constant(value=3.0), Discrete(values=(1.0, 9.0), probabilities=(0.9, 0.1)), Exponential(mean=1e5)],
    ids=["web_search", "constant", "discrete", "exponential"],
)
def test_thresholds_are_fit_for_the_disciplines(kind: str, num_queues: int, distribution: SizeDistribution) -> None:
    for thresholds in (
        optimal_thresholds(kind, distribution, 0.8, num_queues),
        pias_thresholds(distribution, 0.8, num_queues),
    ):
        assert thresholds.shape == (num_queues - 1,)
        assert make_discipline("mlfq", {"thresholds": thresholds.tolist()}) is not None
        assert multilevel_fct(kind, distribution, 0.8, thresholds).overall > 1.0


@each_kind
def test_flows_of_one_size_stay_in_one_queue_and_two_sizes_need_two(kind: str) -> None:
    assert best(kind, Constant(value=3.0), 0.8, 8) == multilevel_fct(kind, Constant(value=3.0), 0.8, ()).overall
    two = Discrete(values=(1.0, 9.0), probabilities=(0.9, 0.1))
    assert best(kind, two, 0.8, 2) == multilevel_fct(kind, two, 0.8, (1.0,)).overall
    assert best(kind, two, 0.8, 4) == pytest.approx(best(kind, two, 0.8, 2))


@pytest.mark.parametrize(("load", "num_queues"), [(0.1, 2), (0.8, 4), (0.99, 8)])
def test_pias_shares_make_its_sum_of_ratios_largest(load: float, num_queues: int) -> None:
    def sum_of_ratios(logits: np.ndarray) -> float:
        share = np.exp(logits) / np.exp(logits).sum()
        return float((share / (1 - load * (np.cumsum(share) - share))).sum())

    distribution = Pareto(shape=1.5, mean=3.0)
    cumulative = distribution.cdf(pias_thresholds(distribution, load, num_queues))
    share = np.diff(np.concatenate([[0.0], cumulative, [1.0]]))
    found = minimize(lambda logits: -sum_of_ratios(logits), np.zeros(num_queues), method="BFGS")

    assert sum_of_ratios(np.log(share)) == pytest.approx(-found.fun, rel=1e-6)


def test_pias_rule_is_a_quarter_worse_than_the_best_on_web_search() -> None:
    found = multilevel_fct("qlas", "web_search", 0.8, pias_thresholds("web_search", 0.8, 4)).overall
    assert found / best("qlas", "web_search", 0.8, 4) == pytest.approx(1.25, abs=0.005)


@pytest.mark.parametrize("name", ["w3", "w4"])
def test_the_worst_thresholds_have_the_shares_of_packets_that_counting_gives(name: str) -> None:
    thresholds = pias_worst_thresholds(name, 8)
    sizes = load_cdf(name).quantile((np.arange(40_000) + 0.5) / 40_000)
    before = np.concatenate([1460.0 * np.arange(np.ceil(size / 1460)) for size in sizes])
    share = np.bincount(np.searchsorted(thresholds, before), minlength=8) / len(before)
    assert np.cumsum(share)[:-1] == pytest.approx(np.linspace(0.6, 0.7, 7), abs=0.005)


def test_the_worst_thresholds_are_0_where_most_packets_are_first_ones() -> None:
    assert pias_worst_thresholds("w1", 4).tolist() == [0.0, 0.0, 0.0]
    assert pias_worst_thresholds(Constant(value=10.0), 2, payload=1.0).tolist() == [5.0]


SETS = [(workload, load) for workload, sets in PUBLISHED.items() for load in sets]

each_set = pytest.mark.parametrize(("workload", "load"), SETS)


def test_pias_counts_packets_of_1460_bytes_and_homa_bytes() -> None:
    assert published_thresholds("web_search", 0.8)[0] == 909 * 1460
    assert published_thresholds("data_mining", 0.5)[-1] == 22272 * 1460
    assert published_thresholds("w1", 0.5).tolist() == [207, 268, 287, 306, 318, 329, 336]


@each_set
def test_each_set_serves_its_own_distribution(workload: str, load: float) -> None:
    thresholds = published_thresholds(workload, load)
    distribution = f"{workload}_ns2" if f"{workload}_ns2" in CDF_NAMES else workload
    assert thresholds.shape == (7,)
    assert (np.diff(thresholds) > 0).all()
    assert np.isfinite(multilevel_fct("qlas", distribution, load, thresholds).overall)


def test_bad_arguments_are_refused_by_name_and_value() -> None:
    web, limits = "web_search", (1e5, 1e6)
    sampled = SimpleNamespace(mean=0.5, sample=lambda rng, count: np.full(count, 0.5))
    for function, bad, message in (
        (size_moments, (sampled, 1.0), "moments are known of Constant, Discrete, Empirical, Exponential, LogNormal, "),
        (size_moments, ("none.csv", 1.0), "none.csv cannot be read"),
        (size_moments, (None, 1.0), "distribution is None"),
        (size_moments, (math.nan, 1.0), "value is nan"),
        (size_grid, (Pareto(shape=1.01, mean=1.0), 100), "its tail is too heavy, give it a maximum"),
        (mean_fct, ("edf", web, 0.8), "discipline is 'edf': it must be one of fifo, las, ps, psjf, srpt"),
        (mean_fct, ("srpt", web, math.nan), "load is nan"),
        (multilevel_fct, ("mlfq", web, 0.8, limits), "kind is 'mlfq': it must be one of qlas, qsjf"),
        (multilevel_fct, ("qlas", "websearch", 0.8, limits), "size distribution 'websearch' does not exist"),
        (multilevel_fct, ("qlas", web, 1.0, limits), "load is 1.0: it must be below 1"),
        (multilevel_fct, ("qlas", web, 0.8, (1e6, 1e6)), "threshold 1 is 1000000.0"),
        (multilevel_fct, ("qlas", web, 0.8, (1.0, math.inf)), "threshold 1 is inf"),
        (multilevel_fct, ("qlas", web, 0.8, 1e6), "thresholds is 1000000.0: it must be a sequence"),
        (multilevel_fct, ("qlas", web, 0.8, ("many",)), "threshold 0 is 'many'"),
        *(
            (optimal_thresholds, (kind, Pareto(shape=1.5, mean=3.0), 0.8, 4), "its variance must be finite")
            for kind in KINDS
        ),
        (pias_worst_thresholds, (Exponential(mean=1e5), 8), "at most 10000000 packets"),
        (published_thresholds, ("web-search", 0.8), "workload is 'web-search': it must be one of web_search, data_min"),
        (published_thresholds, ("w1", 0.6), "load is 0.6: thresholds for w1 were published at 0.5, 0.8"),
        (published_thresholds, ("w1", [0.5]), "load is [0.5]"),
        *(
            (find, given, words)
            for find in (pias_thresholds, lambda *arguments: optimal_thresholds("qlas", *arguments))
            for given, words in (
                ((web, 0.8, 9), "num_queues is 9: it must be an integer below 9"),
                ((web, 0.8, 4.0), "num_queues is 4.0"),
                ((web, 1.0, 4), "load is 1.0: it must be below 1"),
                (("websearch", 0.8, 4), "size distribution 'websearch' does not exist"),
            )
        ),
    ):
        with pytest.raises(ConfigError, match=re.escape(message)):
            function(*bad)
