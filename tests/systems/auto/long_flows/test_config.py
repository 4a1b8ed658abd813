"""Holds the arguments of the environment of long flows to one clear error each, and its flows to its network."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.errors import ConfigError
from flowsched_gym.queueing import optimal_thresholds
from flowsched_gym.systems.auto.long_flows.config import AuTOLongFlowsConfig
from flowsched_gym.systems.auto.long_flows.env import AuTOLongFlowsEnv
from flowsched_gym.topology import crossing_shares
from flowsched_gym.workload import ClusterWorkload, FixedWorkload, PoissonWorkload, make_workload
from tests.flows import make_flows

ID = "flowsched/AuTOLongFlows-v0"
NAN = float("nan")

WRONG: list[tuple[dict[str, Any], str]] = [
    *(
        ({name: value}, rf"{name} is {value!r}: it must be an integer >= {least}")
        for name, least in (("hosts", 2), ("paths", 1), ("n_l", 1))
        for value in (least - 1, 2.5, True, None, "5")
    ),
    ({"m_l": -1}, "m_l is -1: it must be an integer >= 0"),
    ({"flows": 0}, "flows is 0: it must be an integer >= 1"),
    *(
        ({name: value}, rf"{name} is {value!r}: it must be a finite number > 0")
        for name in ("load", "period_ms", "link_gbps")
        for value in (0, -1.0, NAN, float("inf"), "fast")
    ),
    ({"link_delay_us": -1.0}, "link_delay_us is -1.0: it must be a finite number >= 0"),
    *(
        ({"thresholds": value}, r"thresholds is \(.*\): it must have 1 to 7 numbers, increasing")
        for value in ([], [2.0, 1.0], [1.0, 1.0], list(range(1, 9)))
    ),
    *(({"thresholds": [value]}, "threshold is .*: it must be a finite number > 0") for value in (NAN, -1.0, 0, "big")),
    ({"thresholds": 5.0}, "thresholds is 5.0: it must be a sequence"),
    ({"scope": "rack"}, "scope is 'rack': it must be one of server, network"),
    ({"observation": "summary"}, "observation is 'summary': it must be one of full, paper"),
    ({"layout": "raw"}, "layout is 'raw': it must be one of grouped, recorded"),
    ({"reward": "fct"}, "reward is 'fct': it must be one of progress, slowdown, slowdown_growth, throughput_ratio"),
    ({"workload": "auto-clusters", "load": 0.5}, "workload 'auto-clusters' has a load for each cluster"),
    ({"workload": "auto-clusters", "hosts": 6}, "num_clusters is 4: it must divide the number of hosts, 6"),
    ({"workload": "gather-a1", "flows": 5}, "load and flows change Poisson arrivals: workload 'gather-a1' has none"),
    ({"workload": "gather-a1", "hosts": 4}, "workload 'gather-a1' has 11 hosts: the network has 4"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=lambda value: str(value)[:60])
def test_a_wrong_argument_is_refused_by_name_with_its_value_and_what_is_allowed(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        gym.make(ID, **arguments)

    assert "\n" not in str(caught.value)


def test_flows_are_long_by_default_where_the_best_queues_for_web_search_at_load_080_say() -> None:
    best = optimal_thresholds("qlas", "web_search", 0.8, 4)

    assert AuTOLongFlowsConfig().thresholds == pytest.approx(tuple(best.tolist()))
    assert AuTOLongFlowsConfig().long_from == best[-1]


def test_the_round_trip_is_that_of_the_testbed_and_a_load_that_of_three_links() -> None:
    env = AuTOLongFlowsEnv(load=0.6)
    source, topology = env._source, env._topology
    assert isinstance(source, PoissonWorkload)

    # Two links of 25 us there and two back.
    assert 4 * topology.delay[0] == pytest.approx(100e-6)
    assert (topology.num_hosts, topology.num_links) == (32, 3 * 2 * 32)
    bytes_per_second = source.flow_rate * source.size.mean * crossing_shares(topology)
    assert bytes_per_second / topology.capacity == pytest.approx(np.full(192, 0.6))


def test_named_workloads_fill_the_network_whatever_its_hosts_and_links() -> None:
    env = AuTOLongFlowsEnv("auto-changing", hosts=8, paths=2, flows=50, link_gbps=10.0)
    source = env._source
    assert isinstance(source, ClusterWorkload)

    assert (source.num_hosts, source.capacity, source.num_flows) == (8, 2 * 10 * 125e6, 50)
    assert source.traffic == make_workload("auto-changing").traffic  # type: ignore[union-attr]


def test_own_flows_are_taken_as_they_are() -> None:
    flows = make_flows([0.0, 1.0], [1e6, 2e6], source=[0, 2], destination=[1, 3])
    env = AuTOLongFlowsEnv(flows, hosts=4)
    env.reset(seed=3)

    assert env.workload.size.tolist() == [1e6, 2e6]
    assert isinstance(env._source, FixedWorkload)
