"""Policies that set thresholds: what theory says of the traffic, right or wrong, and what needs no theory."""

from typing import Any, ClassVar

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.envs.policies.policy import attribute_of
from flowsched_gym.envs.policies.thresholds import FixedThresholds
from flowsched_gym.queueing import pias_thresholds
from flowsched_gym.systems.auto.flows import qlas_thresholds
from flowsched_gym.systems.auto.thresholds.config import SCALE, AuTOThresholdsConfig
from flowsched_gym.workload import Traffic, load_cdf


class BestThresholds(FixedThresholds):
    """The best thresholds in theory for the sizes and the load of each cluster (QLAS; AuTO, section 6).

    They minimise the mean completion time on one link, each queue first in, first out.
    """

    pure: ClassVar[bool] = True
    scale = SCALE

    @staticmethod
    def thresholds_for(env: Any) -> FloatArray:
        """Asks theory for each cluster."""
        queues = attribute_of(env, "config").queues
        traffic: Any = _traffic(env)  # whose sizes are hashable
        return np.array([qlas_thresholds(each.size, each.load, queues) for each in traffic])


class PiasThresholds(FixedThresholds):
    """Thresholds by PIAS's sum-of-ratios rule for the sizes and the load of each cluster."""

    pure: ClassVar[bool] = True
    scale = SCALE

    @staticmethod
    def thresholds_for(env: Any) -> FloatArray:
        """Evaluates the closed form for each cluster."""
        queues = attribute_of(env, "config").queues
        return np.array([pias_thresholds(each.size, each.load, queues) for each in _traffic(env)])


class MismatchedThresholds(FixedThresholds):
    """The best thresholds for other sizes at the same load: data mining for web search, web search for others."""

    pure: ClassVar[bool] = True
    scale = SCALE

    @staticmethod
    def thresholds_for(env: Any) -> FloatArray:
        """Asks theory for the other distribution of each cluster."""
        queues, web_search = attribute_of(env, "config").queues, load_cdf("web_search")
        others = [("data_mining" if each.size == web_search else "web_search", each.load) for each in _traffic(env)]
        return np.array([qlas_thresholds(size, load, queues) for size, load in others])


class EqualSteps(FixedThresholds):
    """Thresholds in equal steps on the logarithmic scale between the smallest and the largest there can be."""

    pure: ClassVar[bool] = True
    scale = SCALE

    @staticmethod
    def thresholds_for(env: Any) -> FloatArray:
        """Divides the scale by the number of queues."""
        config: AuTOThresholdsConfig = attribute_of(env, "config")
        return np.tile(SCALE.size_at(np.arange(1, config.queues) / config.queues), (config.clusters, 1))


def _traffic(env: Any) -> tuple[Traffic, ...]:
    """Returns what the hosts of each cluster send, and refuses what theory knows nothing about."""
    traffic: tuple[Traffic, ...] | None = attribute_of(env, "traffic")
    if traffic is None:
        raise ConfigError("workload is not one Poisson workload: thresholds by theory need its sizes and its load")
    return traffic
