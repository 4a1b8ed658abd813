"""Distils search on short episodes: what is tried, what is learned of it, and how a training goes on."""

import numpy as np
import pytest
import torch

from flowsched_gym.baselines.configuration.hydra_schemas import Vectorization
from flowsched_gym.baselines.training.algorithms import build_model
from flowsched_gym.baselines.training.checkpoints import Memory, load_checkpoint, save_checkpoint
from flowsched_gym.baselines.training.training_envs import make_training_envs
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.integrations.sb3 import make_sb3_vec_env
from tests.baselines.small_training import compose_training_by_numbers

KWARGS = {"workload": "gather-heavy", "bursts": 6, "k": 3, "f": 6}
SETTINGS = ("algorithm=distil", "policy.width=8", "policy.num_blocks=0", "policy.standardise=true")
FEW = ("algorithm.rounds=2", "algorithm.n_epochs=30", "algorithm.batch_size=64")


def new_model():
    config, _ = compose_training_by_numbers(*SETTINGS, *FEW, "algorithm.num_envs=1", "policy=setwise")
    envs = make_training_envs(
        "flowsched/Artemis-v0", KWARGS, num_envs=1, seed=3, reward_scale=1.0, vectorization=Vectorization.native
    )
    return build_model(config.algorithm, config.policy, envs, seed=3)


def mean_gain(model, data):
    """Returns what the network gains by its choices, over choices at random, where search has tried them."""
    chosen, _ = model.predict(data.seen, deterministic=True, action_masks=data.allowed)
    return float(data.values[np.arange(len(chosen)), chosen].mean())


def test_the_network_learns_to_gain_what_search_has_found() -> None:
    model = new_model()
    model.learn(200)
    assert model.rounds_done == 2
    assert model.num_timesteps >= 200
    assert np.count_nonzero(model.allowed, axis=1).min() > 1
    assert (model.values[~model.allowed] == 0).all()
    assert model.values.sum(axis=1) == pytest.approx(0, abs=1e-5)
    fresh = new_model()
    assert mean_gain(model, model) > max(mean_gain(fresh, model), 0.0)


def test_a_training_goes_on_from_a_checkpoint_as_if_it_had_not_stopped(tmp_path) -> None:
    whole, stopped, resumed = (new_model() for _ in range(3))
    whole.learn(200)
    stopped.learn(200, callback=lambda *_: False)
    path = save_checkpoint(
        tmp_path, stopped, memory=Memory(comparison_due_at=0, checkpoint_due_at=0, pending_log={}), keep=1
    )
    load_checkpoint(path, resumed)
    assert 0 < resumed.num_timesteps == stopped.num_timesteps < 200
    resumed.learn(200 - resumed.num_timesteps, reset_num_timesteps=False)
    assert np.array_equal(resumed.seen, whole.seen)
    for name, weights in whole.policy.state_dict().items():
        assert torch.equal(weights, resumed.policy.state_dict()[name])


def test_where_search_does_not_play_there_is_nothing_to_distil() -> None:
    config, _ = compose_training_by_numbers("algorithm=distil", "algorithm.num_envs=1", "policy=flat")
    envs = make_sb3_vec_env("flowsched/AuTOLongFlows-v0", 1, hosts=4, flows=100, n_l=2)
    with pytest.raises(ConfigError, match="algorithm is distil: it needs an environment that search plays in"):
        build_model(config.algorithm, config.policy, envs, seed=0)
