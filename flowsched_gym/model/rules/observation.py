"""Fills observations: numbers squashed into bounded columns, in loops that every engine compiles the same way.

What a request asks for does not change while it waits, so it is squashed once (``fill_requirements``), not at each look.
"""

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.compile import rule

__all__ = ["fill_full", "fill_paper", "fill_requirements", "squash"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
SeenArray = npt.NDArray[np.float32]


@rule
def squash(value: float, scale: float) -> float:
    """Returns ``value / (|value| + scale)``, in (-1, 1); 1 for inf."""
    squashed = value / (abs(value) + scale)
    return 1.0 if value == np.inf else squashed


@rule
def fill_requirements(
    size: FloatArray,
    span: FloatArray,
    volume: FloatArray,
    line_rate: float,
    size_scale: float,
    time_scale: float,
    seen_size: SeenArray,
    seen_span: SeenArray,
    send_time: FloatArray,
) -> None:
    """Squashes what each request asks for.

    Args:
        size: Sizes in B, (num_flows,).
        span: Times allowed after arrival in s, (num_flows,).
        volume: Bytes on the wire, (num_flows,).
        line_rate: Capacity of the destination's link in B/s.
        size_scale: Size that becomes one half.
        time_scale: Time that becomes one half.
        seen_size: Receives the squashed sizes.
        seen_span: Receives the squashed times.
        send_time: Receives the times in s to send the volumes at line rate.
    """
    for row in range(len(size)):
        seen_size[row] = squash(size[row], size_scale)
        seen_span[row] = squash(span[row], time_scale)
        send_time[row] = volume[row] / line_rate


@rule
def fill_paper(
    observation: SeenArray,
    first: int,
    num_slots: int,
    requests: IntArray,
    head: int,
    tail: int,
    seen_size: SeenArray,
    seen_span: SeenArray,
) -> None:
    """Fills size and deadline of each visible request (Artemis, section 3.3); 0 in empty slots.

    Args:
        observation: Receives the values in the places first to first + 2 * num_slots - 1.
        first: First place.
        num_slots: Slots (f).
        requests: Rows of the waiting flows, in the places head to tail - 1.
        head: Place of the oldest.
        tail: Place behind the youngest.
        seen_size: Squashed sizes, (num_flows,).
        seen_span: Squashed times allowed after arrival, (num_flows,).
    """
    taken = min(num_slots, tail - head)
    for slot in range(taken):
        row = requests[head + slot]
        observation[first + 2 * slot] = seen_size[row]
        observation[first + 2 * slot + 1] = seen_span[row]
    for place in range(first + 2 * taken, first + 2 * num_slots):
        observation[place] = 0.0


@rule
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
    num_tokens: int,
    now: float,
    settled_at: float,
    seen_size: SeenArray,
    seen_span: SeenArray,
    send_time: FloatArray,
    arrival_time: FloatArray,
    deadline: FloatArray,
    remaining: FloatArray,
    rate: FloatArray,
    postponed: npt.NDArray[np.bool_],
    size_scale: float,
    time_scale: float,
) -> None:
    """Fills the state of a destination and of each visible request; 0 in empty slots.

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
        num_tokens: Tokens (k).
        now: Time in s.
        settled_at: Time in s to which ``remaining`` belongs; rates are constant since.
        seen_size: Squashed sizes, (num_flows,).
        seen_span: Squashed times allowed after arrival, (num_flows,).
        send_time: Times in s to send the flows at line rate, (num_flows,).
        arrival_time: Absolute arrival times in s.
        deadline: Absolute deadlines in s.
        remaining: Bytes on the wire left to send.
        rate: Rates in B/s.
        postponed: Whether the request has been sent to the back once.
        size_scale: Size that becomes one half.
        time_scale: Time that becomes one half.
    """
    in_flight = 0.0
    for place in range(active_from, active_from + num_active):
        row = active[place]
        in_flight += remaining[row] - rate[row] * (now - settled_at)
    observation[first] = (num_tokens - num_active) / num_tokens
    observation[first + 1] = num_active / num_tokens
    observation[first + 2] = squash(max(in_flight, 0.0), size_scale)
    observation[first + 3] = squash(float(tail - head), float(num_slots))
    taken = min(num_slots, tail - head)
    for slot in range(taken):
        row = requests[head + slot]
        at = first + 4 + 7 * slot
        time_left = deadline[row] - now
        observation[at] = 1.0
        observation[at + 1] = seen_size[row]
        observation[at + 2] = seen_span[row]
        observation[at + 3] = squash(now - arrival_time[row], time_scale)
        observation[at + 4] = squash(time_left, time_scale)
        observation[at + 5] = squash(time_left - send_time[row], time_scale)
        observation[at + 6] = 1.0 if postponed[row] else 0.0
    for place in range(first + 4 + 7 * taken, first + 4 + 7 * num_slots):
        observation[place] = 0.0
