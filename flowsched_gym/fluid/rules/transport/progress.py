"""Moves flows forward in time at constant rates, and tells when the next of them needs attention.

Event times are rounded to float64, so a flow that should be exactly finished may be short by a few units in the last
place of the time. A flow counts as having reached a level when it is nearer than ``TIME_TOLERANCE`` of the time at
its rate, plus ``SIZE_TOLERANCE`` of its volume: far below the 1e-9 to which results are held.
"""

from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.machine_code.decorators import inlined_rule

TIME_TOLERANCE: Final = 1e-14
"""Relative rounding of event times, about 45 units in the last place."""
SIZE_TOLERANCE: Final = 1e-13
"""Relative rounding of bytes summed over the events of a flow."""
SMALLEST_STEP: Final = 2.0**-52
"""Relative distance of a time to the next one that float64 can hold, or twice that."""
SMALLEST_TIME: Final = 2.0**-1074
"""Smallest time in s, > 0, that float64 can hold; beside any time from 1e-292 s on it is nothing."""


@inlined_rule
def insert_sorted(rows: IntArray, count: int, row: int) -> int:
    """Inserts a row into the first ``count`` entries, which are in increasing order; returns count + 1."""
    index = count
    while index > 0 and rows[index - 1] > row:
        rows[index] = rows[index - 1]
        index -= 1
    rows[index] = row
    return count + 1


@inlined_rule
def advance(
    now: float,
    elapsed: float,
    active: IntArray,
    count: int,
    served: IntArray,
    num_served: int,
    volume: FloatArray,
    attained: FloatArray,
    remaining: FloatArray,
    rate: FloatArray,
    review_at: FloatArray,
    finished: IntArray,
    crossed: IntArray,
) -> tuple[int, int, int]:
    """Sends for a step of ``elapsed`` >= 0 s that ends now, in which no rate changes.

    Flows that finish are removed from the active ones, whose order is kept, and have no rate any more. ``finished``
    receives them, ``crossed`` those that reach ``review_at`` and go on, both in the order of rows. Returns the numbers
    of active, finished and crossed flows.
    """
    num_finished = 0
    num_crossed = 0
    for index in range(num_served):
        row = served[index]
        if rate[row] == 0.0:
            continue
        sent = attained[row] + rate[row] * elapsed
        slip = rate[row] * (now * TIME_TOLERANCE) + volume[row] * SIZE_TOLERANCE
        if volume[row] - sent <= slip:
            attained[row] = volume[row]
            remaining[row] = 0.0
            rate[row] = 0.0
            num_finished = insert_sorted(finished, num_finished, row)
            continue
        if review_at[row] - sent <= slip:
            sent = review_at[row]
            num_crossed = insert_sorted(crossed, num_crossed, row)
        attained[row] = sent
        remaining[row] = volume[row] - sent
    if num_finished == 0:
        return count, num_finished, num_crossed
    kept = index = 0
    while index - kept < num_finished:
        if remaining[active[index]] > 0.0:
            active[kept] = active[index]
            kept += 1
        index += 1
    for behind in range(index, count):
        active[behind - num_finished] = active[behind]
    return count - num_finished, num_finished, num_crossed


@inlined_rule
def time_after(now: float, span: float) -> float:
    """Returns the time in s after a span >= 0 s; later than now, though the span be less than the clock can tell."""
    return max(now + span, now * (1.0 + SMALLEST_STEP) + SMALLEST_TIME)


@inlined_rule
def next_event_time(
    now: float,
    served: IntArray,
    num_served: int,
    attained: FloatArray,
    remaining: FloatArray,
    rate: FloatArray,
    review_at: FloatArray,
    review_time: float,
) -> float:
    """Returns the absolute time in s, > now, at which an active flow next finishes or crosses a level; inf for never.

    At ``review_time``, an absolute time in s, > now, the discipline needs attention anyway.
    """
    soonest = np.inf
    for index in range(num_served):
        row = served[index]
        left = min(remaining[row], review_at[row] - attained[row])
        soonest = min(soonest, left / rate[row])
    # A last byte may need less time than the clock can tell; the clock moves all the same, by its smallest step.
    return max(min(now + soonest, review_time), now * (1.0 + SMALLEST_STEP) + SMALLEST_TIME)
