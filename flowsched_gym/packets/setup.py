"""What a replay of packets is made of, for both engines: a topology, the scheduler of its ports, and senders."""

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import WorkloadError
from flowsched_gym.flows.hashing import luck_of
from flowsched_gym.flows.records import Records, complete_records
from flowsched_gym.flows.workload import NO_TASK, Workload
from flowsched_gym.packets.contract import PacketTable, Scheduler
from flowsched_gym.packets.network import PacketFlows, PacketNetwork, new_packet_network
from flowsched_gym.packets.parameters import BY_TASK, MessageRule, NetworkParameters, PortParameters
from flowsched_gym.topology import Topology

MOST_PACKETS: Final = 2**31
"""Packets of a replay at most: more fit into no memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketSetup:
    """A network of ports before it has flows.

    Attributes:
        scheduler: The scheduler of each port.
        topology: The links behind the ports.
        parameters: Those of senders, and of ports that count bytes.
        port: Those of ports that count packets, in place of ``buffer`` and ``mark_at``.
        seed: Seed of the hash by which flows choose among equal paths, and of the sketch's hash.
        num_tokens: Flows that a destination lets send at once; ``None`` for no tokens.
    """

    scheduler: Scheduler
    topology: Topology
    parameters: NetworkParameters = field(default_factory=NetworkParameters)
    port: PortParameters | None = None
    seed: int = 0
    num_tokens: int | None = None

    @property
    def capacity(self) -> float:
        """Capacity of the first port in B/s."""
        return float(self.topology.capacity[0])

    def cut(self, flows: Workload) -> PacketFlows:
        """Cuts flows into packets.

        Raises:
            WorkloadError: There are too many packets, or flows have something to wait for before they send.
        """
        if flows.has_stages:
            raise WorkloadError("flows have CPU work, or come after others: flows of packets are sent when they arrive")
        payload, header = float(self.parameters.payload), float(self.parameters.header)
        assert flows.deadline_span is not None
        with np.errstate(over="ignore"):
            due = flows.arrival_time + flows.deadline_span
            counts = np.maximum(np.ceil(flows.size / payload), 1.0)
            wire = flows.size + counts * header
        if not counts.sum() < MOST_PACKETS:
            raise WorkloadError(
                f"the flows have {counts.sum():.3g} packets of {payload:g} B: at most {MOST_PACKETS} are allowed"
            )
        counts -= (counts > 1.0) & (flows.size <= (counts - 1.0) * payload)  # where the quotient was rounded up
        first_packet = np.concatenate([[0], np.cumsum(counts.astype(np.int64))])
        flow = np.repeat(np.arange(len(counts)), np.diff(first_packet))
        size = np.full(len(flow), payload)
        size[first_packet[1:] - 1] = flows.size - (counts - 1) * payload
        size += header
        remaining = np.zeros(0)
        if self.scheduler.needs_remaining:
            remaining = flows.size[flow] - (np.arange(len(flow)) - first_packet[flow]) * payload
        key, key_id = np.arange(len(counts)), flows.flow_id
        if self.parameters.messages == MessageRule.TIME:
            key_id, key = np.unique(flows.source * flows.num_hosts + flows.destination, return_inverse=True)
        elif self.parameters.messages == BY_TASK:
            assert flows.task_id is not None
            alone = flows.task_id.max(initial=0) + 1 + np.arange(len(counts))
            key_id, key = np.unique(np.where(flows.task_id == NO_TASK, alone, flows.task_id), return_inverse=True)
        late = np.zeros(len(counts))
        if self.parameters.start_jitter:
            late = self.parameters.start_jitter * luck_of(flows, self.seed)
        return PacketFlows(
            arrival_time=flows.arrival_time,
            flow_id=flows.flow_id,
            source=flows.source,
            destination=flows.destination,
            first_packet=first_packet,
            table=PacketTable(flow, size, header, remaining, key.reshape(-1), due),
            key_id=key_id,
            size=flows.size,
            wire=wire,
            late=late,
        )

    def network(self, flows: Workload) -> PacketNetwork:
        """Makes a network of ports in which no flow has arrived.

        Raises:
            ConfigError: See ``new_packet_network``.
            WorkloadError: See there and ``cut``; or links fail.
        """
        if flows.link_changes is not None:
            raise WorkloadError("the workload has link changes: the links of packets stay up")
        return self.network_of(self.cut(flows))

    def network_of(self, packets: PacketFlows, *, are_given: bool = False) -> PacketNetwork:
        """Makes it of flows that are cut already, or of packets that are given."""
        limits = None if self.port is None else self.port.limits(self.topology.num_links)
        return new_packet_network(
            packets,
            self.topology,
            self.parameters,
            self.scheduler,
            limits=limits,
            seed=self.seed,
            are_given=are_given,
            num_tokens=self.num_tokens,
        )

    def ideal_fct(self, flows: Workload) -> FloatArray:
        """Returns the completion times in s of flows alone whose window never makes them wait, (num_flows,)."""
        return self.network(flows).ideal_fct()

    def records(self, flows: Workload, grant_time: FloatArray, completion_time: FloatArray) -> Records:
        """Builds the records of flows from when they were granted a token, or arrived, and were delivered.

        In s, (num_flows,) each, NaN for not yet.
        """
        return complete_records(
            flows,
            grant_time=grant_time,
            completion_time=completion_time,
            ideal_fct=self.ideal_fct(flows),
        )
