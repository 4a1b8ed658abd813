"""Policies that set thresholds of tasks; but for ``random``, thresholds that never move."""

from typing import Any, ClassVar

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.units import BYTES_PER_KILOBYTE
from flowsched_gym.envs.policies.policy import attribute_of
from flowsched_gym.envs.policies.thresholds import FixedThresholds
from flowsched_gym.systems.tafe.config import PART_OF_LARGEST
from flowsched_gym.systems.tafe.thresholds.rules import SCALE, equal_steps


class EqualSteps(FixedThresholds):
    """Equal steps on the logarithmic scale from 1 KB to 1 GB."""

    pure: ClassVar[bool] = True
    scale = SCALE

    @staticmethod
    def thresholds_for(env: Any) -> FloatArray:
        """Divides the scale by the number of queues."""
        return equal_steps(attribute_of(env, "config").num_thresholds)[np.newaxis]


class TenfoldThresholds(FixedThresholds):
    """100 KB, and each threshold ten times the one before: Aalo's spacing."""

    pure: ClassVar[bool] = True
    scale = SCALE

    @staticmethod
    def thresholds_for(env: Any) -> FloatArray:
        """Multiplies by ten."""
        factors = [10.0] * (attribute_of(env, "config").num_thresholds - 1)
        return np.cumprod([100 * BYTES_PER_KILOBYTE, *factors], dtype=np.float64)[np.newaxis]


class PaperThresholds(FixedThresholds):
    """The mean task and 3/4 of the largest one (TAFE, section V-B); for three queues."""

    pure: ClassVar[bool] = True
    scale = SCALE

    @staticmethod
    def thresholds_for(env: Any) -> FloatArray:
        """Takes what the paper names, and refuses another number of queues."""
        paper: FloatArray = attribute_of(env, "paper_thresholds")
        queues = attribute_of(env, "config").queues
        if queues != len(paper) + 1:
            raise ConfigError(f"queues is {queues}: the paper names thresholds for {len(paper) + 1}")
        return paper[np.newaxis]


class Thirds(FixedThresholds):
    """The largest task divided by the number of queues: a third and two thirds of it, for three."""

    pure: ClassVar[bool] = True
    scale = SCALE

    @staticmethod
    def thresholds_for(env: Any) -> FloatArray:
        """Divides the largest task."""
        queues = attribute_of(env, "config").queues
        largest = attribute_of(env, "paper_thresholds")[-1] / PART_OF_LARGEST
        thirds: FloatArray = largest * np.arange(1, queues) / queues
        return thirds[np.newaxis]
