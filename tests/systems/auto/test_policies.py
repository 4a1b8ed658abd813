"""Holds steering by rules to observations by hand, and thresholds to what theory gives for what servers send."""

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest

from flowsched_gym.core.errors import ConfigError, SpaceMismatchError
from flowsched_gym.players import make_policy
from flowsched_gym.queueing import optimal_thresholds, pias_thresholds
from flowsched_gym.systems.auto.long_flows.config import AuTOLongFlowsConfig
from flowsched_gym.systems.auto.long_flows.observation import COUNT_SCALE, long_flows_layout
from flowsched_gym.systems.auto.long_flows.policies import (
    KeepPath,
    LeastAttained,
    LeastCrowdedPath,
    LeastLoadedPath,
    RandomSteering,
)
from flowsched_gym.systems.auto.thresholds.config import SCALE
from tests.simulate import make_flows

LONG_FLOWS, THRESHOLDS = "flowsched/AuTOLongFlows-v0", "flowsched/AuTOThresholds-v0"
CONFIG = AuTOLongFlowsConfig(hosts=4, n_l=4, m_l=0)
LAYOUT = long_flows_layout(CONFIG)


def seen(*slots: dict[str, float]) -> npt.NDArray[np.float32]:
    """Makes an observation of flows from host 0 to host 1 on path 0, unless they say otherwise."""
    observation = np.zeros(LAYOUT.size, dtype=np.float32)
    for slot, given in enumerate(slots):
        columns = {"source": 1 / 4, "destination": 2 / 4, "path": 1 / 3} | given
        for name, value in columns.items():
            counts = name.startswith(("long_", "all_"))
            observation[LAYOUT.slot_slice(name)][slot] = value / (value + COUNT_SCALE) if counts else value
    return observation


def chosen(policy: Any, observation: npt.NDArray[np.float32]) -> list[list[int]]:
    """Returns queue, rate step and path of each slot."""
    action = policy.predict(observation)[0]
    assert action.shape == (12,)
    return action.reshape(4, 3).tolist()


def test_ecmp_leaves_flows_on_their_paths_in_the_lowest_queue() -> None:
    observation = seen({"path": 1 / 3}, {"path": 1.0}, {"path": 2 / 3})
    assert chosen(KeepPath(LAYOUT, CONFIG), observation) == [[3, 2, 0], [3, 2, 2], [3, 2, 1], [0, 0, 0]]


def test_the_path_whose_busier_link_has_the_fewest_long_flows_is_taken() -> None:
    one = seen({"long_up_0": 2, "long_down_1": 3, "long_up_2": 1, "long_down_2": 1})
    stays = seen({"long_up_0": 1, "long_up_1": 1, "long_down_2": 2})
    assert chosen(LeastLoadedPath(LAYOUT, CONFIG), one)[0] == [3, 2, 2]
    assert chosen(LeastLoadedPath(LAYOUT, CONFIG), stays)[0] == [3, 2, 0]


def test_short_flows_count_where_all_flows_do() -> None:
    observation = seen({"long_up_0": 1, "all_up_0": 1, "all_up_1": 5, "all_down_2": 2})
    assert chosen(LeastLoadedPath(LAYOUT, CONFIG), observation)[0] == [3, 2, 1]
    assert chosen(LeastCrowdedPath(LAYOUT, CONFIG), observation)[0] == [3, 2, 0]


def test_flows_that_are_asked_about_together_do_not_all_take_the_same_free_path() -> None:
    crowd = {"long_up_0": 2, "long_down_0": 2}
    together = seen(crowd, crowd, crowd)
    apart = seen({}, {"source": 3 / 4, "destination": 1.0}, {"source": 1.0, "destination": 3 / 4})
    assert sorted(path for _, _, path in chosen(LeastLoadedPath(LAYOUT, CONFIG), together)[:3]) == [0, 1, 2]
    assert [path for _, _, path in chosen(LeastLoadedPath(LAYOUT, CONFIG), apart)[:3]] == [0, 0, 0]


def test_flows_that_have_sent_less_go_first() -> None:
    sent = [1.0e7, 1.9e7, 2.1e7, 8e8]
    observation = seen(*({"attained": size / (size + 1e7)} for size in sent))
    assert [queue for queue, _, _ in chosen(LeastAttained(LAYOUT, CONFIG), observation)] == [1, 1, 2, 3]


def test_random_choices_are_spread_over_all_that_a_slot_has() -> None:
    policy = RandomSteering(LAYOUT, CONFIG, seed=3)
    drawn = np.array([chosen(policy, seen({}, {})) for _ in range(600)])

    assert not drawn[:, 2:].any()
    for part, count in enumerate((4, 3, 3)):
        counts = np.bincount(drawn[:, :2, part].ravel(), minlength=count)
        # 1200 draws; five standard deviations.
        assert abs(counts - 1200 / count).max() < 5 * np.sqrt(1200 / count)


def test_an_observation_that_does_not_tell_enough_is_refused() -> None:
    for name in ("ecmp", "least-loaded", "least-attained"):
        with pytest.raises(ConfigError, match="the observation has no column 'path'"):
            make_policy(name, gym.make(LONG_FLOWS, observation="paper"))
        with pytest.raises(SpaceMismatchError, match=r"observation has shape \(7,\)"):
            make_policy(name, gym.make(LONG_FLOWS)).predict(np.zeros(7))


def thresholds(name: str, **arguments: Any) -> np.ndarray:
    """Returns what a policy sets in an environment, (num_clusters, num_queues - 1)."""
    env = gym.make(THRESHOLDS, flows=10, **arguments)
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
    theory = [
        optimal_thresholds("qlas", size, load, 4) for size in ("web_search", "data_mining") for load in (0.6, 0.8)
    ]
    assert found == pytest.approx(np.array(theory), rel=1e-5)


def test_equal_steps_divide_the_scale() -> None:
    assert thresholds("equal", queues=4)[0] == pytest.approx([10**4.5, 1e6, 10**7.5], rel=1e-5)
    assert thresholds("equal", queues=2, clusters=2).tolist() == pytest.approx(np.full((2, 1), 1e6), rel=1e-5)


def test_random_thresholds_are_drawn_anew_and_fixed_by_the_seed() -> None:
    env = gym.make(THRESHOLDS, flows=10, clusters=2)
    observation = env.reset(seed=1)[0]
    first, again, other = (make_policy("random", env, seed=seed) for seed in (3, 3, 4))
    drawn = [policy.predict(observation)[0].tolist() for policy in (first, first, again, other)]

    assert drawn[0] == drawn[2]
    assert len({str(each) for each in drawn}) == 3
    batch = first.predict(np.tile(observation, (50, 1)))[0]
    assert env.action_space.contains(batch[7])
    assert len(np.unique(batch)) == batch.size


def test_theory_knows_nothing_of_a_flow_file() -> None:
    env = gym.make(THRESHOLDS, workload=make_flows([0.0], [1000.0], source=[0], destination=[1]))
    for name in ("qlas", "pias", "mismatched"):
        with pytest.raises(ConfigError, match="thresholds by theory need its sizes and its load"):
            make_policy(name, env)
    make_policy("equal", env)
