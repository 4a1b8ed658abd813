"""Holds Artemis with an agent for each destination to PettingZoo's own tests, and to the single environment."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError, InvalidAction
from flowsched_gym.integrations.pettingzoo import ParallelArtemis

SHORT = {"workload": "gather-multi", "k": 2, "f": 4, "bursts": 4}


# The tests of PettingZoo import old environments of its own, which warn.
@pytest.mark.filterwarnings("ignore:The old environment creation API:DeprecationWarning")
# An agent that is not asked sees zeros.
@pytest.mark.filterwarnings("ignore:Observation numpy array is all zeros:UserWarning")
def test_pettingzoos_own_tests_pass() -> None:
    from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test
    from pettingzoo.utils.conversions import parallel_to_aec

    parallel_api_test(ParallelArtemis(**SHORT), num_cycles=60)
    parallel_seed_test(lambda: ParallelArtemis(**SHORT))
    api_test(parallel_to_aec(ParallelArtemis(**SHORT)), num_cycles=60)
    seed_test(lambda: parallel_to_aec(ParallelArtemis(**SHORT)), num_cycles=60)


@pytest.mark.parametrize("defer", ["none", "to-back"])
def test_the_destinations_together_play_the_episode_of_the_single_environment(defer: str) -> None:
    single: Any = gym.make("flowsched/Artemis-v0", defer=defer, **SHORT).unwrapped
    parallel = ParallelArtemis(defer=defer, **SHORT)
    generator = np.random.default_rng(3)
    seen, info = single.reset(seed=5)
    observations, infos = parallel.reset(seed=5)
    assert parallel.agents == [f"destination_{host}" for host in range(4)]
    own = dict.fromkeys(parallel.agents, 0.0)
    over = False
    while not over:
        asked = f"destination_{info['destination']}"
        assert [agent for agent in parallel.agents if infos[agent]["asked"]] == [asked]
        assert observations[asked].tobytes() == seen.tobytes()
        idle = [agent for agent in parallel.agents if agent != asked]
        assert not any(observations[agent].any() for agent in idle)
        assert all(infos[agent]["action_mask"].nonzero()[0].tolist() == [single.num_actions] for agent in idle)
        choice = int(generator.choice(infos[asked]["action_mask"].nonzero()[0]))
        seen, reward, over, _, info = single.step(choice)
        observations, rewards, terminated, _, infos = parallel.step(
            dict.fromkeys(idle, single.num_actions) | {asked: choice}
        )
        assert sum(rewards.values()) == reward
        for agent, each in rewards.items():
            own[agent] += each
    assert set(terminated.values()) == {True}
    assert parallel.agents == []
    records = single.records()
    for host, met in enumerate(own.values()):
        assert met == records.deadline_met[single.workload.destination == host].sum()


def test_bad_arguments_and_actions_are_named() -> None:
    with pytest.raises(ConfigError, match="reward is 'lagged'"):
        ParallelArtemis(reward="lagged")
    with pytest.raises(ConfigError, match="unexpected keyword argument 'tokens'"):
        ParallelArtemis(tokens=3)
    env = ParallelArtemis(**SHORT)
    _, infos = env.reset(seed=0)
    asked = next(agent for agent in env.agents if infos[agent]["asked"])
    for actions in ({}, {asked: 5}, {asked: -1}):
        with pytest.raises(InvalidAction, match=f"the action of {asked} is .*: it must be an integer, 0 to 4"):
            env.step(actions)
