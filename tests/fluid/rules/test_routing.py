"""Holds the choice of paths to what each rule says, on networks small enough to reckon by hand."""

import json
from typing import Final

import numpy as np
import pytest

from flowsched_gym.topology.routing import RoutingKind
from tests.fluid.crossroads import Flow, crossroads, random_crossroads
from tests.processes import run_python

ECMP, LEAST_LOADED, CONGA, MEMR, MEMR_HOP_BY_HOP = RoutingKind
BY_STATE: Final = (LEAST_LOADED, CONGA, MEMR, MEMR_HOP_BY_HOP)

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


@pytest.mark.parametrize("kind", [LEAST_LOADED, MEMR, MEMR_HOP_BY_HOP])
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
    flows = [
        Flow(path=3, size=3.0),
        Flow(path=4, size=9.0, left=3.0),
        Flow(path=5, size=4.0),
        Flow(path=6, size=2.0),
        Flow(path=6, size=3.0),
        Flow(choices=(0, 3)),
    ]

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
    flows = [
        Flow(path=3, size=100.0, rate=0.9),
        Flow(path=4, size=100.0, rate=0.9),
        Flow(path=0, size=1.0, rate=0.1),
        Flow(choices=(0, 3), hash=3),
    ]

    assert crossroads(paths, flows).choose(kind) in (1, 2)


PROGRAM: Final = """
import json
from flowsched_gym.topology.routing import RoutingKind
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
