"""Holds the choice of paths to what each rule says, by hand, and MEMR to exact solutions and its algorithms."""

import json
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsched_gym.fluid.rules.routing.memr import (
    expansion_ratio,
    expect_on_links,
    least_expected_rate,
    pick_hop_by_hop,
    pick_whole_path,
)
from flowsched_gym.topology.network import Network
from flowsched_gym.topology.routes import RoutingKind
from tests.cases import TOLERANCE, exact_cases
from tests.fluid.crossroads import Flow, crossroads, random_crossroads
from tests.processes import run_python

ECMP, LEAST_LOADED, CONGA, MEMR, HOP_BY_HOP = RoutingKind
BY_STATE: Final = (LEAST_LOADED, CONGA, MEMR, HOP_BY_HOP)

THREE: Final = ((0, 1, 4, 7), (0, 2, 5, 7), (0, 3, 6, 7))
"""Three paths from one host to another: its own links 0 and 7 are on all of them."""


@pytest.mark.parametrize("kind", RoutingKind)
@pytest.mark.parametrize("failed", [[0], [1, 5, 3]])
def test_a_flow_without_a_live_path_keeps_its_own(kind: RoutingKind, failed: list[int]) -> None:
    assert crossroads(THREE, [Flow(path=1, hash=5)], failed=failed).choose(kind) == 1


@pytest.mark.parametrize(
    ("failed", "chosen"), [([], {0: 0, 1: 1, 2: 2, 3: 0, 2**63 - 1: 1}), ([5], {0: 0, 1: 2, 2: 0, 3: 2})]
)
def test_ecmp_counts_live_paths_by_the_hash(failed: list[int], chosen: dict[int, int]) -> None:
    for hash_of_flow, path in chosen.items():
        assert crossroads(THREE, [Flow(hash=hash_of_flow)], failed=failed).choose(ECMP) == path


@pytest.mark.parametrize("kind", BY_STATE)
def test_a_busy_path_is_left_for_an_idle_one(kind: RoutingKind) -> None:
    flows = [Flow(path=3, rate=0.5), Flow(path=4, rate=0.5), Flow(size=2.0, hash=6, choices=(0, 3))]
    assert crossroads((*THREE, (1, 4), (3, 6)), flows).choose(kind) == 1


@pytest.mark.parametrize("kind", [LEAST_LOADED, MEMR, HOP_BY_HOP])
def test_equal_paths_give_the_lowest_that_is_live(kind: RoutingKind) -> None:
    flows = [Flow(path=path, size=5.0) for path in range(3)]
    assert crossroads(THREE, [*flows, Flow(hash=2)]).choose(kind) == 0
    assert crossroads(THREE, [*flows, Flow(hash=2)], failed=[1]).choose(kind) == 1


@pytest.mark.parametrize("kind", BY_STATE)
def test_a_flow_is_no_competitor_of_its_own(kind: RoutingKind) -> None:
    flows = [Flow(path=1, size=2.0, rate=0.3), Flow(path=2, size=2.0, rate=0.3), Flow(path=0, size=9.0, rate=0.4)]
    assert crossroads(THREE, flows).choose(kind, is_active=True) == 0


@pytest.mark.parametrize("kind", RoutingKind)
def test_the_order_of_the_live_flows_says_nothing(kind: RoutingKind) -> None:
    for seed in range(10):
        scene = random_crossroads(seed)
        backwards = scene._replace(active=scene.active[::-1].copy())
        chosen = [scene.choose(kind, row, now=0.125, is_active=True) for row in range(len(scene.active))]
        assert chosen == [backwards.choose(kind, row, now=0.125) for row in range(len(scene.active))]
        assert chosen == [scene.choose(kind, row, now=0.125) for row in range(len(scene.active))]


@pytest.mark.parametrize("kind", RoutingKind)
def test_a_choice_is_a_live_path_of_the_pair(kind: RoutingKind) -> None:
    for seed in range(10):
        scene = random_crossroads(seed, num_failed=12)
        network = scene.network
        for row in range(len(scene.active)):
            chosen = scene.choose(kind, row, now=0.125)
            own = range(scene.routes.first[row], scene.routes.last[row])
            active = [
                path
                for path in own
                if network.capacity[network.path_links[network.path_start[path] : network.path_start[path + 1]]].all()
            ]
            assert chosen in (active or [scene.controls.path[row]])


def test_the_least_loaded_path_has_the_fewest_bytes_on_its_worst_link() -> None:
    """Path 0 carries 3 + 3 B on two links, path 1 4 B on one, path 2 2 + 3 B on one; sent bytes do not count."""
    paths = (*THREE, (1,), (4,), (2,), (6,))
    others = [Flow(path=path, size=size) for path, size in ((3, 3.0), (5, 4.0), (6, 2.0), (6, 3.0))]
    flows = [*others, Flow(path=4, size=9.0, left=3.0), Flow(choices=(0, 3))]
    assert crossroads(paths, flows).choose(LEAST_LOADED) == 0


def test_equal_bytes_are_told_apart_by_the_flows_on_the_worst_link() -> None:
    flows = [Flow(path=0, size=1.0), Flow(path=0, size=1.0), Flow(path=1, size=2.0), Flow(path=2, size=3.0), Flow()]
    assert crossroads(THREE, flows).choose(LEAST_LOADED) == 1
    # Each path has 2 B on its first link; path 0 has them on its second link too, in two flows.
    paths = (*THREE, (1,), (4,), (2,), (3,))
    flows = [*(Flow(path=path, size=2.0) for path in (3, 5, 6)), Flow(path=4), Flow(path=4), Flow(choices=(0, 3))]
    assert crossroads(paths, flows).choose(LEAST_LOADED) == 1


@pytest.mark.parametrize("kind", [LEAST_LOADED, CONGA])
def test_links_that_all_paths_share_do_not_drown_what_tells_them_apart(kind: RoutingKind) -> None:
    """The links of the hosts carry 100 B at the rate 0.9; only path 0 carries something of its own."""
    paths = (*THREE, (0,), (7,))
    shared = [Flow(path=path, size=100.0, rate=0.9) for path in (3, 4)]
    flows = [*shared, Flow(path=0, size=1.0, rate=0.1), Flow(choices=(0, 3), hash=3)]
    assert crossroads(paths, flows).choose(kind) in (1, 2)


PROGRAM: Final = """
import json
from flowsched_gym.topology.routes import RoutingKind
from tests.fluid.crossroads import random_crossroads
found = []
for seed in range(4):
    scene = random_crossroads(seed)
    for kind in RoutingKind:
        found.append([scene.choose(kind, row, now=0.125, is_active=True) for row in range(60)])
    found.append(scene.review(RoutingKind.CONGA, now=0.125, flowlet_gap=0.05))
    found.append(scene.controls.path.tolist())
print(json.dumps(found))
"""


def test_plain_and_compiled_rules_choose_alike() -> None:
    compiled = json.loads(run_python(PROGRAM))
    assert compiled == json.loads(run_python(PROGRAM, NUMBA_DISABLE_JIT="1"))
    assert len(np.unique(np.concatenate(compiled[:5]))) > 1


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


def test_a_flow_that_has_paused_or_not_sent_yet_leaves_its_path_for_a_better_one_and_no_other_does() -> None:
    flows = [Flow(path=2, rate=0.6), Flow(path=0, rate=0.2), Flow(path=2, left=0.5, quiet_since=1.0)]
    assert crossroads(THREE, flows).review(CONGA, now=1.9) == []
    scene = crossroads(THREE, flows)
    assert scene.review(CONGA, now=2.0) == [2]
    assert scene.controls.path.tolist() == [2, 0, 1]
    new = crossroads(THREE, [Flow(path=0, rate=0.2), Flow(path=2, quiet_since=0.0, hash=0)])
    assert new.review(CONGA, now=5.0) == [1]
    assert new.controls.path.tolist() == [0, 1]

    no_better = [Flow(path=0, rate=0.2), Flow(path=2, left=0.5, quiet_since=0.0, hash=0)]
    sending = [Flow(path=0, left=0.5, rate=0.9), Flow(path=0, left=0.5, rate=0.1)]
    repaired = [Flow(path=0, left=0.5, quiet_since=0.0), Flow(path=1, left=0.5, quiet_since=0.0)]
    for staying, failed in ((no_better, []), (sending, []), (repaired, [0])):
        assert crossroads(THREE, staying, failed=failed).review(CONGA, now=5.0) == []
    for kind in (kind for kind in RoutingKind if kind is not CONGA):
        flows = [Flow(path=0, rate=1.0), Flow(path=0, left=0.5, quiet_since=0.0)]
        assert crossroads(THREE, flows).review(kind, now=5.0) == []


@pytest.mark.parametrize("case", exact_cases("memr"), ids=lambda case: case["id"])
def test_ratios_rates_and_choices_are_exact(case: dict[str, Any]) -> None:
    now, capacity, num_ports = case["now"], case["capacity"], len(case["ports"])
    new = {"aT": now, "size": case["new_size"], "rs": case["new_size"], "dst": case["dst"], "esr": np.inf}
    flows = [new, *(flow for port in case["ports"] for flow in port)]
    arrival, size, left, rate = (np.array([flow[name] for flow in flows]) for name in ("aT", "size", "rs", "esr"))
    destination = np.array([flow["dst"] for flow in flows])
    ends = 1 + np.cumsum([0, *map(len, case["ports"])])
    tables = [np.arange(ends[port], ends[port + 1]) for port in range(num_ports)]

    gmer = [least_expected_rate(now, capacity, 0, rows, size, arrival, left, destination, rate) for rows in tables]
    gpe = [expansion_ratio(now, capacity, 0, rows, size, arrival, left) for rows in tables]

    assert gpe == pytest.approx(case["gpe"], rel=TOLERANCE)
    assert gmer == pytest.approx(case["gmer"], rel=TOLERANCE)
    ports = Network(np.full(num_ports, capacity), np.arange(num_ports + 1), np.arange(num_ports))
    for pick in (pick_whole_path, pick_hop_by_hop):
        assert pick(0, num_ports, ports, np.array(gpe), np.array(gmer)) == case["chosen_port"]


@pytest.mark.parametrize("kind", [MEMR, HOP_BY_HOP])
def test_the_example_of_section_5_2_comes_out(kind: RoutingKind) -> None:
    """On P1 waits a flow of size 4, on P2 two of size 1: the new one of size 1 overtakes the first, not the others."""
    flows = [Flow(path=0, size=4.0), Flow(path=1), Flow(path=1), Flow()]
    assert crossroads(((0,), (1,)), flows).choose(kind) == 0
    assert crossroads(((1,), (0,)), flows).choose(kind) == 0


FORK: Final = ((0, 1, 3, 9), (0, 1, 4, 9), (0, 2, 5, 9), (0, 2, 6, 9))
"""Two switches, each of which leads to two others."""


def test_hop_by_hop_does_not_see_what_comes_behind_the_next_link() -> None:
    """Link 2 looks busier than link 1, but both links behind link 1 are busier still."""
    paths = (*FORK, (1,), (2,), (3,), (4,))
    flows = [*(Flow(path=path) for path in (5, 6, 6, 7, 7, 7)), Flow(choices=(0, 4))]
    assert crossroads(paths, flows).choose(MEMR) == 2
    assert crossroads(paths, flows).choose(HOP_BY_HOP) == 0


@pytest.mark.parametrize("failed", [3, 4])
def test_hop_by_hop_leaves_a_switch_by_the_link_that_is_alive(failed: int) -> None:
    assert crossroads(FORK, [Flow()], failed=[failed]).choose(HOP_BY_HOP) == (1 if failed == 3 else 0)


def test_equal_ratios_are_told_apart_by_the_tail_rate() -> None:
    """On each path a larger flow would go last, so the ratio is 1; the one that has waited longer would be slower."""
    flows = [Flow(path=2, size=10.0), Flow(path=3, size=10.0, arrival=2.0), Flow(arrival=4.0, choices=(0, 2))]
    assert crossroads(((0, 1, 3), (0, 2, 3), (1,), (2,)), flows).choose(MEMR, now=4.0) == 1


FAR: Final = ((0, 1, 3), (0, 2, 3), (1, 4))
"""Two paths between two hosts, and a path of another host to the second of them over the link 1."""


def test_a_larger_flow_to_the_same_host_warns_of_a_failure_behind_the_link() -> None:
    """The flow on link 1 is all but sent, so its tail rate is high; behind it, link 4 has failed."""
    stuck = Flow(path=2, size=100.0, left=0.01)
    new = Flow(choices=(0, 2))
    assert crossroads(FAR, [stuck, Flow(path=1, size=100.0), new]).choose(MEMR) == 0
    assert crossroads(FAR, [stuck, Flow(path=1, size=100.0), new], failed=[4]).choose(MEMR) == 1


@pytest.mark.parametrize(("size", "destination", "chosen"), [(1.0, 0, 1), (1.0, 1, 0), (100.0, 0, 0)])
def test_only_larger_flows_to_the_same_host_warn(size: float, destination: int, chosen: int) -> None:
    """But for the failed link, both paths promise the same."""
    flows = [Flow(path=path, size=100.0, left=1.0) for path in (2, 1)]
    new = Flow(size=size, destination=destination, choices=(0, 2))
    assert crossroads(FAR, [*flows, new], failed=[4]).choose(MEMR) == chosen


@pytest.mark.parametrize("far", [(1, 4), (4, 1)])
def test_a_larger_flow_to_the_same_host_warns_of_a_queue_on_its_path(far: tuple[int, int]) -> None:
    """Without link 4 the flow on link 1 would expect more than the new one gets from link 2."""
    now, paths = 100.0, (*FAR[:2], far, (4,))
    flows = [Flow(path=path, size=100.0, left=1.0, arrival=now, destination=path % 2) for path in (2, 1)]
    queue = [Flow(path=3, size=9.0, destination=1, arrival=now) for _ in range(30)]
    new = Flow(choices=(0, 2), arrival=now)
    assert crossroads(paths, [*flows, new]).choose(MEMR, now=now) == 0
    assert crossroads(paths, [*flows, *queue, new]).choose(MEMR, now=now) == 1


def test_nothing_is_expected_on_a_failed_link() -> None:
    scene = crossroads(FAR, [Flow(path=1, size=4.0), Flow(choices=(0, 2))], failed=[1])
    ratio, rate = np.zeros(5), np.zeros(5)
    expect_on_links(1, scene.at(0.0, scene.active[:1]), ratio, rate)
    assert ratio.tolist() == [1.0, 0.0, 1.0, 1.0, 0.0]
    assert rate.tolist() == [0.8, 0.0, 0.8, 0.8, 0.0]


@pytest.mark.parametrize("kind", [MEMR, HOP_BY_HOP])
def test_the_order_of_the_live_flows_rounds_nothing(kind: RoutingKind) -> None:
    for seed in range(10):
        scene = random_crossroads(seed)
        for values in (scene.state.size, scene.state.remaining):
            np.divide(values, 3.0, out=values)
        backwards = scene._replace(active=scene.active[::-1].copy())

        for row in range(len(scene.active)):
            ratio, rate = np.zeros((2, 2, len(scene.network.capacity)))
            for one, other, each in zip(ratio, rate, (scene, backwards), strict=True):
                expect_on_links(row, each.at(0.125, each.active), one, other)
            assert ratio[0].tolist() == ratio[1].tolist()
            assert rate[0].tolist() == rate[1].tolist()
            assert scene.choose(kind, row, now=0.125) == backwards.choose(kind, row, now=0.125)


def gpe(now: int, capacity: int, size: int, table: list[tuple[int, int, int]]) -> Fraction:
    """Follows Algorithm 5 line by line, for flows of (arrival, size, rest); equal ratios as in Algorithm 2."""
    table = list(table)
    while True:
        total = sum(rest for *_, rest in table) + size
        least, last = Fraction(total, size), None
        for arrival, other, rest in table:
            ratio = Fraction((now - arrival) * capacity + total, other)
            if ratio < least or (last and ratio == least and (rest * other, arrival) > (last[2] * last[1], last[0])):
                least, last = ratio, (arrival, other, rest)
        if last is None:
            return least
        table.remove(last)


@settings(max_examples=100)
@given(st.data())
def test_the_expansion_ratio_is_that_of_algorithm_5(data: st.DataObject) -> None:
    now, capacity, size = 8, data.draw(st.integers(1, 3)), data.draw(st.integers(1, 9))
    flows = st.integers(1, 9).flatmap(lambda size: st.tuples(st.integers(0, now), st.just(size), st.integers(1, size)))
    table = data.draw(st.lists(flows, max_size=6))
    arrival, sizes, left = np.array([(now, size, size), *table], dtype=np.float64).T.copy()
    rows = np.array(data.draw(st.permutations(range(1, 1 + len(table)))), dtype=np.int64)

    found = expansion_ratio(float(now), float(capacity), 0, rows, sizes, arrival, left)

    assert found == pytest.approx(float(gpe(now, capacity, size, table)), rel=TOLERANCE)


def test_equal_ratios_stay_equal_in_floating_point_and_the_larger_work_goes_last_among_them() -> None:
    """Two flows have the ratio 2; without the first (3 * 3 against 6 * 1), 3 B are left, which the new one shares."""
    arrival, size, left = np.array([8.0, 8.0, 2.0]), np.array([2.0, 3.0, 6.0]), np.array([2.0, 3.0, 1.0])
    for rows in ([1, 2], [2, 1]):
        assert expansion_ratio(8.0, 1.0, 0, np.array(rows), size, arrival, left) == pytest.approx(1.5)
    # Behind a larger flow the ratio is 1 for whatever sizes; a rounding would let it pass for another.
    for one in np.arange(1, 100) / 1000.0:
        sizes, times = np.array([one, 10.0, 20.0]), np.zeros(3)
        assert expansion_ratio(0.0, 1.0, 0, np.array([1, 2]), sizes, times, np.array([one, 0.7, 1.1])) == 1.0


def test_a_flow_whose_path_has_failed_brings_its_waiting_time() -> None:
    """A flow of size 2 that has waited for 10 s goes before one of size 1 that is new."""
    size, left = np.array([2.0, 1.0]), np.array([1.0, 1.0])
    waited = expansion_ratio(10.0, 1.0, 0, np.array([1]), size, np.array([0.0, 10.0]), left)
    fresh = expansion_ratio(10.0, 1.0, 0, np.array([1]), size, np.array([10.0, 10.0]), left)
    assert waited == pytest.approx((10.0 + 1.0) / 2.0)
    assert fresh == pytest.approx((1.0 + 1.0) / 2.0)
