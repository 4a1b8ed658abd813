"""Holds the heuristics that choose paths, from what is observed alone. Ties go to the lower path."""

from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.encoders import Layout
from flowsched_gym.policies import SlotPolicy

__all__ = ["CongaPath", "HashedPath", "LeastLoadedPath", "MemrPath", "PathPolicy", "RandomPath"]

IntArray = npt.NDArray[np.int64]
Observations = npt.NDArray[np.float32]

HALF_WORD: Final = np.uint64(32)


class PathPolicy(SlotPolicy):
    """Takes one of the live paths."""

    occupied = "live"

    def column(self, batch: Observations, start: int) -> Observations:
        """Returns a column of all slots, (batch, num_slots)."""
        return batch[:, start :: self.stride]

    def nth_live(self, batch: Observations, share: npt.NDArray[np.float64]) -> IntArray:
        """Returns live slots, (batch,): shares in [0, 1), (batch,), are parts of the way from the first to the last."""
        live = self.column(batch, self.size_at) > 0
        place = (share * live.sum(axis=1)).astype(np.int64)
        chosen: IntArray = np.argmax(live.cumsum(axis=1) > place[:, np.newaxis], axis=1)
        return chosen


class RandomPath(PathPolicy):
    """Takes any live path, each with the same probability."""

    def choose(self, batch: Observations) -> IntArray:
        """Draws one of the live paths."""
        return self.nth_live(batch, self.rng.random(len(batch)))


class HashedPath(PathPolicy):
    """Spreads flows over their live paths by a hash (equal-cost multi-path, ECMP).

    Ports are not observed: the hash is one of the whole observation, which tells flows apart just as well.
    """

    pure: ClassVar[bool] = True

    def __init__(self, layout: Layout, *, seed: int = 0) -> None:
        """Draws the hash."""
        super().__init__(layout, seed=seed)
        self._factors = self.rng.integers(2**64, size=layout.size, dtype=np.uint64)

    def choose(self, batch: Observations) -> IntArray:
        """Hashes the bits of each observation (multilinear hashing, Carter and Wegman, 1979)."""
        words = np.ascontiguousarray(batch).view(np.uint32).astype(np.uint64)
        hashed = (words * self._factors).sum(axis=1) >> HALF_WORD
        return self.nth_live(batch, hashed / 2.0**32)


class _LeastPair(PathPolicy):
    """Takes the live path with the least value of the first column that it needs, then of the second."""

    signs: ClassVar[tuple[float, float]] = (1.0, 1.0)

    def choose(self, batch: Observations) -> IntArray:
        """Compares the columns as they are encoded, which keeps their order."""
        candidate = self.column(batch, self.size_at) > 0
        for sign, start in zip(self.signs, self.needed_at, strict=False):
            value = np.where(candidate, sign * self.column(batch, start), np.inf)
            candidate = value == value.min(axis=1, keepdims=True)
        chosen: IntArray = np.argmax(candidate, axis=1)
        return chosen


class LeastLoadedPath(_LeastPair):
    """Fewest bytes left on the most loaded link of the path, then fewest flows: the rule of ``model.rules.routing``."""

    pure: ClassVar[bool] = True
    needs = ("bytes_left", "num_flows")


class CongaPath(_LeastPair):
    """Least utilised path, as CONGA's first choice.

    It differs from the routing ``conga``: among equals it takes the lowest path instead of a random one, and a flow
    that pauses does not choose again.
    """

    pure: ClassVar[bool] = True
    needs = ("utilisation",)


class MemrPath(_LeastPair):
    """Smallest expansion ratio, then the largest rate to expect: MEMR (MERP, Algorithm 4), whole paths."""

    pure: ClassVar[bool] = True
    needs = ("expansion_ratio", "expected_rate")
    signs = (1.0, -1.0)
