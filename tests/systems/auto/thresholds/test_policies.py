"""Holds the policies to the thresholds that theory gives for what the environment's servers send."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.queueing import optimal_thresholds, pias_thresholds
from flowsched_gym.registration import make_policy
from flowsched_gym.systems.auto.thresholds.config import SCALE
from tests.simulate import make_flows

ID = "flowsched/AuTOThresholds-v0"


def thresholds(name: str, **arguments: Any) -> np.ndarray:
    """Returns what a policy sets in an environment, (num_clusters, num_queues - 1)."""
    env = gym.make(ID, flows=10, **arguments)
    action = make_policy(name, env).predict(env.reset(seed=1)[0])[0]
    assert env.action_space.contains(action)
    return SCALE.thresholds_of(action.astype(np.float64).reshape(arguments.get("clusters", 1), -1))


@pytest.mark.parametrize(("load", "queues"), [(0.5, 4), (0.8, 2), (0.8, 6)])
def test_theory_is_asked_for_the_workloads_own_sizes_and_load(load: float, queues: int) -> None:
    where = {"load": load, "queues": queues}
    names = {"auto-web-search": "web_search", "auto-data-mining": "data_mining"}
    for (workload, own), other in zip(names.items(), ("data_mining", "web_search"), strict=True):
        for policy, expected in {
            "qlas": optimal_thresholds("qlas", own, load, queues),
            "mismatched": optimal_thresholds("qlas", other, load, queues),
            "pias": pias_thresholds(own, load, queues),
        }.items():
            # Actions are of single precision; PIAS's first thresholds may be less than 1 KB.
            assert thresholds(policy, workload=workload, **where)[0] == pytest.approx(
                np.clip(expected, 1e3, 1e9), rel=1e-5, abs=2e3 if policy == "pias" else 1
            )


def test_each_cluster_gets_its_own() -> None:
    found = thresholds("qlas", workload="auto-clusters", clusters=4)
    for row, (size, load) in zip(
        found, (("web_search", 0.6), ("web_search", 0.8), ("data_mining", 0.6), ("data_mining", 0.8)), strict=True
    ):
        assert row == pytest.approx(optimal_thresholds("qlas", size, load, 4), rel=1e-5)


def test_equal_steps_divide_the_scale() -> None:
    assert thresholds("equal", queues=4)[0] == pytest.approx([10**4.5, 1e6, 10**7.5], rel=1e-5)
    assert thresholds("equal", queues=2, clusters=2).tolist() == pytest.approx(np.full((2, 1), 1e6), rel=1e-5)


def test_random_thresholds_are_drawn_anew_and_fixed_by_the_seed() -> None:
    env = gym.make(ID, flows=10, clusters=2)
    observation = env.reset(seed=1)[0]
    first, again, other = (make_policy("random", env, seed=seed) for seed in (3, 3, 4))
    drawn = [policy.predict(observation)[0].tolist() for policy in (first, first, again, other)]

    assert drawn[0] == drawn[2]
    assert len({str(each) for each in drawn}) == 3
    batch = first.predict(np.tile(observation, (50, 1)))[0]
    assert env.action_space.contains(batch[7])
    assert len(np.unique(batch)) == batch.size


def test_theory_knows_nothing_of_a_flow_file() -> None:
    env = gym.make(ID, workload=make_flows([0.0], [1000.0], source=[0], destination=[1]))
    for name in ("qlas", "pias", "mismatched"):
        with pytest.raises(ConfigError, match="thresholds by theory need its sizes and its load"):
            make_policy(name, env)
    make_policy("equal", env)
