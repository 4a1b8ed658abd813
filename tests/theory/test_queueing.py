"""Holds disciplines to queueing theory: the M/G/1 queue with exponential sizes, and AuTO's queues on papers' workloads.

A long run of such a queue is noisy: after 800 000 flows the mean FCT of PS is still uncertain by 1 %. Three things take
most of the noise out. The run is cut at instants at which the link is idle, so its pieces are independent. Quantities
whose means are known, and which move with the one asked for, correct it (control variates): waiting times of FIFO
queues, computed from arrivals and sizes alone, sizes and their squares, and the gaps between arrivals. And the error is
estimated from the pieces, so that a run that is too noisy fails by itself.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

import flowsched_gym
from flowsched_gym.queueing import multilevel_fct, optimal_thresholds, size_moments
from flowsched_gym.workload import Empirical, Workload, load_cdf
from tests.simulate import COMPILED, Variant, make_flows

FloatArray = npt.NDArray[np.float64]


class Estimate(NamedTuple):
    """A mean and its standard error."""

    mean: float
    error: float

    def __str__(self) -> str:
        return f"{self.mean:.4f} +- {2 * self.error:.4f}"


class Known(NamedTuple):
    """A quantity of the flows, (num_flows,), and its long-run mean."""

    values: FloatArray
    mean: float


class Queue(NamedTuple):
    """Flows on a link of capacity 1."""

    gap: FloatArray
    size: FloatArray

    @property
    def workload(self) -> Workload:
        return make_flows(np.cumsum(self.gap), self.size)

    @property
    def wait(self) -> FloatArray:
        return wait_of(self.gap, self.size)


def wait_of(gap: FloatArray, size: FloatArray) -> FloatArray:
    backlog = np.cumsum(np.concatenate([[0.0], size[:-1] - gap[1:]]))
    return backlog - np.minimum.accumulate(backlog)


def estimate(queue: Queue, values: FloatArray, num_pieces: int, known: Sequence[Known]) -> Estimate:
    """Estimates the long-run mean of a quantity of the flows, (num_flows,), corrected by known ones.

    The run is cut into ``num_pieces`` independent pieces; flows after the last cut are left out.
    """
    idle = np.flatnonzero(queue.wait == 0.0)
    wanted = np.linspace(0, idle[-1], num_pieces + 1)
    cuts = np.unique(idle[np.searchsorted(idle, wanted)])

    def totals(quantity: FloatArray) -> FloatArray:
        return np.add.reduceat(quantity[: cuts[-1]], cuts[:-1])

    count = totals(np.ones(len(values)))
    controls = np.stack([totals(quantity) - mean * count for quantity, mean in known], axis=1)
    total, mean = totals(values), float(values.mean())
    for _ in range(3):
        corrected = total - controls @ np.linalg.lstsq(controls, total - mean * count, rcond=None)[0]
        mean = float(corrected.sum() / count.sum())
    error = float(np.sqrt(np.square(corrected - mean * count).sum()) / count.sum())
    return Estimate(mean, error)


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


NUM_FLOWS: Final = 500_000
NUM_PIECES: Final = 400

SCHEMES: Final = (
    ("qlas", "mlfq", 4),
    ("qsjf", "qsjf", 4),
    ("qlas", "mlfq", 8),
    ("qsjf", "qsjf", 2),
    ("qlas", "fifo", 1),
)
SETTINGS: Final = (("web_search", 0.8), ("data_mining", 0.6), ("data_mining", 0.8), ("web_search", 0.6))
CASES: Final = [
    pytest.param(*scheme, *setting, marks=() if number == place % 4 and scheme[0] == "qlas" else pytest.mark.exhaustive)
    for place, scheme in enumerate(SCHEMES)
    for number, setting in enumerate(SETTINGS)
]


def known_means(queue: Queue, kind: str, sizes: Empirical, load: float, ends: FloatArray) -> list[Known]:
    """Returns what is known of the queues up to each end: sizes, squares, counts and FIFO waits of what they serve."""
    found = [Known(queue.gap, 1 / load)]
    for end in ends:
        moments = size_moments(sizes, end)
        small = queue.size <= end / sizes.mean
        if kind == "qlas":
            size, first, second = np.minimum(queue.size, end / sizes.mean), moments.capped_mean, moments.capped_square
        else:
            size, first, second = np.where(small, queue.size, 0.0), moments.partial_mean, moments.partial_square
        mean, square = float(first) / sizes.mean, float(second) / sizes.mean**2
        # Pollaczek and Khinchine's mean wait.
        wait = Known(wait_of(queue.gap, size), load * square / (2 * (1 - load * mean)))
        found += [wait, Known(size, mean), Known(size**2, square), Known(small * 1.0, float(moments.probability))]
    return found


@pytest.mark.parametrize(("kind", "discipline", "num_queues", "name", "load"), CASES)
def test_the_mean_fct_is_within_two_percent_of_theory(kind, discipline, num_queues, name, load) -> None:
    sizes = load_cdf(name)
    thresholds = optimal_thresholds(kind, sizes, load, num_queues) if num_queues > 1 else np.empty(0)
    rng = np.random.default_rng(3)
    queue = Queue(rng.exponential(1 / load, NUM_FLOWS), sizes.sample(rng, NUM_FLOWS) / sizes.mean)
    scaled = thresholds / sizes.mean
    records = flowsched_gym.replay(
        queue.workload,
        discipline=discipline,
        parameters={} if discipline == "fifo" else {"thresholds": scaled.tolist(), "within": "fifo"},
        capacity=1.0,
        engine="compiled",
    )
    theory = multilevel_fct(kind, sizes, load, thresholds)
    known = known_means(queue, kind, sizes, load, np.append(thresholds, math.inf))

    found = estimate(queue, records.fct, NUM_PIECES, known)

    # The bound of 2 % is at least four standard errors wide.
    assert found.error < 0.005 * theory.overall, f"too noisy: {found}"
    assert found.mean == pytest.approx(theory.overall, rel=0.02), f"{found}, by theory {theory.overall:.4f}"
    for level, (share, mean_fct) in enumerate(zip(theory.share, theory.mean_fct, strict=True)):
        of_level = np.searchsorted(scaled, queue.size) == level
        part = estimate(queue, np.where(of_level, records.fct, 0.0), NUM_PIECES, known)
        assert abs(part.mean - share * np.nan_to_num(mean_fct)) < 5 * part.error + 1e-9, f"queue {level}: {part}"
