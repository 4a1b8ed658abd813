"""What a replay of packets is made of, for both engines: flows cut into packets, a port with its scheduler, senders."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import WorkloadError
from flowsched_gym.flows.records import Records, complete_records
from flowsched_gym.flows.workload import Workload
from flowsched_gym.packets.contract import PacketTable, Scheduler, Traffic
from flowsched_gym.packets.rules.windows import FIRST_SHARE, Deadlines, Windows
from flowsched_gym.packets.state import MessageRule, PacketTransport, PortParameters, SenderParameters

MOST_PACKETS = 2**31
"""Packets of a replay at most: more fit into no memory."""


class PacketFlows(NamedTuple):
    """Flows and their packets, flow by flow.

    Attributes:
        arrival_time: When each flow arrives, in s, (num_flows,).
        flow_id: Identifiers, (num_flows,).
        first_packet: First packet of each flow, and behind the last the number of all, (num_flows + 1,).
        table: The packets.
        key_id: Identifier of each key, (num_keys,).
    """

    arrival_time: FloatArray
    flow_id: IntArray
    first_packet: IntArray
    table: PacketTable
    key_id: IntArray

    @property
    def num_flows(self) -> int:
        """Number of flows."""
        return len(self.arrival_time)

    @property
    def packets(self) -> IntArray:
        """Packets of each flow, (num_flows,)."""
        return np.diff(self.first_packet)


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketSetup:
    """A port of so many B/s with its scheduler, and the senders into it; the seed is that of the sketch's hash."""

    scheduler: Scheduler
    capacity: float
    port: PortParameters
    senders: SenderParameters = field(default_factory=SenderParameters)
    seed: int = 0

    def cut(self, flows: Workload) -> PacketFlows:
        """Cuts flows into packets.

        Raises:
            WorkloadError: There are too many packets, or flows have something to wait for before they send.
        """
        if flows.has_stages:
            raise WorkloadError("flows have CPU work, or come after others: flows of packets are sent when they arrive")
        payload, header = float(self.senders.payload), float(self.senders.header)
        counts = np.ceil(flows.size / payload)
        if counts.sum() >= MOST_PACKETS:
            raise WorkloadError(
                f"the flows have {counts.sum():.3g} packets of {payload:g} B: at most {MOST_PACKETS} are allowed"
            )
        first_packet = np.concatenate([[0], np.cumsum(counts.astype(np.int64))])
        flow = np.repeat(np.arange(len(counts)), np.diff(first_packet))
        size = np.full(len(flow), payload)
        size[first_packet[1:] - 1] = flows.size - (counts - 1) * payload
        size += header
        remaining = np.zeros(0)
        if self.scheduler.needs_remaining:
            remaining = flows.size[flow] - (np.arange(len(flow)) - first_packet[flow]) * payload
        key, key_id = np.arange(len(counts)), flows.flow_id
        if self.senders.messages == MessageRule.TIME:
            key_id, key = np.unique(flows.source * flows.num_hosts + flows.destination, return_inverse=True)
        assert flows.deadline_span is not None
        due = flows.arrival_time + flows.deadline_span
        table = PacketTable(flow, size, header, remaining, key.reshape(-1), due)
        return PacketFlows(flows.arrival_time, flows.flow_id, first_packet, table, key_id)

    def new_record(self, flows: PacketFlows, capacity: FloatArray | None = None) -> Any:
        """Makes what the scheduler keeps at ports of these capacities in B/s, (num_ports,), or at the one port.

        Raises:
            ConfigError: Its parameters do not fit the traffic.
        """
        ports = np.array([self.capacity]) if capacity is None else capacity
        traffic = Traffic(
            num_packets=len(flows.table.flow),
            key_id=flows.key_id,
            capacity=ports,
            seed=self.seed,
            packets_of_flow=flows.packets,
            largest_packet=float(flows.table.size.max(initial=0.0)),
            payload=float(self.senders.payload),
        )
        return self.scheduler.make_record(traffic, len(ports))

    def new_windows(self, flows: PacketFlows) -> Windows:
        """Makes the windows of senders."""
        transport, payload = PacketTransport(self.senders.transport), float(self.senders.payload)
        last = flows.table.size[flows.first_packet[1:] - 1] - flows.table.header
        size = (flows.packets - 1) * payload + last
        by_size = transport is PacketTransport.TAFE
        bound = self.senders.largest if by_size else None
        largest = float(size.max(initial=payload) if bound is None else bound)
        deadlines = None
        if transport is PacketTransport.D2TCP:
            never = np.full(len(size), np.nan)
            deadlines = Deadlines(due=flows.table.due, round_start=never, round_time=never.copy())
        zeros = np.zeros((5, len(size)), dtype=np.int64)
        return Windows(
            reacts=transport is not PacketTransport.FIXED,
            by_size=by_size,
            window=np.full(len(size), float(self.senders.window)),
            slow_start_end=np.full(len(size), np.inf),
            share=np.full(len(size), FIRST_SHARE),
            outstanding=zeros[0],
            round_left=zeros[1],
            round_acknowledged=zeros[2],
            round_marked=zeros[3],
            cut_left=zeros[4],
            part_left=np.minimum(size / largest, 1.0),
            packet_part=np.full(len(size), payload / largest),
            deadlines=deadlines,
        )

    def ideal_fct(self, flows: Workload) -> FloatArray:
        """Returns the completion times in s of flows alone whose window never makes them wait, (num_flows,)."""
        packets = np.ceil(flows.size / self.senders.payload)
        ideal: FloatArray = (flows.size + packets * self.senders.header) / self.capacity + self.senders.delay
        return ideal

    def records(self, flows: Workload, completion_time: FloatArray, ideal_fct: FloatArray | None = None) -> Records:
        """Builds the records of flows from when they were delivered, in s, (num_flows,), NaN for not yet."""
        return complete_records(
            flows,
            grant_time=flows.arrival_time.copy(),
            completion_time=completion_time,
            ideal_fct=self.ideal_fct(flows) if ideal_fct is None else ideal_fct,
        )
