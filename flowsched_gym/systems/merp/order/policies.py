"""Heuristics that only the ordering of MERP has."""

from typing import ClassVar, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray, ObservationArray
from flowsched_gym.envs.policies import SlotPolicy
from flowsched_gym.envs.policies.slots import SlotColumn, decoded
from flowsched_gym.machine_code.decorators import allocating_rule


class VirtualDeadlines(SlotPolicy):
    """The flow first whose virtual deadline is the earliest (VDG; MERP, Algorithm 2).

    It orders the visible flows as if they shared one link: on one link without delays it is the discipline ``merp`` as
    long as all flows are seen. Two flows whose slowdowns differ by less than float32 observations tell, a few parts in
    a million, may change places. On a tree it is not the discipline: it cannot tell which flows share which link, and
    the order that it leaves on other links may be an old one.
    """

    pure: ClassVar[bool] = True
    needs = ("remaining", "slowdown_so_far")

    def record(self) -> "VirtualDeadlineRecord":
        """Returns the rule with its columns."""
        size, remaining, so_far = map(self.slot_column, ("size", "remaining", "slowdown_so_far"))
        return VirtualDeadlineRecord(size, remaining, so_far, self.stride)

    def choose(self, batch: ObservationArray) -> IntArray:
        """Orders the flows of each observation."""
        action = np.empty(len(batch), dtype=np.int64)
        virtual_deadline_slot(batch, *self.record(), action)
        return action


class VirtualDeadlineRecord(NamedTuple):
    """The rule ``virtual_deadline_slot`` of one observation, as machine code asks it; see ``WeightedPolicy``."""

    size: SlotColumn
    remaining: SlotColumn
    so_far: SlotColumn
    stride: int

    def choose(
        self, weights: FloatArray, observation: ObservationArray, mask: BoolArray, scratch: FloatArray, action: IntArray
    ) -> None:
        """Writes the slot."""
        virtual_deadline_slot(observation.reshape((1, -1)), self.size, self.remaining, self.so_far, self.stride, action)


@allocating_rule
def virtual_deadline_slot(
    observation: ObservationArray,
    size: SlotColumn,
    remaining: SlotColumn,
    so_far: SlotColumn,
    stride: int,
    action: IntArray,
) -> None:
    """Chooses the occupied slot that goes first by virtual deadlines (MERP, Algorithm 2), as ``expansion`` does.

    Of the flows that are left, the one whose slowdown would be the smallest if it were served last goes last. Among
    equals it is the one with the larger ``remaining * size``, then the later slot.
    """
    offsets = range(0, observation.shape[1] - size.at, stride)
    most = len(offsets)
    slots = np.empty(most, dtype=np.int64)
    sizes, lefts, slowdowns = np.empty(most), np.empty(most), np.empty(most)
    for row in range(len(observation)):
        num_left, total = 0, 0.0
        for slot, offset in enumerate(offsets):
            if observation[row, size.at + offset] > 0.0:
                sizes[slot] = decoded(observation, row, offset, size)
                lefts[slot] = decoded(observation, row, offset, remaining)
                slowdowns[slot] = decoded(observation, row, offset, so_far)
                total += lefts[slot]
                slots[num_left] = slot
                num_left += 1
        while num_left > 1:
            last, least = 0, np.inf
            for index in range(num_left):
                slot, chosen = slots[index], slots[last]
                ratio = slowdowns[slot] + total / sizes[slot]
                work, chosen_work = lefts[slot] * sizes[slot], lefts[chosen] * sizes[chosen]
                if ratio < least or (ratio == least and work >= chosen_work):
                    last, least = index, ratio
            num_left -= 1
            total -= lefts[slots[last]]
            for index in range(last, num_left):
                slots[index] = slots[index + 1]
        action[row] = slots[0] if num_left > 0 else 0
