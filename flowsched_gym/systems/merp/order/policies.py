"""Heuristics that only the ordering of MERP has."""

from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray, ObservationArray
from flowsched_gym.core.checks import check_number
from flowsched_gym.envs.columns import Layout
from flowsched_gym.envs.policies import SlotPolicy
from flowsched_gym.envs.policies.policy import attribute_of
from flowsched_gym.envs.policies.slots import SlotColumn, decoded
from flowsched_gym.machine_code.decorators import allocating_rule, inlined_rule, rule

SAME_LINK: Final = 1e-3
"""Relative difference up to which two backlogs, decoded from float32, are that of one link."""


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


class MostDelayed(SlotPolicy):
    """The flow with the largest ``so_far * s^2 + if_last * l - waiting * w``, by numbers that are tuned.

    ``s`` is its slowdown so far, ``l`` that if it were served last and ``w`` the time since its arrival, all as they
    are encoded in the observation, 0 to 1: what differs among large ones counts little.
    """

    pure: ClassVar[bool] = True
    needs = ("slowdown_so_far", "slowdown_if_last", "waiting")

    def __init__(self, layout: Layout, so_far: float, if_last: float, waiting: float) -> None:
        super().__init__(layout)
        given = {"so_far": so_far, "if_last": if_last, "waiting": waiting}
        self._weights = [check_number(name, weight) for name, weight in given.items()]

    @classmethod
    def for_env(
        cls, env: Any, *, seed: int = 0, so_far: float = 1.0, if_last: float = 0.3, waiting: float = 0.5
    ) -> Self:
        """Makes the policy for an environment, with its weights."""
        return cls(attribute_of(env, "layout"), so_far, if_last, waiting)

    def record(self) -> "MostDelayedRecord":
        """Returns the rule with its columns and weights."""
        so_far, if_last, waiting = self._weights
        at = dict(zip(("so_far_at", "if_last_at", "waiting_at"), self.needed_at, strict=True))
        return MostDelayedRecord(
            size_at=self.size_at, stride=self.stride, so_far=so_far, if_last=if_last, waiting=waiting, **at
        )

    def choose(self, batch: ObservationArray) -> IntArray:
        """Compares the sums."""
        action = np.empty(len(batch), dtype=np.int64)
        most_delayed_slot(batch, self.record(), action)
        return action


class MostDelayedRecord(NamedTuple):
    """The rule ``most_delayed_slot`` of one observation, as machine code asks it; see ``WeightedPolicy``."""

    size_at: int
    so_far_at: int
    if_last_at: int
    waiting_at: int
    stride: int
    so_far: float
    if_last: float
    waiting: float

    def choose(
        self, weights: FloatArray, observation: ObservationArray, mask: BoolArray, scratch: FloatArray, action: IntArray
    ) -> None:
        """Writes the slot."""
        most_delayed_slot(observation.reshape((1, -1)), self, action)


@inlined_rule
def delay_of(observation: ObservationArray, row: int, offset: int, asked: MostDelayedRecord) -> float:
    """Adds up the delay of the flow in the slot that begins so many entries behind the first one."""
    so_far = np.float64(observation[row, asked.so_far_at + offset])
    delay = asked.so_far * so_far * so_far + asked.if_last * np.float64(observation[row, asked.if_last_at + offset])
    return delay - asked.waiting * np.float64(observation[row, asked.waiting_at + offset])


@rule
def most_delayed_slot(observation: ObservationArray, asked: MostDelayedRecord, action: IntArray) -> None:
    """Chooses the occupied slot with the largest sum, the oldest of equals."""
    for row in range(len(observation)):
        best, action[row] = -np.inf, 0
        for slot, offset in enumerate(range(0, observation.shape[1] - asked.size_at, asked.stride)):
            if observation[row, asked.size_at + offset] > 0.0:
                delay = delay_of(observation, row, offset, asked)
                if delay > best:
                    best, action[row] = delay, slot


class NextDelayed(MostDelayed):
    """The most delayed flow; where that has begun, the next on another link that has not, if it is little less delayed.

    One flow alone is chosen at a time, though several links may need it, and to choose a flow that sends anyway is to
    choose none. Flows with the same backlog on their most loaded link share that link, so those less delayed than one
    that has begun are passed over; so is a flow that has just come alone, which shares a link with all that compete.
    On one link it is ``MostDelayed``.
    """

    pure: ClassVar[bool] = True
    margin: float = 0.1
    """How much less delayed the flow may be than the first."""

    @classmethod
    def for_env(
        cls,
        env: Any,
        *,
        seed: int = 0,
        so_far: float = 1.0,
        if_last: float = 0.4,
        waiting: float = 0.5,
        margin: float = 0.1,
    ) -> Self:
        """Makes the policy for an environment, with its numbers."""
        made = cls(attribute_of(env, "layout"), so_far, if_last, waiting)
        made.margin = check_number("margin", margin, at_least=0)
        return made

    def record(self) -> "NextDelayedRecord":  # type: ignore[override]  # another rule
        """Returns the rule with its columns and numbers."""
        names = "size", "remaining", "slowdown_so_far", "slowdown_if_last"
        size, remaining, so_far, if_last = map(self.slot_column, names)
        return NextDelayedRecord(super().record(), size, remaining.at, so_far, if_last, self.margin)

    def choose(self, batch: ObservationArray) -> IntArray:
        """Passes over flows that have begun."""
        action = np.empty(len(batch), dtype=np.int64)
        next_delayed_slot(batch, self.record(), action)
        return action


class NextDelayedRecord(NamedTuple):
    """The rule ``next_delayed_slot`` of one observation, as machine code asks it; see ``WeightedPolicy``."""

    delayed: MostDelayedRecord
    size: SlotColumn
    remaining_at: int
    so_far: SlotColumn
    if_last: SlotColumn
    margin: float

    def choose(
        self, weights: FloatArray, observation: ObservationArray, mask: BoolArray, scratch: FloatArray, action: IntArray
    ) -> None:
        """Writes the slot."""
        next_delayed_slot(observation.reshape((1, -1)), self, action)


@allocating_rule
def next_delayed_slot(observation: ObservationArray, asked: NextDelayedRecord, action: IntArray) -> None:
    """Chooses the most delayed slot that has not begun, without those behind one that has; else the most delayed."""
    size_at, stride = asked.size.at, asked.delayed.stride
    offsets = range(0, observation.shape[1] - size_at, stride)
    delays, backlogs = np.empty(len(offsets)), np.empty(len(offsets))
    for row in range(len(observation)):
        newest, num_new = 0, 0
        for slot, offset in enumerate(offsets):
            delays[slot], backlogs[slot] = -np.inf, 0.0
            if observation[row, size_at + offset] > 0.0:
                delays[slot] = delay_of(observation, row, offset, asked.delayed)
                on_link = decoded(observation, row, offset, asked.if_last)
                on_link -= decoded(observation, row, offset, asked.so_far)
                backlogs[slot] = on_link * decoded(observation, row, offset, asked.size)
                if observation[row, asked.delayed.waiting_at + offset] == 0.0:
                    newest, num_new = slot, num_new + 1
        best = np.argmax(delays)
        action[row], least = best, delays[best] - asked.margin
        if num_new == 1 and newest != best:
            delays[newest] = -np.inf
        while delays[best] > -np.inf and delays[best] >= least:
            at = best * stride
            if observation[row, size_at + at] == observation[row, asked.remaining_at + at]:
                action[row] = best
                break
            delays[best] = -np.inf
            for slot in range(len(offsets)):
                if abs(backlogs[slot] - backlogs[best]) <= SAME_LINK * backlogs[best]:
                    delays[slot] = -np.inf
            best = np.argmax(delays)


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
