"""The control of a port's queues: actions, observations and rewards, for both engines."""

from typing import Any

import numpy as np
from gymnasium import spaces

from flowsched_gym.core.arrays import FloatArray, IntArray, ObservationArray
from flowsched_gym.core.errors import InvalidAction, shown
from flowsched_gym.envs import PeriodControl, PortView
from flowsched_gym.envs.actions import read_choices
from flowsched_gym.fluid.rules.ordering.feedback import are_within
from flowsched_gym.packets.rules.clusters import GIVEN
from flowsched_gym.packets.schedulers.qcluster import RULES
from flowsched_gym.systems.qcluster.config import QClusterAction, QClusterConfig
from flowsched_gym.systems.qcluster.mapping import num_thresholds, set_thresholds
from flowsched_gym.systems.qcluster.observation import observe, port_layout
from flowsched_gym.systems.qcluster.reward import MEMORY_SIZE, TERMS, reward_terms

RULE_CODES = tuple(RULES.values())
"""The rules that an agent can choose, in the order of ``ThresholdRule``."""
ALPHA_STEPS = (1.0, 1.02, 1.05, 1.2)
"""Steps of alpha that it can choose; the first lets alpha stay."""


class QClusterControl(PeriodControl[Any, PortView]):
    """Control of the thresholds between a port's queues.

    Args:
        config: The arguments of the environment.
    """

    memory_size = MEMORY_SIZE
    terms = TERMS

    def __init__(self, config: QClusterConfig) -> None:
        """Sets the spaces."""
        self.layout = port_layout(config)
        self._config = config
        self._rewarded = str(config.reward)
        self._sets_thresholds = config.action is QClusterAction.THRESHOLDS
        self._length = num_thresholds(config)
        self._num_choices: IntArray = np.array([len(RULE_CODES), len(ALPHA_STEPS)])
        self.action_space: spaces.Space[Any] = (
            spaces.Box(-1.0, 1.0, (self._length,), np.float32)
            if self._sets_thresholds
            else spaces.MultiDiscrete(self._num_choices)
        )

    def check(self, action: object, name: str = "action") -> FloatArray | IntArray:
        """Reads an action.

        Raises:
            InvalidAction: It is outside the action space.
        """
        if not self._sets_thresholds:
            return read_choices(action, self._num_choices, name)
        try:
            values = np.asarray(action, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.zeros(0)
        if values.shape != (self._length,) or not are_within(values, 1.0):
            raise InvalidAction(f"{name} is {shown(action)}: it must be {self._length} numbers in [-1, 1]")
        return values

    def act(self, view: PortView, memory: FloatArray, action: FloatArray | IntArray) -> None:
        """Sets the thresholds, or the rule and the step of alpha."""
        clusters = view.own.clusters
        if self._sets_thresholds:
            clusters.rule[0] = GIVEN
            set_thresholds(self._config, action.astype(np.float64), clusters.thresholds[0])
        else:
            clusters.rule[0] = RULE_CODES[action[0]]
            clusters.alpha_step[0] = ALPHA_STEPS[action[1]]

    def reward(self, view: PortView, memory: FloatArray) -> tuple[float, dict[str, float]]:
        """Rewards for the messages that finished."""
        terms = reward_terms(view, memory)
        return terms[self._rewarded], terms

    def observe(self, view: PortView, memory: FloatArray) -> ObservationArray:
        """Returns what the agent sees."""
        return observe(view)
