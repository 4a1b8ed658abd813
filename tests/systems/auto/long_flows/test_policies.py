"""Holds steering by rules to observations by hand, and to what it does to long flows."""

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest

from flowsched_gym.core.errors import ConfigError, SpaceMismatchError
from flowsched_gym.registration import make_policy
from flowsched_gym.systems.auto.long_flows.config import AuTOLongFlowsConfig
from flowsched_gym.systems.auto.long_flows.observation import COUNT_SCALE, long_flows_layout
from flowsched_gym.systems.auto.long_flows.policies import KeepPath, LeastAttained, LeastLoadedPath, RandomSteering

ID = "flowsched/AuTOLongFlows-v0"
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
            make_policy(name, gym.make(ID, observation="paper"))
        with pytest.raises(SpaceMismatchError, match=r"observation has shape \(7,\)"):
            make_policy(name, gym.make(ID)).predict(np.zeros(7))
