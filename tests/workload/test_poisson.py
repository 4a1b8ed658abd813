"""Holds single Poisson flows against theory."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.workload import Constant, Exponential, LinkChanges, PoissonWorkload, RandomFailures, Uniform
from tests.workload.drawn import ARRAYS, LEAST_P_VALUE

PAIR = PoissonWorkload(size=Exponential(mean=1e5), load=0.8, num_flows=20_000)
ALL_TO_ALL = replace(PAIR, pattern="all-to-all", num_hosts=5, deadline=Constant(value=0.1))


def test_arrivals_are_poisson_at_the_rate_of_the_load() -> None:
    workload = PAIR.draw(1)
    gaps = np.diff(workload.arrival_time, prepend=0.0)
    assert PAIR.flow_rate == pytest.approx(0.8 * 125e6 / 1e5)
    assert gaps.mean() == pytest.approx(1e-3, rel=5 / math.sqrt(20_000))
    assert stats.kstest(gaps, stats.expon(scale=1e-3).cdf).pvalue > LEAST_P_VALUE
    assert stats.kstest(workload.size, stats.expon(scale=1e5).cdf).pvalue > LEAST_P_VALUE
    assert abs(np.corrcoef(gaps, workload.size)[0, 1]) < 5 / math.sqrt(20_000)


def test_a_pair_sends_from_host_one_to_host_zero() -> None:
    workload = PAIR.draw(1)
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
