"""Flows cut into packets."""

from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import WorkloadError
from flowsched_gym.flows.workload import Workload
from flowsched_gym.packets.rules.table import PacketTable
from flowsched_gym.packets.state import MessageRule, SenderParameters

MOST_PACKETS = 2**31
"""Packets of a replay at most: more fit into no memory."""


class PacketFlows(NamedTuple):
    """Flows and their packets.

    Attributes:
        arrival_time: When each flow arrives, in s, (num_flows,).
        flow_id: Identifiers, (num_flows,).
        first_packet: First packet of each flow, and behind the last the number of all, (num_flows + 1,).
        table: The packets, flow by flow.
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


def cut_into_packets(flows: Workload, senders: SenderParameters, *, needs_remaining: bool) -> PacketFlows:
    """Cuts flows into packets.

    Args:
        flows: The flows.
        senders: Sizes of packets, and what counts as a message.
        needs_remaining: Whether packets are to know what their flow has left to send.

    Raises:
        WorkloadError: There are too many packets, or flows have something to wait for before they send.
    """
    if flows.has_stages:
        raise WorkloadError("flows have CPU work, or come after others: flows of packets are sent when they arrive")
    payload, header = float(senders.payload), float(senders.header)
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
    if needs_remaining:
        remaining = flows.size[flow] - (np.arange(len(flow)) - first_packet[flow]) * payload
    key, key_id = np.arange(len(counts)), flows.flow_id
    if MessageRule(senders.messages) is MessageRule.TIME:
        connection = flows.source * flows.num_hosts + flows.destination
        key_id, key = np.unique(connection, return_inverse=True)
    assert flows.deadline_span is not None
    due = flows.arrival_time + flows.deadline_span
    table = PacketTable(flow, size, header, remaining, key.reshape(-1), due)
    return PacketFlows(flows.arrival_time, flows.flow_id, first_packet, table, key_id)
