"""Holds traffic of clusters, its changes over time and incast against theory."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.workload import (
    NO_TASK,
    ClusterWorkload,
    Constant,
    Exponential,
    FixedWorkload,
    Incast,
    PoissonWorkload,
    Traffic,
    Uniform,
    load_cdf,
    make_workload,
    offered_traffic,
)
from tests.simulate import LEAST_P_VALUE, make_flows

SMALL, LARGE, BUSY = (
    Traffic(size=Exponential(mean=1e5), load=0.4),
    Traffic(size=Exponential(mean=4e5), load=0.4),
    Traffic(size=Exponential(mean=1e5), load=0.8),
)
STATIC = ClusterWorkload(traffic=(SMALL, LARGE, BUSY), num_hosts=12, num_clusters=3, num_flows=40_000)
CHANGING = replace(STATIC, change_every=0.1)
WEB_SEARCH = load_cdf("web_search")
INCAST = Incast(burst_rate=2_000.0, senders=5, size=Constant(value=2e4))
BURSTING = replace(STATIC, incast=INCAST)


def check_poisson(times: np.ndarray, rate: float) -> None:
    """Holds arrivals to a Poisson process."""
    gaps = np.diff(times)
    assert gaps.mean() == pytest.approx(1 / rate, rel=5 / math.sqrt(len(gaps)))
    assert stats.kstest(gaps, stats.expon(scale=1 / rate).cdf).pvalue > LEAST_P_VALUE


@pytest.mark.parametrize("cluster", [0, 1, 2])
def test_each_cluster_sends_its_own_sizes_at_its_own_load(cluster: int) -> None:
    workload, traffic = STATIC.draw(1), STATIC.traffic[cluster]
    own = workload.source // 4 == cluster
    check_poisson(workload.arrival_time[own], 4 * traffic.load * STATIC.capacity / traffic.size.mean)
    assert stats.kstest(workload.size[own], stats.expon(scale=traffic.size.mean).cdf).pvalue > LEAST_P_VALUE
    assert (workload.task_id == NO_TASK).all()


def test_every_host_of_a_cluster_sends_alike_and_to_all_other_hosts_alike() -> None:
    workload = STATIC.draw(2)
    ends = np.stack([workload.source, workload.destination])
    for cluster in range(3):
        pairs, counts = np.unique(ends[:, workload.source // 4 == cluster], axis=1, return_counts=True)
        assert pairs.shape[1] == 4 * 11
        assert stats.chisquare(counts).pvalue > LEAST_P_VALUE


def test_in_each_phase_a_cluster_has_the_rate_and_the_sizes_of_the_traffic_that_it_has_then() -> None:
    workload = CHANGING.draw(3)
    num_phases = int(workload.arrival_time[-1] / 0.1)
    phases = CHANGING.phases(3, num_phases)
    phase = (workload.arrival_time / 0.1).astype(np.int64)
    counts = np.array(
        [[np.sum((phase == p) & (workload.source // 4 == c)) for c in range(3)] for p in range(num_phases)]
    )
    rates = np.array([4 * traffic.load * CHANGING.capacity / traffic.size.mean for traffic in CHANGING.traffic])
    expected = 0.1 * rates[phases]
    assert num_phases > 10
    assert stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), counts.size) > LEAST_P_VALUE
    inside = phase < num_phases
    choice = phases[phase[inside], workload.source[inside] // 4]
    for index, traffic in enumerate(CHANGING.traffic):
        sizes = workload.size[inside][choice == index]
        assert stats.kstest(sizes, stats.expon(scale=traffic.size.mean).cdf).pvalue > LEAST_P_VALUE


def test_no_traffic_comes_twice_in_a_row_and_all_others_come_equally_often() -> None:
    phases = replace(CHANGING, traffic=(SMALL, LARGE, BUSY, Traffic(size=SMALL.size, load=0.6))).phases(4, 6_000)
    steps = (np.diff(phases, axis=0) % 4).ravel()
    assert phases.shape == (6_000, 3)
    assert np.unique(steps).tolist() == [1, 2, 3]
    assert stats.chisquare(np.unique(steps, return_counts=True)[1]).pvalue > LEAST_P_VALUE
    assert np.unique(phases).tolist() == [0, 1, 2, 3]
    assert abs(np.corrcoef(phases[:, 0], phases[:, 1])[0, 1]) < 5 / math.sqrt(6_000)
    first = [CHANGING.phases(seed, 1)[0, 0] for seed in range(300)]
    assert stats.chisquare(np.unique(first, return_counts=True)[1]).pvalue > LEAST_P_VALUE


def test_more_phases_begin_with_the_same_ones_and_traffic_that_does_not_change_has_one() -> None:
    assert CHANGING.phases(5, 40)[:7].tolist() == CHANGING.phases(5, 7).tolist()
    assert CHANGING.phases(5, 7).tolist() != CHANGING.phases(6, 7).tolist()
    assert STATIC.phases(5, 2).tolist() == [[0, 1, 2], [0, 1, 2]]
    with pytest.raises(ConfigError, match="count is 0: it must be an integer >= 1"):
        CHANGING.phases(1, 0)
    with pytest.raises(ConfigError, match="change_every is 1e-09: more than 1000000 phases are"):
        replace(CHANGING, change_every=1e-9).draw(1)


def test_the_flows_of_a_burst_come_from_distinct_hosts_to_one_at_one_instant() -> None:
    workload = BURSTING.draw(7)
    bursts = [np.flatnonzero(workload.task_id == task) for task in range(workload.task_id.max())]
    assert len(bursts) > 1_000
    for rows in bursts:
        assert len(rows) == len(set(workload.source[rows])) == 5
        assert len(set(workload.destination[rows])) == len(set(workload.arrival_time[rows])) == 1
        assert set(workload.size[rows]) == {2e4}
    first = np.array([rows[0] for rows in bursts])
    check_poisson(workload.arrival_time[first], 2_000.0)
    assert stats.chisquare(np.bincount(workload.destination[first])).pvalue > LEAST_P_VALUE
    assert stats.chisquare(np.bincount(workload.source[np.concatenate(bursts)])).pvalue > LEAST_P_VALUE


def test_bursts_leave_the_other_flows_as_they_are() -> None:
    bursting, plain = BURSTING.draw(7), STATIC.draw(7)
    single = np.flatnonzero(bursting.task_id == NO_TASK)
    assert np.all(np.diff(bursting.arrival_time) >= 0)
    for name in ("source", "destination", "size", "arrival_time"):
        assert getattr(bursting, name)[single].tolist() == getattr(plain, name)[: len(single)].tolist()


def test_the_load_of_a_network_is_the_mean_of_its_clusters_and_what_bursts_add() -> None:
    assert STATIC.offered_load == pytest.approx((0.4 + 0.4 + 0.8) / 3)
    assert CHANGING.offered_load == STATIC.offered_load
    assert BURSTING.offered_load == pytest.approx(STATIC.offered_load + 2_000 * 5 * 2e4 / (12 * 125e6))
    workload = BURSTING.draw(8)
    offered = workload.size.sum() / workload.arrival_time[-1] / (12 * 125e6)
    assert offered == pytest.approx(BURSTING.offered_load, rel=0.05)
    faster = replace(STATIC, capacity=3 * STATIC.capacity)
    assert faster.draw(1).arrival_time == pytest.approx(STATIC.draw(1).arrival_time / 3, rel=1e-12)


def test_traffic_of_poisson_flows_is_the_same_in_all_clusters_and_of_a_flow_file_unknown() -> None:
    source = make_workload("auto-web-search", load=0.7)
    assert offered_traffic(source, 2) == (Traffic(size=WEB_SEARCH, load=0.7),) * 2
    # Whatever the load is told by.
    rate = PoissonWorkload(size=WEB_SEARCH, rate=source.flow_rate, num_flows=1, pattern="all-to-all", num_hosts=32)
    (found,) = offered_traffic(rate, 1)
    assert found.load == pytest.approx(0.7)
    assert offered_traffic(FixedWorkload(workload=make_flows([0.0], [1.0])), 1) is None


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


def test_sizes_that_are_not_measured_ones_cannot_be_mixed() -> None:
    parts = (Traffic(size=WEB_SEARCH, load=0.5), Traffic(size=Uniform(low=1.0, high=2.0), load=0.5))
    source = ClusterWorkload(traffic=parts, num_hosts=4, num_clusters=2, num_flows=10)
    assert offered_traffic(source, 2) == parts
    with pytest.raises(ConfigError, match=r"mixes sizes of Empirical, Uniform: .* of mixed Empirical ones alone"):
        offered_traffic(source, 1)
