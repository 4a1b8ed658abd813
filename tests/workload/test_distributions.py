"""Holds the distributions to their means and shapes; bad fields of them and of workloads are refused by name and value.

A load that is too high is warned of.
"""

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.workload import (
    CDF_NAMES,
    CdfWarning,
    Constant,
    Discrete,
    Distribution,
    Empirical,
    Exponential,
    JobWorkload,
    LogNormal,
    LogUniform,
    Mix,
    Pareto,
    TaskWorkload,
    Uniform,
    UnstableLoadWarning,
    load_cdf,
    make_workload,
    read_cdf,
)
from tests.simulate import LEAST_P_VALUE
from tests.workload.test_clusters import INCAST, LARGE, SMALL, STATIC
from tests.workload.test_poisson import A1, AGAIN, AT_ONCE, PAIR

PROBABILITIES = np.array([0.0, 0.001, 0.1, 0.25, 0.5, 0.77, 0.95, 0.9999])
TRUNCATED = Pareto(shape=1.2, mean=3.0, maximum=30.0)
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
    ids=lambda each: type(each).__name__,
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
    path.write_text("size_bytes,cdf\n1000,0\n3000,1\n\n")
    assert read_cdf(path) == Empirical(points=((1000.0, 0.0), (3000.0, 1.0)))
    for text, message in (
        ("", "line 1 is '': the header must be 'size_bytes,cdf'"),
        ("size_bytes,cdf\n1000,0\nlarge,1\n", "line 3 is 'large,1': it must be two numbers"),
        ("size_bytes,cdf\n1000,0\n3000,0.9\n", ", line 3: the last share is 0.9: it must be 1, or 100"),
        ("# %\n1000 50\n\n3000 40\n", ", line 4: share is 40.0: it must be a finite number >= 50"),
        ("size_bytes,cdf\n3000,0\n1000,1\n", ", line 3: size is 1000.0: it must be a finite number >= 3000"),
    ):
        path.write_text(text)
        with pytest.raises(ConfigError, match=rf"mine\.csv.*{re.escape(message)}"):
            read_cdf(path)
    with pytest.raises(ConfigError, match="'web-search' does not exist: there are ali_storage_2019"):
        load_cdf("web-search")


@pytest.mark.parametrize(
    ("text", "guessed"),
    [
        ("0 0\n1000 25\n3000 100\n", "sizes are in B; shares are in per cent, as the last one is 100; the smallest"),
        ("0\t0\n1000\t0.25\n\n3000\t1\n", "sizes are in B; the smallest size is 1 B, as the first point has 0"),
        ("Size (B), CDF\n0,0\n1000,0.25\n3000,1.0\n", "line 1 is 'Size .B., CDF' instead of the header"),
        ("  0 0\n  1000 25\n  3000 100\n", "WebSearch.txt: sizes are in B; shares are in per cent"),
        ("# size cdf\n0 0\n1000 25\n3000 100\n", "line 1 is '# size cdf' instead of the header .*per cent"),
    ],
)
def test_cdf_files_of_other_simulators_are_read_and_what_is_guessed_is_said(text: str, guessed: str, tmp_path) -> None:
    path = tmp_path / "WebSearch.txt"
    path.write_text(text)
    expected = Empirical(points=((0.0, 0.0), (1000.0, 0.25), (3000.0, 1.0)), minimum=1.0)
    with pytest.warns(CdfWarning, match=guessed):
        assert read_cdf(path) == expected
    with pytest.warns(CdfWarning):
        assert (
            make_workload({"kind": "poisson", "size": str(path), "rate": 1.0, "flows": 3, "hosts": 2}).size == expected
        )


def test_shares_in_per_cent_may_stand_under_the_header_of_the_package(tmp_path) -> None:
    path = tmp_path / "sizes.csv"
    path.write_text("size_bytes,cdf\n1000,25\n3000,100\n")
    with pytest.warns(CdfWarning, match=r"sizes\.csv: shares are in per cent"):
        assert read_cdf(path) == Empirical(points=((1000.0, 0.25), (3000.0, 1.0)))


def test_a_cdf_in_three_columns_is_refused(tmp_path) -> None:
    path = tmp_path / "packets.txt"
    path.write_text("1 1 0\n6 1 1\n")
    with pytest.raises(ConfigError, match=r"line 1 is '1 1 0': it must be two numbers, size and CDF, or the header"):
        read_cdf(path)


SIZE = Uniform(low=1.0, high=2.0)
PARETO = Pareto(shape=2.0, mean=5.0)
DISCRETE = Discrete(values=(1.0, 2.0), probabilities=(0.5, 0.5))
CDF = Empirical(points=((1.0, 0.0), (5.0, 1.0)))
MIX = Mix(pairs=((1.0, 1.0),), counts=(1,))
POISSON = replace(PAIR, num_flows=20)
CLUSTERS = replace(STATIC, traffic=(SMALL, LARGE, SMALL), num_flows=40)
TASKS, JOBS = TaskWorkload(size=SIZE, load=0.5), JobWorkload()


@pytest.mark.parametrize(
    ("base", "changes", "message"),
    [
        (A1, {"load": 0.5}, "exactly one of burst_rate and load must be given: both are (10.0 and 0.5)"),
        (A1, {"burst_rate": None}, "exactly one of burst_rate and load must be given: neither is"),
        (A1, {"burst_rate": "10"}, "burst_rate is '10'"),
        (A1, {"num_bursts": True}, "num_bursts is True"),
        (A1, {"num_bursts": None, "duration": math.inf}, "duration is inf"),
        (A1, {"num_senders": 9}, "num_senders is 9: it must be an integer >= 10"),
        (A1, {"pattern": "all"}, "pattern is 'all': it must be one of gather, scatter"),
        (A1, {"shuffle": 1}, "shuffle is 1: it must be true or false"),
        (A1, {"mix": "a1"}, "mix is 'a1': it must be a Mix"),
        (A1, {"mix": None, "size": 5.0}, "size is 5.0: it must be a distribution"),
        (A1, {"mix": None, "size": Constant(value=5.0)}, "flows_per_burst is None: it must be an integer >= 1"),
        (A1, {"deadline": Constant(value=5.0)}, "it goes with size; a mix has its own deadlines"),
        (A1, {"flows_per_burst": 9}, "flows_per_burst is 9: the counts of the mix make it 10"),
        (MIX, {"pairs": (), "counts": ()}, "not all 0"),
        (MIX, {"counts": None}, "exactly one of counts and weights must be given: neither is"),
        (MIX, {"counts": (1.5,)}, "counts is 1.5: it must be an integer >= 0"),
        (MIX, {"counts": None, "weights": (-1.0,)}, "weights is -1.0"),
        (MIX, {"counts": None, "weights": (1.0, 2.0)}, "one entry for each of the 1 pairs"),
        (MIX, {"pairs": ((1.0,),)}, "it must be a pair (size, deadline)"),
        (POISSON, {"rate": 5.0}, "exactly one of rate and load"),
        (POISSON, {"load": math.inf}, "load is inf"),
        (POISSON, {"num_flows": -3}, "num_flows is -3: it must be an integer >= 1"),
        *((each, {"num_flows": 10**8}, "num_flows 100000000 would draw 1e+08 flows") for each in (POISSON, CLUSTERS)),
        *((each, {"num_flows": None, "duration": 1e9}, "duration 1e+09 s with ") for each in (POISSON, CLUSTERS)),
        (POISSON, {"num_hosts": 1}, "num_hosts is 1: it must be an integer >= 2"),
        (POISSON, {"pattern": "ring"}, "pattern is 'ring': it must be one of pair, all-to-all"),
        (POISSON, {"deadline": 0.1}, "deadline is 0.1: it must be a distribution"),
        (POISSON, {"busiest_share": 1.5}, "busiest_share is 1.5: it must be at most 1"),
        (CLUSTERS, {"num_hosts": 13}, "num_clusters is 3: it must divide the number of hosts, 13"),
        (CLUSTERS, {"traffic": (SMALL, LARGE)}, "traffic has 2 entries: without change_every it must have one for"),
        (CLUSTERS, {"traffic": ()}, "traffic is (): it must have an entry at least"),
        (CLUSTERS, {"traffic": (SMALL, LARGE, 0.8)}, "traffic has the entry 0.8: it must be Traffic"),
        (CLUSTERS, {"traffic": (SMALL,), "change_every": 1.0}, "two or more entries, each once"),
        (CLUSTERS, {"change_every": 0.0}, "change_every is 0.0: it must be a finite number > 0"),
        (CLUSTERS, {"incast": replace(INCAST, senders=12)}, "senders is 12: it must be below the number of hosts, 12"),
        (CLUSTERS, {"num_flows": None, "duration": math.inf}, "duration is inf"),
        (SMALL, {"load": 0}, "load is 0: it must be a finite number > 0"),
        (SMALL, {"size": 5}, "size is 5: it must be a distribution"),
        (INCAST, {"burst_rate": math.nan}, "burst_rate is nan"),
        (INCAST, {"senders": 0}, "senders is 0: it must be an integer >= 1"),
        *(
            (TASKS, {name: 0}, f"{name} is 0: it must be an integer >= 1")
            for name in ("num_tasks", "min_flows", "num_clients", "num_servers")
        ),
        (TASKS, {"num_tasks": 10**7}, "num_tasks 10000000 with max_flows 8 would draw 8e+07 flows"),
        (TASKS, {"min_flows": 9}, "max_flows is 8: it must be an integer >= 9"),
        (TASKS, {"size": None}, "exactly one of size and total must be given: neither is"),
        (TASKS, {"total": SIZE}, "exactly one of size and total must be given: both are"),
        (TASKS, {"size": 5.0}, "size is 5.0: it must be a distribution"),
        (TASKS, {"deadline_factor": 2.0}, "deadline_factor is 2.0: it must be a distribution"),
        (TASKS, {"pattern": "tree"}, "pattern is 'tree': it must be one of parallel, sequential, partition"),
        (TASKS, {"load": None}, "exactly one of load and arrivals must be given: neither is"),
        (TASKS, {"load": 0}, "load is 0: it must be a finite number > 0"),
        (TASKS, {"load": None, "arrivals": "poisson"}, "arrivals is 'poisson': it must be one of closed, at-once"),
        (TASKS, {"capacity": 0.0}, "capacity is 0.0: it must be a finite number > 0"),
        (TASKS, {"load": None, "arrivals": "closed", "deadline_factor": SIZE}, "deadline_factor is given: in a closed"),
        (TASKS, {"load": None, "arrivals": "closed", "max_flows": 1000}, "may make 1e+08 pairs: at most 10000000"),
        (TASKS, {"cpu_work": 1}, "cpu_work is 1: it must be true or false"),
        (TASKS, {"pattern": "partition-aggregate", "num_servers": 1}, "num_servers is 1: it must be an integer >= 2"),
        (JOBS, {"num_tasks": 10**7}, "num_tasks 10000000 would draw"),
        *(
            (JOBS, {name: 0}, f"{name} is 0")
            for name in ("num_tasks", "load", "capacity", "mean_size", "num_clients", "num_servers")
        ),
        (JOBS, {"cpu_work": None}, "cpu_work is None"),
        (AT_ONCE, {"cables": 5}, "cables is 5: it must be a sequence"),
        (AT_ONCE, {"cables": ((1, -2),)}, "link of a cable is -2: it must be an integer >= 0"),
        (AT_ONCE, {"cables": ((1, 2), (2, 3))}, "each link must be in one cable only"),
        (AT_ONCE, {"count": 17}, "count is 17: it must be an integer below 17"),
        (AT_ONCE, {"count": None}, "exactly one of count and mean_time_up must be given: neither is"),
        (AT_ONCE, {"mean_time_up": 1.0}, "exactly one of count and mean_time_up must be given: both are"),
        (AT_ONCE, {"until": 3.0}, "until is 3.0: it goes with mean_time_up, not with count"),
        (AGAIN, {"mean_time_down": None}, "mean_time_down is None: it must be a finite number > 0"),
        (AGAIN, {"at": 1.0}, "at is 1.0 and repair_after None: they go with count"),
        (AGAIN, {"until": 1e9}, "until is 1000000000.0: 6.4e+09 failures are too many, 1000000 allowed"),
        (Constant(value=5), {"value": 0}, "value is 0: it must be a finite number > 0"),
        (Constant(value=5), {"value": "5"}, "value is '5'"),
        (SIZE, {"high": 0.5}, "high is 0.5: it must be a finite number > 1"),
        (LogNormal(mean=1.0, sigma=1.0), {"sigma": 0.0}, "sigma is 0.0"),
        (LogUniform(low=1.0, high=2.0), {"low": 2.0}, "high is 2.0: it must be a finite number > 2"),
        (PARETO, {"shape": 1.0}, "shape is 1.0: without a maximum it must be > 1"),
        (PARETO, {"maximum": 5.0}, "maximum is 5.0: it must be a finite number > 5"),
        (DISCRETE, {"values": (1.0,)}, "values has 1 entries and probabilities 2"),
        (DISCRETE, {"probabilities": (0.5, 0.6)}, "the sum must be 1"),
        (DISCRETE, {"values": 5.0}, "values is 5.0: it must be a sequence"),
        (CDF, {"points": ((0.0, 0.0), (5.0, 1.0))}, "minimum is 0.0: it must be > 0"),
        (CDF, {"points": ((1.0, 0.0), (5.0, 0.5))}, "the last CDF point has probability 0.5"),
        (CDF, {"points": ((1.0, 0.5), (2.0, 0.4), (3.0, 1.0))}, "probability of CDF point 1 is 0.4"),
        (CDF, {"points": ((1.0, 0.5, 2.0), (3.0, 1.0))}, "it must be pairs"),
    ],
)
def test_a_bad_field_is_refused_by_name_and_value(base: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)) as error:
        replace(base, **changes)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("base", "changes", "load"),
    [
        (A1, {"load": 1.0, "burst_rate": None}, "1"),
        (A1, {"burst_rate": 42.0}, "1.008"),
        (POISSON, {"load": 1.2}, "1.2"),
        (POISSON, {"load": None, "rate": 2000.0, "busiest_share": 0.8}, "1.28"),
        (TASKS, {"load": 1.0}, "1"),
        (JOBS, {"load": 1.2}, "1.2"),
        (CLUSTERS, {"traffic": (SMALL, LARGE, replace(SMALL, load=1.0))}, "1"),
    ],
)
def test_an_unstable_load_warns_the_caller_however_it_is_given(base: Any, changes: dict[str, Any], load: str) -> None:
    with pytest.warns(UnstableLoadWarning, match=f"load is {re.escape(load)}: from 1 on it is unstable") as caught:
        type(base)(**{name: getattr(base, name) for name in base.__dataclass_fields__} | changes)
    assert caught[0].filename == __file__
    replace(A1, load=0.999, burst_rate=None)
