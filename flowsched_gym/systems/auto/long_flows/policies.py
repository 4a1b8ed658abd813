"""Steers long flows by rules, from the columns of a full observation (``long_flows_layout``)."""

from abc import abstractmethod
from typing import Any, ClassVar, Final, Self

import numpy as np

from flowsched_gym.core.arrays import IntArray, ObservationArray
from flowsched_gym.envs.columns import Layout
from flowsched_gym.envs.policies.policy import LayoutPolicy, attribute_of
from flowsched_gym.systems.auto.long_flows.config import AuTOLongFlowsConfig
from flowsched_gym.systems.auto.long_flows.rules import RATE_STEPS

NO_LIMIT: Final = len(RATE_STEPS) - 1
"""Choice of a rate that leaves a flow as fast as its links are."""
STEP: Final = 2.0
"""Factor between the bytes at which ``LeastAttained`` changes the queue."""


class SteeringPolicy(LayoutPolicy):
    """A choice of queue, rate step and path for each slot, of empty slots the first; a layout has what it needs."""

    needs: ClassVar[tuple[str, ...]] = ("source",)

    def __init__(self, layout: Layout, config: AuTOLongFlowsConfig, *, seed: int = 0) -> None:
        super().__init__(layout, seed=seed)
        self.config = config
        for name in self.needs:
            layout.slot_slice(name)

    @classmethod
    def for_env(cls, env: Any, *, seed: int = 0) -> Self:
        """Makes the policy for an environment of long flows."""
        return cls(attribute_of(env, "layout"), attribute_of(env, "config"), seed=seed)

    def choose(self, batch: ObservationArray) -> IntArray:
        """Chooses actions, (batch, 3 * slots)."""
        action = np.stack(self.parts(batch), axis=2)
        action[self.layout.slot_column(batch, "source") == 0] = 0
        return action.reshape(len(batch), -1)

    @abstractmethod
    def parts(self, batch: ObservationArray) -> tuple[IntArray, IntArray, IntArray]:
        """Chooses queues, rate steps and paths, (batch, slots) each; what it says of empty slots is not used."""


class RandomSteering(SteeringPolicy):
    """Random choices, all with the same probability."""

    def parts(self, batch: ObservationArray) -> tuple[IntArray, IntArray, IntArray]:
        """Draws all of them at once."""
        counts = self.config.num_queues, len(RATE_STEPS), self.config.paths
        drawn = self.rng.random((len(batch), self.layout.num_slots, len(counts)))
        queue, step, path = np.moveaxis((drawn * counts).astype(np.int64), 2, 0)
        return queue, step, path


class KeepPath(SteeringPolicy):
    """The paths that ECMP has given, and the lowest queue."""

    pure: ClassVar[bool] = True
    needs = ("source", "path")

    def parts(self, batch: ObservationArray) -> tuple[IntArray, IntArray, IntArray]:
        """Chooses what is."""
        path = self.path(batch)
        return self.queue(batch), np.full_like(path, NO_LIMIT), path

    def queue(self, batch: ObservationArray) -> IntArray:
        """Chooses the lowest queue, (batch, slots)."""
        return np.full((len(batch), self.layout.num_slots), self.config.num_queues - 1)

    def path(self, batch: ObservationArray) -> IntArray:
        """Reads the present paths, (batch, slots)."""
        share = self.layout.slot_column(batch, "path")
        return np.rint(share * self.config.paths).astype(np.int64) - 1


class LeastLoadedPath(KeepPath):
    """The path with the fewest long flows on its busier link, slot by slot, where that is another one.

    Flows of the slots before are counted where they have just been moved to.
    """

    pure: ClassVar[bool] = True
    counted: ClassVar[str] = "long"

    def path(self, batch: ObservationArray) -> IntArray:
        """Chooses paths, (batch, slots)."""
        layout, planes = self.layout, range(self.config.paths)
        before = super().path(batch)
        path = before.copy()
        up, down = (
            np.rint(np.stack([layout.slot_column(batch, f"{self.counted}_{name}_{plane}") for plane in planes], axis=2))
            for name in ("up", "down")
        )
        ends = [(up, layout.slot_column(batch, "source")), (down, layout.slot_column(batch, "destination"))]
        for slot in range(layout.num_slots):
            busier = np.maximum(up[:, slot], down[:, slot])
            stays = np.arange(self.config.paths) == before[:, slot, None]
            path[:, slot] = np.argmin(busier - 0.5 * stays, axis=1)
            moved = (np.arange(self.config.paths) == path[:, slot, None]) * 1.0 - stays
            for others, host in ends:
                shared = host[:, slot + 1 :] == host[:, slot, None]
                others[:, slot + 1 :] += shared[:, :, None] * moved[:, None]
        return path


class LeastCrowdedPath(LeastLoadedPath):
    """The same by all flows, short ones too."""

    pure: ClassVar[bool] = True
    counted = "all"


class LeastAttained(LeastLoadedPath):
    """Least-loaded paths, and a higher queue for long flows that have sent less.

    Flows go to queue 1, then 2, ... as their bytes double, beginning at the last threshold: the first queue is left to
    flows that have just begun.
    """

    pure: ClassVar[bool] = True

    def queue(self, batch: ObservationArray) -> IntArray:
        """Chooses queues by the bytes sent, (batch, slots)."""
        attained = self.layout.slot_column(batch, "attained")
        queue = np.ones(attained.shape, dtype=np.int64)
        limit = self.config.long_from
        for _ in range(2, self.config.num_queues):
            limit *= STEP
            queue += attained >= limit
        return np.minimum(queue, self.config.num_queues - 1)
