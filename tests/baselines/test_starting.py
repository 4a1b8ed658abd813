"""Has policies begin with a given action."""

import numpy as np
import pytest
from stable_baselines3 import SAC

from flowsched_gym.baselines.training.algorithms import build_model
from flowsched_gym.baselines.training.starting import first_action, start_at, start_with_std
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.integrations.sb3 import make_sb3_vec_env
from flowsched_gym.systems.auto.flows import qlas_thresholds
from flowsched_gym.systems.auto.thresholds.config import SCALE
from tests.baselines.small_training import compose_training_by_numbers

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


@pytest.mark.parametrize(
    ("start", "env_id", "message"),
    [
        ([0.0], ENV_ID, r"policy\.start is .*3 numbers in \[-1, 1\]"),
        ([0.0, 0.0, float("nan")], ENV_ID, r"policy\.start is .*3 numbers in \[-1, 1\]"),
        ("best", ENV_ID, r"'best'.*mismatched"),
        ("fifo", "flowsched_gym:flowsched/Artemis-v0", r"policy\.start is 'fifo'.*not numbers"),
    ],
)
def test_what_is_no_action_is_refused(start, env_id, message) -> None:
    with pytest.raises(ConfigError, match=message):
        first_action(start, env_id, {})
