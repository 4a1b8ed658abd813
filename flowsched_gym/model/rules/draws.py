"""Draws the flows of an episode in compiled code, bit for bit as the workloads do in NumPy.

A workload that can be drawn here is written down once as a ``DrawPlan`` (``flowsched_gym/workload/compiled.py``). Flows
come in bursts of one size; a workload of single flows has bursts of one. Each purpose has a stream of its own, as in
``SeedStreams``, so that it does not matter in which order the purposes are drawn.
"""

from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.compile import rule
from flowsched_gym.model.rules.streams import (
    UNIT,
    ZERO,
    Pool,
    Stream,
    advance_stream,
    bounded_integer,
    next_exponential,
    open_stream,
    seed_pool,
    significand,
    stream_key,
)

__all__ = [
    "MOST_COLUMNS",
    "SCRATCH_LENGTH",
    "DrawPlan",
    "HostPattern",
    "Quantity",
    "QuantityKind",
    "draw_episode",
    "quantile",
]

COLUMN_BITS: Final = 9
"""Bits for the column of a random number in its row, beside the 53 of the number."""

MOST_COLUMNS: Final = 2**COLUMN_BITS
"""Random numbers of a row at most; NumPy sorts longer rows about as fast."""

NO_TASK: Final = -1
"""Task of a flow that belongs to none, as in a ``Workload``."""

SCRATCH_LENGTH: Final = 2 * MOST_COLUMNS
"""Integers of scratch that a draw needs."""

NO_FLOATS: Final = np.empty(0)

ORDER, JITTER, HOSTS, SENDERS, SOURCES, DESTINATIONS = (
    stream_key(purpose) for purpose in ("order", "jitter", "hosts", "senders", "sources", "destinations")
)

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class QuantityKind(IntEnum):
    """Says from what a quantity is drawn."""

    CONSTANT = 0
    UNIFORM = 1
    EXPONENTIAL = 2
    DISCRETE = 3
    EMPIRICAL = 4
    BY_PLACE = 5
    """Each place in a burst has its value; ``DrawPlan.shuffle`` says in which order."""


class HostPattern(IntEnum):
    """Says between which hosts flows run."""

    GATHER = 0
    SCATTER = 1
    PAIR = 2
    ALL_TO_ALL = 3


class Quantity(NamedTuple):
    """Says how one number of each flow is drawn.

    Attributes:
        kind: A ``QuantityKind``.
        key: Key of the stream.
        low: The constant; the lower end (uniform); the smallest value (empirical).
        scale: Length of the interval (uniform), mean (exponential).
        bounds: Cumulative probabilities (discrete, empirical), (num_points,) float64.
        values: The values (discrete, empirical), (num_points,) float64; those of the places, (burst_size,) float64.
        slopes: Rise of the values over the bounds from each point to the next (empirical), (num_points - 1,) float64.
    """

    kind: int
    key: np.uint64 = ZERO
    low: float = 0.0
    scale: float = 0.0
    bounds: FloatArray = NO_FLOATS
    values: FloatArray = NO_FLOATS
    slopes: FloatArray = NO_FLOATS


class DrawPlan(NamedTuple):
    """Says how an episode is drawn. All plans have the same compiled type.

    Attributes:
        gap: Gaps between bursts in s, exponential.
        num_bursts: Bursts of an episode, or -1: those that arrive before ``duration``.
        duration: In s; inf if the number of bursts is given.
        burst_size: Flows of a burst, >= 1; 1 for single flows.
        tasks: Whether a burst is a task.
        jitter: Arrivals of a burst are spread over this time in s, >= 0.
        size: Sizes in B.
        span: Times in s allowed after arrival; a constant inf for no deadlines.
        shuffle: Whether the places of size and span are put into random order in each burst; both go by place then.
        pattern: A ``HostPattern``.
        num_near: Hosts, from 0 on, that gather (or scatter); all hosts, where any may send to any.
        num_far: Hosts after them, at the other end, >= burst_size; 0 where there are none.
    """

    gap: Quantity
    num_bursts: int
    duration: float
    burst_size: int
    tasks: bool
    jitter: float
    size: Quantity
    span: Quantity
    shuffle: bool
    pattern: int
    num_near: int
    num_far: int


CONSTANT: Final = int(QuantityKind.CONSTANT)
UNIFORM: Final = int(QuantityKind.UNIFORM)
EXPONENTIAL: Final = int(QuantityKind.EXPONENTIAL)
DISCRETE: Final = int(QuantityKind.DISCRETE)
BY_PLACE: Final = int(QuantityKind.BY_PLACE)
GATHER: Final = int(HostPattern.GATHER)
PAIR: Final = int(HostPattern.PAIR)
ALL_TO_ALL: Final = int(HostPattern.ALL_TO_ALL)


@rule
def draw_episode(
    seed: int,
    plan: DrawPlan,
    first: int,
    capacity: int,
    arrival_time: FloatArray,
    size: FloatArray,
    deadline_span: FloatArray,
    source: IntArray,
    destination: IntArray,
    task_id: IntArray,
    scratch: IntArray,
) -> int:
    """Draws the flows of one episode into rows ``first``, ``first + 1``, ... of the columns of a ``Workload``.

    Flow ids are not written: they count from 0 on.

    Args:
        seed: Seed of the episode, 0 <= seed < 2**63.
        plan: The plan.
        first: First row.
        capacity: Number of rows that may be written.
        arrival_time: Receives arrival times in s; as the columns after it, at least first + capacity long.
        size: Receives sizes in B.
        deadline_span: Receives the times in s allowed after arrival.
        source: Receives the sending hosts.
        destination: Receives the receiving hosts.
        task_id: Receives the tasks.
        scratch: Overwritten, (SCRATCH_LENGTH,) int64; of each thread its own.

    Returns:
        Number of flows. If they do not fit, the number of rows that they need, negated; nothing is written then.
    """
    pool = seed_pool(seed)
    num_bursts = plan.num_bursts if plan.num_bursts >= 0 else _count_bursts(pool, plan)
    num_flows = num_bursts * plan.burst_size
    if num_flows > capacity:
        return -num_flows
    end = first + num_flows
    _draw_arrivals(pool, plan, scratch, arrival_time[first:end])
    if plan.shuffle:
        _draw_shuffled(pool, plan, scratch, size[first:end], deadline_span[first:end])
    else:
        _draw_quantity(pool, plan.size, size[first:end])
        _draw_quantity(pool, plan.span, deadline_span[first:end])
    if plan.pattern == PAIR:
        for flow in range(first, end):
            source[flow] = 1
            destination[flow] = 0
    elif plan.pattern == ALL_TO_ALL:
        _draw_pairs(pool, plan, source[first:end], destination[first:end])
    else:
        near, far = (destination, source) if plan.pattern == GATHER else (source, destination)
        _draw_ends(pool, plan, scratch, near[first:end], far[first:end])
    for burst in range(num_bursts):
        for place in range(plan.burst_size):
            task_id[first + burst * plan.burst_size + place] = burst if plan.tasks else NO_TASK
    return num_flows


@rule
def _count_bursts(pool: Pool, plan: DrawPlan) -> int:
    """Counts the bursts that arrive before the duration."""
    stream = open_stream(pool, plan.gap.key)
    count = -1
    now = 0.0
    while now < plan.duration:
        stream, gap = next_exponential(stream)
        now += plan.gap.scale * gap
        count += 1
    return count


@rule
def _draw_arrivals(pool: Pool, plan: DrawPlan, scratch: IntArray, arrival_time: FloatArray) -> None:
    """Draws the arrival times of bursts, and spreads the flows of each."""
    stream = open_stream(pool, plan.gap.key)
    jitter_stream = open_stream(pool, JITTER)
    now = 0.0
    for start in range(0, len(arrival_time), plan.burst_size):
        stream, gap = next_exponential(stream)
        now += plan.gap.scale * gap
        for place in range(plan.burst_size):
            arrival_time[start + place] = now
        if plan.jitter > 0.0:
            jitter_stream, drawn, rank = _draw_ranked(jitter_stream, plan.burst_size, scratch)
            for column in range(plan.burst_size):
                arrival_time[start + rank[column]] += plan.jitter * ((drawn[column] >> COLUMN_BITS) * UNIT)


@rule
def _draw_quantity(pool: Pool, quantity: Quantity, out: FloatArray) -> None:
    """Draws one number for each flow."""
    stream = open_stream(pool, quantity.key)
    if quantity.kind == CONSTANT:
        for flow in range(len(out)):
            out[flow] = quantity.low
    elif quantity.kind == BY_PLACE:
        for start in range(0, len(out), len(quantity.values)):
            for place in range(len(quantity.values)):
                out[start + place] = quantity.values[place]
    elif quantity.kind == EXPONENTIAL:
        for flow in range(len(out)):
            stream, exponential = next_exponential(stream)
            out[flow] = quantity.scale * exponential
    else:
        for flow in range(len(out)):
            stream = advance_stream(stream)
            out[flow] = quantile(quantity, significand(stream) * UNIT)


@rule
def _draw_shuffled(pool: Pool, plan: DrawPlan, scratch: IntArray, size: FloatArray, deadline_span: FloatArray) -> None:
    """Puts the sizes and deadlines of the places of a burst into one random order for each burst."""
    stream = open_stream(pool, ORDER)
    for start in range(0, len(size), plan.burst_size):
        stream, _, rank = _draw_ranked(stream, plan.burst_size, scratch)
        for column in range(plan.burst_size):
            size[start + rank[column]] = plan.size.values[column]
            deadline_span[start + rank[column]] = plan.span.values[column]


@rule
def quantile(quantity: Quantity, probability: float) -> float:
    """Gives the value of a quantity, uniform, discrete or empirical, that a uniform random number stands for.

    Args:
        quantity: How it is drawn.
        probability: The random number, 0 <= probability < 1.
    """
    if quantity.kind == UNIFORM:
        return quantity.low + quantity.scale * probability
    low, high = 0, len(quantity.bounds)
    while low < high:
        middle = (low + high) >> 1
        if quantity.bounds[middle] <= probability:
            low = middle + 1
        else:
            high = middle
    if quantity.kind == DISCRETE:
        value: float = quantity.values[low]
        return value
    value = quantity.values[max(low - 1, 0)]
    if low > 0:
        value += quantity.slopes[low - 1] * (probability - quantity.bounds[low - 1])
    return max(value, quantity.low)


@rule
def _draw_ends(pool: Pool, plan: DrawPlan, scratch: IntArray, near: IntArray, far: IntArray) -> None:
    """Draws for each flow the host that its burst shares and the host at its other end."""
    near_stream, far_stream = open_stream(pool, HOSTS), open_stream(pool, SENDERS)
    half = 0
    for start in range(0, len(near), plan.burst_size):
        near_stream, half, host = bounded_integer(near_stream, half, plan.num_near)
        for place in range(plan.burst_size):
            near[start + place] = host
        if plan.num_far == plan.burst_size:
            for place in range(plan.burst_size):
                far[start + place] = plan.num_near + place
            continue
        far_stream, order, rank = _draw_ranked(far_stream, plan.num_far, scratch)
        for column in range(plan.num_far):
            order[rank[column]] = column
        for place in range(plan.burst_size):
            far[start + place] = plan.num_near + order[place]


@rule
def _draw_pairs(pool: Pool, plan: DrawPlan, source: IntArray, destination: IntArray) -> None:
    """Draws for each flow any host and any other."""
    source_stream, step_stream = open_stream(pool, SOURCES), open_stream(pool, DESTINATIONS)
    half = step_half = 0
    for flow in range(len(source)):
        source_stream, half, host = bounded_integer(source_stream, half, plan.num_near)
        step_stream, step_half, step = bounded_integer(step_stream, step_half, plan.num_near - 1)
        source[flow] = host
        destination[flow] = (host + 1 + step) % plan.num_near


@rule
def _draw_ranked(stream: Stream, num_columns: int, scratch: IntArray) -> tuple[Stream, IntArray, IntArray]:
    """Draws a row of uniform random numbers and ranks them; of equal numbers, the first comes first.

    Returns:
        The stream after the row; the numbers in units of ``UNIT``, shifted by ``COLUMN_BITS``, with their columns in
        those bits, (num_columns,) int64; the place of each in increasing order, (num_columns,) int64.
    """
    drawn, rank = scratch[:num_columns], scratch[num_columns : 2 * num_columns]
    for column in range(num_columns):
        stream = advance_stream(stream)
        drawn[column] = (significand(stream) << COLUMN_BITS) | column
    # Comparing each with each is quadratic, but has no branch to guess: for a burst it is faster than any sort.
    for column in range(num_columns):
        number = drawn[column]
        smaller = 0
        for other in range(num_columns):
            smaller += drawn[other] < number
        rank[column] = smaller
    return stream, drawn, rank
