"""Policies that set a port's thresholds: QCluster's rules, thresholds for known traffic, and what needs no theory."""

from abc import abstractmethod
from typing import Any, ClassVar, Final, Self

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray, ObservationArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.envs.columns import Layout
from flowsched_gym.envs.policies.policy import LayoutPolicy, attribute_of
from flowsched_gym.flows.thresholds import RULES, ThresholdRule, thresholds_between
from flowsched_gym.packets.schedulers.qcluster import FIRST_WEIGHT, WEIGHT_RATIO, Goal
from flowsched_gym.queueing import optimal_thresholds, pias_worst_thresholds
from flowsched_gym.systems.qcluster.config import QClusterAction, QClusterConfig
from flowsched_gym.systems.qcluster.rules import ALPHA_STEPS, ALPHAS, SCALE, action_of_thresholds, num_thresholds
from flowsched_gym.workload import Traffic

Actions = npt.NDArray[Any]

USUAL_STEP: Final = ALPHA_STEPS.index(1.05)


class PortPolicy(LayoutPolicy):
    """A policy that acts by the arguments of the environment."""

    def __init__(self, config: QClusterConfig, layout: Layout, *, seed: int = 0) -> None:
        super().__init__(layout, seed=seed)
        self._config = config

    @classmethod
    def for_env(cls, env: Any, *, seed: int = 0) -> Self:
        """Makes the policy for an environment."""
        return cls(attribute_of(env, "config"), attribute_of(env, "layout"), seed=seed)


class RandomAction(PortPolicy):
    """Any action, drawn uniformly."""

    def choose(self, batch: ObservationArray) -> Actions:
        """Draws an action for each observation."""
        if self._config.action is QClusterAction.RULE:
            return (self.rng.random((len(batch), 2)) * [len(RULES), len(ALPHA_STEPS)]).astype(np.int64)
        shape = (len(batch), num_thresholds(self._config))
        return (2.0 * self.rng.random(shape) - 1.0).astype(np.float32)


class RulePolicy(PortPolicy):
    """A rule of QCluster, by the weights, packets and exponents that the environment shows.

    Where thresholds are set, they follow from these once in each period, in place of every 200 packets. Where a rule is
    chosen, it is this one, and alpha moves by its usual step.
    """

    rule: ClassVar[ThresholdRule]

    def choose(self, batch: ObservationArray) -> Actions:
        """Chooses an action for each observation."""
        code = RULES[self.rule]
        if self._config.action is QClusterAction.RULE:
            return np.tile([list(RULES).index(self.rule), USUAL_STEP], (len(batch), 1))
        weights = SCALE.size_at(self.layout.slot_column(batch, "weight"))
        members = self.layout.slot_column(batch, "members")
        alpha = ALPHAS.size_at(self.layout.slot_column(batch, "alpha"))
        actions = []
        for weight, count, exponent in zip(weights, members, alpha, strict=True):
            thresholds = np.empty(len(weight) - 1)
            thresholds_between(weight, count, exponent, code, self._config.goal is not Goal.FQ, thresholds)
            actions.append(action_of_thresholds(self._config, thresholds))
        return np.array(actions, dtype=np.float32)


class ArithmeticRule(RulePolicy):
    """Thresholds at the arithmetic means of neighbouring queues' weights."""

    pure: ClassVar[bool] = True
    rule = ThresholdRule.ARITHMETIC


class GeometricRule(RulePolicy):
    """Thresholds at their geometric means."""

    pure: ClassVar[bool] = True
    rule = ThresholdRule.GEOMETRIC


class HarmonicRule(RulePolicy):
    """Thresholds at their harmonic means."""

    pure: ClassVar[bool] = True
    rule = ThresholdRule.HARMONIC


class AdaptiveRule(RulePolicy):
    """Thresholds that let queues hold equally many packets, over their weights, but for fair queueing."""

    pure: ClassVar[bool] = True
    rule = ThresholdRule.ADAPTIVE


class _SameThresholds(LayoutPolicy):
    """The same thresholds in B in every period, (num_queues - 1,), or the nearest ones that actions stand for."""

    def __init__(self, config: QClusterConfig, layout: Layout, thresholds: FloatArray) -> None:
        super().__init__(layout)
        if config.action is not QClusterAction.THRESHOLDS:
            raise ConfigError(f"action is {config.action.value!r}: policies that set thresholds need 'thresholds'")
        self._action = action_of_thresholds(config, thresholds).astype(np.float32)

    @classmethod
    def for_env(cls, env: Any, *, seed: int = 0) -> Self:
        """Makes the policy for an environment; refuses one whose action is a rule, or whose traffic theory lacks."""
        config: QClusterConfig = attribute_of(env, "config")
        return cls(config, attribute_of(env, "layout"), cls.thresholds_for(config, attribute_of(env, "traffic")))

    @staticmethod
    @abstractmethod
    def thresholds_for(config: QClusterConfig, traffic: Traffic | None) -> FloatArray:
        """Finds the thresholds by the arguments of an environment and its traffic."""

    def choose(self, batch: ObservationArray) -> Actions:
        """Returns the action, once for each observation."""
        return np.tile(self._action, (len(batch), 1))


class ConstantThresholds(_SameThresholds):
    """The thresholds between QCluster's first weights, which never move."""

    pure: ClassVar[bool] = True

    @staticmethod
    def thresholds_for(config: QClusterConfig, traffic: Traffic | None) -> FloatArray:
        """Takes geometric means."""
        weights = np.cumprod([FIRST_WEIGHT, *[WEIGHT_RATIO] * (config.queues - 1)])
        means: FloatArray = np.sqrt(weights[:-1] * weights[1:])
        return means


class BestThresholds(_SameThresholds):
    """The best static thresholds in theory, for the sizes and the load of the workload (OPT)."""

    pure: ClassVar[bool] = True

    @staticmethod
    def thresholds_for(config: QClusterConfig, traffic: Traffic | None) -> FloatArray:
        """Minimises the mean completion time of a fluid: by size for ``srpt`` and ``sjf``, by bytes sent for others."""
        known = _known(config, traffic)
        by_size = config.goal in (Goal.SRPT, Goal.SJF)
        return optimal_thresholds("qsjf" if by_size else "qlas", known.size, known.load, config.queues)


class WorstThresholds(_SameThresholds):
    """Thresholds with 60 % of packets in the first queue and 30 % in the last (WST; QCluster, section 6.1)."""

    pure: ClassVar[bool] = True

    @staticmethod
    def thresholds_for(config: QClusterConfig, traffic: Traffic | None) -> FloatArray:
        """Counts packets by bytes sent; the packet that arrives counts too."""
        return pias_worst_thresholds(_known(config, traffic).size, config.queues, FIRST_WEIGHT) + FIRST_WEIGHT


def _known(config: QClusterConfig, traffic: Traffic | None) -> Traffic:
    """Refuses traffic that theory knows nothing about."""
    if config.goal is Goal.DEADLINE:
        raise ConfigError("goal is 'deadline': there is no theory of thresholds for it")
    if traffic is None:
        raise ConfigError("workload is not one Poisson workload: thresholds by theory need its sizes and its load")
    return traffic
