"""Holds topologies to their paths, delays and capacities."""

from typing import Any

import numpy as np
import pytest

from flowsched_gym import replay
from flowsched_gym.core.errors import ConfigError, WorkloadError
from flowsched_gym.topology import TOPOLOGIES, Topology, big_switch, leaf_spine, make_topology, one_link
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


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_a_capacity_or_delay_that_no_link_has_is_refused(value: float) -> None:
    with pytest.raises(ConfigError, match=rf"topology one-link: capacity is {value}: it must be finite and > 0 B/s"):
        one_link(capacity=value)
    with pytest.raises(ConfigError, match=rf"topology big-switch: delay is {value}: it must be finite and >= 0 s"):
        big_switch(num_hosts=2, delay=value)


def test_a_switch_needs_two_hosts_and_a_topology_a_name_that_exists() -> None:
    with pytest.raises(ConfigError, match="topology big-switch: num_hosts is 1: it must be an integer from 2 to 4096"):
        make_topology("big-switch", num_hosts=1)
    with pytest.raises(ConfigError, match="topology is 'torus': it must be one of one-link, big-switch"):
        make_topology("torus", num_hosts=4)


def test_a_host_outside_the_topology_is_refused() -> None:
    switch = big_switch(num_hosts=2)
    with pytest.raises(WorkloadError, match="destination is 5 in row 1: topology big-switch has the hosts 0 to 1"):
        switch.path_of(np.array([0, 1]), np.array([1, 5]))


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_a_number_of_hosts_is_a_whole_number_above_0_for_every_topology(name: str) -> None:
    for num_hosts in ("3", 2.5, True, None, 0, -1):
        with pytest.raises(ConfigError, match=f"topology {name}: num_hosts is .*: it must be an integer"):
            make_topology(name, num_hosts=num_hosts)


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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"capacity": np.array([1.0, 0.0])}, r"capacity is 0.0: it must be finite and > 0 B/s \(link 1\)"),
        ({"delay": np.array([0.0, -1.0])}, r"delay is -1.0: it must be finite and >= 0 s, at most 1e300 \(link 1\)"),
        ({"link_names": ("there",)}, "link_names has 1 entries: there are 2 links"),
        ({"path_start": np.array([0, 2, 2])}, "path_start must rise from 0 to 2, by at least 1"),
        ({"path_links": np.array([0, 2])}, "path_links must name links from 0 to 1"),
        ({"pair_start": np.array([0, 1, 0, 2, 2])}, "pair_start must rise from 0 to 2, by at least 0"),
        ({"pair_start": None}, "paths of 2 pairs of hosts are listed: there are 4"),
    ],
)
def test_tables_that_do_not_fit_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=f"topology mine: {message}"):
        Topology(**tables(**changes))
