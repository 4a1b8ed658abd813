"""What the compiled loop of packets knows: ports, packets, senders and what becomes of all of them."""

from typing import Any, Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.packets.contract import Order, PacketTable
from flowsched_gym.packets.rules.queues import QueueCounts, new_counts
from flowsched_gym.packets.rules.windows import Windows
from flowsched_gym.packets.setup import PacketFlows, PacketSetup
from flowsched_gym.packets.state import TRACE_ROW, PortLimits

NONE: Final = -1
"""In place of a packet."""
ARRIVED, COMPLETED, RESENT = range(3)
"""Indices of ``Tables.counts``."""
ACKNOWLEDGED, LOST, TRAVELLING, ACKNOWLEDGED_ACROSS = range(0, 8, 2)
"""Where the lists of ``Flows.lists`` begin."""


class Ports(NamedTuple):
    """The ports. Packets that wait are linked lists, one for each queue, or one heap.

    Attributes:
        limits: What may wait.
        capacity: Bytes per s, (num_ports,).
        waiting: Packets that wait, (num_ports,); ``fill`` is what the limits count of them.
        sending: Packet that is being sent, (num_ports,), or ``NONE``.
        end: When its transmission ends, in s, (num_ports,), or inf.
        head: First packet of each queue, (num_ports, num_queues); ``head_size`` are its bytes, 0 for an empty queue.
        heap: Packets by rank, (num_ports, heap_room).
        arrived: Packets that have waited, (num_ports,).
        flow_head: First packet of each flow that waits, (num_ports, num_flows).
        fault: Hook that is called, as an index of ``HOOKS``; whether it returned a wrong queue, and which, (3,).
    """

    limits: PortLimits
    capacity: FloatArray
    waiting: IntArray
    fill: FloatArray
    sending: IntArray
    end: FloatArray
    head: IntArray
    tail: IntArray
    head_size: FloatArray
    heap: IntArray
    arrived: IntArray
    flow_head: IntArray
    flow_tail: IntArray
    fault: IntArray


class Packets(NamedTuple):
    """The packets, by row of the table; order and place are those of packets in a heap.

    Attributes:
        after: Next packet of the list that a packet is in: of a queue, a flow, acknowledgements, losses; or ``NONE``.
        before: Packet before it in its flow's list, where there is one.
        time: When its acknowledgement arrives, or its loss is noticed; since when it waits, where that is counted.
        queue: Queue, of packets in a heap, or where queues are counted.
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
    """The flows of a replay, (num_flows,) each; see ``PacketFlows`` and ``PacketRecords`` for what is not named here.

    Attributes:
        arrivals: Flows in the order of arrival.
        next_packet: Next packet that a flow sends for the first time.
        lost_head: First packet that it is to send again, or ``NONE``.
        left: Packets to be delivered; ``latest`` is the latest that was.
        completion_time: When its last byte is delivered; NaN before it has been sent.
        order: Flows in the order in which their last packet was acknowledged.
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
    """The rows of a trace: whether there are any, that of each packet, how many are written, and ``TRACE_ROW`` each."""

    kept: bool
    row: IntArray
    written: IntArray
    trace: Any


class Tables(NamedTuple):
    """All of it: time in s, (1,); arrivals, flows acknowledged and packets sent again so far, (3,); and its parts.

    The record is what the scheduler keeps; queues are counted for an agent.
    """

    clock: FloatArray
    counts: IntArray
    table: PacketTable
    ports: Ports
    packets: Packets
    queue_counts: QueueCounts
    rows: Rows
    record: Any


class Network(NamedTuple):
    """A network of the compiled engine."""

    flows: Flows
    tables: Tables


def new_network(
    flows: PacketFlows,
    setup: PacketSetup,
    *,
    num_rows: int = 0,
    counted: bool = False,
    capacity: FloatArray | None = None,
) -> Network:
    """Makes a network in which no flow has arrived; ``num_rows`` of a trace are kept, and queues ``counted``.

    The capacity of each port is in B/s, (num_ports,); ``None`` for the one port.
    """
    ports = np.array([setup.capacity]) if capacity is None else capacity
    record = setup.new_record(flows, ports)
    tables = new_tables(flows.table, setup, record, ports, num_rows=num_rows, counted=counted)
    return Network(_new_flows(flows, setup), tables)


def new_tables(
    table: PacketTable,
    setup: PacketSetup,
    record: Any,
    capacity: FloatArray,
    *,
    num_rows: int = 0,
    counted: bool = False,
    limits: PortLimits | None = None,
    heap_room: int | None = None,
) -> Tables:
    """Makes ports of these capacities in B/s, (num_ports,), that are idle; see ``new_network`` for the rest.

    The limits are those of the setup where there are none, and ``heap_room`` packets may wait in a heap.
    """
    num_ports, num_packets, kept = len(capacity), len(table.flow), num_rows > 0
    order, queues = setup.scheduler.order, (num_ports, setup.scheduler.num_queues)
    ranked, by_flow = order is not Order.ARRIVAL, order is Order.FLOW
    heap_room = min(num_packets, setup.port.room if heap_room is None else heap_room) if ranked else 1
    heaped = num_packets if ranked else 1
    lists = (num_ports, len(table.key) if by_flow else 1)
    ports = Ports(
        limits=setup.port.limits(num_ports) if limits is None else limits,
        capacity=capacity.copy(),
        waiting=whole(num_ports),
        fill=np.zeros(num_ports),
        sending=whole(num_ports, NONE),
        end=np.full(num_ports, np.inf),
        head=whole(queues, NONE),
        tail=whole(queues, NONE),
        head_size=np.zeros(queues),
        heap=whole((num_ports, heap_room)),
        arrived=whole(num_ports),
        flow_head=whole(lists, NONE),
        flow_tail=whole(lists, NONE),
        fault=whole(3),
    )
    packets = Packets(
        after=np.empty(num_packets, dtype=np.int64),
        before=np.empty(num_packets if by_flow else 1, dtype=np.int64),
        time=np.empty(num_packets),
        marked=np.zeros(num_packets, dtype=np.bool_),
        queue=whole(num_packets if counted else heaped),
        rank=np.zeros(heaped),
        order=whole(heaped),
        place=whole(heaped),
    )
    rows = Rows(kept, whole(num_packets if kept else 1), whole(1), np.zeros(num_rows, dtype=TRACE_ROW))
    return Tables(np.zeros(1), whole(3), table, ports, packets, new_counts(*queues, kept=counted), rows, record)


def _new_flows(flows: PacketFlows, setup: PacketSetup) -> Flows:
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


def whole(shape: int | tuple[int, ...], value: int = 0) -> IntArray:
    """Makes an array of whole numbers; zeros take no memory before they are written."""
    return np.full(shape, value, dtype=np.int64) if value else np.zeros(shape, dtype=np.int64)
