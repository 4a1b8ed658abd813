"""Holds bursts, single Poisson flows and failures of cables to theory, and shorter episodes to the longer ones.

What the thesis says of its bursts holds exactly.
"""

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.workload import (
    ARTEMIS_A1,
    ARTEMIS_A2,
    ClusterWorkload,
    Constant,
    Exponential,
    GatherWorkload,
    LinkChanges,
    Mix,
    PoissonWorkload,
    RandomFailures,
    Uniform,
    poisson,
)
from tests.simulate import ARRAYS, LEAST_P_VALUE, rows_of
from tests.workload.test_clusters import BURSTING, CHANGING, STATIC, check_poisson

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
PAIR = PoissonWorkload(size=Exponential(mean=1e5), load=0.8, num_flows=20_000)
ALL_TO_ALL = replace(PAIR, pattern="all-to-all", num_hosts=5, deadline=Constant(value=0.1))


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
        check_poisson(np.append(0.0, starts[hosts == host]), 10.0)
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
    longer, shorter = (replace(MULTI, num_bursts=count).draw(8) for count in (90, 40))
    assert rows_of(longer, shorter.num_flows) == rows_of(shorter)


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


def test_a_pair_sends_from_host_one_to_host_zero_by_poisson_at_the_rate_of_the_load() -> None:
    workload = PAIR.draw(1)
    gaps = np.diff(workload.arrival_time, prepend=0.0)
    assert PAIR.flow_rate == pytest.approx(0.8 * 125e6 / 1e5)
    check_poisson(np.append(0.0, workload.arrival_time), 1e3)
    assert stats.kstest(workload.size, stats.expon(scale=1e5).cdf).pvalue > LEAST_P_VALUE
    assert abs(np.corrcoef(gaps, workload.size)[0, 1]) < 5 / math.sqrt(20_000)
    assert set(workload.source) == {1}
    assert set(workload.destination) == {0}
    assert PAIR.num_hosts == workload.num_hosts == 2
    assert np.isinf(workload.deadline_span).all()
    assert (workload.task_id == -1).all()


def test_all_to_all_uses_every_ordered_pair_equally_and_loads_each_host_alike() -> None:
    workload = ALL_TO_ALL.draw(1)
    pairs, counts = np.unique(np.stack([workload.source, workload.destination]), axis=1, return_counts=True)
    assert pairs.shape[1] == 20
    assert counts == pytest.approx(1000, rel=5 / math.sqrt(1000))
    received = workload.size[workload.destination == 3].sum() / workload.arrival_time[-1]
    assert received / ALL_TO_ALL.capacity == pytest.approx(0.8, rel=0.1)
    assert ALL_TO_ALL.offered_load == pytest.approx(0.8)
    assert set(workload.deadline_span) == {0.1}


def test_the_load_is_that_of_the_link_which_the_given_share_of_all_bytes_crosses() -> None:
    quarter = replace(ALL_TO_ALL, busiest_share=0.25)
    assert quarter.flow_rate == pytest.approx(4 * 0.8 * quarter.capacity / 1e5)
    assert replace(quarter, load=None, rate=quarter.flow_rate).offered_load == pytest.approx(0.8)
    assert replace(ALL_TO_ALL, busiest_share=0.2).draw(3).size.tolist() == ALL_TO_ALL.draw(3).size.tolist()


def test_failures_are_drawn_with_the_flows_and_leave_them_as_they_are() -> None:
    failing = replace(ALL_TO_ALL, failures=RandomFailures(cables=((0, 5), (1, 6), (2, 7)), count=1))
    failed = {failing.draw(seed).link_changes.link[0] for seed in range(40)}
    assert failed == {0, 1, 2}
    assert failing.draw(4).link_changes.link.tolist() == failing.draw(4).link_changes.link.tolist()
    assert failing.with_num_flows(30).draw(4).link_changes.link.tolist() == failing.draw(4).link_changes.link.tolist()
    assert ALL_TO_ALL.draw(4).link_changes is None
    for name in ARRAYS:
        assert getattr(failing.draw(4), name).tolist() == getattr(ALL_TO_ALL.draw(4), name).tolist()


def test_only_flows_below_a_size_have_deadlines_and_theirs_are_as_they_were() -> None:
    every = PoissonWorkload(size=Uniform(low=1.0, high=3.0), deadline=Exponential(mean=2.0), rate=1.0, num_flows=200)
    small = replace(every, deadline_below=2.0)
    drawn, kept = every.draw(5).deadline_span, small.draw(5)
    below = kept.size < 2.0
    assert 50 < below.sum() < 150
    assert kept.deadline_span[below].tolist() == drawn[below].tolist()
    assert np.isinf(kept.deadline_span[~below]).all()
    with pytest.raises(ConfigError, match=r"deadline_below is 2\.0: it needs a deadline"):
        replace(small, deadline=None)


@pytest.mark.parametrize(
    "config",
    [A1, replace(MULTI, request_jitter=0), CONTINUOUS, WEIGHTED, SCATTER, PAIR, ALL_TO_ALL, STATIC, CHANGING, BURSTING],
    ids=lambda config: type(config).__name__,
)
def test_more_flows_or_time_leave_the_first_flows_as_they_are(config: Any) -> None:
    by_flow = isinstance(config, (PoissonWorkload, ClusterWorkload))
    longer = config.with_num_flows(3_000).draw(5)
    shorter = config.with_num_flows(777).draw(5)
    assert rows_of(longer, shorter.num_flows) == rows_of(shorter)
    assert shorter.num_flows == 777 if by_flow else 777 <= shorter.num_flows < 777 + config.burst_size
    end = float(longer.arrival_time[1_999])
    timed = replace(config, **{"num_flows" if by_flow else "num_bursts": None}, duration=end).draw(5)
    assert 0 < timed.num_flows == (longer.arrival_time < end).sum()
    assert rows_of(timed) == rows_of(longer, timed.num_flows)
    with pytest.raises(ConfigError, match="num_flows is 0: it must be an integer >= 1"):
        config.with_num_flows(0)


CABLES = tuple((64 + cable, 80 + cable) for cable in range(16))
AT_ONCE = RandomFailures(cables=CABLES, count=3)
AGAIN = RandomFailures(cables=CABLES, mean_time_up=2.0, mean_time_down=0.5, until=400.0)


def draw(failures: RandomFailures, seed: int = 0) -> LinkChanges:
    return failures.draw(np.random.default_rng(seed))


def rows(changes: LinkChanges) -> list[tuple[float, int, bool]]:
    return list(zip(changes.time.tolist(), changes.link.tolist(), changes.up.tolist(), strict=True))


def test_so_many_cables_fail_whole_and_stay_down() -> None:
    changes = draw(replace(AT_ONCE, at=1.5))
    failed = [cable for cable in CABLES if set(cable) <= set(changes.link)]
    assert len(failed) == 3
    assert rows(changes) == [(1.5, link, False) for cable in failed for link in cable]
    repaired = draw(replace(AT_ONCE, at=1.5, repair_after=0.25))
    assert rows(repaired) == [*rows(changes), *((1.75, link, True) for cable in failed for link in cable)]


def test_every_cable_is_as_likely_to_fail() -> None:
    failed = [link - 64 for seed in range(2000) for link in draw(AT_ONCE, seed).link[::2]]
    counts = np.bincount(failed, minlength=16)
    assert counts.sum() == 6000
    assert stats.chisquare(counts).pvalue > LEAST_P_VALUE


def test_a_larger_count_fails_the_same_cables_and_more() -> None:
    failed = [set(draw(replace(AT_ONCE, count=count)).link) for count in range(17)]
    assert [len(links) for links in failed] == [2 * count for count in range(17)]
    assert all(fewer < more for fewer, more in pairwise(failed))


def test_each_cable_is_up_and_down_for_exponential_times_by_turns() -> None:
    changes = draw(AGAIN)
    times_up, times_down = [], []
    for up_link, down_link in CABLES:
        of_cable = changes.link == up_link
        times = changes.time[of_cable]
        assert changes.time[changes.link == down_link].tolist() == times.tolist()
        assert changes.up[of_cable].tolist() == [False, True] * (len(times) // 2)
        times_up += np.diff(times, prepend=0.0)[0::2].tolist()
        times_down += np.diff(times, prepend=0.0)[1::2].tolist()
    assert len(times_up) == pytest.approx(16 * 400 / 2.5, rel=0.1)
    assert stats.kstest(times_up, stats.expon(scale=2.0).cdf).pvalue > LEAST_P_VALUE
    assert stats.kstest(times_down, stats.expon(scale=0.5).cdf).pvalue > LEAST_P_VALUE


def test_failures_end_with_their_time_and_all_are_repaired() -> None:
    changes = draw(replace(AGAIN, mean_time_down=50.0))
    assert changes.time[~changes.up].max() < 400.0
    assert changes.time[changes.up].max() > 400.0
    assert (~changes.up).sum() == changes.up.sum()
    before = [row for row in rows(draw(replace(AGAIN, until=900.0))) if row[0] < 400.0]  # by a later end unchanged
    assert before == [row for row in rows(draw(AGAIN)) if row[0] < 400.0]
