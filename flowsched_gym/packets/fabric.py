"""The leaf-spine of QCluster's simulations (section 6.3): ports with queues, and links between them."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray, is_whole
from flowsched_gym.core.errors import ConfigError, shown

NUM_HOSTS: Final = 144
HOSTS_PER_LEAF: Final = 16
NUM_SPINES: Final = 4
MOST_LEAVES: Final = 64
HOST_CAPACITY: Final = 1.25e9
"""Capacity of a host's link in B/s: 10 Gbps."""
UPLINK_FACTOR: Final = 4.0
"""Capacity of a link between leaf and spine, over that of a host's: 40 Gbps."""
HOST_DELAY: Final = 2e-5
LINK_DELAY: Final = 1e-7
"""Delays in s that make the paper's round trip of 40.8 us: two of hosts, and eight of links."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketFabric:
    """Leaves of 16 hosts, each leaf joined to each of 4 spines.

    Ports are numbered so: of each host to its leaf, of each leaf to each spine, of each spine to each leaf, and of the
    leaves to each host.

    Attributes:
        num_hosts: Hosts, a multiple of 16, from 32 to 1,024.
        capacity: Capacity of a host's link in B/s, each way; links of spines have four times that.

    Raises:
        ConfigError: ``num_hosts`` is not allowed.
    """

    num_hosts: int
    capacity: float

    def __post_init__(self) -> None:
        number = self.num_hosts
        if not is_whole(number) or number % HOSTS_PER_LEAF or not 2 <= number // HOSTS_PER_LEAF <= MOST_LEAVES:
            raise ConfigError(
                f"num_hosts is {shown(number)}: leaf-spine in packets has 2 to {MOST_LEAVES} leaves of"
                f" {HOSTS_PER_LEAF} hosts"
            )
        object.__setattr__(self, "num_hosts", int(number))

    @property
    def num_leaves(self) -> int:
        """Number of leaves."""
        return self.num_hosts // HOSTS_PER_LEAF

    @property
    def port_capacity(self) -> FloatArray:
        """Capacity of each port in B/s, (num_ports,)."""
        hosts = np.full(self.num_hosts, self.capacity)
        return np.concatenate([hosts, np.full(2 * self.num_leaves * NUM_SPINES, UPLINK_FACTOR * self.capacity), hosts])

    def crosses(self, source: IntArray, destination: IntArray) -> BoolArray:
        """Returns which flows cross a spine, (num_flows,)."""
        across: BoolArray = source // HOSTS_PER_LEAF != destination // HOSTS_PER_LEAF
        return across

    def ideal_fct(self, wire: FloatArray, first: FloatArray, across: BoolArray, delay: float) -> FloatArray:
        """Returns the completion times in s of flows alone whose window never makes them wait, (num_flows,).

        The host's leaf begins to send when the first packet is there, and then sends all of them.

        Args:
            wire: Bytes of each flow on the wire.
            first: Bytes on the wire of its first packet.
            across: Whether it crosses a spine.
            delay: Delay of a host in s.
        """
        passed = np.where(across, 1.0 + 2.0 / UPLINK_FACTOR, 1.0)
        links = np.where(across, 4.0, 2.0) * LINK_DELAY
        ideal: FloatArray = (wire + passed * first) / self.capacity + links + delay
        return ideal
