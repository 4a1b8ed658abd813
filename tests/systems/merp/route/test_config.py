"""Holds the flows and links of MERP's routing environment to what its arguments ask for."""

from dataclasses import replace
from typing import Any

import pytest

from flowsched_gym.core.errors import WorkloadError
from flowsched_gym.systems.merp.route.config import MERPRouteConfig, core_cables, route_source
from flowsched_gym.systems.merp.route.env import MERPRouteEnv
from flowsched_gym.topology import fat_tree
from flowsched_gym.workload import LinkChanges, PoissonWorkload
from tests.simulate import make_flows


def source_of(**arguments: Any) -> PoissonWorkload:
    """Returns what an environment with these arguments draws from."""
    workload = arguments.pop("workload", "poisson-fat-tree")
    source = route_source(MERPRouteConfig(**arguments), workload)
    assert isinstance(source, PoissonWorkload)
    return source


def test_arguments_change_the_named_workload() -> None:
    source = source_of(load=0.4, flows=70, link_gbps=10.0, failures=2)
    assert (source.num_flows, source.capacity) == (70, 1.25e9)
    assert source.offered_load == pytest.approx(0.4)
    assert source.failures is not None
    assert source.failures.count == 2
    assert source_of(failures=0, workload="poisson-fat-tree-failures").failures is None


def test_a_named_workload_spreads_over_all_hosts_and_cables_of_a_larger_fat_tree() -> None:
    source = source_of(arity=8, workload="poisson-fat-tree-failures")

    assert source.num_hosts == 128
    assert source.offered_load == pytest.approx(0.6)
    assert source.failures is not None
    assert (source.failures.cables, source.failures.count) == (core_cables(128), 3)
    names = fat_tree(arity=8).link_names
    assert {names[link].rpartition(" ")[0] for link in source.failures.cables[40]} == {"aggregation 10 port 0"}
    assert all(names[up].endswith("up") and names[down].endswith("down") for up, down in source.failures.cables)


def test_flows_that_lose_all_their_paths_for_good_are_refused() -> None:
    flows = make_flows([0.0], [1e5], source=[0], destination=[4])
    lost = replace(flows, link_changes=LinkChanges.of([(0.0, 0, False)]))
    with pytest.raises(WorkloadError, match="leave the flow in row 0 none of its 4 paths"):
        MERPRouteEnv(lost).reset(seed=1)
