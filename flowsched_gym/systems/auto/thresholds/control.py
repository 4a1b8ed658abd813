"""The control of thresholds: actions, observations and rewards, for both engines."""

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import InvalidAction, shown
from flowsched_gym.envs import FluidControl, NetworkView
from flowsched_gym.fluid.disciplines import Mlfq
from flowsched_gym.fluid.rules.ordering.feedback import are_within
from flowsched_gym.systems.auto.thresholds.config import AuTOThresholdsConfig
from flowsched_gym.systems.auto.thresholds.mapping import thresholds_of_action
from flowsched_gym.systems.auto.thresholds.observation import new_observer, thresholds_layout
from flowsched_gym.systems.auto.thresholds.reward import MEMORY_SIZE, TERMS, reward_terms


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
        try:
            values = np.asarray(action, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.zeros(0)
        if values.shape != self.action_space.shape or not are_within(values, 1.0):
            count = self._config.clusters * self._config.num_thresholds
            raise InvalidAction(f"{name} is {shown(action)}: it must be {count} numbers in [-1, 1]")
        return values

    def act(self, view: NetworkView, memory: FloatArray, action: FloatArray) -> None:
        """Sets the thresholds."""
        view.set_thresholds(thresholds_of_action(action.reshape(self._config.clusters, -1)))

    def reward(self, view: NetworkView, memory: FloatArray) -> tuple[float, dict[str, float]]:
        """Rewards for the flows that finished."""
        terms = reward_terms(view, memory)
        return terms[self._rewarded], terms

    def observe(self, view: NetworkView, memory: FloatArray) -> npt.NDArray[np.float32]:
        """Returns what the agent sees."""
        return self._observe(view)
