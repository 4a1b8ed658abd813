"""Holds CONGA's choices to what is kept of it: the least congested path, for new flows and after pauses."""

from typing import Final

import pytest

from flowsched_gym.topology.routing import RoutingKind
from tests.fluid.crossroads import Flow, crossroads

CONGA: Final = RoutingKind.CONGA
THREE: Final = ((0, 1, 4, 7), (0, 2, 5, 7), (0, 3, 6, 7))


def test_congestion_is_the_largest_utilisation_of_a_link() -> None:
    """Path 0: 0.5 on two links; path 1: 1.2 of 4 on one; path 2: 0.4 on one."""
    paths = (*THREE, (1,), (4,), (2,), (6,))
    rates = [Flow(path=3, rate=0.5), Flow(path=4, rate=0.5), Flow(path=5, rate=1.2), Flow(path=6, rate=0.4)]
    assert crossroads(paths, [*rates, Flow(choices=(0, 3))], link_2=4.0).choose(CONGA) == 1
    assert crossroads(paths, [*rates, Flow(choices=(0, 3))], link_2=2.0).choose(CONGA) == 2


@pytest.mark.parametrize(("hash_of_flow", "chosen"), [(0, 0), (1, 2), (2, 0), (7, 2)])
def test_a_new_flow_chooses_by_its_hash_among_equals(hash_of_flow: int, chosen: int) -> None:
    flows = [Flow(path=0, rate=0.2), Flow(path=1, rate=0.3), Flow(path=2, rate=0.2), Flow(path=1, hash=hash_of_flow)]
    assert crossroads(THREE, flows).choose(CONGA) == chosen


def test_a_flow_that_has_paused_leaves_its_path_for_a_better_one() -> None:
    flows = [Flow(path=2, rate=0.6), Flow(path=0, rate=0.2), Flow(path=2, left=0.5, quiet_since=1.0)]
    assert crossroads(THREE, flows).review(CONGA, now=1.9) == []
    scene = crossroads(THREE, flows)
    assert scene.review(CONGA, now=2.0) == [2]
    assert scene.controls.path.tolist() == [2, 0, 1]


def test_a_flow_that_has_paused_stays_where_no_path_is_better() -> None:
    flows = [Flow(path=0, rate=0.2), Flow(path=2, left=0.5, quiet_since=0.0, hash=0)]
    scene = crossroads(THREE, flows)
    assert scene.review(CONGA, now=5.0) == []
    assert scene.controls.path.tolist() == [0, 2]


def test_a_flow_that_has_not_sent_yet_is_still_new() -> None:
    scene = crossroads(THREE, [Flow(path=0, rate=0.2), Flow(path=2, quiet_since=0.0, hash=0)])
    assert scene.review(CONGA, now=5.0) == [1]
    assert scene.controls.path.tolist() == [0, 1]


def test_a_flow_that_sends_or_waits_for_a_repair_keeps_its_path() -> None:
    sending = [Flow(path=0, left=0.5, rate=0.9), Flow(path=0, left=0.5, rate=0.1)]
    waiting = [Flow(path=0, left=0.5, quiet_since=0.0), Flow(path=1, left=0.5, quiet_since=0.0)]
    assert crossroads(THREE, sending).review(CONGA, now=5.0) == []
    assert crossroads(THREE, waiting, failed=[0]).review(CONGA, now=5.0) == []


@pytest.mark.parametrize("kind", [kind for kind in RoutingKind if kind is not CONGA])
def test_other_rules_leave_quiet_flows_where_they_are(kind: RoutingKind) -> None:
    flows = [Flow(path=0, rate=1.0), Flow(path=0, left=0.5, quiet_since=0.0)]
    assert crossroads(THREE, flows).review(kind, now=5.0) == []
