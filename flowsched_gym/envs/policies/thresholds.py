"""Policies of environments whose agents set thresholds: any, or the same ones in every period."""

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from gymnasium import spaces

from flowsched_gym.core.arrays import BoolArray, FloatArray, ObservationArray
from flowsched_gym.core.checks import check_number
from flowsched_gym.core.errors import ConfigError, SpaceMismatchError
from flowsched_gym.envs.thresholds import ThresholdScale


class RandomThresholds:
    """Any thresholds, drawn anew in each period, in actions of ``length`` numbers."""

    def __init__(self, length: int, *, seed: int = 0) -> None:
        self._length = length
        self._rng = np.random.default_rng(seed)

    @classmethod
    def for_env(cls, env: Any, *, seed: int = 0) -> Self:
        """Makes the policy for an environment, single or vector."""
        base = env.unwrapped
        return cls(getattr(base, "single_action_space", base.action_space).shape[0], seed=seed)

    def predict(
        self,
        observation: ObservationArray,
        state: Any = None,
        episode_start: BoolArray | None = None,
        deterministic: bool = False,
    ) -> tuple[ObservationArray, Any]:
        """Draws an action for each observation; see ``Policy``."""
        shape = (*np.shape(observation)[:-1], self._length)
        return (2.0 * self._rng.random(shape) - 1.0).astype(np.float32), state


class _SameAction:
    """The same action, (length,), in every period."""

    def __init__(self, action: FloatArray) -> None:
        self._action = action.astype(np.float32)

    def predict(
        self,
        observation: ObservationArray,
        state: Any = None,
        episode_start: BoolArray | None = None,
        deterministic: bool = False,
    ) -> tuple[ObservationArray, Any]:
        """Returns the action, once for each observation; see ``Policy``. Other shapes raise SpaceMismatchError."""
        shape = np.shape(observation)
        if len(shape) not in (1, 2):
            raise SpaceMismatchError(f"observation has shape {shape}: it must be (size,) or (batch, size)")
        return np.broadcast_to(self._action, (*shape[:-1], len(self._action))).copy(), state


class SameLevel(_SameAction):
    """The same number, -1 to 1, for every threshold of every period: a constant that is tuned.

    Args:
        length: Numbers of an action.
        level: The number: -1 is the smallest threshold of the scale, or the smallest step, and 1 the largest.
    """

    pure: ClassVar[bool] = True

    def __init__(self, length: int, *, level: float = 0.0) -> None:
        super().__init__(np.full(length, check_number("level", level)))
        if not -1.0 <= level <= 1.0:
            raise ConfigError(f"level is {level:g}: it must be from -1 to 1")

    @classmethod
    def for_env(cls, env: Any, *, seed: int = 0, level: float = 0.0) -> Self:
        """Makes the policy for an environment, single or vector, whose actions are numbers."""
        base = env.unwrapped
        space = getattr(base, "single_action_space", base.action_space)
        if not isinstance(space, spaces.Box):
            raise ConfigError(f"actions are {space}: the policy needs numbers from -1 to 1")
        return cls(space.shape[0], level=level)


class FixedThresholds(_SameAction):
    """The same thresholds in every period.

    Args:
        thresholds: Thresholds in B, increasing, of each group of queues, (num_groups, num_queues - 1); outside the
            range of actions, the nearest ones are set.
    """

    scale: ClassVar[ThresholdScale]
    """The scale of actions."""

    def __init__(self, thresholds: FloatArray) -> None:
        super().__init__(self.scale.action_of(thresholds).ravel())

    @classmethod
    def for_env(cls, env: Any, *, seed: int = 0) -> Self:
        """Makes the policy for an environment; refuses one of which too little is known."""
        return cls(cls.thresholds_for(env))

    @staticmethod
    @abstractmethod
    def thresholds_for(env: Any) -> FloatArray:
        """Finds the thresholds for an environment; a subclass says how."""
