"""Holds the flows of the ordering environment to what its arguments ask for."""

from typing import Any

import pytest

from flowsched_gym.systems.merp.order.env import MERPOrderEnv
from flowsched_gym.workload import make_workload


def source_of(**arguments: Any) -> Any:
    return MERPOrderEnv(**arguments)._source


def test_without_a_workload_the_flows_are_merps_on_the_topology() -> None:
    assert source_of() == make_workload("poisson-pareto")
    assert source_of(topology="tree9") == make_workload("poisson-tree")


def test_a_load_is_one_of_the_links_that_there_are() -> None:
    for source in (source_of(load=0.5, link_gbps=10.0), source_of(workload="poisson-tree", load=0.5, link_gbps=10.0)):
        assert (source.load, source.capacity) == (0.5, 1.25e9)
        assert source.offered_load == pytest.approx(0.5)
    assert source_of(link_gbps=10.0).capacity == 1.25e9
    assert source_of(workload=make_workload("poisson-pareto"), link_gbps=10.0) == make_workload("poisson-pareto")
