"""Estimates long-run means of a queue with Poisson arrivals from one run, with little noise and an honest error.

Three things make it precise. The run is cut at instants at which the link is idle, so its pieces are independent.
Quantities whose means are known, and which move with the one asked for, correct it (control variates): waiting times of
FIFO queues, computed from arrivals and sizes alone, sizes and their squares, and the gaps between arrivals. And the
error is estimated from the pieces, so that a run that is too noisy fails by itself.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.workload import Workload
from tests.simulate import make_flows

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
    """Estimates the long-run mean of a quantity of the flows.

    Args:
        queue: The flows.
        values: The quantity, (num_flows,).
        num_pieces: Independent pieces to cut the run into; flows after the last cut are left out.
        known: Quantities that correct it.
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
