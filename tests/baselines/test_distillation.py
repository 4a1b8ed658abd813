"""Distils search on short episodes: what is tried, what is learned of it, and how a training goes on."""

import numpy as np
import pytest
import torch

from flowsched_gym.baselines.configuration.hydra_schemas import Vectorization
from flowsched_gym.baselines.training.algorithms import build_model
from flowsched_gym.baselines.training.checkpoints import load_checkpoint, save_checkpoint
from flowsched_gym.baselines.training.training_envs import make_training_envs
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.integrations.sb3 import make_sb3_vec_env
from tests.baselines.small_training import compose_training_by_numbers

KWARGS = {"workload": "gather-heavy", "bursts": 6, "k": 3, "f": 6}
SETTINGS = ("algorithm=distil", "policy=setwise", "policy.width=8", "policy.num_blocks=0", "policy.standardise=true")
FEW = ("algorithm.rounds=2", "algorithm.updates=60", "algorithm.batch_size=64", "algorithm.futures=2")


def new_model():
    config, _ = compose_training_by_numbers(*SETTINGS, *FEW)
    envs = make_training_envs(
        "flowsched/Artemis-v0", KWARGS, num_envs=1, seed=3, reward_scale=0.1, vectorization=Vectorization.native
    )
    return build_model(config.algorithm, config.policy, envs, seed=3)


def mean_gain(model):
    """Returns what the network gains by its choices where search has tried them."""
    chosen, _ = model.predict(model.seen, deterministic=True, action_masks=model.allowed)
    return float(model.gains[np.arange(len(chosen)), chosen].mean())


def test_the_network_learns_to_gain_what_search_has_found() -> None:
    model = new_model()
    model.learn(64)  # two rounds of 32 decisions
    assert model.num_timesteps == len(model.gains) == 64
    assert (model.gains[~model.allowed] == 0).all()
    assert model.gains.max() > 0 > model.gains.min()
    learned = mean_gain(model)
    fresh = new_model()
    fresh.seen, fresh.allowed, fresh.gains = model.seen, model.allowed, model.gains
    assert learned > max(mean_gain(fresh), 0.0)


def test_a_training_goes_on_from_a_checkpoint_as_if_it_had_not_stopped(tmp_path) -> None:
    whole, stopped, resumed = (new_model() for _ in range(3))
    whole.learn(64)
    stopped.learn(64, callback=lambda *_: False)
    path = save_checkpoint(tmp_path, stopped, memory={}, keep=1)
    load_checkpoint(path, resumed)
    assert (resumed.num_timesteps, len(resumed.gains)) == (32, 32)
    resumed.learn(32, reset_num_timesteps=False)
    assert np.array_equal(resumed.seen[:32], whole.seen[:32])
    assert resumed.num_timesteps == 64
    for name, weights in whole.policy.state_dict().items():
        assert torch.equal(weights, resumed.policy.state_dict()[name])


def test_where_search_does_not_play_there_is_nothing_to_distil() -> None:
    config, _ = compose_training_by_numbers("algorithm=distil", "policy=flat")
    envs = make_sb3_vec_env("flowsched/AuTOLongFlows-v0", 1, hosts=4, flows=100, n_l=2)
    with pytest.raises(ConfigError, match="algorithm is distil: it needs an environment that search plays in"):
        build_model(config.algorithm, config.policy, envs, seed=0)
