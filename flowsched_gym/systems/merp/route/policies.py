"""Heuristics that choose paths, from what is observed alone. Ties go to the lower path, unless said."""

from typing import ClassVar, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray, ObservationArray
from flowsched_gym.envs.columns import Layout
from flowsched_gym.envs.policies import SlotPolicy
from flowsched_gym.envs.policies.slots import SlotColumn, decoded
from flowsched_gym.machine_code.decorators import rule

HALF_WORD: Final = np.uint64(32)
LEAST_RATE: Final = 1e-6
"""Rate over the capacity of a link below which a path counts as having this one."""
LARGEST: Final = np.finfo(np.float64).max


class PathPolicy(SlotPolicy):
    """A choice among the paths that are up."""

    occupied = "live"

    def column(self, batch: ObservationArray, start: int) -> ObservationArray:
        """Returns a column of all slots, (batch, num_slots)."""
        return batch[:, start :: self.stride]

    def up(self, batch: ObservationArray) -> BoolArray:
        """Returns which slots hold a path that is up, (batch, num_slots)."""
        return self.column(batch, self.size_at) > 0


class RandomPath(PathPolicy):
    """Any path that is up, each with the same probability."""

    def choose(self, batch: ObservationArray) -> IntArray:
        """Draws one of the paths that are up."""
        return _part_of_the_way(self.up(batch), self.rng.random(len(batch)))


class HashedPath(PathPolicy):
    """A hash that spreads flows over their paths that are up (equal-cost multi-path, ECMP).

    Ports are not observed: the hash is one of the whole observation, which tells flows apart just as well.
    """

    pure: ClassVar[bool] = True

    def __init__(self, layout: Layout, *, seed: int = 0) -> None:
        super().__init__(layout, seed=seed)
        self._factors = self.rng.bit_generator.random_raw(layout.size)

    def choose(self, batch: ObservationArray) -> IntArray:
        """Chooses by the hash alone."""
        return self.spread(batch, self.up(batch))

    def spread(self, batch: ObservationArray, candidate: BoolArray) -> IntArray:
        """Chooses among candidates by the bits of each observation (multilinear hashing, Carter and Wegman, 1979)."""
        words = np.ascontiguousarray(batch).view(np.uint32).astype(np.uint64)
        hashed = (words * self._factors).sum(axis=1) >> HALF_WORD
        return _part_of_the_way(candidate, hashed / 2.0**32)


class CongaPath(HashedPath):
    """The least utilised path, and any of these by a hash: CONGA's choice for a new flow.

    It differs from the routing ``conga`` in that a flow that pauses does not choose again.
    """

    pure: ClassVar[bool] = True
    needs = ("utilisation",)

    def choose(self, batch: ObservationArray) -> IntArray:
        """Compares the column as it is encoded."""
        used = np.where(self.up(batch), self.column(batch, self.needed_at[0]), np.inf)
        return self.spread(batch, used == used.min(axis=1, keepdims=True))


class _LeastPair(PathPolicy):
    """The path that is up with the least value of the first column that it needs, then of the second."""

    signs: ClassVar[tuple[float, float]] = (1.0, 1.0)

    def record(self) -> "LeastPairRecord":
        """Returns the rule with the columns that it compares."""
        (first_at, second_at), signs = self.needed_at, self.signs
        return LeastPairRecord(self.size_at, self.stride, first_at, second_at, *signs)

    def choose(self, batch: ObservationArray) -> IntArray:
        candidate = self.up(batch)
        for sign, start in zip(self.signs, self.needed_at, strict=True):
            value = np.where(candidate, sign * self.column(batch, start), np.inf)
            candidate = value == value.min(axis=1, keepdims=True)
        chosen: IntArray = np.argmax(candidate, axis=1)
        return chosen


class LeastPairRecord(NamedTuple):
    """The rule of ``_LeastPair`` of one observation, as machine code asks it; see ``WeightedPolicy``."""

    size_at: int
    stride: int
    first_at: int
    second_at: int
    first_sign: float
    second_sign: float

    def choose(
        self, weights: FloatArray, observation: ObservationArray, mask: BoolArray, scratch: FloatArray, action: IntArray
    ) -> None:
        """Writes the path."""
        least, least_of_equals, action[0] = np.inf, np.inf, 0
        for slot, offset in enumerate(range(0, len(observation) - self.size_at, self.stride)):
            if observation[self.size_at + offset] > 0.0:
                first = self.first_sign * observation[self.first_at + offset]
                second = self.second_sign * observation[self.second_at + offset]
                if first < least or (first == least and second < least_of_equals):
                    least, least_of_equals, action[0] = first, second, slot


class LeastLoadedPath(_LeastPair):
    """Fewest bytes left on the most loaded link of the path, then fewest flows: as ``routing.choose_path``."""

    pure: ClassVar[bool] = True
    needs = ("bytes_left", "num_flows")


class MemrPath(_LeastPair):
    """Smallest expansion ratio, then the largest rate to expect: MEMR (MERP, Algorithm 4), whole paths."""

    pure: ClassVar[bool] = True
    needs = ("expansion_ratio", "expected_rate")
    signs = (1.0, -1.0)


class SmallestRatioPath(PathPolicy):
    """Smallest expansion ratio over the rate to expect: MEMR's two numbers as one, so that slow links are left out."""

    pure: ClassVar[bool] = True
    needs = ("expansion_ratio", "expected_rate")

    def record(self) -> "SmallestRatioRecord":
        """Returns the rule with its columns."""
        return SmallestRatioRecord(self.size_at, self.slot_column("expansion_ratio"), self.needed_at[1], self.stride)

    def choose(self, batch: ObservationArray) -> IntArray:
        """Divides the two."""
        paths = np.empty(len(batch), dtype=np.int64)
        smallest_ratio_path(batch, *self.record(), paths)
        return paths


class SmallestRatioRecord(NamedTuple):
    """The rule ``smallest_ratio_path`` of one observation, as machine code asks it; see ``WeightedPolicy``."""

    live_at: int
    expansion: SlotColumn
    rate_at: int
    stride: int

    def choose(
        self, weights: FloatArray, observation: ObservationArray, mask: BoolArray, scratch: FloatArray, action: IntArray
    ) -> None:
        """Writes the path."""
        smallest_ratio_path(
            observation.reshape((1, -1)), self.live_at, self.expansion, self.rate_at, self.stride, action
        )


@rule
def smallest_ratio_path(
    observation: ObservationArray, live_at: int, expansion: SlotColumn, rate_at: int, stride: int, path: IntArray
) -> None:
    """Chooses the path that is up with the smallest expansion ratio over the rate to expect."""
    for row in range(len(observation)):
        least, path[row] = np.inf, 0
        for slot, offset in enumerate(range(0, observation.shape[1] - live_at, stride)):
            if observation[row, live_at + offset] > 0.0:
                rate = max(np.float64(observation[row, rate_at + offset]), LEAST_RATE)
                ratio = min(decoded(observation, row, offset, expansion) / rate, LARGEST)
                if ratio < least:
                    least, path[row] = ratio, slot


class LeastAdded(_LeastPair):
    """Least sum of the flow's slowdown and what it adds to those of others, then the largest rate to expect."""

    pure: ClassVar[bool] = True
    needs = ("total_slowdown", "expected_rate")
    signs = (1.0, -1.0)


def _part_of_the_way(candidate: BoolArray, share: npt.NDArray[np.float64]) -> IntArray:
    """Returns candidates, (batch,): shares in [0, 1), (batch,), are parts of the way from the first to the last."""
    index = (share * candidate.sum(axis=1)).astype(np.int64)
    chosen: IntArray = np.argmax(candidate.cumsum(axis=1) > index[:, np.newaxis], axis=1)
    return chosen
