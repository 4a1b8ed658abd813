"""A port of packets as an environment, for both engines, and what an agent that acts once per period sees of it."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.periods import Period
from flowsched_gym.envs.drawing import Scene
from flowsched_gym.envs.episode import EpisodeSetup
from flowsched_gym.envs.views import FLOW_FIELDS, EpisodeView
from flowsched_gym.flows.fields import Fields
from flowsched_gym.packets.compiled import CompiledPackets, PacketNetworks
from flowsched_gym.packets.rules.queues import QueueCounts
from flowsched_gym.packets.schedulers import PacketSetup
from flowsched_gym.packets.simpy import PacketSimulation
from flowsched_gym.topology import Topology
from flowsched_gym.workload import Workload

BYTES_OF_ROW: Final = 300
"""Memory that a flow of the fluid takes."""
PACKETS_OF_ROW: Final = 6
"""Packets that take as much: some 50 B each."""


@dataclass(kw_only=True, eq=False)
class PortView(EpisodeView):
    """Shows a port that waits for an action, or whose flows have all been acknowledged.

    A flow counts as delivered when its sender knows: when its last packet has been acknowledged. See ``EpisodeView``
    for the attributes not named here.

    Attributes:
        capacity: Capacity of the port in B/s.
        record: What the scheduler keeps, which may be written.
        counts: What its queues have had since the last action, of the only port.
    """

    capacity: float
    record: Any
    counts: QueueCounts

    @property
    def deadline_span(self) -> FloatArray:
        """Deadlines in s after the arrival, (num_flows,) float64; inf where there is none."""
        return self.flows["deadline_span"]


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
    episode_fields: Fields = ()
    flow_fields: Fields = (*FLOW_FIELDS, ("size", "f8"), ("deadline_span", "f8"))

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

    def view(
        self, simulation: PacketSimulation, columns: npt.NDArray[Any], *, num_before: int, begun_at: float
    ) -> PortView:
        """Views an episode on SimPy."""
        return self._view(
            columns,
            simulation.workload.arrival_time,
            simulation.completion_time,
            simulation.delivery_order,
            now=simulation.now,
            begun_at=begun_at,
            num_periods=simulation.num_periods,
            num_before=num_before,
            record=simulation.record,
            counts=simulation.counts,
        )

    def view_batch(self, batch: PacketNetworks, number: int) -> PortView:
        """Views one in compiled code."""
        tables, underway, senders = batch.network(number)
        return self._view(
            batch.columns(number),
            underway.arrival_time,
            senders.completion_time,
            senders.order[: batch.num_delivered(number)],
            now=batch.now(number),
            begun_at=batch.episodes["acted_at"].item(number),
            num_periods=batch.num_periods(number),
            num_before=batch.episodes["num_before"].item(number),
            record=tables.record,
            counts=tables.queue_counts,
        )

    def _view(
        self,
        columns: npt.NDArray[Any],
        arrival_time: FloatArray,
        completion_time: FloatArray,
        deliveries: IntArray,
        **values: Any,
    ) -> PortView:
        own = {name: columns[name] for name in columns.dtype.names or ()}
        return PortView(
            num_flows=len(columns),
            flows={"arrival_time": arrival_time, "completion_time": completion_time, **own},
            deliveries=deliveries,
            capacity=self.port.capacity,
            **values,
        )
