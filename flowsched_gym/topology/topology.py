"""Describes a network: hosts, directed links with capacity and delay, and the paths between hosts."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.errors import ConfigError, WorkloadError
from flowsched_gym.model.state import Network
from flowsched_gym.units import gbps_to_capacity

__all__ = ["DEFAULT_CAPACITY", "TOPOLOGIES", "Topology", "big_switch", "make_topology", "one_link"]

DEFAULT_CAPACITY: Final = gbps_to_capacity(1.0)
"""Capacity of a link in B/s where none is given: 1 Gbps."""

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Topology:
    """Lists the links of a network and its paths, one path per ordered pair of hosts. Arrays are not writeable.

    Attributes:
        name: Name in the registry.
        num_hosts: Hosts, numbered from 0; 0 where flows of all hosts share the one link.
        capacity: Capacities in B/s, (num_links,) float64, > 0.
        delay: One-way propagation delays in s, (num_links,) float64, >= 0.
        link_names: What each link is, for pictures and messages.
        path_start: Where each path begins in ``path_links``, (num_paths + 1,) int64.
        path_links: Links of all paths, one after the other, int64.
    """

    name: str
    num_hosts: int
    capacity: FloatArray
    delay: FloatArray
    link_names: tuple[str, ...]
    path_start: IntArray
    path_links: IntArray

    def __post_init__(self) -> None:
        """Checks and locks the arrays."""
        if not (np.isfinite(self.capacity).all() and (self.capacity > 0).all()):
            raise ConfigError(f"topology {self.name}: capacity is {self.capacity.min()}: it must be finite and > 0 B/s")
        if not (np.isfinite(self.delay).all() and (self.delay >= 0).all()):
            raise ConfigError(f"topology {self.name}: delay is {self.delay.min()}: it must be finite and >= 0 s")
        for array in (self.capacity, self.delay, self.path_start, self.path_links):
            array.setflags(write=False)

    @property
    def num_links(self) -> int:
        """Number of directed links."""
        return len(self.capacity)

    @property
    def network(self) -> Network:
        """Links and paths as the rules read them."""
        return Network(capacity=self.capacity, path_start=self.path_start, path_links=self.path_links)

    def path_of(self, source: IntArray, destination: IntArray) -> IntArray:
        """Finds the path of each pair of hosts.

        Args:
            source: Sending hosts, (num_flows,).
            destination: Receiving hosts, (num_flows,).

        Returns:
            Rows of the path table, (num_flows,) int64.

        Raises:
            WorkloadError: A host does not exist.
        """
        if self.num_hosts == 0:
            return np.zeros(len(source), dtype=np.int64)
        for name, hosts in (("source", source), ("destination", destination)):
            if len(hosts) and hosts.max() >= self.num_hosts:
                row = int(np.argmax(hosts))
                raise WorkloadError(
                    f"{name} is {hosts[row]} in row {row}: topology {self.name} has the hosts 0 to {self.num_hosts - 1}"
                )
        return source * self.num_hosts + destination

    def path_delay(self, path: IntArray) -> FloatArray:
        """Adds up the one-way delays along paths, in s, (num_flows,)."""
        total = np.concatenate([[0.0], np.cumsum(self.delay[self.path_links])])
        # A path of equal links has the delay `links * delay` to the last bit only if it is not a difference of sums.
        first, last = self.path_start[path], self.path_start[path + 1]
        along: FloatArray
        along = (last - first) * self.delay[0] if (self.delay == self.delay[0]).all() else total[last] - total[first]
        return along

    def path_capacity(self, path: IntArray) -> FloatArray:
        """Finds the smallest capacity along paths, in B/s, (num_flows,)."""
        used = np.unique(path)
        links = [self.path_links[self.path_start[row] : self.path_start[row + 1]] for row in used]
        smallest = np.array([self.capacity[along].min() for along in links])
        return smallest[np.searchsorted(used, path)] if len(used) else np.zeros(0)


def one_link(*, capacity: float = DEFAULT_CAPACITY, delay: float = 0.0) -> Topology:
    """Builds a single link that all flows share, whatever their hosts."""
    return Topology(
        name="one-link",
        num_hosts=0,
        capacity=np.array([capacity], dtype=np.float64),
        delay=np.array([delay], dtype=np.float64),
        link_names=("link",),
        path_start=np.array([0, 1]),
        path_links=np.array([0]),
    )


def big_switch(*, num_hosts: int, capacity: float = DEFAULT_CAPACITY, delay: float = 0.0) -> Topology:
    """Builds a non-blocking switch with one full-duplex link per host: uplinks 0 to H - 1, downlinks H to 2 H - 1.

    Args:
        num_hosts: Hosts H, >= 2.
        capacity: Capacity of each link and direction in B/s.
        delay: Propagation delay of each link in s.
    """
    if num_hosts < 2:
        raise ConfigError(f"topology big-switch: num_hosts is {num_hosts}: it must be >= 2")
    pairs = np.arange(num_hosts * num_hosts)
    return Topology(
        name="big-switch",
        num_hosts=num_hosts,
        capacity=np.full(2 * num_hosts, capacity, dtype=np.float64),
        delay=np.full(2 * num_hosts, delay, dtype=np.float64),
        link_names=(*(f"host {h} up" for h in range(num_hosts)), *(f"host {h} down" for h in range(num_hosts))),
        path_start=np.arange(0, 2 * num_hosts * num_hosts + 1, 2),
        path_links=np.stack([pairs // num_hosts, num_hosts + pairs % num_hosts], axis=1).ravel(),
    )


TOPOLOGIES: Final = {
    "one-link": "one link that all flows share",
    "big-switch": "a non-blocking switch, one full-duplex link per host",
}
"""Names of the topologies and what they are."""


def make_topology(name: str, *, num_hosts: int, capacity: float | None = None, delay: float = 0.0) -> Topology:
    """Builds a topology by name.

    Args:
        name: One of ``TOPOLOGIES``.
        num_hosts: Hosts, where the topology's size is free.
        capacity: Capacity of every link in B/s; ``None`` for 1 Gbps.
        delay: Propagation delay of every link in s.

    Raises:
        ConfigError: The name is unknown, or a value is out of its range.
    """
    capacity = DEFAULT_CAPACITY if capacity is None else capacity
    if name == "one-link":
        return one_link(capacity=capacity, delay=delay)
    if name == "big-switch":
        return big_switch(num_hosts=num_hosts, capacity=capacity, delay=delay)
    raise ConfigError(f"topology is {name!r}: it must be one of {', '.join(TOPOLOGIES)}")
