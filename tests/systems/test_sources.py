"""Holds the flows of each environment to what its arguments ask for."""

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.core.errors import WorkloadError
from flowsched_gym.queueing import optimal_thresholds
from flowsched_gym.systems.auto.long_flows.config import AuTOLongFlowsConfig
from flowsched_gym.systems.auto.long_flows.env import AuTOLongFlowsEnv
from flowsched_gym.systems.auto.thresholds.env import AuTOThresholdsEnv
from flowsched_gym.systems.merp.order.env import MERPOrderEnv
from flowsched_gym.systems.merp.route.config import core_cables
from flowsched_gym.systems.merp.route.env import MERPRouteEnv
from flowsched_gym.topology import crossing_shares, fat_tree
from flowsched_gym.workload import ClusterWorkload, LinkChanges, PoissonWorkload, make_workload
from tests.simulate import make_flows

ARTEMIS = "flowsched/Artemis-v0"


def test_a_load_counts_the_link_of_this_environment() -> None:
    env = gym.make(ARTEMIS, load=0.5, link_gbps=10.0, bursts=2000)
    env.reset(seed=1)
    workload = env.unwrapped.workload  # type: ignore[attr-defined]
    offered = workload.size.sum() / workload.arrival_time.max()
    # Two thousand exponential gaps: a standard deviation of 2.2 %.
    assert offered / 10e9 * 8 == pytest.approx(0.5, rel=0.1)


def test_arrivals_end_after_the_seconds_asked_for() -> None:
    env = gym.make(ARTEMIS, workload="gather-heavy", seconds=0.5)
    env.reset(seed=1)
    assert 0 < env.unwrapped.workload.arrival_time.max() < 0.5  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("arguments", "workload", "load"),
    [
        ({}, "poisson-pareto", None),
        ({"topology": "tree9"}, "poisson-tree", None),
        ({"workload": make_workload("poisson-pareto"), "link_gbps": 10.0}, "poisson-pareto", None),
        ({"link_gbps": 10.0}, "poisson-pareto", 0.8),
        ({"load": 0.5, "link_gbps": 10.0}, "poisson-pareto", 0.5),
        ({"workload": "poisson-tree", "load": 0.5, "link_gbps": 10.0}, "poisson-tree", 0.5),
    ],
)
def test_flows_of_an_order_are_merps_at_a_load_of_the_links_that_there_are(arguments, workload, load) -> None:
    source, named = MERPOrderEnv(**arguments)._source, make_workload(workload)
    assert source == (named if load is None else replace(named, load=load, capacity=1.25e9))
    assert load is None or source.offered_load == pytest.approx(load)


def test_arguments_change_the_named_workload() -> None:
    source: Any = MERPRouteEnv(load=0.4, flows=70, link_gbps=10.0, failures=2)._source
    assert (source.num_flows, source.capacity) == (70, 1.25e9)
    assert source.offered_load == pytest.approx(0.4)
    assert source.failures.count == 2
    none: Any = MERPRouteEnv(failures=0, workload="poisson-fat-tree-failures")._source
    assert none.failures is None


def test_a_named_workload_spreads_over_all_hosts_and_cables_of_a_larger_fat_tree() -> None:
    source: Any = MERPRouteEnv(arity=8, workload="poisson-fat-tree-failures")._source
    assert source.num_hosts == 128
    assert source.offered_load == pytest.approx(0.6)
    assert (source.failures.cables, source.failures.count) == (core_cables(128), 3)
    names = fat_tree(arity=8).link_names
    assert {names[link].rpartition(" ")[0] for link in source.failures.cables[40]} == {"aggregation 10 port 0"}
    assert all(names[up].endswith("up") and names[down].endswith("down") for up, down in source.failures.cables)


def test_flows_that_lose_all_their_paths_for_good_are_refused() -> None:
    flows = make_flows([0.0], [1e5], source=[0], destination=[4])
    lost = replace(flows, link_changes=LinkChanges.of([(0.0, 0, False)]))
    with pytest.raises(WorkloadError, match="leave the flow in row 0 none of its 4 paths"):
        MERPRouteEnv(lost).reset(seed=1)


def test_a_load_is_that_of_the_hosts_links_or_of_the_one_link() -> None:
    switch, link = (AuTOThresholdsEnv(load=0.5, hosts=8, topology=name)._source for name in ("big-switch", "one-link"))
    clusters = AuTOThresholdsEnv("auto-clusters", hosts=8, topology="one-link")._source

    assert isinstance(switch, PoissonWorkload)
    assert isinstance(link, PoissonWorkload)
    assert isinstance(clusters, ClusterWorkload)
    assert switch.flow_rate * switch.size.mean == pytest.approx(8 * 0.5 * 125e6)
    assert link.flow_rate * link.size.mean == pytest.approx(0.5 * 125e6)
    flows = clusters.with_num_flows(40_000).draw(1)
    # A mean over 40,000 flows of very different sizes.
    assert flows.size.sum() / flows.arrival_time[-1] == pytest.approx(0.7 * 125e6, rel=0.1)


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
