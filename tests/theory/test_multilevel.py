"""Holds multi-level queues to their exact mean FCT: AuTO's schemes on web search and data mining, one link.

``python -m benchmarks.paper.queues`` compares plain means of longer runs.
"""

import math
from typing import Final

import numpy as np
import numpy.typing as npt
import pytest

import flowsched_gym
from flowsched_gym.queueing import multilevel_fct, optimal_thresholds, size_moments
from flowsched_gym.workload import Empirical, load_cdf
from tests.theory.estimates import Known, Queue, estimate, wait_of

FloatArray = npt.NDArray[np.float64]

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


def draw_queue(sizes: Empirical, load: float) -> Queue:
    rng = np.random.default_rng(3)
    return Queue(rng.exponential(1 / load, NUM_FLOWS), sizes.sample(rng, NUM_FLOWS) / sizes.mean)


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


def parameters(discipline: str, sizes: Empirical, thresholds: FloatArray) -> dict[str, object]:
    return {} if discipline == "fifo" else {"thresholds": (thresholds / sizes.mean).tolist(), "within": "fifo"}


@pytest.mark.parametrize(("kind", "discipline", "num_queues", "name", "load"), CASES)
def test_the_mean_fct_is_within_two_percent_of_theory(kind, discipline, num_queues, name, load) -> None:
    sizes = load_cdf(name)
    thresholds = optimal_thresholds(kind, sizes, load, num_queues) if num_queues > 1 else np.empty(0)
    queue = draw_queue(sizes, load)
    records = flowsched_gym.replay(
        queue.workload,
        discipline=discipline,
        parameters=parameters(discipline, sizes, thresholds),
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
        of_level = np.searchsorted(thresholds / sizes.mean, queue.size) == level
        part = estimate(queue, np.where(of_level, records.fct, 0.0), NUM_PIECES, known)
        assert abs(part.mean - share * np.nan_to_num(mean_fct)) < 5 * part.error + 1e-9, f"queue {level}: {part}"
