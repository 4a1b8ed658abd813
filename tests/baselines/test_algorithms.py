"""Builds every algorithm where it suits, begins near an action or a rule, and is refused where it does not suit."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3 import DDPG, SAC, TD3

from flowsched_gym.baselines.training.algorithms import build_model
from flowsched_gym.baselines.training.cloning import clone
from flowsched_gym.baselines.training.reinforce import Reinforce
from flowsched_gym.baselines.training.starting import first_action, start_at, start_with_std
from flowsched_gym.baselines.training.trainer import train
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.envs.policies import Policy
from flowsched_gym.integrations.sb3 import load_policy, make_sb3_vec_env
from flowsched_gym.players import make_policy
from flowsched_gym.systems.auto.flows import qlas_thresholds
from flowsched_gym.systems.auto.thresholds.config import SCALE
from tests.baselines.small_training import compose_training, compose_training_by_numbers, weights_of
from tests.cases import few_of

ENV_ID = "flowsched_gym:flowsched/AuTOThresholds-v0"
ACTION = np.array([-0.5, 0.25, 1.0], dtype=np.float32)
SQUASHED = np.array([-0.5, 0.25, 0.99], dtype=np.float32)
"""What stands for it where outputs are squashed."""
ARTEMIS = ("flowsched/Artemis-v0", {"workload": "gather-heavy", "bursts": 20, "k": 3, "f": 6})
THRESHOLDS = ("flowsched/AuTOThresholds-v0", {"hosts": 4, "flows": 200, "period_flows": 20})
SETWISE = ("policy=setwise", "policy.standardise=true")


def thresholds_envs():
    return make_sb3_vec_env(ENV_ID, 4, seed=0, hosts=4, flows=100)


def long_flows_envs():
    return make_sb3_vec_env("flowsched/AuTOLongFlows-v0", 4, hosts=4, flows=100, n_l=2)


def new_model(algorithm, *overrides, make=thresholds_envs):
    """Makes a model, and observations for it."""
    envs = make()
    config, _ = compose_training_by_numbers(f"algorithm={algorithm}", *overrides)
    return build_model(config.algorithm, config.policy, envs, seed=0), envs.reset()


def cloned(setting: tuple[str, dict[str, Any]], rule: str, overrides: tuple[str, ...], decisions: int) -> Any:
    """Makes a model, fitted to a rule, and environments that it may act in."""
    env_id, kwargs = setting
    compose = compose_training if setting is ARTEMIS else compose_training_by_numbers
    config, _ = compose(*overrides)
    envs = make_sb3_vec_env(env_id, 4, seed=7, **kwargs)
    model = build_model(config.algorithm, config.policy, envs, seed=0)
    clone(model, rule, env_id, kwargs, decisions=decisions, reward_scale=0.1)
    envs.seed(7)
    return model, envs


@pytest.mark.parametrize(("algorithm", "expected"), [("ddpg", DDPG), ("td3", TD3), ("sac", SAC), ("ddpg_auto", DDPG)])
def test_an_algorithm_for_numbers_gets_its_settings(algorithm, expected) -> None:
    model, _ = new_model(algorithm, "algorithm.tau=0.25", "algorithm.gamma=0.5")
    assert expected in type(model).__bases__
    assert (model.tau, model.gamma) == (0.25, 0.5)
    assert (model.action_noise is None) == (algorithm == "sac")


def test_what_does_not_suit_the_actions_is_refused() -> None:
    steps = "algorithm.n_steps=8"
    for overrides, message in (
        (("maskable_ppo", steps), "masks; the environment has Box without masks"),
        (("a2c_thesis",), "a2c-thesis: it chooses one slot.*Box"),
        (("ppo", steps, "policy=setwise"), "setwise: it chooses one slot.*Box"),
        (("ppo", steps, "policy=pathwise"), "pathwise: it learns by maskable_ppo, reinforce or"),
        (("ddpg", "policy.start_std=0.5"), "start_std is 0.5: ppo, a2c and sac draw"),
        (("sac", "policy=auto"), "auto: its critic reads actions.*sac"),
    ):
        with pytest.raises(ConfigError, match=message):
            new_model(*overrides)
    for name in ("ddpg", "td3", "sac"):
        with pytest.raises(ConfigError, match=rf"algorithm is {name}: .*numbers \(Box\).* MultiDiscrete"):
            new_model(name, make=long_flows_envs)


def test_a_baseline_column_is_found_by_name_and_refused_if_there_is_none() -> None:
    model, _ = new_model("reinforce", "algorithm.baseline_column=source", make=long_flows_envs)
    assert isinstance(model, Reinforce)
    assert model.baseline_column == 0
    with pytest.raises(ConfigError, match=r"baseline_column is 'rack'.*source, source_port"):
        new_model("reinforce", "algorithm.baseline_column=rack", make=long_flows_envs)


def test_what_was_trained_acts_after_loading(tmp_path) -> None:
    choice = ("algorithm=ddpg", "policy=auto", "policy.actor=[8]", "total_timesteps=64", "algorithm.batch_size=8")
    train(*compose_training_by_numbers(*choice), tmp_path)
    env = gym.make("flowsched/AuTOThresholds-v0", hosts=4, flows=200, period_flows=20)
    policy = load_policy(tmp_path / "model.zip", env)
    action, _ = policy.predict(env.reset(seed=0)[0], deterministic=True)
    assert env.action_space.contains(np.asarray(action))


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


def test_the_name_of_a_heuristic_means_its_first_action_and_what_is_no_action_is_refused() -> None:
    action = first_action("mismatched", ENV_ID, {"workload": "auto-web-search", "hosts": 4, "flows": 100})
    wrong = qlas_thresholds("data_mining", 0.8, 4)
    # Actions are float32: six digits on a logarithmic scale of fourteen.
    np.testing.assert_allclose(SCALE.thresholds_of(action.astype(np.float64)[None])[0], wrong, rtol=1e-5)
    for start, env_id, message in (
        ([0.0], ENV_ID, r"policy\.start is .*3 numbers in \[-1, 1\]"),
        ([0.0, 0.0, float("nan")], ENV_ID, r"policy\.start is .*3 numbers in \[-1, 1\]"),
        ("best", ENV_ID, r"'best'.*mismatched"),
        ("fifo", "flowsched_gym:flowsched/Artemis-v0", r"policy\.start is 'fifo'.*not numbers"),
    ):
        with pytest.raises(ConfigError, match=message):
            first_action(start, env_id, {})


@pytest.mark.parametrize(
    ("algorithm", "masked"),
    few_of(
        [("ppo", False), ("a2c", False), ("a2c_thesis", False), ("maskable_ppo", True), ("reinforce", True)],
        [("ppo", False), ("a2c_thesis", False)],
    ),
)
def test_a_network_that_chooses_slots_chooses_as_the_rule_in_episodes_it_has_not_seen(algorithm, masked) -> None:
    model, envs = cloned(ARTEMIS, "sjf", (f"algorithm={algorithm}", *SETWISE), 10_000)
    rule: Policy = make_policy("sjf", envs.envs)
    agreed, observations = [], envs.reset()
    for _ in range(100):
        masks = {"action_masks": envs.action_masks()} if masked else {}
        wanted = rule.predict(observations)[0]
        agreed.append(model.predict(observations, deterministic=True, **masks)[0] == wanted)
        observations, *_ = envs.step(wanted)
    assert np.mean(agreed) > 0.8  # by chance, half of them


@pytest.mark.parametrize("algorithm", ["ppo_auto", "ddpg", "td3", "sac"])
def test_a_network_for_numbers_gives_the_numbers_of_the_rule(algorithm) -> None:
    rollouts = ("algorithm.n_steps=16", "algorithm.batch_size=64") if algorithm == "ppo_auto" else ()
    model, envs = cloned(THRESHOLDS, "mismatched", (f"algorithm={algorithm}", *rollouts), 2000)
    observations = envs.reset()
    wanted = make_policy("mismatched", envs.envs).predict(observations)[0]
    np.testing.assert_allclose(model.predict(observations, deterministic=True)[0], wanted, atol=0.15)


def test_a_training_begins_with_the_rule_and_repeats_and_remembers_it(tmp_path: Path) -> None:
    for name, start in (("first", "sjf"), ("again", "sjf"), ("other", "edf")):
        train(*compose_training("algorithm=ppo", f"start={start}"), tmp_path / name)
    first, again, other = (weights_of(tmp_path / name / "model.zip") for name in ("first", "again", "other"))
    assert all(first[name].equal(again[name]) for name in first)
    assert not all(first[name].equal(other[name]) for name in first)
    with pytest.raises(ConfigError, match=r"holds another run; it differs in start \('sjf' then, 'edf' now\)"):
        train(*compose_training("algorithm=ppo", "start=edf", "resume=true"), tmp_path / "first")


def test_rules_that_are_no_start_are_refused(tmp_path: Path) -> None:
    for start, message in (
        ("edff", r"start is 'edff': flowsched/Artemis-v0 has .*edf, "),
        ("postpone-late", r"start is 'postpone-late': it needs the actions Discrete\(8.*\), the agent has"),
    ):
        with pytest.raises(ConfigError, match=message):
            train(*compose_training("algorithm=ppo", f"start={start}"), tmp_path / start)
