"""Makes topologies by name."""

import math
from typing import Any, Final

from flowsched_gym.core.checks import check_between, check_choice, check_integer
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.topology.fabrics import (
    HOSTS_PER_RACK,
    MOST_ARITY,
    MOST_FABRIC_HOSTS,
    MOST_SWITCH_HOSTS,
    RACKS,
    big_switch,
    fat_tree,
    leaf_spine,
    multi_plane,
    one_link,
    tree9,
)
from flowsched_gym.topology.topology import DEFAULT_CAPACITY, Topology

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

MOST_HOSTS: Final = {
    "big-switch": MOST_SWITCH_HOSTS,
    "leaf-spine": MOST_FABRIC_HOSTS,
    "fat-tree": MOST_ARITY * MOST_ARITY * MOST_ARITY // 4,
    "multi-plane": MOST_FABRIC_HOSTS,
}
"""Hosts of each topology at most; ``one-link`` has room for any number, and ``tree9`` says itself how many it has."""


def make_topology(name: str, *, num_hosts: int, capacity: float | None = None, delay: float = 0.0) -> Topology:
    """Builds a topology by name.

    Args:
        name: One of ``TOPOLOGIES``.
        num_hosts: Hosts that it must have at least; ``one-link`` has room for any, ``tree9`` for nine.
        capacity: Capacity of every link in B/s; ``None`` for 1 Gbps.
        delay: Propagation delay of every link in s.

    Raises:
        ConfigError: The name is unknown, or a value is out of its range.
    """
    check_choice("topology", name, TOPOLOGIES)
    if name in MOST_HOSTS:
        num_hosts = check_between(f"topology {name}: num_hosts", num_hosts, 1, MOST_HOSTS[name])
    else:
        num_hosts = check_integer(f"topology {name}: num_hosts", num_hosts, at_least=1, below=math.inf)
    links: dict[str, Any] = {"capacity": DEFAULT_CAPACITY if capacity is None else capacity, "delay": delay}
    if name == "one-link":
        return one_link(**links)
    if name == "big-switch":
        return big_switch(num_hosts=num_hosts, **links)
    if name == "multi-plane":
        return multi_plane(num_hosts=num_hosts, **links)
    if name == "tree9":
        if num_hosts > RACKS * HOSTS_PER_RACK:
            raise ConfigError(f"topology tree9: num_hosts is {shown(num_hosts)}: it has {RACKS * HOSTS_PER_RACK}")
        return tree9(**links)
    if name == "leaf-spine":
        hosts = min(HOSTS_PER_LEAF, num_hosts)
        return leaf_spine(num_leaves=-(-num_hosts // hosts), num_spines=NUM_SPINES, hosts_per_leaf=hosts, **links)
    arity = SMALLEST_ARITY
    while arity * arity * arity // 4 < num_hosts:
        arity += 2
    return fat_tree(arity=arity, **links)
