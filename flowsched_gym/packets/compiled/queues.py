"""The packets that wait at a port, in each of the orders that schedulers have."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from flowsched_gym.machine_code.decorators import chosen_by_type, inlined_part
from flowsched_gym.packets.compiled.control import choose
from flowsched_gym.packets.compiled.heap import comes_before, last_of, push, remove
from flowsched_gym.packets.compiled.state import NONE, Packets, Ports
from flowsched_gym.packets.rules.table import Arrival, PacketTable
from flowsched_gym.packets.schedulers import COMPILED, Order


def _put_last(
    port: int, p: int, arrival: Arrival, table: PacketTable, ports: Ports, packets: Packets, own: Any
) -> None:
    queue = arrival.queue
    packets.after[p] = NONE
    if ports.head_size[port, queue] == 0.0:
        ports.head[port, queue] = p
        ports.head_size[port, queue] = table.size[p]
    else:
        packets.after[ports.tail[port, queue]] = p
    ports.tail[port, queue] = p


def _take_first(port: int, table: PacketTable, ports: Ports, packets: Packets, own: Any) -> int:
    queue = choose(port, ports.head_size[port], own)
    p: int = ports.head[port, queue]
    follower = packets.after[p]
    ports.head[port, queue] = follower
    ports.head_size[port, queue] = table.size[follower] if follower != NONE else 0.0
    return p


def _drop_new(port: int, p: int, arrival: Arrival, table: PacketTable, ports: Ports, packets: Packets, own: Any) -> int:
    return p


def _put_ranked(
    port: int, p: int, arrival: Arrival, table: PacketTable, ports: Ports, packets: Packets, own: Any
) -> None:
    _note_rank(port, p, arrival, ports, packets)
    push(p, ports.waiting[port], ports.heap[port], packets)


def _take_ranked(port: int, table: PacketTable, ports: Ports, packets: Packets, own: Any) -> int:
    p: int = ports.heap[port, 0]
    remove(p, ports.waiting[port], ports.heap[port], packets)
    return p


def _drop_last(
    port: int, p: int, arrival: Arrival, table: PacketTable, ports: Ports, packets: Packets, own: Any
) -> int:
    _note_rank(port, p, arrival, ports, packets)
    last = last_of(ports.waiting[port], ports.heap[port], packets)
    if comes_before(last, p, packets):
        return p
    remove(last, ports.waiting[port], ports.heap[port], packets)
    return last


def _put_in_flow(
    port: int, p: int, arrival: Arrival, table: PacketTable, ports: Ports, packets: Packets, own: Any
) -> None:
    _note_rank(port, p, arrival, ports, packets)
    push(p, ports.waiting[port], ports.heap[port], packets)
    flow = table.flow[p]
    last = ports.flow_tail[port, flow]
    packets.after[p] = NONE
    packets.before[p] = last
    if last == NONE:
        ports.flow_head[port, flow] = p
    else:
        packets.after[last] = p
    ports.flow_tail[port, flow] = p


def _take_of_flow(port: int, table: PacketTable, ports: Ports, packets: Packets, own: Any) -> int:
    p: int = ports.flow_head[port, table.flow[ports.heap[port, 0]]]
    remove(p, ports.waiting[port], ports.heap[port], packets)
    _leave_flow(port, p, table, ports, packets)
    return p


def _drop_last_of_flows(
    port: int, p: int, arrival: Arrival, table: PacketTable, ports: Ports, packets: Packets, own: Any
) -> int:
    _note_rank(port, p, arrival, ports, packets)
    last = last_of(ports.waiting[port], ports.heap[port], packets)
    if comes_before(last, p, packets):
        return p
    remove(last, ports.waiting[port], ports.heap[port], packets)
    _leave_flow(port, last, table, ports, packets)
    return last


@inlined_part
def _note_rank(port: int, p: int, arrival: Arrival, ports: Ports, packets: Packets) -> None:
    ports.arrived[port] += 1
    packets.queue[p] = arrival.queue
    packets.rank[p] = arrival.rank
    packets.order[p] = ports.arrived[port]


@inlined_part
def _leave_flow(port: int, p: int, table: PacketTable, ports: Ports, packets: Packets) -> None:
    """Takes a packet out of the list of its flow."""
    flow = table.flow[p]
    before, after = packets.before[p], packets.after[p]
    if before == NONE:
        ports.flow_head[port, flow] = after
    else:
        packets.after[before] = after
    if after == NONE:
        ports.flow_tail[port, flow] = before
    else:
        packets.before[after] = before


FUNCTIONS: Final[Mapping[str, Mapping[Order, Callable[..., int | None]]]] = {
    "put": {Order.ARRIVAL: _put_last, Order.RANK: _put_ranked, Order.FLOW: _put_in_flow},
    "take": {Order.ARRIVAL: _take_first, Order.RANK: _take_ranked, Order.FLOW: _take_of_flow},
    "make_room": {Order.ARRIVAL: _drop_new, Order.RANK: _drop_last, Order.FLOW: _drop_last_of_flows},
}
"""The functions of this module by the orders of schedulers."""


def _in_order(name: str, record: type) -> Any:
    """Finds the function for the order of the scheduler that keeps this record."""
    return FUNCTIONS[name][COMPILED[record].order]


@chosen_by_type(_in_order)
def put(port: int, p: int, arrival: Arrival, table: PacketTable, ports: Ports, packets: Packets, own: Any) -> None:
    """Lets a packet wait; those that waited before are counted in ``waiting`` still without it."""


@chosen_by_type(_in_order)
def take(port: int, table: PacketTable, ports: Ports, packets: Packets, own: Any) -> int:
    """Takes the packet that is to be sent next; ``waiting`` still counts it."""
    raise NotImplementedError


@chosen_by_type(_in_order)
def make_room(port: int, p: int, arrival: Arrival, table: PacketTable, ports: Ports, packets: Packets, own: Any) -> int:
    """Returns the packet that a full buffer drops: the one that arrives, or one that waits, which it takes out."""
    raise NotImplementedError
