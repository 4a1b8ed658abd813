"""Fits networks to rules before they learn: each family of trainers begins near the rule, and learns on from there."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flowsched_gym.baselines.training.algorithms import build_model
from flowsched_gym.baselines.training.cloning import clone
from flowsched_gym.baselines.training.trainer import train
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.envs.policies import Policy
from flowsched_gym.integrations.sb3 import make_sb3_vec_env
from flowsched_gym.registration import make_policy
from tests.baselines.small_training import compose_training, compose_training_by_numbers, weights_of

ARTEMIS = ("flowsched/Artemis-v0", {"workload": "gather-heavy", "bursts": 20, "k": 3, "f": 6})
THRESHOLDS = ("flowsched/AuTOThresholds-v0", {"hosts": 4, "flows": 200, "period_flows": 20})
SETWISE = ("policy=setwise", "policy.standardise=true")


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


@pytest.mark.parametrize(
    ("overrides", "with_masks"),
    [
        (("algorithm=ppo", *SETWISE), False),
        (("algorithm=a2c", *SETWISE), False),
        (("algorithm=a2c_thesis", *SETWISE), False),
        (("algorithm=maskable_ppo", *SETWISE), True),
        (("algorithm=reinforce", *SETWISE), True),
    ],
    ids=lambda value: value[0].partition("=")[2] if isinstance(value, tuple) else "",
)
def test_a_network_that_chooses_slots_chooses_as_the_rule_in_episodes_it_has_not_seen(overrides, with_masks) -> None:
    model, envs = cloned(ARTEMIS, "sjf", overrides, 10_000)
    rule: Policy = make_policy("sjf", envs.envs)
    agreed, observations = [], envs.reset()
    for _ in range(100):
        masks = {"action_masks": envs.action_masks()} if with_masks else {}
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
        train(*compose_training("algorithm=ppo", f"start={start}"), tmp_path / name, compare=False)
    first, again, other = (weights_of(tmp_path / name / "model.zip") for name in ("first", "again", "other"))
    assert all(first[name].equal(again[name]) for name in first)
    assert not all(first[name].equal(other[name]) for name in first)
    with pytest.raises(ConfigError, match=r"holds another run; it differs in start \('sjf' then, 'edf' now\)"):
        train(*compose_training("algorithm=ppo", "start=edf", "resume=true"), tmp_path / "first")


def test_rules_that_are_no_start_are_refused(tmp_path: Path) -> None:
    for start, message in (
        ("edff", r"start is 'edff': it must be one of .*edf, .*, or null"),
        ("postpone-late", r"start is 'postpone-late': it needs the actions Discrete\(8.*\), the agent has"),
    ):
        with pytest.raises(ConfigError, match=message):
            train(*compose_training("algorithm=ppo", f"start={start}"), tmp_path / start)
    with pytest.raises(ConfigError, match="start is 'edf': cmaes begins without a rule"):
        compose_training("algorithm=cmaes", "policy=weights", "algorithm.num_envs=40", "start=edf")
