"""Holds what is told of clusters' traffic to what their hosts send."""

import math

import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.workload import (
    ClusterWorkload,
    FixedWorkload,
    PoissonWorkload,
    Traffic,
    Uniform,
    load_cdf,
    make_workload,
    offered_traffic,
)
from tests.simulate import make_flows

WEB_SEARCH, DATA_MINING = load_cdf("web_search"), load_cdf("data_mining")


def test_poisson_flows_are_the_same_in_all_clusters() -> None:
    source = make_workload("auto-web-search", load=0.7)
    assert offered_traffic(source, 2) == (Traffic(size=WEB_SEARCH, load=0.7),) * 2
    # Whatever the load is told by.
    rate = PoissonWorkload(size=WEB_SEARCH, rate=source.flow_rate, num_flows=1, pattern="all-to-all", num_hosts=32)
    (found,) = offered_traffic(rate, 1)
    assert found.load == pytest.approx(0.7)


def test_clusters_that_are_those_of_the_workload_have_its_traffic() -> None:
    source = make_workload("auto-clusters")
    assert offered_traffic(source, 4) == source.traffic
    assert offered_traffic(source, 8) == tuple(each for each in source.traffic for _ in range(2))


def test_mixed_traffic_is_the_mixture_of_its_flows() -> None:
    source = make_workload("auto-clusters")
    both = offered_traffic(source, 2)
    (whole,) = offered_traffic(source, 1)
    flows = source.with_num_flows(200_000).draw(3)

    assert both[0].load == pytest.approx(0.7)
    assert both[0].size.mean == pytest.approx(WEB_SEARCH.mean)
    assert whole.load == pytest.approx(0.7)
    for size in (1.0, 100.0, 2e3, 1e5, 1e6, 2e7):
        # A share of 200,000 flows.
        assert whole.size.cdf(size) == pytest.approx(np.mean(flows.size <= size), abs=0.005)  # type: ignore[attr-defined]
    # Bytes per second of all hosts over their capacity, by sizes and by rates.
    rates = math.fsum(8 * each.load * 125e6 / each.size.mean for each in source.traffic)
    assert whole.size.mean * rates == pytest.approx(0.7 * 32 * 125e6, rel=1e-6)


def test_nothing_is_known_of_a_flow_file() -> None:
    assert offered_traffic(FixedWorkload(workload=make_flows([0.0], [1.0])), 1) is None


def test_sizes_that_are_not_measured_ones_cannot_be_mixed() -> None:
    parts = (Traffic(size=WEB_SEARCH, load=0.5), Traffic(size=Uniform(low=1.0, high=2.0), load=0.5))
    source = ClusterWorkload(traffic=parts, num_hosts=4, num_clusters=2, num_flows=10)
    assert offered_traffic(source, 2) == parts
    with pytest.raises(ConfigError, match=r"mixes sizes of Empirical, Uniform: .* of mixed Empirical ones alone"):
        offered_traffic(source, 1)
