"""Turns actions into thresholds between a port's queues and back."""

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.systems.qcluster.config import QClusterConfig
from flowsched_gym.systems.qcluster.observation import SCALE


def num_thresholds(config: QClusterConfig) -> int:
    """Returns how many thresholds an agent sets."""
    return sum(last - first for first, last in config.groups)


def set_thresholds(config: QClusterConfig, action: FloatArray, thresholds: FloatArray) -> None:
    """Sets the thresholds that an action stands for: each group of ``config.groups`` by its part of the action.

    Args:
        config: The arguments of the environment.
        action: Numbers in [-1, 1], (num_thresholds,).
        thresholds: Set here in B, (num_queues - 1,).
    """
    begin = 0
    for first, last in config.groups:
        end = begin + last - first
        thresholds[first:last] = SCALE.thresholds_of(action[np.newaxis, begin:end])[0]
        begin = end


def action_of_thresholds(config: QClusterConfig, thresholds: FloatArray) -> FloatArray:
    """Returns the action that stands for thresholds in B, (num_queues - 1,), or for the nearest ones there are."""
    parts = [SCALE.action_of(thresholds[np.newaxis, first:last])[0] for first, last in config.groups]
    return np.concatenate(parts)
