"""What the compiled loop of packets knows: ports, packets, senders and what becomes of all of them."""

from typing import Any, Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.packets.contract import PacketTable
from flowsched_gym.packets.rules.queues import QueueCounts
from flowsched_gym.packets.rules.windows import Windows
from flowsched_gym.packets.schedulers import Order
from flowsched_gym.packets.setup import PacketFlows, PacketSetup
from flowsched_gym.packets.state import TRACE_ROW, PortParameters

NONE: Final = -1
"""In place of a packet."""
ARRIVED: Final = 0
COMPLETED: Final = 1
RESENT: Final = 2
"""Indices of ``Tables.counts``."""
ACKNOWLEDGED: Final = 0
LOST: Final = 2
TRAVELLING: Final = 4
ACKNOWLEDGED_ACROSS: Final = 6
"""Where the lists of ``Flows.lists`` begin."""


class Ports(NamedTuple):
    """The ports. Packets that wait are linked lists, one for each queue, or one heap.

    Attributes:
        room: Packets that may wait at each port.
        unmarked: Packets that may wait without a mark.
        capacity: Bytes per s, (num_ports,).
        waiting: Packets that wait, (num_ports,).
        sending: Packet that is being sent, (num_ports,); -1: none.
        end: When its transmission ends, (num_ports,); inf: never.
        head: First packet of each queue, (num_ports, num_queues).
        tail: Last one.
        head_size: Bytes of the first packet, 0 where a queue is empty.
        heap: Packets by rank, (num_ports, heap_room).
        arrived: Packets that have waited, (num_ports,).
        flow_head: First packet of each flow that waits, (num_ports, num_flows).
        flow_tail: Last one.
    """

    room: int
    unmarked: int
    capacity: FloatArray
    waiting: IntArray
    sending: IntArray
    end: FloatArray
    head: IntArray
    tail: IntArray
    head_size: FloatArray
    heap: IntArray
    arrived: IntArray
    flow_head: IntArray
    flow_tail: IntArray


class Packets(NamedTuple):
    """The packets, by row of the table.

    Attributes:
        after: Next packet of the list that a packet is in: of a queue, a flow, acknowledgements, losses; -1: none.
        before: Packet before it in its flow's list, where there is one.
        time: When its acknowledgement arrives, or its loss is noticed; since when it waits, where that is counted.
        marked: Whether it is marked.
        queue: Queue, of packets in a heap, or where queues are counted.
        rank: Rank, of packets in a heap.
        order: Number of arrival, of packets in a heap.
        place: Index in the heap.
    """

    after: IntArray
    before: IntArray
    time: FloatArray
    marked: BoolArray
    queue: IntArray
    rank: FloatArray
    order: IntArray
    place: IntArray


class Flows(NamedTuple):
    """The flows of a replay.

    Attributes:
        first_packet: First packet of each flow, and behind the last the number of all, (num_flows + 1,).
        arrival_time: When it arrives, (num_flows,).
        arrivals: Flows in the order of arrival, (num_flows,).
        next_packet: Next packet that it sends for the first time.
        lost_head: First packet that it is to send again; -1: none.
        lost_tail: Last one.
        left: Packets to be delivered.
        latest: Latest packet that was delivered.
        completion_time: When its last byte is delivered; NaN before it has been sent.
        drops: Packets dropped.
        marks: Packets delivered with a mark.
        disordered: Packets delivered after a later one.
        order: Flows in the order in which their last packet was acknowledged.
        windows: Windows of the senders.
        delay: Delay in s each way.
        min_rto: Time in s after which a loss is noticed.
        lists: First and last packet whose acknowledgement is on its way, and whose loss is not noticed yet; in a
            fabric, too, that is on a link, and whose acknowledgement crosses the spines, (8,).
    """

    first_packet: IntArray
    arrival_time: FloatArray
    arrivals: IntArray
    next_packet: IntArray
    lost_head: IntArray
    lost_tail: IntArray
    left: IntArray
    latest: IntArray
    completion_time: FloatArray
    drops: IntArray
    marks: IntArray
    disordered: IntArray
    order: IntArray
    windows: Windows
    delay: float
    min_rto: float
    lists: IntArray


class Rows(NamedTuple):
    """The rows of a trace.

    Attributes:
        kept: Whether there are any.
        row: Row of each packet, (num_packets,).
        written: Rows written, (1,).
        trace: The rows, (num_rows,) of type ``TRACE_ROW``.
    """

    kept: bool
    row: IntArray
    written: IntArray
    trace: Any


class Tables(NamedTuple):
    """All of it.

    Attributes:
        clock: Time in s, (1,).
        counts: Arrivals that have happened, flows that are acknowledged, and packets that are sent again, (3,).
        table: The packets as rules see them.
        ports: The ports.
        packets: The packets.
        queue_counts: What an agent is told of queues.
        rows: The trace.
        record: What the scheduler keeps.
    """

    clock: FloatArray
    counts: IntArray
    table: PacketTable
    ports: Ports
    packets: Packets
    queue_counts: QueueCounts
    rows: Rows
    record: Any


def new_ports(
    capacity: FloatArray, parameters: PortParameters, num_queues: int, order: Order, num_packets: int, num_flows: int
) -> Ports:
    """Makes idle ports of these capacities in B/s, (num_ports,)."""
    num_ports = len(capacity)
    heap_room = 1 if order is Order.ARRIVAL else min(num_packets, parameters.room)
    queues, lists = (num_ports, num_queues), (num_ports, num_flows if order is Order.FLOW else 1)
    return Ports(
        room=parameters.room,
        unmarked=parameters.unmarked,
        capacity=capacity.copy(),
        waiting=whole(num_ports),
        sending=whole(num_ports, NONE),
        end=np.full(num_ports, np.inf),
        head=whole(queues, NONE),
        tail=whole(queues, NONE),
        head_size=np.zeros(queues),
        heap=whole((num_ports, heap_room)),
        arrived=whole(num_ports),
        flow_head=whole(lists, NONE),
        flow_tail=whole(lists, NONE),
    )


def new_packets(num_packets: int, order: Order, *, counted: bool) -> Packets:
    """Makes packets that are nowhere; whether queues are counted matters to them."""
    ranked = 1 if order is Order.ARRIVAL else num_packets
    return Packets(
        after=np.empty(num_packets, dtype=np.int64),
        before=np.empty(num_packets if order is Order.FLOW else 1, dtype=np.int64),
        time=np.empty(num_packets),
        marked=np.zeros(num_packets, dtype=np.bool_),
        queue=whole(num_packets if counted else ranked),
        rank=np.zeros(ranked),
        order=whole(ranked),
        place=whole(ranked),
    )


def new_flows(flows: PacketFlows, setup: PacketSetup) -> Flows:
    """Makes flows that have not arrived."""
    count = flows.num_flows
    return Flows(
        first_packet=flows.first_packet,
        arrival_time=flows.arrival_time.copy(),
        arrivals=np.argsort(flows.arrival_time, kind="stable"),
        next_packet=flows.first_packet[:-1].copy(),
        lost_head=whole(count, NONE),
        lost_tail=whole(count, NONE),
        left=flows.packets,
        latest=whole(count, NONE),
        completion_time=np.full(count, np.nan),
        drops=whole(count),
        marks=whole(count),
        disordered=whole(count),
        order=whole(count, NONE),
        windows=setup.new_windows(flows),
        delay=float(setup.senders.delay),
        min_rto=float(setup.senders.min_rto),
        lists=whole(8, NONE),
    )


def new_rows(num_rows: int, num_packets: int) -> Rows:
    """Makes an empty trace; one with no rows is not kept."""
    kept = num_rows > 0
    return Rows(kept, whole(num_packets if kept else 1), whole(1), np.zeros(num_rows, dtype=TRACE_ROW))


def whole(shape: int | tuple[int, ...], value: int = 0) -> IntArray:
    """Makes an array of whole numbers; zeros take no memory before they are written."""
    return np.full(shape, value, dtype=np.int64) if value else np.zeros(shape, dtype=np.int64)
