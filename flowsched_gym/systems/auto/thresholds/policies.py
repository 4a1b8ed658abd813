"""Policies that set thresholds: what theory says of the traffic, right or wrong, and what needs no theory."""

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.envs.policies.policy import attribute_of
from flowsched_gym.envs.policies.thresholds import FixedThresholds
from flowsched_gym.queueing import pias_thresholds
from flowsched_gym.systems.auto.flows import qlas_thresholds
from flowsched_gym.systems.auto.thresholds.config import SCALE, AuTOThresholdsConfig
from flowsched_gym.workload import Traffic, load_cdf


class _ThresholdsOfEnv(FixedThresholds):
    """Thresholds that follow from the arguments of an environment."""

    scale = SCALE

    @classmethod
    def for_env(cls, env: Any, *, seed: int = 0) -> Self:
        """Makes the policy for an environment.

        Raises:
            ConfigError: It goes by theory, and the traffic of the environment is not known, or has no best thresholds.
        """
        config: AuTOThresholdsConfig = attribute_of(env, "config")
        traffic: tuple[Traffic, ...] | None = attribute_of(env, "traffic")
        return cls(np.array(cls.thresholds_for(config, traffic)))

    @staticmethod
    @abstractmethod
    def thresholds_for(config: AuTOThresholdsConfig, traffic: tuple[Traffic, ...] | None) -> list[tuple[float, ...]]:
        """Finds the thresholds of each cluster in B, by the arguments of an environment and what its hosts send."""


class BestThresholds(_ThresholdsOfEnv):
    """The best thresholds in theory for the sizes and the load of each cluster (QLAS; AuTO, section 6)."""

    pure: ClassVar[bool] = True

    @staticmethod
    def thresholds_for(config: AuTOThresholdsConfig, traffic: tuple[Traffic, ...] | None) -> list[tuple[float, ...]]:
        """Minimises the mean completion time on one link, each queue first in, first out."""
        return [qlas_thresholds(each.size, each.load, config.queues) for each in _known(traffic)]


class PiasThresholds(_ThresholdsOfEnv):
    """Thresholds by PIAS's sum-of-ratios rule for the sizes and the load of each cluster."""

    pure: ClassVar[bool] = True

    @staticmethod
    def thresholds_for(config: AuTOThresholdsConfig, traffic: tuple[Traffic, ...] | None) -> list[tuple[float, ...]]:
        """Evaluates the closed form."""
        return [tuple(pias_thresholds(each.size, each.load, config.queues)) for each in _known(traffic)]


class MismatchedThresholds(_ThresholdsOfEnv):
    """The best thresholds for other sizes at the same load: data mining for web search, web search for others."""

    pure: ClassVar[bool] = True

    @staticmethod
    def thresholds_for(config: AuTOThresholdsConfig, traffic: tuple[Traffic, ...] | None) -> list[tuple[float, ...]]:
        """Finds the other distribution of each cluster."""
        web_search = load_cdf("web_search")
        return [
            qlas_thresholds("data_mining" if each.size == web_search else "web_search", each.load, config.queues)
            for each in _known(traffic)
        ]


class EqualSteps(_ThresholdsOfEnv):
    """Thresholds in equal steps on the logarithmic scale between the smallest and the largest there can be."""

    pure: ClassVar[bool] = True

    @staticmethod
    def thresholds_for(config: AuTOThresholdsConfig, traffic: tuple[Traffic, ...] | None) -> list[tuple[float, ...]]:
        """Divides the scale by the number of queues."""
        part = np.arange(1, config.queues) / config.queues
        return [tuple(SCALE.size_at(part).tolist())] * config.clusters


def _known(traffic: tuple[Traffic, ...] | None) -> tuple[Traffic, ...]:
    """Refuses traffic that theory knows nothing about."""
    if traffic is None:
        raise ConfigError("the workload is no Poisson workload: thresholds by theory need its sizes and its load")
    return traffic
