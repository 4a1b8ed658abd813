"""Builds every algorithm where it suits, and has it refused where it does not."""

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3 import DDPG, SAC, TD3

from flowsched_gym.baselines.training.algorithms import build_model
from flowsched_gym.baselines.training.reinforce import Reinforce
from flowsched_gym.baselines.training.trainer import train
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.integrations.sb3 import load_policy, make_sb3_vec_env
from tests.baselines.small_training import compose_training, compose_training_by_numbers

MASKED = "masks; the environment has Box without masks"


def thresholds_envs():
    return make_sb3_vec_env("flowsched/AuTOThresholds-v0", 4, hosts=4, flows=100)


def long_flows_envs():
    return make_sb3_vec_env("flowsched/AuTOLongFlows-v0", 4, hosts=4, flows=100, n_l=2)


@pytest.mark.parametrize(("algorithm", "expected"), [("ddpg", DDPG), ("td3", TD3), ("sac", SAC), ("ddpg_auto", DDPG)])
def test_an_algorithm_for_numbers_gets_its_settings(algorithm, expected) -> None:
    config, _ = compose_training_by_numbers(f"algorithm={algorithm}", "algorithm.tau=0.25", "algorithm.gamma=0.5")
    model = build_model(config.algorithm, config.policy, thresholds_envs(), seed=0)
    assert expected in type(model).__bases__
    assert (model.tau, model.gamma) == (0.25, 0.5)  # type: ignore[attr-defined]
    assert (model.action_noise is None) == (algorithm == "sac")


def test_an_algorithm_for_numbers_is_refused_where_actions_are_choices() -> None:
    for algorithm in ("ddpg", "td3", "sac"):
        config, _ = compose_training_by_numbers(f"algorithm={algorithm}")
        with pytest.raises(ConfigError, match=rf"algorithm is {algorithm}: .*numbers \(Box\).* MultiDiscrete"):
            build_model(config.algorithm, config.policy, long_flows_envs(), seed=0)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("algorithm=maskable_ppo", "algorithm.n_steps=8"), MASKED),
        (("algorithm=a2c_thesis",), "mixes with the uniform distribution"),
        (("algorithm=ppo", "algorithm.n_steps=8", "policy=setwise"), "setwise: it chooses one slot.*Box"),
        (
            ("algorithm=ppo", "algorithm.n_steps=8", "policy=pathwise"),
            "pathwise: it learns by maskable_ppo or reinforce",
        ),
        (("algorithm=ddpg", "policy.start_std=0.5"), "start_std is 0.5: ppo, a2c and sac draw"),
        (("algorithm=sac", "policy=auto"), "auto: its critic reads actions.*sac"),
    ],
)
def test_what_does_not_suit_actions_of_numbers_is_refused(overrides, message) -> None:
    config, _ = compose_training_by_numbers(*overrides)
    with pytest.raises(ConfigError, match=message):
        build_model(config.algorithm, config.policy, thresholds_envs(), seed=0)


def test_a_baseline_column_is_found_by_name_and_refused_if_there_is_none() -> None:
    found, _ = compose_training("algorithm=reinforce", "algorithm.baseline_column=source")
    envs = long_flows_envs()

    model = build_model(found.algorithm, found.policy, envs, seed=0)

    assert isinstance(model, Reinforce)
    assert model.baseline_column == 0
    unknown, _ = compose_training("algorithm=reinforce", "algorithm.baseline_column=rack")
    with pytest.raises(ConfigError, match=r"baseline_column is 'rack'.*source, source_port"):
        build_model(unknown.algorithm, unknown.policy, envs, seed=0)


@pytest.mark.parametrize("choice", [("algorithm=ddpg", "policy=auto", "policy.actor=[8]")])
def test_what_was_trained_acts_after_loading(choice, tmp_path) -> None:
    config, content = compose_training_by_numbers(*choice, "total_timesteps=64", "algorithm.batch_size=8")
    train(config, content, tmp_path)
    env = gym.make("flowsched/AuTOThresholds-v0", hosts=4, flows=200, period_flows=20)
    policy = load_policy(tmp_path / "model.zip", env)
    action, _ = policy.predict(env.reset(seed=0)[0], deterministic=True)
    assert env.action_space.contains(np.asarray(action))
