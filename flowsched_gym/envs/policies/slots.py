"""Chooses among the slots of an observation by the values of its named columns. Ties go to the older request.

Encodings keep the order of values (``x / (|x| + scale)`` rises with x), so slots are compared as they are encoded; only
ratios and sums have to be decoded. An empty slot has size 0 and is never chosen while another is there.

The compiled rules take observations, (batch, length) float32, where each column stands in the first slot (the next
slot's is ``stride`` entries behind), and an array that receives the slots, (batch,).
"""

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray, ObservationArray
from flowsched_gym.envs.columns import Layout
from flowsched_gym.envs.policies.policy import LayoutPolicy, attribute_of
from flowsched_gym.machine_code.decorators import inlined_rule, rule


class SlotColumn(NamedTuple):
    """A squashed column of the slots: where it stands in the first one, and its scale."""

    at: int
    scale: float


@inlined_rule
def decoded(observation: ObservationArray, row: int, offset: int, column: SlotColumn) -> float:
    """Inverts ``x / (|x| + scale)`` in the slot that begins so many entries behind the first one; 1 gives inf."""
    encoded = np.float64(observation[row, column.at + offset])
    room = 1.0 - abs(encoded)
    return encoded * column.scale / room if room > 0.0 else np.inf


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
    """Chooses the occupied slot with the smallest ratio (sign 1), or largest (-1), of size and time allowed.

    No limit goes last.
    """
    for row in range(len(observation)):
        best, action[row] = np.inf, 0
        for slot, offset in enumerate(range(0, observation.shape[1] - size.at, stride)):
            if observation[row, size.at + offset] > 0.0:
                allowed = decoded(observation, row, offset, span)
                score = sign * decoded(observation, row, offset, size) / allowed if allowed < np.inf else np.inf
                if score < best:
                    best, action[row] = score, slot


class SmallestRecord(NamedTuple):
    """The rule ``smallest_slot`` of one observation, as machine code asks it; see ``WeightedPolicy``."""

    size_at: int
    score_at: int
    stride: int

    def choose(
        self, weights: FloatArray, observation: ObservationArray, mask: BoolArray, scratch: FloatArray, action: IntArray
    ) -> None:
        """Writes the slot."""
        smallest_slot(observation.reshape((1, -1)), self.size_at, self.score_at, self.stride, action)


class SlotPolicy(LayoutPolicy):
    """A policy that serves one of the occupied slots: those with a column above 0. Slots of requests come first.

    Attributes:
        occupied: Name of that column.
        needs: Names of the columns that the policy compares; a layout without them is refused.
    """

    occupied: ClassVar[str] = "size"
    needs: ClassVar[tuple[str, ...]] = ()

    def __init__(self, layout: Layout, *, seed: int = 0) -> None:
        super().__init__(layout, seed=seed)
        self.stride = layout.num_slot_features
        self.size_at: int = layout.slot_slice(self.occupied).start
        self.needed_at: list[int] = [layout.slot_slice(name).start for name in self.needs]

    @classmethod
    def for_env(cls, env: Any, *, seed: int = 0) -> Self:
        """Makes the policy for an environment with a layout."""
        return cls(attribute_of(env, "layout"), seed=seed)

    def slot_column(self, name: str) -> SlotColumn:
        """Finds a squashed column of the slots."""
        return SlotColumn(self.layout.slot_slice(name).start, self.layout.slot_scale(name))

    def count(self, batch: ObservationArray) -> IntArray:
        """Counts the occupied slots, (batch,), at least 1 each."""
        count = np.empty(len(batch), dtype=np.int64)
        occupied_slots(batch, self.size_at, self.stride, count)
        return np.maximum(count, 1)


class FirstSlot(SlotPolicy):
    """First in, first out: the oldest request."""

    pure: ClassVar[bool] = True

    def choose(self, batch: ObservationArray) -> IntArray:
        """Chooses slot 0."""
        return np.zeros(len(batch), dtype=np.int64)


class LastSlot(SlotPolicy):
    """Last in, first out: the youngest visible request."""

    pure: ClassVar[bool] = True

    def choose(self, batch: ObservationArray) -> IntArray:
        """Chooses the last occupied slot."""
        return self.count(batch) - 1


class RandomSlot(SlotPolicy):
    """Any visible request, each with the same probability."""

    def choose(self, batch: ObservationArray) -> IntArray:
        """Draws one of the occupied slots."""
        return (self.rng.random(len(batch)) * self.count(batch)).astype(np.int64)


class SmallestColumn(SlotPolicy):
    """The request with the smallest value of one column."""

    def record(self) -> "SmallestRecord":
        """Returns the rule with the columns that it compares."""
        return SmallestRecord(self.size_at, self.needed_at[0], self.stride)

    def choose(self, batch: ObservationArray) -> IntArray:
        """Compares the column."""
        action = np.empty(len(batch), dtype=np.int64)
        smallest_slot(batch, self.size_at, self.needed_at[0], self.stride, action)
        return action


class EarliestDeadline(SmallestColumn):
    """Earliest absolute deadline first (EDF)."""

    pure: ClassVar[bool] = True
    needs = ("time_left",)


class SmallestSize(SmallestColumn):
    """Smallest flow first (SJF)."""

    pure: ClassVar[bool] = True
    needs = ("size",)


class SmallestRemaining(SmallestColumn):
    """Shortest remaining processing time first (SRPT): the fewest bytes left."""

    pure: ClassVar[bool] = True
    needs = ("remaining",)


class LeastSlack(SmallestColumn):
    """Least slack first: the least time left after sending at line rate."""

    pure: ClassVar[bool] = True
    needs = ("slack",)


class SmallestRatio(SlotPolicy):
    """Smallest size-deadline ratio first (SSDF; Artemis, section 4.2)."""

    pure: ClassVar[bool] = True
    needs = ("deadline_span",)
    sign: ClassVar[float] = 1.0

    def choose(self, batch: ObservationArray) -> IntArray:
        """Compares the ratios."""
        action = np.empty(len(batch), dtype=np.int64)
        smallest_ratio_slot(
            batch, self.slot_column("size"), self.slot_column("deadline_span"), self.stride, self.sign, action
        )
        return action


class LargestRatio(SmallestRatio):
    """Largest size-deadline ratio first (LSDF; Artemis, section 4.2)."""

    pure: ClassVar[bool] = True
    sign = -1.0
