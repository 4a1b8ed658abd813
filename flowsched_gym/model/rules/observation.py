"""Fills observations: numbers squashed into bounded columns, in loops that every engine compiles the same way.

What a request asks for does not change while it waits: it is squashed once (``fill_requirements``), not at each look.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.compile import inlined_rule, rule

__all__ = ["NEVER", "NUM_SLOT_COLUMNS", "POSTPONED", "fill_full", "fill_paper", "fill_requirements", "squash"]

NUM_CONTEXT_COLUMNS: Final = 4
NUM_SLOT_COLUMNS: Final = 7
PRESENT, SIZE, SPAN, WAITING, TIME_LEFT, SLACK, POSTPONED = range(NUM_SLOT_COLUMNS)
NEVER: Final = -1
"""A moment before all others."""

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
SeenArray = npt.NDArray[np.float32]
MomentArray = FloatArray | npt.NDArray[np.int32]


@inlined_rule
def squash(value: float, scale: float) -> float:
    """Returns ``value / (|value| + scale)``, in (-1, 1); 1 for inf."""
    squashed = value / (abs(value) + scale)
    return 1.0 if value == np.inf else squashed


@rule
def fill_requirements(
    first: int,
    last: int,
    size: FloatArray,
    span: FloatArray,
    volume: FloatArray,
    line_rate: float,
    size_scale: float,
    time_scale: float,
    send_time: FloatArray,
    seen_at: MomentArray,
    seen: SeenArray,
) -> None:
    """Squashes what each request asks for, and prepares its slot columns for the first look.

    Args:
        first: First row to fill.
        last: Row behind the last.
        size: Sizes in B, (last - first,).
        span: Times allowed after arrival in s, (last - first,).
        volume: Bytes on the wire, (num_flows,).
        line_rate: Capacity of the destination's link in B/s.
        size_scale: Size that becomes one half.
        time_scale: Time that becomes one half.
        send_time: Receives the times in s to send the volumes at line rate, (num_flows,).
        seen_at: Receives ``NEVER``.
        seen: Receives the columns of a slot that show each request, (num_flows, at least NUM_SLOT_COLUMNS).
    """
    for row in range(first, last):
        send_time[row] = volume[row] / line_rate
        seen_at[row] = NEVER
        seen[row, PRESENT] = 1.0
        seen[row, SIZE] = squash(size[row - first], size_scale)
        seen[row, SPAN] = squash(span[row - first], time_scale)
        seen[row, POSTPONED] = 0.0


@inlined_rule
def fill_paper(
    observation: SeenArray,
    first: int,
    num_slots: int,
    requests: IntArray,
    head: int,
    tail: int,
    seen: SeenArray,
) -> None:
    """Fills size and deadline of each visible request (Artemis, section 3.3); 0 in empty slots.

    Args:
        observation: Receives the values in the places first to first + 2 * num_slots - 1.
        first: First place.
        num_slots: Slots (f).
        requests: Rows of the waiting flows, in the places head to tail - 1.
        head: Place of the oldest.
        tail: Place behind the youngest.
        seen: Columns of a slot that show each request, (num_flows, at least NUM_SLOT_COLUMNS).
    """
    taken = min(num_slots, tail - head)
    for slot in range(taken):
        row = requests[head + slot]
        observation[first + 2 * slot] = seen[row, SIZE]
        observation[first + 2 * slot + 1] = seen[row, SPAN]
    for place in range(first + 2 * taken, first + 2 * num_slots):
        observation[place] = 0.0


@inlined_rule
def fill_full(
    observation: SeenArray,
    first: int,
    num_slots: int,
    requests: IntArray,
    head: int,
    tail: int,
    active: IntArray,
    active_from: int,
    num_active: int,
    num_counted: int,
    in_flight: float,
    num_tokens: int,
    now: float,
    settled_at: float,
    moment: float,
    send_time: FloatArray,
    seen_at: MomentArray,
    seen: SeenArray,
    arrival_time: FloatArray,
    deadline: FloatArray,
    remaining: FloatArray,
    rate: FloatArray,
    size_scale: float,
    time_scale: float,
) -> float:
    """Fills the state of a destination and of each visible request, 0 in empty slots; returns the bytes in flight.

    Args:
        observation: Receives the values from the place first on: four of the destination, then seven of each slot.
        first: First place.
        num_slots: Slots (f).
        requests: Rows of the waiting flows, in the places head to tail - 1.
        head: Place of the oldest.
        tail: Place behind the youngest.
        active: Rows of the flows that hold a token, in the places active_from to active_from + num_active - 1.
        active_from: Their first place.
        num_active: Tokens held.
        num_counted: Flows, of the first of these, whose bytes have been added up at this moment.
        in_flight: Their sum, 0.0 if there are none.
        num_tokens: Tokens (k).
        now: Time in s.
        settled_at: Time in s to which ``remaining`` belongs; rates are constant since.
        moment: Tells this time from others: the time itself, or a number of it.
        send_time: Times in s to send the flows at line rate, (num_flows,).
        seen_at: Moments for which the columns of each request that change with time hold; updated, as these are.
        seen: Columns of a slot that show each request, (num_flows, at least NUM_SLOT_COLUMNS).
        arrival_time: Absolute arrival times in s.
        deadline: Absolute deadlines in s.
        remaining: Bytes on the wire left to send.
        rate: Rates in B/s.
        size_scale: Size that becomes one half.
        time_scale: Time that becomes one half.
    """
    for place in range(active_from + num_counted, active_from + num_active):
        row = active[place]
        in_flight += remaining[row] - rate[row] * (now - settled_at)
    observation[first] = (num_tokens - num_active) / num_tokens
    observation[first + 1] = num_active / num_tokens
    observation[first + 2] = squash(max(in_flight, 0.0), size_scale)
    observation[first + 3] = squash(float(tail - head), float(num_slots))
    taken = min(num_slots, tail - head)
    at = first + NUM_CONTEXT_COLUMNS
    for slot in range(taken):
        row = requests[head + slot]
        if seen_at[row] != moment:
            # A request is often looked at several times in one instant, once for each free token.
            time_left = deadline[row] - now
            seen[row, WAITING] = squash(now - arrival_time[row], time_scale)
            seen[row, TIME_LEFT] = squash(time_left, time_scale)
            seen[row, SLACK] = squash(time_left - send_time[row], time_scale)
            seen_at[row] = moment
        for column in range(NUM_SLOT_COLUMNS):
            observation[at + column] = seen[row, column]
        at += NUM_SLOT_COLUMNS
    for place in range(at, first + NUM_CONTEXT_COLUMNS + NUM_SLOT_COLUMNS * num_slots):
        observation[place] = 0.0
    return in_flight
