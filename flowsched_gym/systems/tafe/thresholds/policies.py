"""Policies that set thresholds of tasks; but for ``random``, thresholds that never move."""

from abc import abstractmethod
from typing import Any, ClassVar, Final, Self

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.units import BYTES_PER_KILOBYTE
from flowsched_gym.envs.policies.policy import attribute_of
from flowsched_gym.envs.policies.thresholds import FixedThresholds
from flowsched_gym.systems.tafe.config import PART_OF_LARGEST
from flowsched_gym.systems.tafe.thresholds.config import TAFEThresholdsConfig
from flowsched_gym.systems.tafe.thresholds.rules import SCALE, equal_steps

FIRST_OF_TENFOLD: Final = 100 * BYTES_PER_KILOBYTE


class _ThresholdsOfEnv(FixedThresholds):
    """Thresholds that a rule sets once."""

    scale = SCALE

    @classmethod
    def for_env(cls, env: Any, *, seed: int = 0) -> Self:
        """Makes the policy for an environment.

        Raises:
            ConfigError: The rule does not go with so many queues.
        """
        config: TAFEThresholdsConfig = attribute_of(env, "config")
        return cls(cls.thresholds_for(config, attribute_of(env, "paper_thresholds"))[np.newaxis])

    @staticmethod
    @abstractmethod
    def thresholds_for(config: TAFEThresholdsConfig, paper: FloatArray) -> FloatArray:
        """Finds the thresholds in B, (num_thresholds,).

        Args:
            config: The arguments of an environment.
            paper: The mean task, and 3/4 of the largest one, in B, (2,).
        """


class EqualSteps(_ThresholdsOfEnv):
    """Equal steps on the logarithmic scale from 1 KB to 1 GB."""

    pure: ClassVar[bool] = True

    @staticmethod
    def thresholds_for(config: TAFEThresholdsConfig, paper: FloatArray) -> FloatArray:
        """Divides the scale by the number of queues."""
        return equal_steps(config.num_thresholds)


class TenfoldThresholds(_ThresholdsOfEnv):
    """100 KB, and each threshold ten times the one before: Aalo's spacing."""

    pure: ClassVar[bool] = True

    @staticmethod
    def thresholds_for(config: TAFEThresholdsConfig, paper: FloatArray) -> FloatArray:
        """Multiplies by ten."""
        tenfold: FloatArray = np.cumprod([FIRST_OF_TENFOLD, *[10.0] * (config.num_thresholds - 1)], dtype=np.float64)
        return tenfold


class PaperThresholds(_ThresholdsOfEnv):
    """The mean task and 3/4 of the largest one (TAFE, section V-B); for three queues."""

    pure: ClassVar[bool] = True

    @staticmethod
    def thresholds_for(config: TAFEThresholdsConfig, paper: FloatArray) -> FloatArray:
        """Takes what the paper names."""
        if config.queues != len(paper) + 1:
            raise ConfigError(f"queues is {config.queues}: the paper names thresholds for {len(paper) + 1}")
        return paper


class Thirds(_ThresholdsOfEnv):
    """The largest task divided by the number of queues: a third and two thirds of it, for three."""

    pure: ClassVar[bool] = True

    @staticmethod
    def thresholds_for(config: TAFEThresholdsConfig, paper: FloatArray) -> FloatArray:
        """Divides the largest task."""
        thirds: FloatArray = paper[-1] / PART_OF_LARGEST * np.arange(1, config.queues) / config.queues
        return thirds
