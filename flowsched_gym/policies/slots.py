"""Chooses among the slots of an observation by the values of its named columns. Ties go to the older request."""

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from flowsched_gym.encoders import Layout
from flowsched_gym.policies.policy import attribute_of

__all__ = [
    "EarliestDeadline",
    "FirstSlot",
    "LargestRatio",
    "LastSlot",
    "LeastSlack",
    "RandomSlot",
    "SlotPolicy",
    "SmallestRatio",
    "SmallestSize",
]

Observation = npt.NDArray[np.floating]


class SlotPolicy:
    """Serves the present slot with the smallest score.

    Encodings keep the order of values, so a policy that only compares one column reads it as it stands.

    Args:
        layout: Columns of the observations.
        seed: Seed of policies that draw.

    Raises:
        ConfigError: The layout lacks a column that the policy needs.
    """

    needs: ClassVar[tuple[str, ...]] = ()

    def __init__(self, layout: Layout, *, seed: int = 0) -> None:
        """Checks that the columns are there."""
        self.layout = layout
        self.rng = np.random.default_rng(seed)
        self._size = layout.slot_slice("size")
        self._needed = [layout.slot_slice(name) for name in self.needs]

    @classmethod
    def for_env(cls, env: Any, *, seed: int = 0) -> Self:
        """Makes the policy for an environment with a layout."""
        return cls(attribute_of(env, "layout"), seed=seed)

    def predict(
        self,
        observation: Observation,
        state: Any = None,
        episode_start: npt.NDArray[np.bool_] | None = None,
        deterministic: bool = False,
    ) -> tuple[npt.NDArray[np.int64], Any]:
        """Chooses slots; see ``Policy``."""
        observation = np.asarray(observation)
        present = observation[..., self._size] > 0
        score = np.where(present, self.score(observation), np.inf)
        return np.asarray(score.argmin(axis=-1)), state

    @abstractmethod
    def score(self, observation: Observation) -> Observation:
        """Scores the slots of observations, (..., size) to (..., num_slots) or (num_slots,); the smallest is served."""


class FirstSlot(SlotPolicy):
    """First in, first out: serves the oldest request."""

    def score(self, observation: Observation) -> Observation:
        """Scores by place in the queue."""
        return np.arange(self.layout.num_slots, dtype=np.float64)


class LastSlot(SlotPolicy):
    """Last in, first out: serves the youngest visible request."""

    def score(self, observation: Observation) -> Observation:
        """Scores by place in the queue, from its end."""
        return np.arange(self.layout.num_slots, 0, -1, dtype=np.float64)


class RandomSlot(SlotPolicy):
    """Serves any visible request, each with the same probability."""

    def score(self, observation: Observation) -> Observation:
        """Scores at random."""
        return self.rng.random((*observation.shape[:-1], self.layout.num_slots))


class EarliestDeadline(SlotPolicy):
    """Earliest absolute deadline first (EDF)."""

    needs = ("time_left",)

    def score(self, observation: Observation) -> Observation:
        """Scores by the time to the deadline."""
        return observation[..., self._needed[0]]


class SmallestSize(SlotPolicy):
    """Smallest flow first (SJF)."""

    def score(self, observation: Observation) -> Observation:
        """Scores by size."""
        return observation[..., self._size]


class SmallestRatio(SlotPolicy):
    """Smallest size-deadline ratio first (SSDF; Artemis, section 4.2)."""

    needs = ("deadline_span",)

    def score(self, observation: Observation) -> Observation:
        """Scores by size over time allowed."""
        span = self.layout.slot_column(observation, "deadline_span")
        return self.layout.slot_column(observation, "size") / np.where(span > 0, span, np.inf)


class LargestRatio(SmallestRatio):
    """Largest size-deadline ratio first (LSDF; Artemis, section 4.2)."""

    def score(self, observation: Observation) -> Observation:
        """Scores by size over time allowed, largest first."""
        return -super().score(observation)


class LeastSlack(SlotPolicy):
    """Least slack first: the least time left after sending at line rate."""

    needs = ("slack",)

    def score(self, observation: Observation) -> Observation:
        """Scores by slack."""
        return observation[..., self._needed[0]]
