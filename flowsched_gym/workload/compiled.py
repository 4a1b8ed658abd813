"""Writes down how a workload is drawn, for the compiled rule that draws it without NumPy (``model/rules/draws.py``).

Log-normal and Pareto quantities cannot be: NumPy's powers and exponentials are its own. Failures of links are left to
NumPy as well. This module imports Numba, so ``flowsched_gym.workload`` does without it.
"""

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.draws import (
    MOST_COLUMNS,
    SCRATCH_LENGTH,
    DrawPlan,
    HostPattern,
    Quantity,
    QuantityKind,
    draw_episode,
)
from flowsched_gym.model.rules.streams import stream_key
from flowsched_gym.seeding import SeedStreams
from flowsched_gym.workload.distributions import (
    Constant,
    Discrete,
    Distribution,
    Exponential,
    Uniform,
    cumulative_weights,
)
from flowsched_gym.workload.empirical import Empirical
from flowsched_gym.workload.gather import GatherWorkload
from flowsched_gym.workload.mix import Mix
from flowsched_gym.workload.poisson import PoissonWorkload

__all__ = ["draw_plan"]

FloatArray = npt.NDArray[np.float64]

MOST_FLOWS: Final = 2.0**40
"""Expected flows of an episode at most; no memory holds as many."""

MOST_HOSTS: Final = 2**32 - 1
"""Hosts that one is picked from at most: 32 random bits do it."""

SAFE_RANGE: Final = (1e-200, 1e200)
"""Means and times that stay finite and above 0 when random numbers and counts multiply them."""

PROBE_SEED: Final = 0
PROBE_LENGTH: Final = 2**16
"""Numbers that are drawn both ways; about 30 of them fall into the tail of the exponential, where logarithms are."""

KNOWN: Final = (Constant, Uniform, Exponential, Discrete, Empirical)

NO_DEADLINE: Final = Quantity(kind=int(QuantityKind.CONSTANT), low=math.inf)


def draw_plan(source: object) -> DrawPlan | None:
    """Writes down how a workload is drawn.

    Quantities are drawn both ways and compared first: where NumPy and the compiled code were built to round
    differently, there is no plan. One thing differs by intent: an exponential size that is drawn as exactly 0, once in
    2**53 flows, is an error of ``source.draw`` and is not looked for by the rule.

    Args:
        source: Anything that draws flows.

    Returns:
        The plan by which ``draw_episode`` draws what ``source.draw`` does, bit for bit; None if only that can.
    """
    if type(source) is GatherWorkload:
        return _gather_plan(source)
    if type(source) is PoissonWorkload and source.failures is None:
        return _poisson_plan(source)
    return None


def _gather_plan(source: GatherWorkload) -> DrawPlan | None:
    """Writes down how bursts are drawn."""
    burst_size = source.burst_size
    num_far = burst_size if source.num_senders is None else source.num_senders
    total_rate = source.rate * source.num_destinations
    gap = _gap(total_rate, "bursts")
    size, span = _requirements(source)
    shuffle = source.shuffle and source.mix is not None and source.mix.counts is not None
    sorts_burst = shuffle or source.request_jitter > 0
    if (
        gap is None
        or size is None
        or span is None
        or (sorts_burst and burst_size > MOST_COLUMNS)
        or (num_far > burst_size and num_far > MOST_COLUMNS)
        or source.num_destinations > MOST_HOSTS
        or source.request_jitter > SAFE_RANGE[1]
        or not _few(source.num_bursts, source.duration, total_rate, burst_size)
    ):
        return None
    return DrawPlan(
        gap=gap,
        num_bursts=-1 if source.num_bursts is None else int(source.num_bursts),
        duration=math.inf if source.duration is None else float(source.duration),
        burst_size=int(burst_size),
        tasks=True,
        jitter=float(source.request_jitter),
        size=size,
        span=span,
        shuffle=shuffle,
        pattern=int(HostPattern.GATHER if source.pattern == "gather" else HostPattern.SCATTER),
        num_near=int(source.num_destinations),
        num_far=int(num_far),
    )


def _poisson_plan(source: PoissonWorkload) -> DrawPlan | None:
    """Writes down how single flows are drawn: as bursts of one that are no tasks."""
    gap = _gap(source.flow_rate, "arrivals")
    size = _quantity(source.size, "sizes")
    span = NO_DEADLINE if source.deadline is None else _quantity(source.deadline, "deadlines")
    few = _few(source.num_flows, source.duration, source.flow_rate, 1)
    if gap is None or size is None or span is None or source.num_hosts > MOST_HOSTS or not few:
        return None
    return DrawPlan(
        gap=gap,
        num_bursts=-1 if source.num_flows is None else int(source.num_flows),
        duration=math.inf if source.duration is None else float(source.duration),
        burst_size=1,
        tasks=False,
        jitter=0.0,
        size=size,
        span=span,
        shuffle=False,
        pattern=int(HostPattern.PAIR if source.pattern == "pair" else HostPattern.ALL_TO_ALL),
        num_near=int(source.num_hosts),
        num_far=0,
    )


def _few(count: int | None, duration: float | None, rate: float, burst_size: int) -> bool:
    """Tells whether the flows of an episode are so few that they can be counted."""
    if count is None:
        assert duration is not None
        return rate * duration * burst_size <= MOST_FLOWS
    return count * burst_size <= MOST_FLOWS


def _gap(rate: float, purpose: str) -> Quantity | None:
    """Writes down how the gaps between arrivals of this rate in 1/s are drawn."""
    mean = 1.0 / rate
    return _quantity(Exponential(mean=mean), purpose) if _safe(mean) else None


def _safe(mean: float) -> bool:
    """Tells whether multiples of a mean stay finite and above 0."""
    return SAFE_RANGE[0] <= mean <= SAFE_RANGE[1]


def _requirements(source: GatherWorkload) -> tuple[Quantity | None, Quantity | None]:
    """Writes down how sizes and deadlines of bursts are drawn."""
    if source.mix is not None:
        return _mixed(source.mix)
    assert source.size is not None
    span = NO_DEADLINE if source.deadline is None else _quantity(source.deadline, "deadlines")
    return _quantity(source.size, "sizes"), span


def _mixed(mix: Mix) -> tuple[Quantity, Quantity]:
    """Writes down how the pairs of a mix are drawn: by place, or each from the same random numbers."""
    size_of_kind, span_of_kind = np.array(mix.pairs, dtype=np.float64).T
    if mix.counts is not None:
        ordered = np.repeat(np.arange(len(mix.counts)), mix.counts)
        by_place = int(QuantityKind.BY_PLACE)
        return Quantity(by_place, values=size_of_kind[ordered]), Quantity(by_place, values=span_of_kind[ordered])
    bounds = cumulative_weights(mix.shares)
    size, span = (
        Quantity(int(QuantityKind.DISCRETE), stream_key("sizes"), bounds=bounds, values=values.copy())
        for values in (size_of_kind, span_of_kind)
    )
    return size, span


def _quantity(distribution: Distribution, purpose: str) -> Quantity | None:
    """Writes down how a distribution is drawn, if the compiled code and NumPy agree on it."""
    quantity = _parameters(distribution, stream_key(purpose))
    if quantity is None:
        return None
    drawn = distribution.sample(SeedStreams(PROBE_SEED)[purpose], PROBE_LENGTH)
    return quantity if np.array_equal(_probe(quantity), drawn) else None


def _probe(quantity: Quantity) -> FloatArray:
    """Draws many of a quantity in compiled code, as sizes of single flows."""
    plan = DrawPlan(
        gap=Quantity(int(QuantityKind.EXPONENTIAL)),
        num_bursts=PROBE_LENGTH,
        duration=math.inf,
        burst_size=1,
        tasks=False,
        jitter=0.0,
        size=quantity,
        span=NO_DEADLINE,
        shuffle=False,
        pattern=int(HostPattern.PAIR),
        num_near=0,
        num_far=0,
    )
    size, other = np.empty((2, PROBE_LENGTH))
    host, scratch = np.empty(PROBE_LENGTH, dtype=np.int64), np.empty(SCRATCH_LENGTH, dtype=np.int64)
    draw_episode(PROBE_SEED, plan, 0, PROBE_LENGTH, other, size, other, host, host, host, scratch)
    return size


def _parameters(distribution: Distribution, key: np.uint64) -> Quantity | None:
    """Gives the parameters of a distribution, if its class is known here."""
    # A class derived from a known one may draw otherwise.
    if type(distribution) not in KNOWN:
        return None
    if isinstance(distribution, Constant):
        return Quantity(int(QuantityKind.CONSTANT), key, low=float(distribution.value))
    if isinstance(distribution, Uniform):
        low, high = distribution.low, distribution.high
        return Quantity(int(QuantityKind.UNIFORM), key, low=float(low), scale=float(high - low))
    if isinstance(distribution, Exponential) and _safe(distribution.mean):
        return Quantity(int(QuantityKind.EXPONENTIAL), key, scale=float(distribution.mean))
    if isinstance(distribution, Discrete):
        values = np.array(distribution.values, dtype=np.float64)
        bounds = cumulative_weights(distribution.probabilities)
        return Quantity(int(QuantityKind.DISCRETE), key, bounds=bounds, values=values)
    if isinstance(distribution, Empirical):
        return _measured(distribution, key)
    return None


def _measured(distribution: Empirical, key: np.uint64) -> Quantity | None:
    """Gives the parameters of a measured distribution, unless it rises too steeply for float64."""
    values, bounds = (column.copy() for column in np.array(distribution.points, dtype=np.float64).T)
    widths = np.diff(bounds)
    # Where the probability does not rise, no random number falls between the points.
    with np.errstate(over="ignore"):
        slopes = np.divide(np.diff(values), widths, out=np.zeros(len(widths)), where=widths > 0)
    if not np.isfinite(slopes).all():
        return None
    low = float(distribution.minimum)
    return Quantity(int(QuantityKind.EMPIRICAL), key, low=low, bounds=bounds, values=values, slopes=slopes)
