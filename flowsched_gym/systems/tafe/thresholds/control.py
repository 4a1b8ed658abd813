"""The control of thresholds: actions, observations and rewards, for both engines."""

import numpy as np
from gymnasium import spaces

from flowsched_gym.core.arrays import FloatArray, ObservationArray
from flowsched_gym.core.errors import InvalidAction, shown
from flowsched_gym.envs import FluidControl, NetworkView
from flowsched_gym.fluid.disciplines import Tafe
from flowsched_gym.fluid.rules.ordering.feedback import are_within
from flowsched_gym.systems.tafe.thresholds.config import TAFEReward, TAFEThresholdsConfig
from flowsched_gym.systems.tafe.thresholds.mapping import SCALE, equal_steps
from flowsched_gym.systems.tafe.thresholds.observation import finished_tasks, observe, tasks_of, thresholds_layout
from flowsched_gym.systems.tafe.thresholds.rules import sum_task_times


class TAFEThresholdsControl(FluidControl[FloatArray]):
    """Control of the thresholds of TAFE's queues.

    Args:
        config: The arguments of the environment.
    """

    memory_size = 0
    terms = tuple(str(term) for term in TAFEReward)

    def __init__(self, config: TAFEThresholdsConfig) -> None:
        """Sets the spaces."""
        self.layout = thresholds_layout(config)
        self.action_space = spaces.Box(-1.0, 1.0, (config.num_thresholds,), np.float32)
        self._config, self._rewarded = config, str(config.reward)

    def new_discipline(self) -> Tafe:
        """Makes the queues."""
        config = self._config
        given = config.initial_thresholds
        return Tafe(equal_steps(config.num_thresholds) if given is None else given, config.within, config.demotion)

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
            raise InvalidAction(
                f"{name} is {shown(action)}: it must be {self._config.num_thresholds} numbers in [-1, 1]"
            )
        return values

    def act(self, view: NetworkView, memory: FloatArray, action: FloatArray) -> None:
        """Sets the thresholds."""
        view.set_thresholds(SCALE.thresholds_of(action.reshape(1, -1)))

    def reward(self, view: NetworkView, memory: FloatArray) -> tuple[float, dict[str, float]]:
        """Rewards for the time that tasks took."""
        task, came, ends = tasks_of(view)
        sums = -sum_task_times(came, ends, finished_tasks(view, task, ends), view.begun_at, view.now)
        sums = (sums / self._config.reward_scale).tolist()
        terms = dict(zip(self.terms, sums, strict=True))
        return terms[self._rewarded], terms

    def observe(self, view: NetworkView, memory: FloatArray) -> ObservationArray:
        """Returns what the agent sees."""
        return observe(self._config, view)
