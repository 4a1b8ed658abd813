"""What the agent of AuTO's thresholds may do and is rewarded with; ``observation`` is what it sees."""

from typing import Final

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.envs import FluidControl, NetworkView
from flowsched_gym.envs.actions import read_numbers
from flowsched_gym.fluid.disciplines import Mlfq
from flowsched_gym.machine_code.numerics import natural_log
from flowsched_gym.systems.auto.flows import mean_fares
from flowsched_gym.systems.auto.thresholds.config import SCALE, AuTOThresholdsConfig, ThresholdsReward
from flowsched_gym.systems.auto.thresholds.observation import new_observer, thresholds_layout

TERMS: Final = tuple(str(term) for term in ThresholdsReward)
LAST_FCT, LAST_LOG_SLOWDOWN, LAST_LOG_FCT, MEMORY_SIZE = range(4)
"""Indices in the memory: mean completion time in s of the last step in which a flow finished, 0 before the first, and
what two terms were then."""
FIRST_RATIO: Final = 1.0


class ThresholdsControl(FluidControl[FloatArray]):
    """Control of the thresholds of each cluster.

    Args:
        config: The arguments of the environment.
        initial_thresholds: Thresholds of each cluster in B until the first action, (num_clusters, num_queues - 1).
    """

    memory_size = MEMORY_SIZE

    def __init__(self, config: AuTOThresholdsConfig, initial_thresholds: FloatArray) -> None:
        """Sets the spaces."""
        self.layout = thresholds_layout(config)
        self.action_space = spaces.Box(-1.0, 1.0, (config.clusters * config.num_thresholds,), np.float32)
        self._config = config
        self.terms = TERMS
        self._observe, self._rewarded = new_observer(config), str(config.reward)
        self._initial_thresholds = initial_thresholds

    def new_discipline(self) -> Mlfq:
        """Makes the queues, in which flows obey the thresholds of their source's cluster."""
        config = self._config
        groups = np.arange(config.hosts) // config.hosts_per_cluster
        return Mlfq(self._initial_thresholds, config.within, groups if config.clusters > 1 else None)

    def check(self, action: object, name: str = "action") -> FloatArray:
        """Reads an action.

        Raises:
            InvalidAction: It is not so many numbers in [-1, 1].
        """
        return read_numbers(action, self._config.clusters * self._config.num_thresholds, name)

    def act(self, view: NetworkView, memory: FloatArray, action: FloatArray) -> None:
        """Sets the thresholds."""
        view.set_thresholds(SCALE.thresholds_of(action.reshape(self._config.clusters, -1)))

    def reward(self, view: NetworkView, memory: FloatArray) -> tuple[float, dict[str, float]]:
        """Rewards for the flows that finished."""
        terms = reward_terms(view, memory)
        return terms[self._rewarded], terms

    def observe(self, view: NetworkView, memory: FloatArray) -> npt.NDArray[np.float32]:
        """Returns what the agent sees."""
        return self._observe(view)


def reward_terms(view: NetworkView, memory: npt.NDArray[np.float64]) -> dict[str, float]:
    """Returns the terms for a step, and remembers what the next one needs; see ``ThresholdsReward``.

    Where no flow finished, the ratio is 1, and the others are what they were in the step before, 0 in the first.
    """
    ratio = FIRST_RATIO
    rows = view.finished
    if len(rows):
        mean_fct, mean_slowdown, mean_ideal = mean_fares(rows, view.columns)
        if memory[LAST_FCT] > 0:
            ratio = float(memory[LAST_FCT]) / mean_fct
        memory[LAST_FCT] = mean_fct
        memory[LAST_LOG_SLOWDOWN] = -natural_log(mean_slowdown)
        memory[LAST_LOG_FCT] = -natural_log(mean_fct / mean_ideal)
    return {
        str(ThresholdsReward.LOG_FCT): float(memory[LAST_LOG_FCT]),
        str(ThresholdsReward.LOG_SLOWDOWN): float(memory[LAST_LOG_SLOWDOWN]),
        str(ThresholdsReward.FCT_RATIO): ratio,
    }
