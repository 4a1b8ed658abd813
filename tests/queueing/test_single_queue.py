"""Holds the mean FCT of disciplines without thresholds to published values, to exact cases and to each other."""

import math
import re

import numpy as np
import pytest
from scipy import integrate

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.queueing import mean_fct, multilevel_fct
from flowsched_gym.queueing.single_queue import DISCIPLINES
from flowsched_gym.workload import CDF_NAMES, Constant, Discrete, Exponential, Pareto, Uniform


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


def test_flows_of_one_size_all_wait_for_the_end_of_the_busy_period_under_las() -> None:
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("edf", "web_search", 0.8), "discipline is 'edf': it must be one of fifo, las, ps, psjf, srpt"),
        (("ps", "websearch", 0.8), "size distribution 'websearch' does not exist"),
        (("ps", "web_search", 1.2), "load is 1.2: it must be below 1"),
        (("srpt", "web_search", math.nan), "load is nan"),
    ],
)
def test_bad_arguments_are_refused_by_name_and_value(arguments: tuple, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        mean_fct(*arguments)
