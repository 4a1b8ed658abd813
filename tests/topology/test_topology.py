"""Holds topologies to paths, delays, capacities and shares of traffic, and routings and machine mixes to names."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from flowsched_gym import replay
from flowsched_gym.core.errors import ConfigError, WorkloadError
from flowsched_gym.topology import (
    ROUTINGS,
    TOPOLOGIES,
    Routing,
    RoutingKind,
    Topology,
    add_cpus,
    big_switch,
    crossing_shares,
    fat_tree,
    leaf_spine,
    machine_mix,
    make_routing,
    make_topology,
    multi_plane,
    one_link,
    tree9,
)
from tests.simulate import make_flows


def links_of(topology: Topology, path: int) -> list[int]:
    links: list[int] = topology.path_links[topology.path_start[path] : topology.path_start[path + 1]].tolist()
    return links


def paths_between(topology: Topology, source: int, destination: int) -> list[list[int]]:
    """Lists the paths of a pair of hosts."""
    pair = source * topology.num_hosts + destination
    ends = (pair, pair + 1) if topology.pair_start is None else topology.pair_start[pair : pair + 2]
    return [links_of(topology, path) for path in range(*ends)]


def test_the_switch_joins_each_pair_of_hosts_by_an_uplink_and_a_downlink() -> None:
    switch = big_switch(num_hosts=3)
    assert switch.num_links == 6
    for source in range(3):
        for destination in range(3):
            (path,) = switch.path_of(np.array([source]), np.array([destination]))
            names = [switch.link_names[link] for link in links_of(switch, path)]
            assert names == [f"host {source} up", f"host {destination} down"]


def test_all_flows_share_the_one_link_whatever_their_hosts() -> None:
    link = one_link(capacity=5.0, delay=0.25)
    assert link.path_of(np.array([0, 70]), np.array([9, 4])).tolist() == [0, 0]
    assert link.path_delay(np.array([0, 0])).tolist() == [0.25, 0.25]
    assert link.path_capacity(np.array([0, 0])).tolist() == [5.0, 5.0]


def test_the_delay_of_a_path_is_the_sum_over_its_links() -> None:
    switch = big_switch(num_hosts=2, delay=np.array([1.0, 2.0, 4.0, 8.0]))
    path = switch.path_of(np.array([0, 1, 0]), np.array([1, 0, 0]))
    assert switch.path_delay(path).tolist() == [9.0, 6.0, 5.0]
    # Equal links give a whole multiple, to the last bit.
    assert big_switch(num_hosts=2, delay=0.1).path_delay(path).tolist() == [0.2, 0.2, 0.2]


def test_the_capacity_of_a_path_is_that_of_its_slowest_link() -> None:
    switch = big_switch(num_hosts=2, capacity=np.array([1.0, 2.0, 3.0, 0.5]))
    path = switch.path_of(np.array([1, 0, 1]), np.array([0, 1, 0]))
    assert switch.path_capacity(path).tolist() == [2.0, 0.5, 2.0]
    assert switch.path_capacity(path[:0]).tolist() == []


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_every_topology_is_made_by_name_with_a_gigabit_unless_told_otherwise(name: str) -> None:
    assert set(make_topology(name, num_hosts=4).capacity) == {125e6}
    assert set(make_topology(name, num_hosts=4, capacity=7.0, delay=0.5).capacity) == {7.0}
    assert make_topology(name, num_hosts=4).name == name


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_slowdowns_are_measured_against_the_path_that_is_best_for_a_flow_of_this_size(engine: str) -> None:
    spines = np.tile([1.0, 4.0, 3.0], 4)
    fabric = leaf_spine(
        num_leaves=2,
        num_spines=3,
        hosts_per_leaf=1,
        capacity=np.array([4.0] * 4 + spines.tolist()),
        delay=np.array([0.0] * 4 + [0.0, 1.5, 0.0] * 4),
    )
    two = make_flows([0.0, 500.0], [96.0, 12.0], source=[0] * 2, destination=[1] * 2)
    records = replay(two, discipline="ps", topology=fabric, engine=engine)
    assert records.ideal_fct.tolist() == [24.0 + 3.0, 12.0 / 3.0]  # fast and far; slower and near
    flows = make_flows(np.arange(20) * 100.0, [8.0] * 20, source=[0] * 20, destination=[1] * 20)
    slowdown = replay(flows, discipline="ps", topology=fabric, engine=engine).slowdown
    assert sorted(set(slowdown.round(9).tolist())) == [1.0, 5.0 / (8.0 / 3.0), 3.0]


def mine(**changes: object) -> Topology:
    """Builds two hosts with a link each way, and nothing from a host to itself."""
    tables: dict[str, Any] = {
        "name": "mine",
        "num_hosts": 2,
        "capacity": np.array([1.0, 2.0]),
        "delay": np.zeros(2),
        "link_names": ("there", "back"),
        "path_start": np.array([0, 1, 2]),
        "path_links": np.array([0, 1]),
        "pair_start": np.array([0, 0, 1, 2, 2]),
    }
    return Topology(**tables | changes)


def test_a_topology_of_ones_own_carries_flows_between_its_hosts() -> None:
    flows = make_flows([0.0, 0.0], [6.0, 6.0], source=[0, 1], destination=[1, 0])
    assert replay(flows, discipline="ps", topology=mine()).fct.tolist() == [6.0, 3.0]
    for parameters, message in (
        ({"delay": 1.0}, "num_hosts and delay belong to"),
        ({"cpus": [1.0, 1.0]}, "only one of"),
    ):
        with pytest.raises(ConfigError, match=message):
            replay(flows, discipline="ps", topology=add_cpus(mine(), 1.0), parameters=parameters)
    one_way = mine(path_start=np.array([0, 1]), path_links=np.array([1]), pair_start=np.array([0, 0, 0, 1, 1]))
    with pytest.raises(WorkloadError, match="row 1 goes from host 0 to host 1: topology mine has no path between them"):
        one_way.path_of(np.array([1, 0]), np.array([0, 1]))
    with pytest.raises(WorkloadError, match="destination is 5 in row 1: topology big-switch has the hosts 0 to 1"):
        big_switch(num_hosts=2).path_of(np.array([0, 1]), np.array([1, 5]))


def test_every_kind_has_one_name_and_a_flowlet_ends_after_500_us_unless_said() -> None:
    assert [make_routing(name).kind for name in ROUTINGS] == list(RoutingKind)
    assert make_routing("conga").flowlet_gap == pytest.approx(500e-6)
    assert make_routing("conga", flowlet_gap=np.float64(0.1)) == Routing(RoutingKind.CONGA, flowlet_gap=0.1)


def test_machines_are_as_frequent_as_in_the_trace_and_more_hosts_leave_the_first_as_they_are() -> None:
    cpus = machine_mix(4000, seed=3)
    for share, machines in ((0.25, 126), (0.5, 11_648), (1.0, 795)):
        # Four standard deviations of a share of 6 % among 4,000 are 1.5 %.
        assert (cpus == share).mean() == pytest.approx(machines / 12_569, abs=0.015)
    assert np.isin(cpus, (0.25, 0.5, 1.0)).all()
    assert machine_mix(9, seed=3).tolist() == cpus[:9].tolist()
    assert machine_mix(4000, seed=4).tolist() != cpus.tolist()


def counted(topology: Topology) -> list[float]:
    """Adds up, path by path, how often each link is crossed."""
    pairs = list(itertools.permutations(range(topology.num_hosts), 2))
    shares = [Fraction(0)] * topology.num_links
    for source, destination in pairs:
        paths = paths_between(topology, source, destination)
        for link in itertools.chain(*paths):
            shares[link] += Fraction(1, len(pairs) * len(paths))
    return [float(share) for share in shares]


def test_shares_are_those_that_a_count_of_all_paths_gives() -> None:
    leaves = leaf_spine(num_leaves=3, num_spines=2, hosts_per_leaf=4)
    for topology in (big_switch(num_hosts=5), tree9(), fat_tree(arity=4), leaves, multi_plane(num_hosts=4)):
        # Sums of up to a thousand rounded terms.
        assert crossing_shares(topology).tolist() == pytest.approx(counted(topology), rel=1e-12), topology.name


@pytest.mark.parametrize(("arity", "hosts", "links", "paths"), [(2, 2, 12, 1), (4, 16, 96, 4), (6, 54, 324, 9)])
def test_a_fat_tree_has_a_path_through_every_core_switch(arity: int, hosts: int, links: int, paths: int) -> None:
    topology = fat_tree(arity=arity)
    assert (topology.num_hosts, topology.num_links) == (hosts, links)
    through = paths_between(topology, 0, hosts - 1)
    assert len({path[2] for path in through}) == len(through) == paths


def test_leaves_reach_each_other_over_every_spine_and_their_own_hosts_over_none() -> None:
    topology = leaf_spine(num_leaves=3, num_spines=2, hosts_per_leaf=2)

    names = [[topology.link_names[link] for link in path] for path in paths_between(topology, 1, 4)]
    assert names == [
        ["host 1 up", "leaf 0 spine 0 up", "leaf 2 spine 0 down", "host 4 down"],
        ["host 1 up", "leaf 0 spine 1 up", "leaf 2 spine 1 down", "host 4 down"],
    ]
    assert len(paths_between(topology, 0, 1)) == 1


def test_each_plane_is_a_big_switch() -> None:
    topology, switch = multi_plane(num_hosts=5, num_planes=2), big_switch(num_hosts=5)
    for source, destination in ((0, 4), (3, 1)):
        (own,) = paths_between(switch, source, destination)
        assert paths_between(topology, source, destination) == [own, [link + 10 for link in own]]
    assert multi_plane(num_hosts=5, num_planes=1).link_names[4] == "host 4 up plane 0"


def test_equal_paths_are_hashed_evenly_by_flow_and_seed() -> None:
    topology, flows = fat_tree(arity=4), np.arange(4000)
    ends = np.zeros_like(flows), np.full_like(flows, topology.num_hosts - 1)
    chosen, again, other = (topology.ecmp(*ends, flows, seed=seed).tolist() for seed in (1, 1, 2))
    counts = np.unique(chosen, return_counts=True)[1]
    # 4000 flows on 4 paths: 1000 each, standard deviation 27.
    assert len(counts) == 4
    assert abs(counts - 1000).max() < 5 * 27
    assert chosen == again != other


def test_named_fabrics_hold_the_hosts_asked_for() -> None:
    assert make_topology("fat-tree", num_hosts=17).num_hosts == 54
    assert make_topology("leaf-spine", num_hosts=33).num_hosts == 48
    assert make_topology("tree9", num_hosts=2).num_hosts == 9
    assert make_topology("multi-plane", num_hosts=7).num_links == 3 * 2 * 7


def test_counts_of_numpy_do_not_overflow() -> None:
    """Twice 130 hosts are 4 in eight bits."""
    for build, counts in (
        (big_switch, {"num_hosts": 200}),
        (multi_plane, {"num_hosts": 130, "num_planes": 2}),
        (leaf_spine, {"num_leaves": 20, "num_spines": 4, "hosts_per_leaf": 13}),
        (fat_tree, {"arity": 8}),
    ):
        small, plain = build(**{name: np.uint8(count) for name, count in counts.items()}), build(**counts)
        assert np.array_equal(small.path_links, plain.path_links)
        assert small.link_names == plain.link_names


@pytest.mark.parametrize(
    ("build", "arguments", "message"),
    [
        (one_link, {"capacity": -1.0}, "topology one-link: capacity is -1.0: it must be finite and > 0 B/s"),
        (one_link, {"capacity": math.nan}, "topology one-link: capacity is nan: it must be finite and > 0 B/s"),
        (one_link, {"capacity": math.inf}, "topology one-link: capacity is inf: it must be finite and > 0 B/s"),
        (big_switch, {"num_hosts": 2, "delay": -1.0}, "topology big-switch: delay is -1.0: .* finite and >= 0 s"),
        (big_switch, {"num_hosts": 2, "delay": math.nan}, "topology big-switch: delay is nan: .* finite and >= 0 s"),
        (big_switch, {"num_hosts": 2, "delay": math.inf}, "topology big-switch: delay is inf: .* finite and >= 0 s"),
        (big_switch, {"num_hosts": 1}, "topology big-switch: num_hosts is 1: it must be an integer from 2 to 4096"),
        (make_topology, {"name": "torus", "num_hosts": 4}, "topology is 'torus': it must be one of one-link, big-sw"),
        (make_topology, {"name": "tree9", "num_hosts": 10}, "topology tree9: num_hosts is 10: it has 9"),
        (make_topology, {"name": "fat-tree", "num_hosts": 3457}, "num_hosts is 3457: .* from 1 to 3456"),
        (fat_tree, {"arity": 14}, "fat-tree has more than 8000000 shortest paths between all hosts: .* a replay lists"),
        *(
            (make_topology, {"name": name, "num_hosts": number}, f"topology {name}: num_hosts is .*: it {allowed}")
            for name in TOPOLOGIES
            for number, allowed in (
                *((wrong, "must be an int") for wrong in ("3", 2.5, True, None, 0, -1)),
                *((many, "(must be an integer|has 9)") for many in (10**9, 10**5000) if name != "one-link"),
            )
        ),
        (fat_tree, {"arity": 5}, "topology fat-tree: arity is 5: it must be even"),
        (leaf_spine, {"num_leaves": 2, "num_spines": 0, "hosts_per_leaf": 2}, "num_spines is 0: .* from 1 to 4096"),
        (multi_plane, {"num_hosts": 4, "num_planes": 0}, "topology multi-plane: num_planes is 0: .* from 1 to 64"),
        (multi_plane, {"num_hosts": 1}, "topology multi-plane: num_hosts is 1: it must be an integer from 2 to 4096"),
        (tree9, {"capacity": np.ones(3)}, r"shape \(3,\): it must be \(24,\)"),
        (
            crossing_shares,
            {"topology": leaf_spine(num_leaves=1, num_spines=1, hosts_per_leaf=1)},
            "leaf-spine has one host",
        ),
        (mine, {"capacity": np.array([1.0, 0.0])}, r"mine: capacity is 0.0: .* finite and > 0 B/s \(link 1\)"),
        (mine, {"delay": np.array([0.0, -1.0])}, r"mine: delay is -1.0: .* >= 0 s, at most 1e300 \(link 1\)"),
        (mine, {"link_names": ("there",)}, "mine: link_names has 1 entries: there are 2 links"),
        (mine, {"path_start": np.array([0, 2, 2])}, "mine: path_start must rise from 0 to 2, by at least 1"),
        (mine, {"path_links": np.array([0, 2])}, "mine: path_links must name links from 0 to 1"),
        (mine, {"pair_start": np.array([0, 1, 0, 2, 2])}, "mine: pair_start must rise from 0 to 2, by at least 0"),
        (mine, {"pair_start": None}, "mine: paths of 2 pairs of hosts are listed: there are 4"),
        (Routing, {"kind": 1}, "routing kind is 1: it must be one of ECMP, LEAST_LOADED, CONGA, MEMR"),
        (make_routing, {"name": "ospf"}, "routing is 'ospf': it must be one of ecmp, least-loaded, conga, memr, memr-"),
        (
            make_routing,
            {"name": "memr", "flowlet_gap": 1.0},
            "routing memr has no parameter 'flowlet_gap'.* none",
        ),
        (make_routing, {"name": "conga", "gap": 1.0}, "routing conga has no parameter 'gap': it takes flowlet_gap"),
        (
            make_routing,
            {"name": "conga", "flowlet_gap": math.nan},
            "flowlet_gap is nan: .* finite number > 0 s",
        ),
        (make_routing, {"name": "conga", "flowlet_gap": "1"}, "flowlet_gap is '1': .* finite number > 0 s"),
        (machine_mix, {"num_hosts": 0, "seed": 1}, "num_hosts is 0: it must be an integer from 1 to 4096"),
        (machine_mix, {"num_hosts": 3, "seed": -1}, "seed is -1"),
    ],
)
def test_what_is_not_allowed_is_refused_by_name_and_value(
    build: Callable[..., object], arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        build(**arguments)
