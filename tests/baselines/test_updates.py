"""Trains each algorithm as briefly as it may be trained, and sees its weights move and its rates fall by updates."""

import copy
import json
from typing import Any, Final

import pytest
import torch
from stable_baselines3.common.callbacks import BaseCallback

from flowsched_gym.baselines.configuration.algorithm_schemas import A2CConfig, PPOConfig, SACConfig, TD3Config
from flowsched_gym.baselines.configuration.hydra_store import environment_arguments
from flowsched_gym.baselines.training.algorithms import build_model
from flowsched_gym.baselines.training.callbacks import Schedules
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


def test_all_algorithms_make_the_same_number_of_decisions() -> None:
    made = {
        each.decisions(10_000)
        for each in (A2CConfig(name="a2c"), PPOConfig(name="ppo"), SACConfig(name="sac"), TD3Config(name="td3"))
    }
    assert made == {10_048}


@pytest.mark.parametrize(
    ("config", "total", "message"),
    [
        (PPOConfig(name="ppo"), 4096, r"total_timesteps is 4,096: ppo first updates .* after 8,192 .*64 \* 128"),
        (A2CConfig(name="a2c", n_steps=16), 960, r"a2c first updates .* after 1,024 .*64 \* 16"),
        (
            SACConfig(name="sac", learning_starts=1000),
            960,
            r"after 1,008 .*learning_starts = 1,000, .*16 \* 1",
        ),
        (TD3Config(name="td3", gradient_steps=1, policy_delay=40), 576, r"td3 first .* after 640 "),
    ],
)
def test_a_training_without_an_update_is_refused_with_the_numbers(config, total, message) -> None:
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
