"""Holds the distributions against their means and shapes, and their checks against bad fields."""

import math
import re
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.workload import (
    CDF_NAMES,
    Constant,
    Discrete,
    Distribution,
    Empirical,
    Exponential,
    LogNormal,
    LogUniform,
    Pareto,
    Uniform,
    load_cdf,
    read_cdf,
)
from tests.workload.drawn import LEAST_P_VALUE

NUM_SAMPLES = 200_000

EVERY_KIND: list[Distribution] = [
    Constant(value=5.0),
    Discrete(values=(1.0, 4.0, 9.0), probabilities=(0.5, 0.3, 0.2)),
    Uniform(low=2.0, high=6.0),
    Exponential(mean=3.0),
    LogNormal(mean=3.0, sigma=0.7),
    LogUniform(low=0.5, high=50.0),
    Pareto(shape=3.5, mean=3.0),
    Pareto(shape=1.05, mean=3.0, maximum=300.0),
    Pareto(shape=1.0, mean=3.0, maximum=300.0),
    Pareto(shape=0.6, mean=3.0, maximum=30.0),
    Empirical(points=((1.0, 0.2), (4.0, 0.5), (4.0, 0.9), (10.0, 1.0)), minimum=2.0),
    load_cdf("web_search"),
]

each_kind = pytest.mark.parametrize("distribution", EVERY_KIND, ids=lambda kind: repr(kind)[:60])


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@each_kind
def test_samples_have_the_stated_mean_and_the_stated_share_of_values_at_most_as_large(distribution: Any) -> None:
    sample = distribution.sample(rng(), NUM_SAMPLES)
    # Five standard errors: one sample set in two million would fall outside by chance, and this one is fixed.
    assert sample.mean() == pytest.approx(distribution.mean, abs=5 * sample.std() / math.sqrt(NUM_SAMPLES) + 1e-12)
    for value in np.quantile(sample, [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0], method="inverted_cdf"):
        # Four standard errors of a share.
        assert (sample <= value).mean() == pytest.approx(distribution.cdf(value), abs=2 / math.sqrt(NUM_SAMPLES))
    assert sample.dtype == np.float64
    assert (sample > 0).all()
    assert distribution.sample(rng(), 0).shape == (0,)
    np.testing.assert_array_equal(distribution.sample(rng(), 50), distribution.sample(rng(), 80)[:50])


PROBABILITIES = np.array([0.0, 0.001, 0.1, 0.25, 0.5, 0.77, 0.95, 0.9999])
TRUNCATED = Pareto(shape=1.2, mean=3.0, maximum=30.0)


@each_kind
def test_a_quantile_is_the_value_at_which_the_cdf_reaches_the_probability(distribution: Any) -> None:
    values = distribution.quantile(PROBABILITIES)
    assert values.shape == PROBABILITIES.shape
    assert (distribution.cdf(values * (1 + 1e-12)) >= PROBABILITIES - 1e-9).all()
    assert (distribution.cdf(values * (1 - 1e-12)) <= PROBABILITIES + 1e-9).all()
    bounded = distribution.sample(rng(), 1000).max() <= distribution.quantile(1.0) < math.inf
    assert bounded or distribution.quantile(1.0) == math.inf
    assert (distribution.cdf(0.0), distribution.cdf(math.inf)) == (0.0, 1.0)
    assert distribution.quantile(0.0) >= 0.0
    for probability in (-0.1, 1.1, math.nan):
        with pytest.raises(ConfigError, match=r"probability is .*: it must be from 0 to 1"):
            distribution.quantile([0.5, probability])


@pytest.mark.parametrize(
    ("distribution", "theory"),
    [
        (Uniform(low=2.0, high=6.0), stats.uniform(2, 4)),
        (Exponential(mean=3.0), stats.expon(scale=3)),
        (LogNormal(mean=3.0, sigma=0.7), stats.lognorm(0.7, scale=3 * math.exp(-0.245))),
        (LogUniform(low=0.5, high=30.0), stats.loguniform(0.5, 30.0)),
        (Pareto(shape=1.5, mean=3.0), stats.pareto(1.5, scale=1.0)),
        (TRUNCATED, stats.truncpareto(1.2, 30.0 / TRUNCATED.scale, scale=TRUNCATED.scale)),
    ],
    ids=["uniform", "exponential", "lognormal", "loguniform", "pareto", "truncated pareto"],
)
def test_cdf_quantile_and_samples_are_the_textbooks(distribution: Any, theory: stats.rv_continuous) -> None:
    values = np.array([-1.0, 0.0, 0.5, 2.0, 4.0, 50.0])
    np.testing.assert_allclose(distribution.cdf(values), theory.cdf(values), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(distribution.quantile(PROBABILITIES), theory.ppf(PROBABILITIES), rtol=1e-9)
    assert stats.kstest(distribution.sample(rng(), 20_000), theory.cdf).pvalue > LEAST_P_VALUE


@pytest.mark.parametrize(("shape", "maximum"), [(1.5, None), (1.2, None), (1.05, 1.5e9), (1.05, 3e7)])
@pytest.mark.parametrize("mean", [1.5e6, 1.5e5])
def test_the_mean_of_a_pareto_is_what_was_asked_for(shape: float, maximum: float | None, mean: float) -> None:
    distribution = Pareto(shape=shape, mean=mean, maximum=maximum)
    scale = distribution.scale
    # The textbook's density over sizes, in t = ln(size / scale): its tail is resolved to the end.
    end = np.inf if maximum is None else math.log(maximum / scale)
    inside = 1.0 if maximum is None else 1.0 - (scale / maximum) ** shape
    integral, _ = integrate.quad(lambda t: scale * shape * math.exp((1.0 - shape) * t) / inside, 0.0, end)
    assert integral == pytest.approx(mean, rel=1e-8)


def test_the_packaged_distributions_have_the_means_of_their_sources() -> None:
    means = {name: load_cdf(name).mean for name in CDF_NAMES}
    assert load_cdf("web_search", minimum=1e-9).mean == pytest.approx(1_711_250)
    # One packet at least: 0.15 / 10 kB of density below 1460 B, each raised by 730 B on average.
    assert means["web_search"] == pytest.approx(1_711_250 + 0.15 * 1460**2 / 2 / 10_000)
    assert means["data_mining"] == pytest.approx(12.66e6, rel=1e-3)
    assert means["web_search_ns2"] == pytest.approx(1.666e6, rel=1e-3)
    assert means["data_mining_ns2"] == pytest.approx(7.470e6, rel=1e-3)


def test_a_users_own_cdf_file_is_read_and_a_bad_one_is_refused_by_place_and_value(tmp_path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("size_bytes,cdf\n1000,0\n3000,1\n")
    assert read_cdf(path) == Empirical(points=((1000.0, 0.0), (3000.0, 1.0)))
    for text, message in (
        ("", "line 1 is '': the header must be 'size_bytes,cdf'"),
        ("size_bytes,cdf\n1000,0\nlarge,1\n", "line 3 is 'large,1': it must be two numbers"),
        ("size_bytes,cdf\n1000,0\n3000,0.9\n", "last CDF point has probability 0.9: it must be 1"),
        ("size_bytes,cdf\n3000,0\n1000,1\n", "value of CDF point 1 is 1000.0: it must be a finite number >= 3000"),
    ):
        path.write_text(text)
        with pytest.raises(ConfigError, match=rf"mine\.csv.*{re.escape(message)}"):
            read_cdf(path)
    with pytest.raises(ConfigError, match="'web-search' does not exist: there are ali_storage_2019"):
        load_cdf("web-search")
