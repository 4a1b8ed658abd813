"""Holds drawn failures of cables to their counts, their times and their theory."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from flowsched_gym.workload import LinkChanges, RandomFailures
from tests.workload.drawn import LEAST_P_VALUE

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
