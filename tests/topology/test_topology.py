"""Holds topologies to paths, delays, capacities and shares of traffic, and routings and machine mixes to names."""

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


def links_between(topology: Topology, source: int, destination: int) -> list[str]:
    """Returns the names of the links on a path."""
    path = topology.path_of(np.array([source]), np.array([destination]))[0]
    links = topology.path_links[topology.path_start[path] : topology.path_start[path + 1]]
    return [topology.link_names[link] for link in links]


def test_the_switch_joins_each_pair_of_hosts_by_an_uplink_and_a_downlink() -> None:
    switch = big_switch(num_hosts=3)
    assert switch.num_links == 6
    for source in range(3):
        for destination in range(3):
            assert links_between(switch, source, destination) == [f"host {source} up", f"host {destination} down"]


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


def test_a_capacity_or_delay_that_no_link_has_is_refused() -> None:
    for value in (-1.0, float("nan"), float("inf")):
        with pytest.raises(
            ConfigError, match=rf"topology one-link: capacity is {value}: it must be finite and > 0 B/s"
        ):
            one_link(capacity=value)
        with pytest.raises(ConfigError, match=rf"topology big-switch: delay is {value}: it must be finite and >= 0 s"):
            big_switch(num_hosts=2, delay=value)


def test_a_number_of_hosts_is_a_whole_number_above_0_for_every_topology() -> None:
    for name in TOPOLOGIES:
        for num_hosts in ("3", 2.5, True, None, 0, -1):
            with pytest.raises(ConfigError, match=f"topology {name}: num_hosts is .*: it must be an integer"):
                make_topology(name, num_hosts=num_hosts)
    with pytest.raises(ConfigError, match="topology big-switch: num_hosts is 1: it must be an integer from 2 to 4096"):
        make_topology("big-switch", num_hosts=1)
    with pytest.raises(ConfigError, match="topology is 'torus': it must be one of one-link, big-switch"):
        make_topology("torus", num_hosts=4)
    with pytest.raises(WorkloadError, match="destination is 5 in row 1: topology big-switch has the hosts 0 to 1"):
        big_switch(num_hosts=2).path_of(np.array([0, 1]), np.array([1, 5]))
    with pytest.raises(ConfigError, match="topology leaf-spine has one host: flows need at least two"):
        crossing_shares(leaf_spine(num_leaves=1, num_spines=1, hosts_per_leaf=1))


def test_the_ideal_path_is_the_widest_then_the_shortest_then_the_first() -> None:
    def fabric(capacity: list[float], delay: list[float]) -> Topology:
        """Builds two leaves of one host each and three spines; these are the values of the links up to the spines."""
        rest = [9.0] * 4, [1.0] * 4
        return leaf_spine(
            num_leaves=2,
            num_spines=3,
            hosts_per_leaf=1,
            capacity=np.array([*rest[0], *capacity, *[9.0] * 9]),
            delay=np.array([*rest[1], *delay, *[1.0] * 9]),
        )

    there, back = np.array([0, 0, 1]), np.array([1, 1, 0])
    first = fabric([9.0] * 3, [1.0] * 3).ideal_path(there, back)
    for best, (capacity, delay) in enumerate(
        [([9.0, 5.0, 9.0], [1.0, 1.0, 1.0]), ([5.0, 9.0, 9.0], [1.0, 1.0, 2.0]), ([5.0, 5.0, 9.0], [1.0, 1.0, 9.0])]
    ):
        assert (fabric(capacity, delay).ideal_path(there, back) - first).tolist() == [best, best, 0]


def test_slowdowns_are_measured_against_the_ideal_path_on_both_engines() -> None:
    wide_spine = leaf_spine(num_leaves=2, num_spines=2, hosts_per_leaf=1, capacity=np.array([4.0] * 4 + [1.0, 4.0] * 4))
    flows = make_flows(np.arange(20) * 100.0, [8.0] * 20, source=[0] * 20, destination=[1] * 20)
    for engine in ("simpy", "compiled"):
        slowdown = replay(flows, discipline="ps", topology=wide_spine, engine=engine).slowdown
        assert set(slowdown.tolist()) == {1.0, 4.0}


def tables(**changes: object) -> dict[str, Any]:
    """Returns the tables of two hosts with a link each way, and nothing from a host to itself."""
    return {
        "name": "mine",
        "num_hosts": 2,
        "capacity": np.array([1.0, 2.0]),
        "delay": np.zeros(2),
        "link_names": ("there", "back"),
        "path_start": np.array([0, 1, 2]),
        "path_links": np.array([0, 1]),
        "pair_start": np.array([0, 0, 1, 2, 2]),
    } | changes


def test_a_topology_of_ones_own_carries_flows() -> None:
    mine = Topology(**tables())
    flows = make_flows([0.0, 0.0], [6.0, 6.0], source=[0, 1], destination=[1, 0])

    assert replay(flows, discipline="ps", topology=mine).fct.tolist() == [6.0, 3.0]
    with pytest.raises(WorkloadError, match="row 1 goes from host 0 to host 1: topology mine has no path between them"):
        Topology(
            **tables(path_start=np.array([0, 1]), path_links=np.array([1]), pair_start=np.array([0, 0, 0, 1, 1]))
        ).path_of(np.array([1, 0]), np.array([0, 1]))


def test_tables_that_do_not_fit_are_refused() -> None:
    for changes, message in (
        ({"capacity": np.array([1.0, 0.0])}, r"capacity is 0.0: it must be finite and > 0 B/s \(link 1\)"),
        ({"delay": np.array([0.0, -1.0])}, r"delay is -1.0: it must be finite and >= 0 s, at most 1e300 \(link 1\)"),
        ({"link_names": ("there",)}, "link_names has 1 entries: there are 2 links"),
        ({"path_start": np.array([0, 2, 2])}, "path_start must rise from 0 to 2, by at least 1"),
        ({"path_links": np.array([0, 2])}, "path_links must name links from 0 to 1"),
        ({"pair_start": np.array([0, 1, 0, 2, 2])}, "pair_start must rise from 0 to 2, by at least 0"),
        ({"pair_start": None}, "paths of 2 pairs of hosts are listed: there are 4"),
    ):
        with pytest.raises(ConfigError, match=f"topology mine: {message}"):
            Topology(**tables(**changes))


def test_every_kind_has_one_name_and_a_flowlet_ends_after_500_us_unless_said() -> None:
    assert [make_routing(name).kind for name in ROUTINGS] == list(RoutingKind)
    assert make_routing("conga").flowlet_gap == pytest.approx(500e-6)
    assert make_routing("conga", flowlet_gap=np.float64(0.1)) == Routing(RoutingKind.CONGA, flowlet_gap=0.1)
    with pytest.raises(ConfigError, match="routing kind is 1: it must be one of ECMP, LEAST_LOADED, CONGA, MEMR"):
        Routing(1)


def test_a_wrong_name_or_parameter_is_refused_with_what_is_allowed() -> None:
    for name, parameters, message in (
        ("ospf", {}, "routing is 'ospf': it must be one of ecmp, least-loaded, conga, memr, memr-hop-by-hop"),
        ("memr", {"flowlet_gap": 1.0}, "routing memr has no parameter 'flowlet_gap': it takes none"),
        ("conga", {"gap": 1.0}, "routing conga has no parameter 'gap': it takes flowlet_gap"),
        ("conga", {"flowlet_gap": float("nan")}, "flowlet_gap is nan: it must be a finite number > 0 s"),
        ("conga", {"flowlet_gap": "1"}, "flowlet_gap is '1': it must be a finite number > 0 s"),
    ):
        with pytest.raises(ConfigError, match=message):
            make_routing(name, **parameters)


def test_machines_are_as_frequent_as_in_the_trace_and_more_hosts_leave_the_first_as_they_are() -> None:
    cpus = machine_mix(4000, seed=3)
    for share, machines in ((0.25, 126), (0.5, 11_648), (1.0, 795)):
        # Four standard deviations of a share of 6 % among 4,000 are 1.5 %.
        assert (cpus == share).mean() == pytest.approx(machines / 12_569, abs=0.015)
    assert np.isin(cpus, (0.25, 0.5, 1.0)).all()
    assert machine_mix(9, seed=3).tolist() == cpus[:9].tolist()
    assert machine_mix(4000, seed=4).tolist() != cpus.tolist()


def test_a_wrong_number_of_hosts_or_seed_is_refused() -> None:
    with pytest.raises(ConfigError, match="num_hosts is 0: it must be an integer from 1 to 4096"):
        machine_mix(0, seed=1)
    with pytest.raises(ConfigError, match="seed is -1"):
        machine_mix(3, seed=-1)


EVERY_NETWORK = [
    big_switch(num_hosts=5),
    tree9(),
    fat_tree(arity=4),
    leaf_spine(num_leaves=3, num_spines=2, hosts_per_leaf=4),
    multi_plane(num_hosts=4),
]


def counted(topology: Topology) -> list[Fraction]:
    """Adds up, path by path, how often each link is crossed."""
    hosts = range(topology.num_hosts)
    pairs = [(source, destination) for source in hosts for destination in hosts if source != destination]
    shares = [Fraction(0)] * topology.num_links
    for source, destination in pairs:
        pair = source * topology.num_hosts + destination
        first, last = (pair, pair + 1) if topology.pair_start is None else topology.pair_start[pair : pair + 2]
        for path in range(first, last):
            for link in topology.path_links[topology.path_start[path] : topology.path_start[path + 1]]:
                shares[link] += Fraction(1, len(pairs) * int(last - first))
    return shares


@pytest.mark.parametrize("topology", EVERY_NETWORK, ids=lambda topology: topology.name)
def test_shares_are_those_that_a_count_of_all_paths_gives(topology: Topology) -> None:
    expected = [float(share) for share in counted(topology)]
    # Sums of up to a thousand rounded terms.
    assert crossing_shares(topology).tolist() == pytest.approx(expected, rel=1e-12)
