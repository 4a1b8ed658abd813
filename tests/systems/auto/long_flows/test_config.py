"""Holds the flows of the environment of long flows to its network."""

import numpy as np
import pytest

from flowsched_gym.queueing import optimal_thresholds
from flowsched_gym.systems.auto.long_flows.config import AuTOLongFlowsConfig
from flowsched_gym.systems.auto.long_flows.env import AuTOLongFlowsEnv
from flowsched_gym.topology import crossing_shares
from flowsched_gym.workload import ClusterWorkload, PoissonWorkload, make_workload


def test_flows_are_long_by_default_where_the_best_queues_for_web_search_at_load_080_say() -> None:
    best = optimal_thresholds("qlas", "web_search", 0.8, 4)
    assert AuTOLongFlowsConfig().thresholds == pytest.approx(tuple(best.tolist()))
    assert AuTOLongFlowsConfig().long_from == best[-1]


def test_the_round_trip_is_that_of_the_testbed_and_a_load_that_of_three_links() -> None:
    env = AuTOLongFlowsEnv(load=0.6)
    source, topology = env._source, env._network.topology
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
