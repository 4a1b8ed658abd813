"""Policies that set thresholds: what theory says of the traffic, right or wrong, and what needs no theory."""

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from flowsched_gym.core import numerics
from flowsched_gym.core.errors import ConfigError, SpaceMismatchError
from flowsched_gym.envs.policies.policy import attribute_of
from flowsched_gym.queueing import pias_thresholds
from flowsched_gym.systems.auto.flows import qlas_thresholds
from flowsched_gym.systems.auto.thresholds.config import BOTTOM, TOP, AuTOThresholdsConfig, action_of_thresholds
from flowsched_gym.workload import Traffic, load_cdf

Actions = npt.NDArray[np.float32]
Observations = npt.NDArray[np.floating]


class RandomThresholds:
    """Any action, drawn uniformly.

    Args:
        length: Numbers of an action, >= 1.
        seed: Seed of the draws.
    """

    def __init__(self, length: int, *, seed: int = 0) -> None:
        """Makes the generator."""
        self._length = length
        self._rng = np.random.default_rng(seed)

    @classmethod
    def for_env(cls, env: Any, *, seed: int = 0) -> Self:
        """Makes the policy for an environment."""
        config: AuTOThresholdsConfig = attribute_of(env, "config")
        return cls(config.clusters * config.num_thresholds, seed=seed)

    def predict(
        self,
        observation: Observations,
        state: Any = None,
        episode_start: npt.NDArray[np.bool_] | None = None,
        deterministic: bool = False,
    ) -> tuple[Actions, Any]:
        """Draws an action for each observation; see ``Policy``."""
        shape = (*np.shape(observation)[:-1], self._length)
        return (2.0 * self._rng.random(shape) - 1.0).astype(np.float32), state


class FixedThresholds:
    """The same thresholds in every period.

    Args:
        thresholds: Thresholds of each cluster in B, (num_clusters, num_queues - 1); outside the range of actions, the
            nearest ones are set.
    """

    pure: ClassVar[bool] = True

    def __init__(self, thresholds: npt.NDArray[np.float64]) -> None:
        """Finds the action."""
        self._action = action_of_thresholds(thresholds).ravel().astype(np.float32)

    def predict(
        self,
        observation: Observations,
        state: Any = None,
        episode_start: npt.NDArray[np.bool_] | None = None,
        deterministic: bool = False,
    ) -> tuple[Actions, Any]:
        """Returns the action, once for each observation; see ``Policy``.

        Raises:
            SpaceMismatchError: It is neither an observation nor a batch of them.
        """
        shape = np.shape(observation)
        if len(shape) not in (1, 2):
            raise SpaceMismatchError(f"observation has shape {shape}: it must be (size,) or (batch, size)")
        return np.broadcast_to(self._action, (*shape[:-1], len(self._action))).copy(), state


class _ThresholdsOfEnv(FixedThresholds):
    """Thresholds that follow from the arguments of an environment."""

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
        return [tuple(numerics.exp(BOTTOM + (TOP - BOTTOM) * part).tolist())] * config.clusters


def _known(traffic: tuple[Traffic, ...] | None) -> tuple[Traffic, ...]:
    """Refuses traffic that theory knows nothing about."""
    if traffic is None:
        raise ConfigError("the workload is no Poisson workload: thresholds by theory need its sizes and its load")
    return traffic
