"""Holds the flows of the Artemis environment to what its arguments ask for."""

import gymnasium as gym
import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.workload import FixedWorkload
from tests.simulate import make_flows

ID = "flowsched/Artemis-v0"


def test_a_load_counts_the_link_of_this_environment() -> None:
    env = gym.make(ID, load=0.5, link_gbps=10.0, bursts=2000)
    env.reset(seed=1)
    workload = env.unwrapped.workload  # type: ignore[attr-defined]
    offered = workload.size.sum() / workload.arrival_time.max()
    # Two thousand exponential gaps: a standard deviation of 2.2 %.
    assert offered / 10e9 * 8 == pytest.approx(0.5, rel=0.1)


def test_arrivals_end_after_the_seconds_asked_for() -> None:
    env = gym.make(ID, workload="gather-heavy", seconds=0.5)
    env.reset(seed=1)
    assert 0 < env.unwrapped.workload.arrival_time.max() < 0.5  # type: ignore[attr-defined]


def test_an_episode_without_a_flow_is_refused_when_it_is_drawn() -> None:
    env = gym.make(ID, seconds=0.1)
    refused = []
    for seed in range(20):
        try:
            env.reset(seed=seed)
        except ConfigError as error:
            refused.append(str(error))

    assert 0 < len(refused) < 20
    assert set(refused) == {"the episode drawn has no flow: ask for more bursts, or more seconds of arrivals"}


def test_flows_that_are_given_cannot_be_changed() -> None:
    for arguments in ({"bursts": 3}, {"load": 0.5}, {"destinations": 2}, {"seconds": 1.0}):
        workload = make_flows([0.0], [1e5], span=[0.05])
        for given in (workload, FixedWorkload(workload=workload)):
            with pytest.raises(ConfigError, match="burst_rate, load, destinations, bursts and seconds change bursts"):
                gym.make(ID, workload=given, **arguments)
