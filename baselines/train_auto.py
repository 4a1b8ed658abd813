"""Trains both agents of AuTO side by side in one simulation: DDPG sets thresholds, REINFORCE steers long flows.

The environment is that of the long flows. Whenever so many flows have finished, the thresholds' agent decides beside
it, before the next long flow is steered, and learns from the reward of its last thresholds. Which flows are long
remains what the environment says, whatever the last threshold. Thresholds start at the best ones for the wrong sizes::

    python -m flowsched_gym.baselines.train_auto --decisions 20000 --folder runs/auto
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import torch
from stable_baselines3.common.logger import configure
from stable_baselines3.common.vec_env import DummyVecEnv

from flowsched_gym.baselines.configuration.algorithm_schemas import DDPGConfig, ReinforceConfig
from flowsched_gym.baselines.configuration.policy_schemas import AutoConfig, FlatConfig
from flowsched_gym.baselines.training.algorithms import build_model
from flowsched_gym.baselines.training.starting import first_action, start_at
from flowsched_gym.core.errors import ConfigError, FlowSchedError
from flowsched_gym.envs.actions import read_numbers
from flowsched_gym.envs.policies import Policy
from flowsched_gym.evaluation.rollout import rollout
from flowsched_gym.flows.fields import EPISODE_FIELDS as OF_ANY_EPISODE
from flowsched_gym.flows.fields import fill_flow_fields
from flowsched_gym.fluid.decision import Decision
from flowsched_gym.integrations.sb3 import make_sb3_vec_env, save_model
from flowsched_gym.players import make_policy
from flowsched_gym.systems.auto.thresholds.config import AuTOThresholdsConfig
from flowsched_gym.systems.auto.thresholds.rules import (
    EPISODE_FIELDS,
    FLOW_FIELDS,
    TERMS,
    threshold_rules,
    thresholds_layout,
)

LONG_FLOWS: Final = "flowsched_gym:flowsched/AuTOLongFlows-v0"
THRESHOLDS: Final = "flowsched_gym:flowsched/AuTOThresholds-v0"
PATHS: Final = 3
"""Links of each server, which one link of the thresholds' environment stands for (AuTO, section 6)."""
EVALUATION_SEED: Final = 10_000
TRAINING_SEED: Final = 2**32
"""Seeds of training begin here, far from those of evaluations."""
START: Final = "mismatched"
BAD_USAGE: Final = 2

Actions = npt.NDArray[np.float32]
Observations = npt.NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the command line, with their defaults."""

    workload: str = "auto-web-search"
    hosts: int = 32
    flows: int = 3000
    period_flows: int = 200
    decisions: int = 20_000
    seed: int = 0
    episodes: int = 5
    folder: str = "runs/auto"


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
        self,
        env: gym.Env[Any, Any],
        config: AuTOThresholdsConfig,
        choose: Callable[[Observations], Actions],
        learn: Callable[[Observations, Actions, float, Observations, bool], None] | None = None,
    ) -> None:
        super().__init__(env)
        self._config, self._choose, self._learn = config, choose, learn
        self._rules = threshold_rules(config)
        self._size = thresholds_layout(config).size

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode, with the agent's first thresholds."""
        observation, info = self.env.reset(seed=seed, options=options)
        env: Any = self.env.unwrapped
        self._flows = np.zeros(env.workload.num_flows, dtype=[*FLOW_FIELDS])
        fill_flow_fields(self._flows, self._flows.dtype.names or (), env.workload, env.simulation.ideal_fct)
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
        decision: Decision = env.simulation.decision(self._flows, self._episode)
        return decision

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
    """DDPG with AuTO's networks, trained on one transition after the other."""

    def __init__(self, config: AuTOThresholdsConfig, *, seed: int) -> None:
        self._settings = DDPGConfig(name="ddpg", num_envs=1, learning_rate=1e-4, gamma=0.0, batch_size=64)
        envs = make_sb3_vec_env(THRESHOLDS, 1, workload=config.workload, hosts=config.hosts)
        self.model: Any = build_model(self._settings, AutoConfig(), envs, seed=seed)
        self.model.set_logger(configure(format_strings=[]))
        start_at(self.model, first_action(START, THRESHOLDS, {"workload": config.workload}))

    def explore(self, observation: Observations) -> Actions:
        """Returns the action for an observation, with noise."""
        noisy = self.model.predict(observation)[0] + self.model.action_noise()
        action: Actions = np.clip(noisy, -1.0, 1.0).astype(np.float32)
        return action

    def act(self, observation: Observations) -> Actions:
        """Returns the action for an observation."""
        action: Actions = self.model.predict(observation)[0]
        return action

    def learn(
        self, observation: Observations, action: Actions, reward: float, after: Observations, ended: bool
    ) -> None:
        """Stores a transition, and makes as many updates as the settings say."""
        one: Any = (observation[None], after[None], action[None], np.array([reward]), np.array([ended]), [{}])
        self.model.replay_buffer.add(*one)
        self.model.train(self._settings.gradient_steps, self._settings.batch_size)


def train(options: Options) -> dict[str, float]:
    """Trains both agents, keeps their models, and compares them.

    Returns the mean completion time of all flows in s, by who steers the long flows and who sets thresholds.

    Raises:
        ConfigError: An option is not allowed.
    """
    settings = ReinforceConfig(
        name="reinforce", num_envs=1, n_steps=256, learning_rate=1e-3, gamma=0.9, baseline_column="source"
    )
    if options.decisions < settings.steps_per_update:
        raise ConfigError(
            f"decisions is {options.decisions:,}: the agent of long flows first updates its weights after "
            f"{settings.steps_per_update:,}, so it would learn nothing"
        )
    shared: dict[str, Any] = {"workload": options.workload, "hosts": options.hosts}
    config = AuTOThresholdsConfig(**shared, period_flows=options.period_flows, link_gbps=float(PATHS))
    arguments: dict[str, Any] = {**shared, "flows": options.flows, "paths": PATHS, "reward": "slowdown_growth"}

    def make(choose: Callable[[Observations], Actions], learn: Callable[..., None] | None = None) -> gym.Env[Any, Any]:
        return ThresholdsBeside(gym.make(LONG_FLOWS, disable_env_checker=True, **arguments), config, choose, learn)

    thresholds = ThresholdsLearner(config, seed=options.seed)
    envs = DummyVecEnv([lambda: make(thresholds.explore, thresholds.learn)])
    long_flows: Any = build_model(settings, FlatConfig(separate=[300] * 10, activation="relu"), envs, seed=options.seed)
    envs.seed(TRAINING_SEED + options.seed)
    long_flows.learn(settings.decisions(options.decisions))
    if not thresholds.model._n_updates:
        raise ConfigError(
            f"decisions is {options.decisions:,}: no episode of {options.flows:,} flows (flows) and no period of "
            f"{options.period_flows:,} (period_flows) has ended, so the agent of thresholds has learned nothing"
        )
    folder = Path(options.folder)
    save_model(thresholds.model, folder / "thresholds.zip")
    save_model(long_flows, folder / "long_flows.zip")

    fixed = {name: first_action(name, THRESHOLDS, {"workload": options.workload}) for name in (START, "qlas")}
    choices: dict[str, Callable[[Observations], Actions]] = {
        START: lambda _: fixed[START],
        "qlas": lambda _: fixed["qlas"],
        "learned": thresholds.act,
    }
    results = {}
    for name, choose in choices.items():
        env = make(choose)
        steering: dict[str, Policy] = {"ecmp": make_policy("ecmp", env), "learned": long_flows}
        for steered, policy in steering.items():
            results[f"{steered}, {name}"] = play(env, policy, episodes=options.episodes)
    return results


def play(env: gym.Env[Any, Any], policy: Policy, *, episodes: int) -> float:
    """Plays episodes that training never sees, the same in every call, with a policy that steers the long flows.

    Returns the mean completion time of all flows in s, averaged over the episodes.
    """
    seeds = range(EVALUATION_SEED, EVALUATION_SEED + episodes)
    return float(np.mean([rollout(env, policy, seed=seed).metrics["mean_fct"] for seed in seeds]))


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains and prints the results; without arguments, by those of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for field in fields(Options):
        kind: Any = field.type
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=field.default, help="%(default)s")
    options = Options(**vars(parser.parse_args(arguments)))
    # On networks this small a second thread gains nothing, and on a busy machine the two wait for each other.
    torch.set_num_threads(1)
    print(f"mean FCT over {options.episodes} episodes, by who steers long flows and who sets thresholds:")
    try:
        results = train(options)
    except FlowSchedError as error:
        parser.exit(BAD_USAGE, f"train_auto: {error}\n")
    for name, mean_fct in results.items():
        print(f"{name:22} {mean_fct * 1e3:8.2f} ms")


if __name__ == "__main__":
    main()
