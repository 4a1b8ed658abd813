"""Fills observations: numbers squashed into bounded columns, in loops that every engine compiles the same way."""

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.compile import rule

__all__ = ["fill_full", "fill_paper", "squash"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@rule
def squash(value: float, scale: float) -> float:
    """Returns ``value / (|value| + scale)``, in (-1, 1); 1 for inf."""
    if value == np.inf:
        return 1.0
    return value / (abs(value) + scale)


@rule
def fill_paper(
    observation: npt.NDArray[np.float32],
    num_slots: int,
    requests: IntArray,
    head: int,
    tail: int,
    size: FloatArray,
    span: FloatArray,
    size_scale: float,
    time_scale: float,
) -> None:
    """Fills size and deadline of each visible request (Artemis, section 3.3); 0 in empty slots.

    Args:
        observation: Receives the values, (num_slots * 2,).
        num_slots: Slots (f).
        requests: Rows of the waiting flows, in the places head to tail - 1.
        head: Place of the oldest.
        tail: Place behind the youngest.
        size: Sizes in B, (num_flows,).
        span: Times allowed after arrival in s, (num_flows,).
        size_scale: Size that becomes one half.
        time_scale: Time that becomes one half.
    """
    observation[:] = 0.0
    for slot in range(min(num_slots, tail - head)):
        row = requests[head + slot]
        observation[2 * slot] = squash(size[row], size_scale)
        observation[2 * slot + 1] = squash(span[row], time_scale)


@rule
def fill_full(
    observation: npt.NDArray[np.float32],
    num_slots: int,
    requests: IntArray,
    head: int,
    tail: int,
    active: IntArray,
    num_active: int,
    num_tokens: int,
    now: float,
    settled_at: float,
    line_rate: float,
    size: FloatArray,
    span: FloatArray,
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
        observation: Receives the values: four of the destination, then seven of each slot.
        num_slots: Slots (f).
        requests: Rows of the waiting flows, in the places head to tail - 1.
        head: Place of the oldest.
        tail: Place behind the youngest.
        active: Rows of the flows that hold a token, in its first ``num_active`` places.
        num_active: Tokens held.
        num_tokens: Tokens (k).
        now: Time in s.
        settled_at: Time in s to which ``remaining`` belongs; rates are constant since.
        line_rate: Capacity of the destination's link in B/s.
        size: Sizes in B, (num_flows,).
        span: Times allowed after arrival in s.
        arrival_time: Absolute arrival times in s.
        deadline: Absolute deadlines in s.
        remaining: Bytes on the wire left to send.
        rate: Rates in B/s.
        postponed: Whether the request has been sent to the back once.
        size_scale: Size that becomes one half.
        time_scale: Time that becomes one half.
    """
    in_flight = 0.0
    for place in range(num_active):
        row = active[place]
        in_flight += remaining[row] - rate[row] * (now - settled_at)
    observation[:] = 0.0
    observation[0] = (num_tokens - num_active) / num_tokens
    observation[1] = num_active / num_tokens
    observation[2] = squash(max(in_flight, 0.0), size_scale)
    observation[3] = squash(float(tail - head), float(num_slots))
    for slot in range(min(num_slots, tail - head)):
        row = requests[head + slot]
        at = 4 + 7 * slot
        time_left = deadline[row] - now
        observation[at] = 1.0
        observation[at + 1] = squash(size[row], size_scale)
        observation[at + 2] = squash(span[row], time_scale)
        observation[at + 3] = squash(now - arrival_time[row], time_scale)
        observation[at + 4] = squash(time_left, time_scale)
        observation[at + 5] = squash(time_left - remaining[row] / line_rate, time_scale)
        observation[at + 6] = 1.0 if postponed[row] else 0.0
