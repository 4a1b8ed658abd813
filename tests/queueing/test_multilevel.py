"""Holds the mean FCT of multi-level queues to known values, to special cases and to limits."""

import math
import re

import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.queueing import mean_fct, multilevel_fct
from flowsched_gym.queueing.multilevel import KINDS
from flowsched_gym.workload import Constant, Discrete, Empirical, Exponential, LogNormal, Pareto, Uniform

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
    ("arguments", "message"),
    [
        (("mlfq", "web_search", 0.8, QLAS), "kind is 'mlfq': it must be one of qlas, qsjf"),
        (("qlas", "websearch", 0.8, QLAS), "distribution: size distribution 'websearch' does not exist"),
        (("qlas", "web_search", 1.0, QLAS), "load is 1.0: it must be below 1"),
        (("qlas", "web_search", math.nan, QLAS), "load is nan"),
        (("qlas", "web_search", 0.8, (1e6, 1e6)), "threshold 1 is 1000000.0"),
        (("qlas", "web_search", 0.8, (1.0, math.inf)), "threshold 1 is inf"),
        (("qlas", "web_search", 0.8, 1e6), "thresholds is 1000000.0: it must be a sequence"),
        (("qlas", "web_search", 0.8, ("many",)), "threshold 0 is 'many'"),
    ],
)
def test_bad_arguments_are_refused_by_name_and_value(arguments: tuple, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        multilevel_fct(*arguments)
