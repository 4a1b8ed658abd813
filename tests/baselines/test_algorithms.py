"""Builds every algorithm where it suits, begins with a given action, and is refused where it does not suit."""

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3 import DDPG, SAC, TD3

from flowsched_gym.baselines.training.algorithms import build_model
from flowsched_gym.baselines.training.reinforce import Reinforce
from flowsched_gym.baselines.training.starting import first_action, start_at, start_with_std
from flowsched_gym.baselines.training.trainer import train
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.integrations.sb3 import load_policy, make_sb3_vec_env
from flowsched_gym.systems.auto.flows import qlas_thresholds
from flowsched_gym.systems.auto.thresholds.config import SCALE
from tests.baselines.small_training import compose_training, compose_training_by_numbers


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


def test_what_does_not_suit_the_actions_is_refused() -> None:
    steps = "algorithm.n_steps=8"
    refusals = [
        (thresholds_envs, ("algorithm=maskable_ppo", steps), "masks; the environment has Box without masks"),
        (thresholds_envs, ("algorithm=a2c_thesis",), "mixes with the uniform distribution"),
        (thresholds_envs, ("algorithm=ppo", steps, "policy=setwise"), "setwise: it chooses one slot.*Box"),
        (thresholds_envs, ("algorithm=ppo", steps, "policy=pathwise"), "pathwise: it learns by maskable_ppo or"),
        (thresholds_envs, ("algorithm=ddpg", "policy.start_std=0.5"), "start_std is 0.5: ppo, a2c and sac draw"),
        (thresholds_envs, ("algorithm=sac", "policy=auto"), "auto: its critic reads actions.*sac"),
        *(
            (long_flows_envs, (f"algorithm={name}",), rf"algorithm is {name}: .*numbers \(Box\).* MultiDiscrete")
            for name in ("ddpg", "td3", "sac")
        ),
    ]
    for make, overrides, message in refusals:
        config, _ = compose_training_by_numbers(*overrides)
        with pytest.raises(ConfigError, match=message):
            build_model(config.algorithm, config.policy, make(), seed=0)


def test_a_baseline_column_is_found_by_name_and_refused_if_there_is_none() -> None:
    found, _ = compose_training("algorithm=reinforce", "algorithm.baseline_column=source")
    envs = long_flows_envs()

    model = build_model(found.algorithm, found.policy, envs, seed=0)

    assert isinstance(model, Reinforce)
    assert model.baseline_column == 0
    unknown, _ = compose_training("algorithm=reinforce", "algorithm.baseline_column=rack")
    with pytest.raises(ConfigError, match=r"baseline_column is 'rack'.*source, source_port"):
        build_model(unknown.algorithm, unknown.policy, envs, seed=0)


def test_what_was_trained_acts_after_loading(tmp_path) -> None:
    choice = ("algorithm=ddpg", "policy=auto", "policy.actor=[8]", "total_timesteps=64", "algorithm.batch_size=8")
    train(*compose_training_by_numbers(*choice), tmp_path)
    env = gym.make("flowsched/AuTOThresholds-v0", hosts=4, flows=200, period_flows=20)
    policy = load_policy(tmp_path / "model.zip", env)
    action, _ = policy.predict(env.reset(seed=0)[0], deterministic=True)
    assert env.action_space.contains(np.asarray(action))


ENV_ID = "flowsched_gym:flowsched/AuTOThresholds-v0"
ACTION = np.array([-0.5, 0.25, 1.0], dtype=np.float32)
SQUASHED = np.array([-0.5, 0.25, 0.99], dtype=np.float32)
"""What stands for it where outputs are squashed."""


def new_model(algorithm, *overrides):
    """Makes a model for thresholds, and observations for it."""
    envs = make_sb3_vec_env(ENV_ID, 4, seed=0, hosts=4, flows=100)
    config, _ = compose_training_by_numbers(f"algorithm={algorithm}", *overrides)
    return build_model(config.algorithm, config.policy, envs, seed=0), envs.reset()


@pytest.mark.parametrize("algorithm", ["ppo", "a2c", "ddpg", "td3", "sac", "ddpg_auto"])
def test_a_new_policy_takes_the_action_whatever_it_sees(algorithm) -> None:
    network = ("policy=auto", "policy.actor=[8]") if algorithm == "ddpg_auto" else ()
    model, observations = new_model(algorithm, *network)

    start_at(model, ACTION)

    actions, _ = model.predict(observations, deterministic=True)
    expected = ACTION if algorithm in ("ppo", "a2c") else SQUASHED
    # The last layer still reads the observation, with weights of 0.01.
    np.testing.assert_allclose(actions, np.tile(expected, (4, 1)), atol=0.03)
    if algorithm in ("ddpg", "td3"):
        left, right = model.policy.actor.state_dict(), model.policy.actor_target.state_dict()
        assert all(left[name].equal(right[name]) for name in left)


@pytest.mark.parametrize("algorithm", ["ppo", "sac"])
def test_a_new_policy_draws_with_the_given_spread(algorithm) -> None:
    model, observations = new_model(algorithm)
    start_at(model, np.zeros(3, dtype=np.float32))

    start_with_std(model, 0.05)

    drawn = np.array([model.predict(observations[0])[0] for _ in range(300)])
    # The standard error of a standard deviation of 300 draws is 4 %.
    assert drawn.std(axis=0) == pytest.approx(0.05, rel=0.2)
    assert isinstance(model, SAC) == (algorithm == "sac")


def test_the_name_of_a_heuristic_means_its_first_action() -> None:
    action = first_action("mismatched", ENV_ID, {"workload": "auto-web-search", "hosts": 4, "flows": 100})
    wrong = qlas_thresholds("data_mining", 0.8, 4)
    # Actions are float32: six digits on a logarithmic scale of fourteen.
    np.testing.assert_allclose(SCALE.thresholds_of(action.astype(np.float64)[None])[0], wrong, rtol=1e-5)


def test_what_is_no_action_is_refused() -> None:
    for start, env_id, message in (
        ([0.0], ENV_ID, r"policy\.start is .*3 numbers in \[-1, 1\]"),
        ([0.0, 0.0, float("nan")], ENV_ID, r"policy\.start is .*3 numbers in \[-1, 1\]"),
        ("best", ENV_ID, r"'best'.*mismatched"),
        ("fifo", "flowsched_gym:flowsched/Artemis-v0", r"policy\.start is 'fifo'.*not numbers"),
    ):
        with pytest.raises(ConfigError, match=message):
            first_action(start, env_id, {})
