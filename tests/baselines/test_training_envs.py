"""Holds the training environments to the promise that an episode can be found again as it was left."""

import pickle
from typing import Any

import numpy as np
import pytest

from flowsched_gym.baselines.configuration.hydra_schemas import Vectorization
from flowsched_gym.baselines.training.training_envs import (
    environment_states,
    make_training_envs,
    restore_environments,
    training_seed,
)
from flowsched_gym.core.errors import ConfigError

ENV_ID = "flowsched_gym:flowsched/Artemis-v0"
SMALL: dict[str, Any] = {"bursts": 3, "k": 3, "f": 4}


native, dummy, subproc = Vectorization
"""Ways to step environments together."""

in_each_way = pytest.mark.parametrize("way", [native, dummy], ids=lambda way: way.value)


def make(
    *, way: Vectorization = native, seed: int = 0, reward_scale: float = 1.0, num_envs: int = 2, **kwargs: Any
) -> Any:
    """Makes small environments."""
    return make_training_envs(
        ENV_ID, SMALL | kwargs, num_envs=num_envs, seed=seed, reward_scale=reward_scale, vectorization=way
    )


def act(envs: Any, rng: np.random.Generator, steps: int) -> list[Any]:
    """Acts at random and returns what was seen, paid and ended."""
    history = []
    for _ in range(steps):
        observations, rewards, dones, _ = envs.step(rng.integers(0, SMALL["f"], envs.num_envs))
        history.append((observations.tolist(), rewards.tolist(), dones.tolist()))
    return history


@in_each_way
@pytest.mark.parametrize("steps", [0, 17, 31], ids=lambda steps: f"after {steps}")
def test_environments_go_on_as_if_they_had_never_stopped(steps: int, way: Vectorization) -> None:
    envs = make(way=way)
    observations = envs.reset()
    if steps:
        observations = np.array(act(envs, np.random.default_rng(1), steps)[-1][0], dtype=np.float32)
    states = pickle.loads(pickle.dumps(environment_states(envs)))
    others = make(way=way, seed=99)

    restore_environments(others, states, observations)

    assert act(others, np.random.default_rng(2), 80) == act(envs, np.random.default_rng(2), 80)


def test_all_ways_to_step_environments_give_the_same() -> None:
    # Three times 0.3 is another number in single precision than in double.
    vector, separate = (make(way=way, reward_scale=0.3, num_envs=3, k=8) for way in (native, dummy))
    assert type(vector) is not type(separate)
    assert vector.reset().tolist() == separate.reset().tolist()
    history = act(vector, np.random.default_rng(4), 80)
    assert history == act(separate, np.random.default_rng(4), 80)
    assert max(max(rewards) for _, rewards, _ in history) > 0.8


def test_an_episode_that_leads_elsewhere_is_noticed() -> None:
    envs = make(way=dummy)
    observations = envs.reset()
    act(envs, np.random.default_rng(1), 5)
    with pytest.raises(ConfigError, match="environment 0 does not repeat its episode"):
        restore_environments(make(way=dummy), environment_states(envs), observations)


def test_the_same_seed_trains_on_the_same_flows_and_none_is_one_of_an_evaluation() -> None:
    seeds = [training_seed(seed) for seed in range(50)]
    assert min(seeds) >= 2**32
    assert len(set(seeds)) == 50
    first, second, other = make(seed=4), make(seed=4), make(seed=5)
    for envs in (first, second, other):
        envs.reset()

    runs = [act(envs, np.random.default_rng(0), 40) for envs in (first, second, other)]
    of_each = np.array([observations for observations, _, _ in runs[0]]).swapaxes(0, 1)

    assert runs[0] == runs[1]
    assert runs[0] != runs[2]
    assert len(np.unique(of_each, axis=0)) == 2, "environments begin from seeds of their own"


@in_each_way
def test_rewards_are_scaled_but_the_reported_return_is_not(way: Vectorization) -> None:
    envs = make(reward_scale=0.25, num_envs=1, way=way)
    envs.reset()
    paid, done = 0.0, False
    while not done:
        _, rewards, dones, infos = envs.step(np.zeros(1, dtype=np.int64))
        paid, done = paid + float(rewards[0]), bool(dones[0])

    assert infos[0]["episode"]["r"] > 0
    assert paid == pytest.approx(0.25 * infos[0]["episode"]["r"])


def test_environments_in_processes_of_their_own_are_the_same() -> None:
    here, there = make(way=dummy), make(way=subproc)
    try:
        assert here.reset().tolist() == there.reset().tolist()
        rngs = (np.random.default_rng(3), np.random.default_rng(3))
        assert act(here, rngs[0], 35) == act(there, rngs[1], 35)
        assert [episode.actions for episode in there.env_method("episode")] == [
            episode.actions for episode in here.env_method("episode")
        ]
        assert there.env_method("action_masks")[0].shape == (SMALL["f"],)
    finally:
        there.close()
