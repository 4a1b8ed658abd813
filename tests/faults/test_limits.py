"""Asks for more than there is time or memory for: refused in ``gym.make`` with what is allowed, or answered at once."""

from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium as gym
import pytest

import flowsched_gym
from flowsched_gym.core.errors import ConfigError, WorkloadError
from flowsched_gym.envs.vector_episodes import check_room
from flowsched_gym.topology import make_topology
from flowsched_gym.workload import FixedWorkload, LinkChanges, Workload, make_workload
from tests.simulate import make_flows

ARTEMIS = "flowsched/Artemis-v0"
ORDER = "flowsched/MERPOrder-v0"
ROUTE = "flowsched/MERPRoute-v0"
THRESHOLDS = "flowsched/AuTOThresholds-v0"
LONG_FLOWS = "flowsched/AuTOLongFlows-v0"


def test_an_argument_that_asks_for_too_much_is_refused() -> None:
    for env_id, arguments, message in (
        (LONG_FLOWS, {"period_ms": 1e-300}, r"period_ms is 1e-300: it must be from 1e-06 to 1e\+09"),
        (LONG_FLOWS, {"period_ms": 1e-5}, "period_ms makes periods of .* s: an episode would have about 2e"),
        (ARTEMIS, {"f": 10**7}, "f is 10000000: it must be an integer below 10001"),
        (LONG_FLOWS, {"n_l": 10**7}, "n_l is 10000000: it must be an integer below 10001"),
        (THRESHOLDS, {"m_s": 10**7}, "m_s is 10000000: it must be an integer below 10001"),
        (LONG_FLOWS, {"paths": 10**6}, "paths is 1000000: it must be an integer below 65"),
        (THRESHOLDS, {"hosts": 10**6}, "hosts is 1000000: it must be an integer below 4097"),
        (ROUTE, {"arity": 10**9}, "arity is 1000000000: it must be an integer below 13"),
        *((env_id, {"flows": 10**8}, "flows is 1") for env_id in (ORDER, ROUTE, THRESHOLDS, LONG_FLOWS)),
        (ARTEMIS, {"bursts": 10**7}, "num_bursts 10000000 of 10 senders would draw 1e.08 flows: at most 10000000"),
        (ARTEMIS, {"seconds": 1e8}, "duration 1e.08 s with 10 bursts per s of 10 senders would draw 1e.10 flows"),
        (ARTEMIS, {"link_gbps": 1e300}, r"link_gbps is 1e\+300: it must be from 1e-09 to 1e\+06"),
    ):
        for make in (gym.make, partial(gym.make_vec, num_envs=2)):
            with pytest.raises(ConfigError, match=message):
                make(env_id, **arguments)


def test_vector_environments_and_sketches_without_room_are_refused_before_memory_is_asked_for() -> None:
    for num_envs, num_flows, size, most in ((10**9, 1000, 39, 16_777), (20_000, 1, 70_000, 3_834), (2, 10**7, 9, 1)):
        with pytest.raises(ConfigError, match=f"num_envs is {num_envs}: .* it must be an integer from 1 to {most}$"):
            check_room(num_envs, num_flows, f"{num_flows} flows", size)
        check_room(most, num_flows, f"{num_flows} flows", size)
    for env_id in (ARTEMIS, ORDER, ROUTE, THRESHOLDS, LONG_FLOWS):
        with pytest.raises(ConfigError, match="num_envs is 1000000000: with"):
            gym.make_vec(env_id, num_envs=10**9)
    with pytest.raises(ConfigError, match=r"buckets is 1000000000: .* from 1 to 1398101, since each takes 24 B in"):
        gym.make("flowsched/QCluster-v0", buckets=10**9)
    with pytest.raises(ConfigError, match=r"num_envs is 100: with .* a sketch of 72000000 B and observations"):
        gym.make_vec("flowsched/QCluster-v0", num_envs=100, buckets=10**6)


def test_a_workload_of_too_many_flows_is_refused() -> None:
    for name in ("poisson-tree", "auto-changing"):
        with pytest.raises(ConfigError, match=r"duration 1e.09 s with .* flows per s .*would draw .* flows"):
            make_workload(name, duration=1e9)
        with pytest.raises(ConfigError, match=r"num_flows 100000000 .*would draw 1e.08 flows"):
            make_workload(name, num_flows=10**8)


def test_a_network_of_too_many_hosts_is_refused_at_once() -> None:
    for topology in ("big-switch", "fat-tree", "leaf-spine", "multi-plane", "tree9"):
        for num_hosts in (10**9, 10**5000):
            message = rf"topology {topology}: num_hosts is .*: it (must be an integer|has 9)"
            with pytest.raises(ConfigError, match=message):
                make_topology(topology, num_hosts=num_hosts)
        with pytest.raises(ConfigError, match="num_hosts is"):
            flowsched_gym.replay(make_flows([0.0], [1.0]), discipline="fifo", topology=topology, num_hosts=10**9)


TWO = make_flows([0.0, 1.0], [1e5, 1e5])


@pytest.mark.parametrize("env_id", [ARTEMIS, ORDER, ROUTE, THRESHOLDS, LONG_FLOWS])
@pytest.mark.parametrize(
    ("workload", "message"),
    [
        (make_flows([0.0, 1e17], [1e5, 1e5]), "arrival_time in row 1 is 1e.17 s after the clock starts"),
        (make_flows([0.0, 1.0], [1.0, 5e-324]), "size in row 1 takes 5e-324 B"),
        (make_flows([0.0, 1.0], [1e5, 1e5], source=[1, 5000]), "5001"),
        (make_flows([], []), "no flow"),
    ],
    ids=["far apart", "too small", "too many hosts", "none"],
)
def test_flows_that_no_episode_can_have_are_refused_before_reset(env_id: str, workload: Workload, message: str) -> None:
    # One link has room for flows between any hosts, nine hosts not.
    arguments = {"topology": "tree9"} if env_id == ORDER else {}
    with pytest.raises((ConfigError, WorkloadError), match=message):
        gym.make(env_id, workload=workload, **arguments)


class Nothing(FixedWorkload):
    def draw(self, seed: int) -> Any:
        return None


def test_links_that_are_not_there_or_cannot_change_and_what_is_no_workload_are_refused_before_reset() -> None:
    with pytest.raises(ConfigError, match=r"workload draws None: its draw\(seed\) must return a Workload"):
        gym.make(ARTEMIS, workload=Nothing(workload=TWO))
    for env_id in (ROUTE, LONG_FLOWS):
        with pytest.raises(WorkloadError, match="link of link changes is 9999 in row 0"):
            gym.make(env_id, workload=replace(TWO, link_changes=LinkChanges.of([(0.0, 9999, False)])))
    changing = replace(TWO, link_changes=LinkChanges.of([(0.0, 0, False), (1.0, 0, True)]))
    for env_id in (ARTEMIS, ORDER, THRESHOLDS):
        with pytest.raises(ConfigError, match="workload has link changes: the links of this environment stay up"):
            gym.make(env_id, workload=changing)
