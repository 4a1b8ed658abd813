"""Chooses a slot of encoded observations, one choice for each row of a batch. Ties go to the lower slot.

Encodings keep the order of values (``x / (|x| + scale)`` rises with x), so slots are compared as they are encoded; only
ratios and sums have to be decoded. An empty slot has size 0 and is never chosen while another is there.

Arguments mean the same in all rules:

- ``observation``: encoded observations, (batch, length) float32.
- ``size`` and other columns: where each stands in the first slot; the next slot's is ``stride`` entries behind.
- ``action``: receives the slots, (batch,).
"""

from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import IntArray, ObservationArray
from flowsched_gym.machine_code.decorators import inlined_rule, rule


class SlotColumn(NamedTuple):
    """A squashed column of the slots.

    Attributes:
        at: Where it stands in the first slot.
        scale: Its scale.
    """

    at: int
    scale: float


@rule
def unsquash(encoded: float, scale: float) -> float:
    """Inverts ``x / (|x| + scale)``; 1 gives inf."""
    room = 1.0 - abs(encoded)
    return encoded * scale / room if room > 0.0 else np.inf


@inlined_rule
def decoded(observation: ObservationArray, row: int, offset: int, column: SlotColumn) -> float:
    """Returns the value of a column in the slot that begins so many entries behind the first one."""
    return unsquash(np.float64(observation[row, column.at + offset]), column.scale)


@rule
def occupied_slots(observation: ObservationArray, size_at: int, stride: int, count: IntArray) -> None:
    """Counts the slots in which a request waits, (batch,); these are the first ones."""
    for row in range(len(observation)):
        count[row] = 0
        for column in range(size_at, observation.shape[1], stride):
            if observation[row, column] > 0.0:
                count[row] += 1


@rule
def smallest_slot(observation: ObservationArray, size_at: int, score_at: int, stride: int, action: IntArray) -> None:
    """Chooses the occupied slot with the smallest value of one column."""
    for row in range(len(observation)):
        best, action[row] = np.inf, 0
        for slot, column in enumerate(range(size_at, observation.shape[1], stride)):
            score = observation[row, column - size_at + score_at]
            if observation[row, column] > 0.0 and score < best:
                best, action[row] = score, slot


@rule
def smallest_ratio_slot(
    observation: ObservationArray, size: SlotColumn, span: SlotColumn, stride: int, sign: float, action: IntArray
) -> None:
    """Chooses the occupied slot with the smallest, or largest, ratio of size and time allowed; no limit goes last.

    Args:
        sign: 1 for the smallest ratio, -1 for the largest.
    """
    for row in range(len(observation)):
        best, action[row] = np.inf, 0
        for slot, offset in enumerate(range(0, observation.shape[1] - size.at, stride)):
            if observation[row, size.at + offset] > 0.0:
                allowed = decoded(observation, row, offset, span)
                score = sign * decoded(observation, row, offset, size) / allowed if allowed < np.inf else np.inf
                if score < best:
                    best, action[row] = score, slot
