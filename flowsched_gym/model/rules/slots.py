"""Chooses a slot of encoded observations, one choice for each row of a batch. Ties go to the lower slot.

Encodings keep the order of values (``x / (|x| + scale)`` rises with x), so slots are compared as they are encoded; only
ratios and sums have to be decoded. An empty slot has size 0 and is never chosen while another is there.
"""

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.compile import allocating_rule, rule

__all__ = [
    "feasible_slot",
    "occupied_slots",
    "smallest_ratio_slot",
    "smallest_slot",
    "unsquash",
    "virtual_deadline_slot",
]

Observations = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]


@rule
def unsquash(encoded: float, scale: float) -> float:
    """Inverts ``x / (|x| + scale)``; 1 gives inf."""
    room = 1.0 - abs(encoded)
    return encoded * scale / room if room > 0.0 else np.inf


@rule
def occupied_slots(observation: Observations, size_at: int, stride: int, count: IntArray) -> None:
    """Counts the slots in which a request waits; these are the first ones.

    Args:
        observation: Encoded observations, (batch, size).
        size_at: Column of the first slot's size.
        stride: Columns of a slot.
        count: Receives the counts, (batch,).
    """
    for row in range(len(observation)):
        count[row] = 0
        for column in range(size_at, observation.shape[1], stride):
            if observation[row, column] > 0.0:
                count[row] += 1


@rule
def smallest_slot(observation: Observations, size_at: int, score_at: int, stride: int, action: IntArray) -> None:
    """Chooses the occupied slot with the smallest value of one column.

    Args:
        observation: Encoded observations, (batch, size).
        size_at: Column of the first slot's size.
        score_at: Column of the first slot's value.
        stride: Columns of a slot.
        action: Receives the slots, (batch,).
    """
    for row in range(len(observation)):
        best, action[row] = np.inf, 0
        for slot, column in enumerate(range(size_at, observation.shape[1], stride)):
            score = observation[row, column - size_at + score_at]
            if observation[row, column] > 0.0 and score < best:
                best, action[row] = score, slot


@rule
def smallest_ratio_slot(
    observation: Observations,
    size_at: int,
    span_at: int,
    stride: int,
    size_scale: float,
    time_scale: float,
    sign: float,
    action: IntArray,
) -> None:
    """Chooses the occupied slot with the smallest, or largest, ratio of size and time allowed; no limit goes last.

    Args:
        observation: Encoded observations, (batch, size).
        size_at: Column of the first slot's size.
        span_at: Column of the first slot's time allowed.
        stride: Columns of a slot.
        size_scale: Scale of the size.
        time_scale: Scale of the time allowed.
        sign: 1 for the smallest ratio, -1 for the largest.
        action: Receives the slots, (batch,).
    """
    for row in range(len(observation)):
        best, action[row] = np.inf, 0
        for slot, column in enumerate(range(size_at, observation.shape[1], stride)):
            if observation[row, column] > 0.0:
                size = unsquash(observation[row, column], size_scale)
                span = unsquash(observation[row, column - size_at + span_at], time_scale)
                score = sign * size / span if span < np.inf else np.inf
                if score < best:
                    best, action[row] = score, slot


@rule
def feasible_slot(
    observation: Observations,
    size_at: int,
    time_left_at: int,
    stride: int,
    size_scale: float,
    time_scale: float,
    latency: float,
    seconds_per_byte: float,
    action: IntArray,
) -> None:
    """Chooses the earliest deadline among the requests that can still meet theirs, else the earliest of all.

    Args:
        observation: Encoded observations, (batch, size).
        size_at: Column of the first slot's size.
        time_left_at: Column of the first slot's time to the deadline.
        stride: Columns of a slot.
        size_scale: Scale of the size.
        time_scale: Scale of the time to the deadline.
        latency: Time in s that a granted flow needs beside sending.
        seconds_per_byte: Time in s that a byte takes to send.
        action: Receives the slots, (batch,).
    """
    for row in range(len(observation)):
        best, best_is_hopeless, action[row] = np.inf, True, 0
        for slot, column in enumerate(range(size_at, observation.shape[1], stride)):
            if observation[row, column] > 0.0:
                size = unsquash(observation[row, column], size_scale)
                time_left = unsquash(observation[row, column - size_at + time_left_at], time_scale)
                hopeless = time_left < latency + size * seconds_per_byte
                better = time_left < best if hopeless == best_is_hopeless else best_is_hopeless
                if better:
                    best, best_is_hopeless, action[row] = time_left, hopeless, slot


@allocating_rule
def virtual_deadline_slot(
    observation: Observations,
    size_at: int,
    remaining_at: int,
    so_far_at: int,
    stride: int,
    size_scale: float,
    remaining_scale: float,
    so_far_scale: float,
    action: IntArray,
) -> None:
    """Chooses the occupied slot that goes first by virtual deadlines (MERP, Algorithm 2), as ``expansion`` does.

    Of the flows that are left, the one whose slowdown would be the smallest if it were served last goes last. Among
    equals it is the one with the larger ``remaining * size``, then the later slot.

    Args:
        observation: Encoded observations, (batch, size).
        size_at: Column of the first slot's size.
        remaining_at: Column of the first slot's bytes left.
        so_far_at: Column of the first slot's slowdown so far.
        stride: Columns of a slot.
        size_scale: Scale of the size.
        remaining_scale: Scale of the bytes left.
        so_far_scale: Scale of the slowdown so far.
        action: Receives the slots, (batch,).
    """
    most = len(range(size_at, observation.shape[1], stride))
    slots = np.empty(most, dtype=np.int64)
    size, remaining, so_far = np.empty(most), np.empty(most), np.empty(most)
    for row in range(len(observation)):
        left, total = 0, 0.0
        for slot, column in enumerate(range(size_at, observation.shape[1], stride)):
            if observation[row, column] > 0.0:
                size[slot] = unsquash(observation[row, column], size_scale)
                remaining[slot] = unsquash(observation[row, column - size_at + remaining_at], remaining_scale)
                so_far[slot] = unsquash(observation[row, column - size_at + so_far_at], so_far_scale)
                total += remaining[slot]
                slots[left] = slot
                left += 1
        while left > 1:
            last, least = 0, np.inf
            for place in range(left):
                slot, chosen = slots[place], slots[last]
                ratio = so_far[slot] + total / size[slot]
                work, chosen_work = remaining[slot] * size[slot], remaining[chosen] * size[chosen]
                if ratio < least or (ratio == least and work >= chosen_work):
                    last, least = place, ratio
            left -= 1
            total -= remaining[slots[last]]
            for place in range(last, left):
                slots[place] = slots[place + 1]
        action[row] = slots[0] if left > 0 else 0
