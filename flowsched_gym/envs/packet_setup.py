"""A port of packets as an environment, for both engines."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from flowsched_gym.core.periods import Period
from flowsched_gym.envs.drawing import Scene
from flowsched_gym.envs.episode import EpisodeSetup
from flowsched_gym.flows.fields import Fields
from flowsched_gym.packets.compiled import CompiledPackets, PacketNetworks
from flowsched_gym.packets.schedulers import PacketSetup
from flowsched_gym.packets.simpy import PacketSimulation
from flowsched_gym.topology import Topology
from flowsched_gym.workload import Workload

BYTES_OF_ROW: Final = 300
"""Memory that a flow of the fluid takes."""
PACKETS_OF_ROW: Final = 6
"""Packets that take as much: some 50 B each."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PortsSetup(EpisodeSetup):
    """A port, the senders into it, and when its agent acts.

    Attributes:
        topology: The port as a network: one link that all flows share.
        port: The port and its senders.
        period: When a period ends: after so many s.
    """

    topology: Topology
    port: PacketSetup
    period: Period
    num_tokens: None = None
    episode_fields: Fields = ()
    flow_fields: Fields = ()

    def check(self, workload: Workload) -> None:
        """Checks that the packets of the flows are not too many and can be delivered, and that links stay up."""
        self.check_links(workload)
        self.port.network(workload)

    def room(self, workload: Workload) -> tuple[int, str]:
        """Returns how much memory an episode takes, in that of a flow of the fluid, and what takes it, in words."""
        num_packets = int(np.ceil(workload.size / self.port.parameters.payload).sum())
        sketch = self.port.scheduler.sketch_bytes
        rows = num_packets // PACKETS_OF_ROW + workload.num_flows + sketch // BYTES_OF_ROW
        return rows, f"{num_packets} packets, a sketch of {sketch} B"

    def simulate(self, workload: Workload) -> PacketSimulation:
        """Begins an episode on SimPy."""
        self.check_links(workload)
        return PacketSimulation(workload, self.port, self.period)

    def new_batch(self, num_networks: int, workload: Workload, num_threads: int = 1) -> PacketNetworks:
        """Makes compiled networks."""
        assert self.period.seconds is not None
        return PacketNetworks(
            num_networks,
            self.port,
            seconds=self.period.seconds,
            flow_fields=self.flow_fields,
            episode_fields=self.episode_fields,
            num_threads=num_threads,
        )

    def load(self, batch: PacketNetworks, workload: Workload) -> CompiledPackets:
        """Begins an episode in the only network of a batch."""
        self.check_links(workload)
        return CompiledPackets(batch, workload)

    def scene(self, simulation: PacketSimulation | CompiledPackets) -> Scene:
        """Looks at an episode, for pictures; the bytes that flows have left are those of full packets."""
        records, count = simulation.records(), simulation.workload.num_flows
        delivered = simulation.delivery_order[: simulation.num_delivered]
        remaining = np.minimum(simulation.packets_left * self.port.parameters.payload, records.size)
        arrived = records.arrival_time <= simulation.now
        return Scene(
            now=simulation.now,
            records=records,
            delivered=delivered,
            active=np.flatnonzero(arrived & (remaining > 0.0)),
            remaining=remaining,
            volume=records.size,
            rate=np.zeros(count),
            path=np.zeros(count, dtype=np.int64),
            network=self.topology.network,
            link_names=self.topology.link_names,
            num_hosts=0,
        )
