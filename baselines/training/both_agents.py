"""Both agents of AuTO in one simulation: DDPG sets thresholds beside whoever steers the long flows.

The environment is that of the long flows. Whenever so many flows have finished, the thresholds' agent decides beside
it, before the next long flow is steered, and learns from the reward of its last thresholds. Which flows are long
remains what the environment says, whatever the last threshold. ``algorithm=auto`` trains both.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from stable_baselines3.common.logger import configure

from flowsched_gym.baselines.configuration.algorithm_schemas import BothAgentsConfig
from flowsched_gym.baselines.configuration.policy_schemas import AutoConfig
from flowsched_gym.baselines.training.algorithms import build_model
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.envs.actions import read_numbers
from flowsched_gym.envs.policies import Policy
from flowsched_gym.flows.fields import EPISODE_FIELDS as OF_ANY_EPISODE
from flowsched_gym.fluid.decision import Decision
from flowsched_gym.integrations.sb3 import make_sb3_vec_env
from flowsched_gym.registration import find_environment
from flowsched_gym.systems.auto.long_flows.config import AuTOLongFlowsConfig
from flowsched_gym.systems.auto.long_flows.rules import FLOW_FIELDS as OF_LONG_FLOWS
from flowsched_gym.systems.auto.thresholds.config import AuTOThresholdsConfig
from flowsched_gym.systems.auto.thresholds.rules import (
    EPISODE_FIELDS,
    FLOW_FIELDS,
    TERMS,
    threshold_rules,
    thresholds_layout,
)

LONG_FLOWS: Final = "flowsched/AuTOLongFlows-v0"
THRESHOLDS: Final = "flowsched_gym:flowsched/AuTOThresholds-v0"

Actions = npt.NDArray[np.float32]
Observations = npt.NDArray[np.float32]
Choose = Callable[[Observations], Actions]
Learn = Callable[[Observations, Actions, float, Observations, bool], None]


class ThresholdsBeside(gym.Wrapper[Any, Any, Any, Any]):
    """An environment of long flows in which another agent sets the thresholds from time to time.

    Args:
        env: ``AuTOLongFlows-v0``.
        config: What the agent sees, sets and is rewarded for, and after how many flows it is asked.
        choose: Returns an action for an observation; it is asked at time 0 and after each period.
        learn: Takes observation, action, reward, next observation and whether the episode has ended; ``None`` where
            nobody learns.
    """

    def __init__(
        self, env: gym.Env[Any, Any], config: AuTOThresholdsConfig, choose: Choose, learn: Learn | None = None
    ) -> None:
        super().__init__(env)
        self._config, self._choose, self._learn = config, choose, learn
        self._rules = threshold_rules(config)
        self._size = thresholds_layout(config).size

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode, with the agent's first thresholds."""
        observation, info = self.env.reset(seed=seed, options=options)
        env: Any = self.env.unwrapped
        own = env.decision().flows
        self._flows = np.zeros(len(own["flow_id"]), dtype=[*FLOW_FIELDS])
        for name in {name for name, _ in FLOW_FIELDS} & {name for name, _ in OF_LONG_FLOWS}:
            self._flows[name] = own[name]
        self._episode = np.zeros(1, dtype=[*EPISODE_FIELDS, *OF_ANY_EPISODE])
        self._set(self._decision())
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Steers the long flows, and asks for thresholds when it is time."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        decision, ended = self._decision(), terminated or truncated
        num_before = int(self._episode["num_before"][0])
        if ended or decision.num_delivered - num_before >= (self._config.period_flows or 0):
            own_reward = self._rules.reward(decision, num_before, np.zeros(len(TERMS)))
            if self._learn is not None:
                self._learn(self._shown, self._action, own_reward, self._observed(decision), terminated)
            if not ended:
                self._set(decision)
        return observation, reward, terminated, truncated, info

    def _decision(self) -> Decision:
        """Lays out the network, with what has happened since the thresholds were set."""
        env: Any = self.env.unwrapped
        decision: Decision = env.decision()
        return decision._replace(flows=self._flows, episodes=self._episode)

    def _observed(self, decision: Decision) -> Observations:
        observation = np.zeros(self._size, dtype=np.float32)
        self._rules.observe(decision, observation)
        return observation

    def _set(self, decision: Decision) -> None:
        """Asks for thresholds and sets them."""
        self._shown = self._observed(decision)
        self._action = self._choose(self._shown)
        self._rules.act(decision, read_numbers(self._action, self._config.num_thresholds))
        self._episode["num_before"], self._episode["acted_at"] = decision.num_delivered, decision.now


class ThresholdsLearner:
    """DDPG with AuTO's networks, trained on one transition after the other.

    Args:
        algorithm: Its settings are in ``thresholds``.
        env_id: Id of the environment, which must be that of long flows.
        kwargs: Its arguments.
        seed: Seed of weights and noise.

    Attributes:
        kwargs: Arguments of the environment of thresholds that it could act in alone.
        model: Its model.

    Raises:
        ConfigError: It is another environment.
    """

    def __init__(self, algorithm: BothAgentsConfig, env_id: str, kwargs: Mapping[str, Any], *, seed: int) -> None:
        if find_environment(env_id).id != LONG_FLOWS:
            raise ConfigError(f"algorithm is {algorithm.name}: it steers the long flows of {LONG_FLOWS}, not {env_id}")
        self._settings = algorithm.thresholds
        self.kwargs = kwargs_beside(kwargs, algorithm.period_flows)
        envs = make_sb3_vec_env(THRESHOLDS, 1, **self.kwargs)
        self.model: Any = build_model(self._settings, AutoConfig(), envs, seed=seed)
        self.model.set_logger(configure(format_strings=[]))

    def wrap(self, env: gym.Env[Any, Any], *, learns: bool) -> gym.Env[Any, Any]:
        """Has it set the thresholds of an environment of long flows, and learn from them with noise on its actions."""
        if not learns:
            return set_by(env, policy=self.model, kwargs=self.kwargs)
        return ThresholdsBeside(env, AuTOThresholdsConfig(**self.kwargs), self._explore, self._take)

    def _explore(self, observation: Observations) -> Actions:
        noisy = self.model.predict(observation, deterministic=True)[0] + self.model.action_noise()
        action: Actions = np.clip(noisy, -1.0, 1.0).astype(np.float32)
        return action

    def _take(
        self, observation: Observations, action: Actions, reward: float, after: Observations, ended: bool
    ) -> None:
        """Stores a transition, and makes as many updates as the settings say."""
        rewards = np.array([reward * self._settings.reward_scale])
        one: Any = (observation[None], after[None], action[None], rewards, np.array([ended]), [{}])
        self.model.replay_buffer.add(*one)
        self.model.num_timesteps += 1
        self.model.train(self._settings.gradient_steps, self._settings.batch_size)


def set_by(env: gym.Env[Any, Any], *, policy: Policy, kwargs: Mapping[str, Any]) -> gym.Env[Any, Any]:
    """Has a policy of an environment of thresholds, with these arguments, set those of an environment of long flows."""
    config = AuTOThresholdsConfig(**kwargs)

    def choose(seen: Observations) -> Actions:
        return np.asarray(policy.predict(seen, deterministic=True)[0], dtype=np.float32)

    return ThresholdsBeside(env, config, choose)


def kwargs_beside(kwargs: Mapping[str, Any], period_flows: int) -> dict[str, Any]:
    """Returns what makes an environment of thresholds, with the paper's columns and reward, of one of long flows.

    One link of it stands for the links of all paths of a server together.
    """
    config = AuTOLongFlowsConfig(**kwargs)
    shared = {name: kwargs[name] for name in ("workload", "load", "flows", "hosts", "link_delay_us") if name in kwargs}
    link = {"link_gbps": config.link_gbps * config.paths, "queues": config.num_queues, "period_flows": period_flows}
    return {**shared, **link, "observation": "paper", "reward": "fct_ratio"}
