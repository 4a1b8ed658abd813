"""The packets that wait at a port, in each of the orders that schedulers have, and the rules of the scheduler in use.

Machine code is of one scheduler, whose rules and order are found by the type of its record: ``chosen_by_type``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.machine_code.decorators import chosen_by_type, inlined_part
from flowsched_gym.packets.compiled.state import NONE, Packets, Ports
from flowsched_gym.packets.contract import RULES, Arrival, Order, PacketTable, Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What a port does with packets that wait.

    Attributes:
        put: Lets a packet wait that ``waiting`` does not count yet, ``(port, p, arrival, table, ports, packets, own)``.
        take: Takes the packet to send next, which ``waiting`` still counts, ``(port, table, ports, packets, own)``.
        make_room: Returns the packet that a full buffer drops: the one that arrives, or one that waits, which it takes
            out, ``(port, p, arrival, table, ports, packets, own)``.
    """

    put: Callable[[int, int, Arrival, PacketTable, Ports, Packets, Any], None]
    take: Callable[[int, PacketTable, Ports, Packets, Any], int]
    make_room: Callable[[int, int, Arrival, PacketTable, Ports, Packets, Any], int]


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


@inlined_part
def _put_ranked(
    port: int, p: int, arrival: Arrival, table: PacketTable, ports: Ports, packets: Packets, own: Any
) -> None:
    _note_rank(port, p, arrival, ports, packets)
    _rise(ports.waiting[port], p, ports.heap[port], packets)


def _take_ranked(port: int, table: PacketTable, ports: Ports, packets: Packets, own: Any) -> int:
    p: int = ports.heap[port, 0]
    _remove(p, ports.waiting[port], ports.heap[port], packets)
    return p


@inlined_part
def _drop_last(
    port: int, p: int, arrival: Arrival, table: PacketTable, ports: Ports, packets: Packets, own: Any
) -> int:
    _note_rank(port, p, arrival, ports, packets)
    last = _last_of(ports.waiting[port], ports.heap[port], packets)
    if _comes_before(last, p, packets):
        return p
    _remove(last, ports.waiting[port], ports.heap[port], packets)
    return last


def _put_in_flow(
    port: int, p: int, arrival: Arrival, table: PacketTable, ports: Ports, packets: Packets, own: Any
) -> None:
    _put_ranked(port, p, arrival, table, ports, packets, own)
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
    _remove(p, ports.waiting[port], ports.heap[port], packets)
    _leave_flow(port, p, table, ports, packets)
    return p


def _drop_last_of_flows(
    port: int, p: int, arrival: Arrival, table: PacketTable, ports: Ports, packets: Packets, own: Any
) -> int:
    dropped = _drop_last(port, p, arrival, table, ports, packets, own)
    if dropped != p:
        _leave_flow(port, dropped, table, ports, packets)
    return dropped


WAITING: Final[Mapping[Order, Waiting]] = {
    Order.ARRIVAL: Waiting(put=_put_last, take=_take_first, make_room=_drop_new),
    Order.RANK: Waiting(put=_put_ranked, take=_take_ranked, make_room=_drop_last),
    Order.FLOW: Waiting(put=_put_in_flow, take=_take_of_flow, make_room=_drop_last_of_flows),
}
"""What ports do by the orders of schedulers."""


def _rule(name: str, record: type) -> Any:
    """Finds a rule of the scheduler that keeps this record."""
    return getattr(RULES[record], name)


def _in_order(name: str, record: type) -> Any:
    """Finds the function for the order of the scheduler that keeps this record."""
    return getattr(WAITING[RULES[record].order], name)


def _chosen(find: Callable[[str, type], Any], contract: type) -> dict[str, Any]:
    """Makes, of each function of a contract, one that calls that of the scheduler whose record is its last argument."""

    def chosen(name: str) -> Any:
        def call(*arguments: object) -> object:
            raise NotImplementedError

        call.__name__ = name
        return chosen_by_type(find)(call)

    return {field.name: chosen(field.name) for field in fields(contract) if field.name not in ("record", "order")}


_RULES: Final = Rules(record=tuple, **_chosen(_rule, Rules))
_WAITING: Final = Waiting(**_chosen(_in_order, Waiting))
arrive, choose = _RULES.arrive, _RULES.choose
put, take, make_room = _WAITING.put, _WAITING.take, _WAITING.make_room
"""Those of the scheduler in use."""


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


@inlined_part
def _comes_before(p: int, q: int, packets: Packets) -> bool:
    """Returns whether a packet is served before another."""
    if packets.queue[p] != packets.queue[q]:
        first: bool = packets.queue[p] < packets.queue[q]
        return first
    if packets.rank[p] != packets.rank[q]:
        smaller: bool = packets.rank[p] < packets.rank[q]
        return smaller
    earlier: bool = packets.order[p] < packets.order[q]
    return earlier


@inlined_part
def _remove(p: int, count: int, heap: IntArray, packets: Packets) -> None:
    """Removes a packet from a heap of so many."""
    place = packets.place[p]
    moved = heap[count - 1]
    if moved == p:
        return
    if _comes_before(moved, p, packets):
        _rise(place, moved, heap, packets)
    else:
        _sink(place, moved, count - 1, heap, packets)


@inlined_part
def _last_of(count: int, heap: IntArray, packets: Packets) -> int:
    """Returns the packet that is served last of so many."""
    last: int = heap[0]
    for index in range(1, count):
        if _comes_before(last, heap[index], packets):
            last = heap[index]
    return last


@inlined_part
def _rise(place: int, p: int, heap: IntArray, packets: Packets) -> None:
    while place > 0:
        above = (place - 1) // 2
        if _comes_before(heap[above], p, packets):
            break
        heap[place] = heap[above]
        packets.place[heap[place]] = place
        place = above
    heap[place] = p
    packets.place[p] = place


@inlined_part
def _sink(place: int, p: int, count: int, heap: IntArray, packets: Packets) -> None:
    while 2 * place + 1 < count:
        below = 2 * place + 1
        if below + 1 < count and _comes_before(heap[below + 1], heap[below], packets):
            below += 1
        if _comes_before(p, heap[below], packets):
            break
        heap[place] = heap[below]
        packets.place[heap[place]] = place
        place = below
    heap[place] = p
    packets.place[p] = place
