"""Holds the disciplines to queueing theory: mean FCT of the M/G/1 queue with exponential sizes at load 0.8.

A long run of this queue is noisy: after 800 000 flows the mean FCT of PS is still uncertain by 1 %. ``estimates.py``
takes most of the noise out.
"""

import functools
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import pytest

import flowsched_gym
from tests.simulate import COMPILED, Variant
from tests.theory.estimates import Estimate, Known, Queue, estimate

FloatArray = npt.NDArray[np.float64]

LOAD: Final = 0.8

MEAN_FCT: Final = {"ps": 5.000, "fifo": 5.000, "srpt": 2.353, "psjf": 2.659, "sjf": 2.882, "las": 5.000}
"""Mean FCT in units of the mean service time."""


def estimate_fct(queue: Queue, values: FloatArray) -> Estimate:
    """Estimates the long-run mean of a quantity of the flows with what is known of the M/M/1 queue."""
    wait = Known(queue.wait, LOAD / (1 - LOAD))
    sizes = (Known(queue.size, 1.0), Known(queue.size**2, 2.0))
    return estimate(queue, values, 200, [wait, *sizes, Known(queue.gap, 1 / LOAD)])


@pytest.fixture(scope="module")
def long_run() -> Queue:
    rng = np.random.default_rng(1)
    return Queue(rng.exponential(1 / LOAD, 800_000), rng.exponential(1.0, 800_000))


@pytest.fixture(scope="module")
def long_fct(long_run: Queue) -> Callable[[str], FloatArray]:
    """Returns a function that gives the FCT of the long run under a discipline, each computed once."""

    @functools.cache
    def fct(discipline: str) -> FloatArray:
        return flowsched_gym.replay(long_run.workload, discipline=discipline, capacity=1.0, engine="compiled").fct

    return fct


@pytest.mark.parametrize(
    "discipline",
    [pytest.param(name, marks=() if Variant(name) in COMPILED else pytest.mark.exhaustive) for name in MEAN_FCT],
)
def test_mean_fct_is_within_one_percent_of_theory(discipline, long_run, long_fct) -> None:
    found = estimate_fct(long_run, long_fct(discipline))
    # The bound of 1 % is at least four standard errors wide.
    assert found.error < 0.0025 * MEAN_FCT[discipline], f"{discipline} is too noisy: {found}"
    assert found.mean == pytest.approx(MEAN_FCT[discipline], rel=0.01), f"{discipline}: {found}"


def test_fifo_lets_every_flow_wait_for_the_work_that_it_finds(long_run, long_fct) -> None:
    # The clock stands near 1e6, where float64 resolves 1e-10.
    assert np.abs(long_fct("fifo") - (long_run.wait + long_run.size)).max() < 1e-6


def test_the_figure_of_sjf_follows_from_its_formula() -> None:
    """Integrates the conditional mean of the M/G/1 queue over sizes; the other figures are in ``tests/queueing``."""
    x = np.linspace(0.0, 60.0, 600_001)
    load_below = LOAD * (1.0 - (1.0 + x) * np.exp(-x))
    mean = np.trapezoid((LOAD / (1.0 - load_below) ** 2 + x) * np.exp(-x), x)
    assert float(mean) == pytest.approx(MEAN_FCT["sjf"], abs=6e-4)


def test_flows_of_one_size_find_the_same_slowdown_under_processor_sharing(long_run, long_fct) -> None:
    """Checks what makes PS fair: the mean FCT given the size is the size over what the load leaves."""
    fct = long_fct("ps")
    for low, high in ((0.0, 0.5), (0.5, 1.5), (1.5, 10.0)):
        chosen = (long_run.size > low) & (long_run.size <= high)
        scaled = np.where(chosen, fct, 0.0) - np.where(chosen, long_run.size, 0.0) / (1 - LOAD)
        found = estimate_fct(long_run, scaled)
        assert abs(found.mean) < 4 * found.error, f"sizes from {low} to {high}: {found}"
