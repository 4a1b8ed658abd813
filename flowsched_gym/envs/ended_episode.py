"""Measures an episode that has ended in a network of the batch simulation, when somebody asks."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from flowsched_gym.envs.episode import EpisodeBatch
from flowsched_gym.flows.metrics import summary
from flowsched_gym.workload import Workload


class EndedEpisode:
    """The end of an episode, for as long as its metrics may be read."""

    __slots__ = ("__weakref__", "_completion_time", "_draw", "_grant_time", "_now", "_number", "_simulation")

    def __init__(self, simulation: EpisodeBatch, number: int, draw: Callable[[], Workload], now: float | None) -> None:
        """Looks at the network, while the episode is in it."""
        self._simulation = simulation
        self._number = number
        self._draw = draw
        self._now = now
        self._grant_time: npt.NDArray[np.float64] | None = None
        self._completion_time: npt.NDArray[np.float64] | None = None

    def keep(self) -> None:
        """Copies what the next episode in this network will write over."""
        if self._grant_time is None:
            self._grant_time, self._completion_time = self._simulation.outcomes(self._number)

    def metrics(self) -> dict[str, float]:
        """Measures the episode."""
        self.keep()
        assert self._grant_time is not None
        assert self._completion_time is not None
        simulation = self._simulation
        records = simulation.complete_records(self._draw(), self._grant_time, self._completion_time)
        return summary(records, capacity=float(simulation.topology.capacity[0]), now=self._now).as_dict()
