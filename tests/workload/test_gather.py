"""Holds gather and scatter bursts against the thesis's numbers, theory, and their own promises of determinism."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.workload import (
    ARTEMIS_A1,
    ARTEMIS_A2,
    Exponential,
    GatherWorkload,
    Mix,
    Uniform,
    poisson,
)
from tests.workload.drawn import LEAST_P_VALUE, rows_of

A1 = GatherWorkload(mix=ARTEMIS_A1, burst_rate=10.0, num_bursts=100)
A2 = replace(A1, mix=ARTEMIS_A2)
MULTI = replace(A1, num_destinations=4, num_senders=15, request_jitter=1e-4)
CONTINUOUS = GatherWorkload(
    size=Exponential(mean=3e5), deadline=Uniform(low=0.02, high=0.06), flows_per_burst=7, load=0.5, num_bursts=50
)
WEIGHTED = GatherWorkload(
    mix=Mix(pairs=((1e5, 0.01), (2e5, math.inf)), weights=(3, 1)), flows_per_burst=8, burst_rate=5.0, num_bursts=400
)
SCATTER = replace(A1, pattern="scatter", num_destinations=2, num_senders=12)


@pytest.mark.parametrize(("config", "heavy", "light"), [(A1, 5, 5), (A2, 6, 4)], ids=["variant 1", "variant 2"])
def test_every_burst_has_the_exact_flows_of_the_thesis(config: GatherWorkload, heavy: int, light: int) -> None:
    workload = config.draw(1)
    assert workload.num_flows == 1000
    for burst in range(100):
        members = workload.task_id == burst
        pairs = sorted(zip(workload.size[members], workload.deadline_span[members], strict=True))
        assert pairs == [(250_000.0, 0.05)] * light + [(350_000.0, 0.04)] * heavy
        assert len(set(workload.arrival_time[members])) == 1
        assert len(set(workload.source[members])) == 10
        assert set(workload.destination[members]) == {0}
        assert 0 not in workload.source[members]


def test_the_order_inside_bursts_is_random_and_fair_unless_they_are_not_shuffled() -> None:
    workload = replace(A1, num_bursts=4000).draw(5)
    heavy = (workload.size == 350_000.0).reshape(4000, 10)
    unshuffled = replace(A1, shuffle=False).draw(5).size.reshape(100, 10)
    # Each place of a burst is heavy in half of the bursts; 5 standard errors are 0.04.
    assert heavy.mean(axis=0) == pytest.approx(0.5, abs=0.04)
    assert (unshuffled == [350_000.0] * 5 + [250_000.0] * 5).all()


@pytest.mark.parametrize("load", [0.3, 0.6, 0.9])
def test_the_load_is_the_offered_bytes_per_second_over_the_capacity(load: float) -> None:
    config = replace(A1, burst_rate=None, load=load, num_bursts=5000)
    workload = config.draw(11)
    assert config.offered_load == pytest.approx(load)
    assert config.rate == pytest.approx(load * 125e6 / 3e6)
    offered = workload.size.sum() / workload.arrival_time[-1] / config.capacity
    assert offered == pytest.approx(load, rel=5 / math.sqrt(5000))


def test_each_of_several_destinations_has_a_poisson_stream_of_its_own() -> None:
    workload = replace(MULTI, num_bursts=12_000, request_jitter=0.0).draw(2)
    starts = workload.arrival_time[::10]
    hosts = workload.destination[::10]
    assert set(hosts) == {0, 1, 2, 3}
    for host in range(4):
        gaps = np.diff(starts[hosts == host], prepend=0.0)
        assert gaps.mean() == pytest.approx(0.1, rel=5 / math.sqrt(3000))
        assert stats.kstest(gaps, stats.expon(scale=0.1).cdf).pvalue > LEAST_P_VALUE
    counts = np.histogram2d(starts, hosts, bins=(200, 4))[0]
    correlation = np.corrcoef(counts[:, 0], counts[:, 1])[0, 1]
    assert abs(correlation) < 5 / math.sqrt(200)


def test_sources_of_a_burst_are_distinct_and_spread_over_all_senders() -> None:
    workload = replace(MULTI, num_bursts=3000).draw(2)
    sources = workload.source.reshape(3000, 10)
    assert all(len(set(row)) == 10 for row in sources.tolist())
    hosts, counts = np.unique(sources, return_counts=True)
    assert hosts.tolist() == list(range(4, 19))
    assert counts / counts.sum() == pytest.approx(1 / 15, rel=0.1)


def test_scatter_is_gather_with_the_ends_swapped() -> None:
    gather = replace(SCATTER, pattern="gather").draw(4)
    scatter = SCATTER.draw(4)
    assert scatter.source.tolist() == gather.destination.tolist()
    assert scatter.destination.tolist() == gather.source.tolist()
    assert set(scatter.source) == {0, 1}
    assert scatter.size.tolist() == gather.size.tolist()


def test_request_jitter_spreads_a_burst_in_the_order_of_its_flows() -> None:
    instants = A1.draw(9)
    jittered = replace(A1, request_jitter=1e-4).draw(9)
    delay = (jittered.arrival_time - instants.arrival_time).reshape(100, 10)
    assert (delay >= 0).all()
    assert delay.max() < 1e-4
    assert delay.mean() == pytest.approx(5e-5, rel=0.1)
    assert (np.diff(delay, axis=1) >= 0).all()
    assert jittered.size.tolist() == instants.size.tolist()


def test_continuous_sizes_and_deadlines_are_drawn_for_each_flow() -> None:
    workload = replace(CONTINUOUS, num_bursts=3000).draw(1)
    assert workload.num_flows == 21_000
    assert stats.kstest(workload.size, stats.expon(scale=3e5).cdf).pvalue > LEAST_P_VALUE
    assert stats.kstest(workload.deadline_span, stats.uniform(0.02, 0.04).cdf).pvalue > LEAST_P_VALUE


def test_a_weighted_mix_draws_each_flow_on_its_own() -> None:
    workload = WEIGHTED.draw(1)
    assert (workload.size == 1e5).mean() == pytest.approx(0.75, abs=0.04)
    assert np.isinf(workload.deadline_span[workload.size == 2e5]).all()
    assert WEIGHTED.mean_burst_bytes == pytest.approx(8 * 1.25e5)


def test_a_duration_is_filled_even_when_the_first_block_of_gaps_falls_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(poisson, "SPARE_DEVIATIONS", -0.9)
    config = replace(A1, num_bursts=None, duration=0.5)
    for seed in range(50):
        by_count = replace(config, num_bursts=60, duration=None).draw(seed)
        assert rows_of(config.draw(seed)) == rows_of(by_count, int((by_count.arrival_time < 0.5).sum()))


def test_one_purpose_more_does_not_shift_the_others() -> None:
    plain = A1.draw(6)
    assert replace(A1, num_senders=30).draw(6).arrival_time.tolist() == plain.arrival_time.tolist()
    assert replace(A1, num_senders=30).draw(6).size.tolist() == plain.size.tolist()
    assert replace(A1, mix=ARTEMIS_A2).draw(6).arrival_time.tolist() == plain.arrival_time.tolist()


def test_the_fewest_bursts_with_so_many_flows_are_found() -> None:
    assert A1.with_num_flows(101).num_bursts == 11
    assert replace(A1, num_bursts=None, duration=1.0).with_num_flows(100).num_bursts == 10
    with pytest.raises(ConfigError, match="num_flows is 0: it must be an integer >= 1"):
        A1.with_num_flows(0)
