"""Builds the networks of the papers: one link, a big switch or several, a tree of racks, leaf and spine, a fat-tree.

Links are directed and numbered tier by tier: the uplinks of all hosts, their downlinks, then the next tier's uplinks
and downlinks, and so on. Every link has the same capacity in B/s, each way, and propagation delay in s, unless an array
of one value per link is given. Counts that are too small or too large, capacities and delays that are not allowed are a
``ConfigError``.
"""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.checks import check_between, check_choice, check_integer
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.topology.own import TopologyLike, is_own_network, read_network
from flowsched_gym.topology.shortest import MOST_HOSTS, Pairs, check_paths, path_table
from flowsched_gym.topology.topology import DEFAULT_CAPACITY, Topology

PerLink = float | FloatArray

MOST_SWITCH_HOSTS: Final = MOST_HOSTS
"""Hosts of a big switch; its path table, of one row for each pair, then takes 0.4 GB."""
MOST_PLANES: Final = 64
MOST_ARITY: Final = 24
"""Ports of a switch of a fat-tree, which then has 3,456 hosts."""
MOST_ARITY_OF_ALL: Final = 12
"""The same where the paths of all pairs of hosts are needed: 432 hosts."""
RACKS: Final = 3
HOSTS_PER_RACK: Final = 3
TOPOLOGIES: Final = {
    "one-link": "one link that all flows share",
    "big-switch": "a non-blocking switch, one full-duplex link per host",
    "tree9": "three racks of three hosts under one core switch (MERP, section 6.1)",
    "leaf-spine": "leaves of up to 16 hosts, joined by 4 spines",
    "fat-tree": "the smallest k-ary fat-tree that holds the hosts: 16, 54, 128, ...",
    "multi-plane": "three non-blocking switches, each host with a full-duplex link to every one (AuTO, section 6)",
}
"""Names of the topologies and what they are."""
HOSTS_PER_LEAF: Final = 16
NUM_SPINES: Final = 4
SMALLEST_ARITY: Final = 4
MOST_HOSTS_OF: Final = {
    "big-switch": MOST_SWITCH_HOSTS,
    "leaf-spine": MOST_HOSTS,
    "fat-tree": MOST_ARITY * MOST_ARITY * MOST_ARITY // 4,
    "multi-plane": MOST_HOSTS,
}
"""Hosts of each topology at most; ``one-link`` has room for any number, and ``tree9`` says itself how many it has."""


def make_topology(
    name: TopologyLike,
    *,
    num_hosts: int,
    capacity: float | None = None,
    delay: float = 0.0,
    pairs: Pairs | None = None,
) -> Topology:
    """Builds a topology by name, or the network of a file, graph or mapping (``topology.own``).

    Args:
        name: One of ``TOPOLOGIES``, path of a network file (``.graphml``, ``.yaml``, ``.txt``), a graph of networkx,
            or a mapping.
        num_hosts: Hosts that it must have at least; ``one-link`` has room for any, ``tree9`` for nine.
        capacity: Capacity of every link in B/s, of a file's links those that give none; ``None`` for 1 Gbps.
        delay: Propagation delay of every link in s, of a file's links those that give none.
        pairs: Sources and destinations of the flows that it is for, (num_flows,) int64 each: only these pairs then
            have paths, so that large networks have room. ``None``: all pairs.

    Raises:
        ConfigError: There is no such topology, or something of it is not allowed.
        MissingDependencyError: What reads the file is not installed.
    """
    if is_own_network(name):
        own, usual = read_network(name), DEFAULT_CAPACITY if capacity is None else capacity
        if len(own.hosts) < num_hosts:
            raise ConfigError(f"network {own.name} has {len(own.hosts)} hosts: {shown(num_hosts)} are needed")
        return own.topology(capacity=usual, delay=delay, pairs=pairs)
    check_choice("topology", name, TOPOLOGIES)
    if name in MOST_HOSTS_OF:
        num_hosts = check_between(f"topology {name}: num_hosts", num_hosts, 1, MOST_HOSTS_OF[name])
    else:
        num_hosts = check_integer(f"topology {name}: num_hosts", num_hosts, at_least=1, below=math.inf)
    links: dict[str, Any] = {"capacity": DEFAULT_CAPACITY if capacity is None else capacity, "delay": delay}
    if name == "one-link":
        return one_link(**links)
    if name == "big-switch":
        return big_switch(num_hosts=num_hosts, **links)
    if name == "multi-plane":
        return multi_plane(num_hosts=num_hosts, pairs=pairs, **links)
    if name == "tree9":
        if num_hosts > RACKS * HOSTS_PER_RACK:
            raise ConfigError(f"topology tree9: num_hosts is {shown(num_hosts)}: it has {RACKS * HOSTS_PER_RACK}")
        return tree9(**links)
    if name == "leaf-spine":
        hosts = min(HOSTS_PER_LEAF, num_hosts)
        return leaf_spine(
            num_leaves=-(-num_hosts // hosts), num_spines=NUM_SPINES, hosts_per_leaf=hosts, pairs=pairs, **links
        )
    arity = SMALLEST_ARITY
    while arity * arity * arity // 4 < num_hosts:
        arity += 2
    return fat_tree(arity=arity, pairs=pairs, **links)


def one_link(*, capacity: PerLink = DEFAULT_CAPACITY, delay: PerLink = 0.0) -> Topology:
    """Builds a single link that all flows share, whatever their hosts."""
    return Topology(
        name="one-link",
        num_hosts=0,
        capacity=_per_link(capacity, 1),
        delay=_per_link(delay, 1),
        link_names=("link",),
        path_start=np.array([0, 1]),
        path_links=np.array([0]),
    )


def big_switch(*, num_hosts: int, capacity: PerLink = DEFAULT_CAPACITY, delay: PerLink = 0.0) -> Topology:
    """Builds a non-blocking switch with one full-duplex link per host: uplinks 0 to H - 1, downlinks H to 2 H - 1.

    It has H >= 2 hosts.
    """
    num_hosts = check_between("topology big-switch: num_hosts", num_hosts, 2, MOST_SWITCH_HOSTS)
    pairs = np.arange(num_hosts * num_hosts)
    return Topology(
        name="big-switch",
        num_hosts=num_hosts,
        capacity=_per_link(capacity, 2 * num_hosts),
        delay=_per_link(delay, 2 * num_hosts),
        link_names=_host_links(num_hosts),
        path_start=np.arange(0, 2 * num_hosts * num_hosts + 1, 2),
        path_links=np.stack([pairs // num_hosts, num_hosts + pairs % num_hosts], axis=1).ravel(),
    )


def multi_plane(
    *,
    num_hosts: int,
    num_planes: int = 3,
    capacity: PerLink = DEFAULT_CAPACITY,
    delay: PerLink = 0.0,
    pairs: Pairs | None = None,
) -> Topology:
    """Builds several non-blocking switches, the planes, each host with one full-duplex link to every one of them.

    AuTO's servers are joined by three (section 6), which makes three disjoint paths between any two: path p of a pair
    is that through plane p. The links of plane p are those of a big switch, numbered from ``2 * num_hosts * p``. There
    are at least two hosts and one plane.
    """
    num_hosts = check_between("topology multi-plane: num_hosts", num_hosts, 2, MOST_HOSTS)
    num_planes = check_between("topology multi-plane: num_planes", num_planes, 1, MOST_PLANES)

    def paths(source: int, destination: int) -> list[list[int]]:
        first_links = range(0, 2 * num_hosts * num_planes, 2 * num_hosts)
        return [[first + source, first + num_hosts + destination] for first in first_links]

    names = [f"{link} plane {plane}" for plane in range(num_planes) for link in _host_links(num_hosts)]
    return _build("multi-plane", num_hosts, tuple(names), paths, capacity, delay, pairs, num_planes)


def tree9(*, capacity: PerLink = DEFAULT_CAPACITY, delay: PerLink = 0.0) -> Topology:
    """Builds three racks of three hosts under one core switch (MERP, section 6.1), hosts numbered by rack.

    With equal links a rack's uplink carries 2.25 times what a host's link does under uniform traffic.
    """
    hosts = RACKS * HOSTS_PER_RACK

    def paths(source: int, destination: int) -> list[list[int]]:
        racks = source // HOSTS_PER_RACK, destination // HOSTS_PER_RACK
        if racks[0] == racks[1]:
            return [[source, hosts + destination]]
        return [[source, 2 * hosts + racks[0], 2 * hosts + RACKS + racks[1], hosts + destination]]

    names = (*(f"rack {r} up" for r in range(RACKS)), *(f"rack {r} down" for r in range(RACKS)))
    return _build("tree9", hosts, (*_host_links(hosts), *names), paths, capacity, delay)


def leaf_spine(
    *,
    num_leaves: int,
    num_spines: int,
    hosts_per_leaf: int,
    capacity: PerLink = DEFAULT_CAPACITY,
    delay: PerLink = 0.0,
    pairs: Pairs | None = None,
) -> Topology:
    """Builds leaves of hosts, each leaf joined to every spine; a path for each spine between hosts of two leaves.

    Hosts are numbered leaf by leaf. There is at least one of each.
    """
    num_leaves, num_spines, hosts_per_leaf = (
        check_between(f"topology leaf-spine: {name}", value, 1, MOST_HOSTS)
        for name, value in (("num_leaves", num_leaves), ("num_spines", num_spines), ("hosts_per_leaf", hosts_per_leaf))
    )
    hosts = num_leaves * hosts_per_leaf
    check_between("topology leaf-spine: the number of hosts", hosts, 1, MOST_HOSTS)
    up, down = 2 * hosts, 2 * hosts + num_leaves * num_spines

    def paths(source: int, destination: int) -> list[list[int]]:
        first, last = source // hosts_per_leaf, destination // hosts_per_leaf
        if first == last:
            return [[source, hosts + destination]]
        return [
            [source, up + first * num_spines + spine, down + last * num_spines + spine, hosts + destination]
            for spine in range(num_spines)
        ]

    names = [
        f"leaf {leaf} spine {spine} {way}"
        for way in ("up", "down")
        for leaf in range(num_leaves)
        for spine in range(num_spines)
    ]
    return _build("leaf-spine", hosts, (*_host_links(hosts), *names), paths, capacity, delay, pairs, num_spines)


def fat_tree(
    *, arity: int = 4, capacity: PerLink = DEFAULT_CAPACITY, delay: PerLink = 0.0, pairs: Pairs | None = None
) -> Topology:
    """Builds a k-ary fat-tree of k**3 / 4 hosts (Al-Fares et al., SIGCOMM 2008); k = 4: 16 hosts, 20 switches.

    The arity k, the ports of a switch, is even and at least 2.
    """
    arity = check_between("topology fat-tree: arity", arity, 2, MOST_ARITY)
    if arity % 2:
        raise ConfigError(f"topology fat-tree: arity is {arity}: it must be even")
    half = arity // 2
    hosts = arity * half * half
    # Each of the four inner tiers (edge up, edge down, aggregation up, aggregation down) has as many links as hosts.
    edge_up, edge_down, core_up, core_down = (tier * hosts for tier in (2, 3, 4, 5))

    def paths(source: int, destination: int) -> list[list[int]]:
        first, last = source // half, destination // half
        pods = first // half, last // half
        if first == last:
            return [[source, hosts + destination]]
        inner: list[list[int]] = []
        for middle in range(half):
            up, down = edge_up + first * half + middle, edge_down + last * half + middle
            if pods[0] == pods[1]:
                inner.append([up, down])
                continue
            switches = pods[0] * half + middle, pods[1] * half + middle
            for core in range(half):
                inner.append([up, core_up + switches[0] * half + core, core_down + switches[1] * half + core, down])
        return [[source, *between, hosts + destination] for between in inner]

    names = [
        f"{tier} {switch} port {port} {way}"
        for tier in ("edge", "aggregation")
        for way in ("up", "down")
        for switch in range(arity * half)
        for port in range(half)
    ]
    return _build("fat-tree", hosts, (*_host_links(hosts), *names), paths, capacity, delay, pairs, half * half)


def _build(
    name: str,
    num_hosts: int,
    link_names: tuple[str, ...],
    paths: Callable[[int, int], list[list[int]]],
    capacity: PerLink,
    delay: PerLink,
    pairs: Pairs | None = None,
    most_paths: int = 1,
) -> Topology:
    """Builds a topology of paths by source and destination, at most so many for each pair."""
    check_paths(name, num_hosts * num_hosts * most_paths if pairs is None else 0, pairs)
    table = path_table(name, num_hosts, paths, pairs)
    return Topology(
        name=name,
        num_hosts=num_hosts,
        capacity=_per_link(capacity, len(link_names)),
        delay=_per_link(delay, len(link_names)),
        link_names=link_names,
        path_start=table[0],
        path_links=table[1],
        pair_start=table[2],
    )


def _host_links(num_hosts: int) -> tuple[str, ...]:
    return (*(f"host {h} up" for h in range(num_hosts)), *(f"host {h} down" for h in range(num_hosts)))


def _per_link(value: PerLink, num_links: int) -> FloatArray:
    if np.shape(value) not in ((), (num_links,)):
        raise ConfigError(f"an array of link values has shape {np.shape(value)}: it must be ({num_links},)")
    return np.full(num_links, value, dtype=np.float64)
