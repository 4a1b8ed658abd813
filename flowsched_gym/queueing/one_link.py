"""Computes exact mean FCTs on one link: of disciplines without thresholds, for reference, and of feedback queues.

Flows arrive as a Poisson process (the M/G/1 queue). Times are in units of the mean time that a flow needs alone on the
link, ``distribution.mean / capacity``. The formulas are in Kleinrock, Queueing Systems, volume 2 (multi-level queues in
sections 3.5 and 4.7), and Schrage and Miller (1966).

SRPT is the least mean FCT that any discipline reaches, LAS the least of those that do not know sizes where large flows
are ever less likely to end soon. A flow of size x takes on average

- LAS: ``rate E[min(S, x)^2] / (2 (1 - r(x))^2) + x / (1 - r(x))`` with ``r(x) = rate E[min(S, x)]``,
- PSJF: ``rate E[S^2; S <= x] / (2 (1 - s(x-)) (1 - s(x))) + x / (1 - s(x-))`` with ``s(x) = rate E[S; S <= x]``,
- SRPT: ``rate E[min(S, x)^2] / (2 (1 - s(x-)) (1 - s(x)))`` and the integral of ``1 / (1 - s(t))`` from 0 to x.

Of multi-level queues, the link serves queue 0 before queue 1 and so on, preemptively, and each queue first in, first
out. AuTO's two schemes (section 5.2.2) are

- QLAS: a flow is demoted when it has sent as many bytes as the next threshold. A flow of size x that finishes in queue
  i takes on average ``(W_i + x) / (1 - r_(i-1))`` with ``W_i = rate E[min(S, a_i)^2] / (2 (1 - r_i))`` and
  ``r_i = rate E[min(S, a_i)]``: it waits for the bytes up to a_i of earlier flows, and is interrupted by the bytes up
  to a_(i-1) of later ones.
- QSJF: a flow stays in the queue of its size. The same, with the moments of the flows up to size a_i in place of all
  flows capped at a_i.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.checks import as_tuple, check_choice, check_number
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.queueing.moments import SizeDistribution, as_size_distribution, size_grid, size_moments
from flowsched_gym.workload import Distribution

KINDS: Final = ("qlas", "qsjf")
"""Queues by attained bytes, and by size."""
DISCIPLINES: Final = ("fifo", "las", "ps", "psjf", "srpt")
NUM_SIZES: Final = 20_000
"""Sizes over which means are integrated: the relative error is about 1e-6 at load 0.8, below 1e-4 at load 0.99."""


class MultilevelFct(NamedTuple):
    """The mean FCT of multi-level queues, in units of the mean service time.

    Attributes:
        share: Share of the flows that finish in each queue, (num_queues,).
        mean_fct: Mean FCT of the flows that finish in each queue, (num_queues,); NaN where there are none.
        overall: Mean FCT of all flows; inf where the sizes have no finite variance.
    """

    share: FloatArray
    mean_fct: FloatArray
    overall: float


class QueueTimes(NamedTuple):
    """The times that the mean FCT depends on, at the ends of queues; each (num_ends,).

    Attributes:
        flows: Share of the flows that are at most as large.
        service: Mean service time of these flows, larger ones counted as 0, over the mean of all.
        load: Load of the queues up to this end.
        wait: Mean wait for these queues' earlier bytes, over the mean service time.
    """

    flows: FloatArray
    service: FloatArray
    load: FloatArray
    wait: FloatArray

    def between(self, low: IntArray, high: IntArray) -> FloatArray:
        """Returns the mean FCT of the flows between two ends, by their indices, times their share of all flows."""
        share = self.flows[high] - self.flows[low]
        # A wait may be infinite where no flow is.
        waiting = np.multiply(share, self.wait[high], where=share > 0, out=np.zeros_like(share))
        return (waiting + self.service[high] - self.service[low]) / (1.0 - self.load[low])


def mean_fct(discipline: str, distribution: Distribution | str, load: float) -> float:
    """Computes the mean FCT, in units of the mean service time; sizes and load are those of ``multilevel_fct``.

    The discipline is ``fifo``, ``las``, ``ps``, ``psjf`` (preemptive by original size) or ``srpt``.

    Raises:
        ConfigError: An argument is not allowed, or the distribution's tail is too heavy to integrate over.
    """
    check_choice("discipline", discipline, DISCIPLINES)
    sizes = as_size_distribution(distribution)
    check_load(load)
    if discipline == "fifo":
        return multilevel_fct("qlas", sizes, load, ()).overall
    if discipline == "ps":
        return 1.0 / (1.0 - load)
    return _integrate(discipline, sizes, load)


def _integrate(discipline: str, distribution: SizeDistribution, load: float) -> float:
    """Integrates the mean FCT given the size over the sizes, between neighbours by the trapezoidal rule."""
    grid = size_grid(distribution, NUM_SIZES)
    # Sizes just below those of the grid set apart what many flows have in common: an atom's mass is between the two.
    size = np.unique(np.concatenate([np.nextafter(grid, 0.0), grid]))
    is_atom = np.isin(size[1:], grid)
    moments = size_moments(distribution, size)
    mean = distribution.mean
    load_below = load / mean * (moments.capped_mean if discipline == "las" else moments.partial_mean)
    square = moments.partial_square if discipline == "psjf" else moments.capped_square
    served = moments.capped_mean if discipline == "srpt" else moments.partial_mean

    def middle(values: FloatArray, at_atom: FloatArray) -> FloatArray:
        return np.where(is_atom, at_atom, (values[:-1] + values[1:]) / 2)

    left = 1.0 - load_below
    wait = load / (2.0 * mean * mean) * middle(square, square[1:]) / (left[:-1] * left[1:])
    service = middle(1.0 / left, 1.0 / left[:-1]) / mean
    total = np.sum(np.diff(moments.probability) * wait + np.diff(served) * service)
    # Few bytes are below and above the grid: those below find an empty link, those above are as the largest on it.
    rest = served[0] + (mean - served[-1]) / left[-1]
    rest_wait = (1.0 - moments.probability[-1]) * wait[-1]
    return float(total + rest / mean + rest_wait)


def multilevel_fct(
    kind: str, distribution: Distribution | str, load: float, thresholds: Sequence[float] | FloatArray
) -> MultilevelFct:
    """Computes the mean FCT of multi-level queues, each served first in, first out.

    Args:
        kind: ``"qlas"``, queues by attained bytes; ``"qsjf"``, queues by size.
        distribution: Distribution of sizes in B, or the name of a packaged one.
        load: Bytes offered per s over the capacity, > 0, < 1.
        thresholds: Ends of all queues but the last in B, increasing, (num_queues - 1,); none for a FIFO link.

    Raises:
        ConfigError: An argument is not allowed.
    """
    check_choice("kind", kind, KINDS)
    sizes = as_size_distribution(distribution)
    check_load(load)
    previous = 0.0
    for index, threshold in enumerate(as_tuple("thresholds", thresholds)):
        check_number(f"threshold {index}", threshold, above=previous)
        previous = float(threshold)
    times = queue_times(kind, sizes, load, np.array([0.0, *thresholds, math.inf]))
    last = np.arange(1, len(thresholds) + 2)
    share = np.diff(times.flows)
    total = times.between(last - 1, last)
    mean_fct = np.divide(total, share, where=share > 0, out=np.full(len(share), math.nan))
    return MultilevelFct(share, mean_fct, float(total.sum()))


def queue_times(kind: str, distribution: SizeDistribution, load: float, ends: FloatArray) -> QueueTimes:
    """Computes what the mean FCT depends on, at the ends of queues in B, (num_ends,)."""
    moments = size_moments(distribution, ends)
    by_attained = kind == "qlas"
    first = moments.capped_mean if by_attained else moments.partial_mean
    second = moments.capped_square if by_attained else moments.partial_square
    mean = distribution.mean
    load_below = load * first / mean
    wait = load * second / (mean * mean) / (2.0 * (1.0 - load_below))
    return QueueTimes(moments.probability, moments.partial_mean / mean, load_below, wait)


def check_load(load: object) -> None:
    """Refuses a load at which no mean FCT exists: one that is not above 0 and below 1."""
    check_number("load", load, above=0)
    if load >= 1:  # type: ignore[operator]
        raise ConfigError(f"load is {load!r}: it must be below 1, from where on queues and FCT grow without bound")
