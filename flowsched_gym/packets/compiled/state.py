"""What the compiled loop of packets knows: ports, packets, and what becomes of them."""

from typing import Any, Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.packets.compiled.heaps import Heap, new_heap
from flowsched_gym.packets.contract import Order, PacketTable
from flowsched_gym.packets.network import Delays, PacketNetwork
from flowsched_gym.packets.rules.queues import QueueCounts, new_counts
from flowsched_gym.packets.state import TRACE_ROW, PortLimits

NONE: Final = -1
"""In place of a packet."""
ARRIVED, COMPLETED = range(2)
"""Indices of ``Tables.counts``."""
IDLE, HOPS, SENT, DELIVERED, DROPPED, BEGUN = range(6)
"""Indices of ``Underway.counts``."""


class Ports(NamedTuple):
    """The ports. Packets that wait are linked lists, one for each queue, or one heap.

    Attributes:
        limits: What may wait.
        capacity: Bytes per s, (num_ports,).
        waiting: Packets that wait, (num_ports,); ``fill`` is what the limits count of them.
        sending: Packet that is being sent, (num_ports,), or ``NONE``.
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
        after: Next packet of the list that a packet is in: of a queue, a flow, or those that travel; or ``NONE``.
        before: Packet before it in its flow's list, where there is one.
        time: When it ends its travel; since when it waits, where that is counted.
        queue: Queue, of packets in a heap, or where queues are counted.
        hop: Where in ``Underway.path_ports`` its next port is.
    """

    after: IntArray
    before: IntArray
    time: FloatArray
    marked: BoolArray
    queue: IntArray
    rank: FloatArray
    order: IntArray
    place: IntArray
    hop: IntArray


class Rows(NamedTuple):
    """The rows of a trace of the first port.

    Whether there are any, that of each packet, how many are written, how many an event may add, and ``TRACE_ROW`` each.
    """

    kept: bool
    row: IntArray
    written: IntArray
    most: int
    trace: Any


class Tables(NamedTuple):
    """The ports and their packets: time in s, (1,); arrivals, and flows that are over so far, (2,); and parts.

    A flow is over when its last byte has been received.

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


class Underway(NamedTuple):
    """Paths, arrivals, and what ports and packets on links wait for.

    Attributes:
        path_start: Where each path begins in ``path_ports``, which has ``BEHIND`` at the end of each.
        arrivals: Flows in the order in which they, or their requests, arrive, (num_flows,); ``arrival_time`` by flow,
            in s.
        delays: The ways on which packets travel.
        lists: First and last packet on each of them, (2, num_delays).
        busy: Ports that send, by the end of their transmission, and then by its beginning.
        idle: Idle ports at which packets wait, (num_ports,), the one that has waited longest first.
        counts: Idle ports; transmissions that have ended, packets sent, delivered and dropped, and transmissions that
            have begun so far.
    """

    path_start: IntArray
    path_ports: IntArray
    arrivals: IntArray
    arrival_time: FloatArray
    delays: Delays
    lists: IntArray
    busy: Heap
    idle: IntArray
    is_idle: BoolArray
    counts: IntArray


def new_tables(network: PacketNetwork, *, num_rows: int = 0, counted: bool = False) -> Tables:
    """Makes ports that are idle; ``num_rows`` of a trace are kept, and queues ``counted``."""
    scheduler, table, limits, flows = network.scheduler, network.table, network.limits, network.flows
    num_ports, num_packets, kept = len(network.capacity), len(table.flow), num_rows > 0
    order, queues = scheduler.order, (num_ports, scheduler.num_queues)
    ranked, by_flow = order is not Order.ARRIVAL, order is Order.FLOW
    smallest = min(network.parameters.ack_size, float(flows.table.size.min(initial=np.inf))) if limits.by_bytes else 1.0
    heap_room = int(min(limits.room.max() / smallest + 2.0, num_packets)) if ranked else 1
    heaped = num_packets if ranked else 1
    lists = (num_ports, len(table.key) if by_flow else 1)
    ports = Ports(
        limits=limits._replace(room=limits.room.copy()),
        capacity=network.capacity.copy(),
        waiting=whole(num_ports),
        fill=np.zeros(num_ports),
        sending=whole(num_ports, NONE),
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
        after=whole(num_packets),
        before=whole(num_packets if by_flow else 1),
        time=np.zeros(num_packets),
        marked=np.zeros(num_packets, dtype=np.bool_),
        queue=whole(num_packets if counted else heaped),
        rank=np.zeros(heaped),
        order=whole(heaped),
        place=whole(heaped),
        hop=whole(num_packets),
    )
    most = 1 if network.are_given or not kept else int(flows.packets.max(initial=0)) + 2
    rows = Rows(kept, whole(num_packets if kept else 1), whole(1), most, np.zeros(num_rows, dtype=TRACE_ROW))
    counts = new_counts(*queues, kept=counted)
    return Tables(np.zeros(1), whole(2), table, ports, packets, counts, rows, network.new_record())


def new_underway(network: PacketNetwork) -> Underway:
    """Makes links on which nothing travels."""
    num_ports, delays, times = len(network.capacity), network.delays(), network.begin_time
    return Underway(
        path_start=network.path_start.copy(),
        path_ports=network.path_ports.copy(),
        arrivals=np.argsort(times, kind="stable"),
        arrival_time=times.copy(),
        delays=delays,
        lists=whole((2, len(delays.time)), NONE),
        busy=new_heap(num_ports),
        idle=whole(num_ports),
        is_idle=np.zeros(num_ports, dtype=np.bool_),
        counts=whole(6),
    )


def whole(shape: int | tuple[int, ...], value: int = 0) -> IntArray:
    """Makes an array of whole numbers; zeros take no memory before they are written."""
    return np.full(shape, value, dtype=np.int64) if value else np.zeros(shape, dtype=np.int64)
