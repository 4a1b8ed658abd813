"""Sees weights move and rates fall by updates, and holds REINFORCE to returns and baselines worked out by hand."""

import copy
import json
from typing import Any, Final

import gymnasium as gym
import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv

from flowsched_gym.baselines.configuration.algorithm_schemas import A2CConfig, PPOConfig, SACConfig, TD3Config
from flowsched_gym.baselines.configuration.hydra_store import environment_arguments
from flowsched_gym.baselines.training.algorithms import build_model
from flowsched_gym.baselines.training.callbacks import Schedules
from flowsched_gym.baselines.training.reinforce import Reinforce, RunningAverages, discounted_returns
from flowsched_gym.baselines.training.trainer import train
from flowsched_gym.baselines.training.training_envs import make_training_envs
from flowsched_gym.core.errors import ConfigError
from tests.baselines.small_training import compose_defaults, compose_training, compose_training_by_numbers

SMALLEST: Final = {"a2c_thesis": 128}
"""Decisions of the smallest training where it is not one rollout of 4 environments and 16 steps."""
CHOICES: Final = ("a2c", "a2c_thesis", "maskable_ppo", "ppo", "reinforce")
NUMBERS: Final = ("ddpg", "ddpg_auto", "ppo_auto", "sac", "td3")
BATCH: Final = {"maskable_ppo": ("algorithm.batch_size=32",), "ppo_auto": ("algorithm.n_steps=16",)}


class LearningRates(BaseCallback):
    """Remembers the rate of every update and the length of every rollout."""

    def __init__(self) -> None:
        super().__init__()
        self.rates: list[float] = []
        self.lengths: list[int] = []

    def _on_rollout_start(self) -> None:
        self._note()
        self.lengths.append(0)

    def _on_step(self) -> bool:
        self.lengths[-1] += self.training_env.num_envs
        return True

    def _on_training_end(self) -> None:
        self._note()

    def _note(self) -> None:
        if (rate := self.logger.name_to_value.pop("train/learning_rate", None)) is not None:
            self.rates.append(rate)


def model_of(config: Any) -> Any:
    env_id, kwargs = environment_arguments(config.env)
    algorithm = config.algorithm
    envs = make_training_envs(
        env_id, kwargs, num_envs=algorithm.num_envs, seed=0, reward_scale=1.0, vectorization=config.vectorization
    )
    return build_model(algorithm, config.policy, envs, seed=0)


def composed(algorithm: str, *overrides: str) -> tuple[Any, Any]:
    compose = compose_training if algorithm in CHOICES else compose_training_by_numbers
    return compose(f"algorithm={algorithm}", *BATCH.get(algorithm, ()), "vectorization=dummy", *overrides)


@pytest.mark.parametrize("algorithm", [*CHOICES, *NUMBERS])
def test_the_smallest_training_moves_the_weights(algorithm) -> None:
    smallest = SMALLEST.get(algorithm, 64)
    config, _ = composed(algorithm, f"total_timesteps={smallest}")
    model = model_of(config)
    before = copy.deepcopy(dict(model.policy.named_parameters()))

    model.learn(config.decisions, callback=[Schedules(config.algorithm)] if algorithm in CHOICES else None)

    moved = {name for name, weights in model.policy.named_parameters() if not torch.equal(weights, before[name])}
    assert any(name.startswith(("action_net", "actor.")) for name in moved)
    assert model.num_timesteps == smallest


@pytest.mark.parametrize(
    ("algorithm", "decisions", "rates", "lengths"),
    [
        ("ppo", 128, [1.0, 0.5], [64, 64]),
        ("reinforce", 160, [1.0, 2 / 3, 1 / 3], [64, 64, 32]),
        ("a2c", 96, [1.0, 0.5], [64, 32]),
        ("sac", 256, [1.0, 0.5], [128, 128]),
    ],
)
def test_rates_fall_by_updates_and_the_last_rollout_takes_what_is_left(algorithm, decisions, rates, lengths) -> None:
    own = ("algorithm.train_freq=32",) if algorithm == "sac" else ()
    config, _ = composed(algorithm, *own)
    model, seen = model_of(config), LearningRates()

    model.learn(decisions, callback=seen, log_interval=2**62)

    assert seen.rates == pytest.approx([rate * config.algorithm.learning_rate for rate in rates])
    assert seen.lengths == lengths


def test_a_training_that_goes_on_keeps_to_its_schedule() -> None:
    config, _ = composed("ppo")
    model, seen = model_of(config), LearningRates()
    model.learn(64)
    model.learn(128, callback=seen, log_interval=2**62, reset_num_timesteps=False)
    assert seen.rates == pytest.approx([rate * config.algorithm.learning_rate for rate in (2 / 3, 1 / 3)])


def test_all_algorithms_make_the_same_number_of_decisions_and_none_that_learns_from_none() -> None:
    configs = (A2CConfig(name="a2c"), PPOConfig(name="ppo"), SACConfig(name="sac"), TD3Config(name="td3"))
    assert {each.decisions(10_000) for each in configs} == {10_048}
    sac, td3 = SACConfig(name="sac", learning_starts=1000), TD3Config(name="td3", gradient_steps=1, policy_delay=40)
    for config, total, message in (
        (PPOConfig(name="ppo"), 4096, r"total_timesteps is 4,096: ppo first updates .* after 8,192 .*64 \* 128"),
        (A2CConfig(name="a2c", n_steps=16), 960, r"a2c first updates .* after 1,024 .*64 \* 16"),
        (sac, 960, r"after 1,008 .*learning_starts = 1,000, .*16 \* 1"),
        (td3, 576, r"td3 first .* after 640 "),
    ):
        with pytest.raises(ConfigError, match=message):
            config.decisions(total)


def test_a_run_says_what_was_asked_for_and_what_was_made(tmp_path) -> None:
    result = train(*compose_training("total_timesteps=100"), tmp_path)
    assert (result["total_timesteps"], result["num_timesteps"]) == (100, 128)
    assert "128 decisions, 100 asked for" in (tmp_path / "comparison.md").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))["num_timesteps"] == 128


BRIEF: Final = {
    "artemis": ("workload.bursts=2",),
    "auto_longflows": ("workload.flows=300", "env.hosts=4"),
    "auto_thresholds": ("workload.flows=200", "env.hosts=4", "env.period_flows=20"),
    "merp_order": ("workload.flows=30",),
    "merp_route": ("workload.flows=30",),
    "qcluster": ("workload.flows=50",),
    "tafe_tasks": ("workload.tasks=10",),
    "tafe_thresholds": ("workload.tasks=20",),
}
"""Short episodes of every environment."""


@pytest.mark.parametrize(
    "env",
    [pytest.param(env, marks=() if env in ("merp_order", "qcluster") else pytest.mark.exhaustive) for env in BRIEF],
)
def test_every_environment_is_trained_by_its_defaults(env, tmp_path) -> None:
    result = train(*compose_defaults(f"env={env}", *BRIEF[env]), tmp_path)
    assert result["num_timesteps"] == 64
    assert (tmp_path / "comparison.png").stat().st_size > 0


class Guess(gym.Env):
    """Pays 1 for naming the right one of two numbers, plus 10 at one of two places; a third must not be named."""

    observation_space = gym.spaces.Box(0, 1, (2,), np.float32)
    action_space = gym.spaces.MultiDiscrete([3])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._right = int(self.np_random.integers(2))
        self._place = int(self.np_random.integers(2))
        return np.array([self._right, self._place], dtype=np.float32), {}

    def step(self, action):
        assert action[0] < 2
        reward = float(action[0] == self._right) + 10.0 * self._place
        return np.zeros(2, dtype=np.float32), reward, True, False, {}

    def action_masks(self):
        return np.array([True, True, False])


def test_returns_end_with_the_episode_and_with_the_rollout() -> None:
    rewards = np.array([[1.0, 1.0], [2.0, 2.0], [4.0, 4.0]])
    starts = np.array([[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]])
    returns = discounted_returns(rewards, starts, 0.5)
    assert returns.tolist() == [[3.0, 1.0], [4.0, 4.0], [4.0, 4.0]]


def test_each_group_has_its_own_average_which_moves_by_its_rate() -> None:
    averages = RunningAverages(0.5)
    first = averages.update(np.array([0.0, 0.0, 1.0]), np.array([1.0, 3.0, 10.0]))
    second = averages.update(np.array([0.0, 1.0, 2.0]), np.array([6.0, 10.0, 7.0]))
    assert first.tolist() == [2.0, 2.0, 10.0]
    assert second.tolist() == [2.0, 10.0, 7.0]
    assert averages.averages == {0.0: 4.0, 1.0: 10.0, 2.0: 7.0}


@pytest.fixture(scope="module")
def learned() -> Reinforce:
    """Holds a model that has learned to guess."""
    envs = DummyVecEnv([Guess] * 8)
    settings = {"n_steps": 32, "gamma": 0.0, "learning_rate": 0.01, "ent_coef": 0.0, "seed": 0, "device": "cpu"}
    model = Reinforce("MlpPolicy", envs, baseline_rate=0.2, baseline_column=1, **settings)
    return model.learn(16_000)


def test_it_learns_what_pays_and_names_nothing_that_is_masked(learned) -> None:
    masks = np.array([True, True, False])

    answers = [
        learned.predict(np.array([right, place], dtype=np.float32), deterministic=True, action_masks=masks)[0].tolist()
        for right in (0, 1)
        for place in (0, 1)
    ]

    assert answers == [[0], [0], [1], [1]]


def test_it_keeps_a_baseline_for_each_value_of_the_column(learned) -> None:
    averages = learned.baselines.averages
    assert averages.keys() == {0.0, 1.0}
    assert averages[1.0] - averages[0.0] == pytest.approx(10.0, abs=0.3)


def test_a_saved_model_goes_on_with_its_baselines_and_acts_as_a_model_of_maskable_ppo(learned, tmp_path) -> None:
    learned.save(tmp_path / "model")
    observation = np.array([1.0, 0.0], dtype=np.float32)

    again = Reinforce.load(tmp_path / "model", device="cpu")
    actor = MaskablePPO.load(tmp_path / "model", device="cpu")

    assert again.baselines.averages == learned.baselines.averages
    masks = np.array([True, True, False])
    assert actor.predict(observation, deterministic=True, action_masks=masks)[0].tolist() == [1]
