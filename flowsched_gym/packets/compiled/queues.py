"""The packets that wait at a port, in each of the orders that schedulers have, and the hooks of the scheduler in use.

Machine code is of one scheduler, whose hooks and order are found by the type of its record.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.machine_code.decorators import chosen_by_type, inlined_part
from flowsched_gym.packets.compiled.state import NONE, Packets, Ports
from flowsched_gym.packets.contract import HOOKS, Arrival, Order, PacketTable, Scheduler

ARRIVE: Final = HOOKS.index("arrive")
CHOOSE: Final = HOOKS.index("choose")


@inlined_part
def refuse(queue: int, ports: Ports) -> None:
    """Ends the run as a hook has returned a queue that it may not."""
    ports.fault[1], ports.fault[2] = 1, queue
    raise IndexError


def _put_last(
    port: int, p: int, arrival: Arrival, table: PacketTable, ports: Ports, packets: Packets, record: Any
) -> None:
    queue = arrival.queue
    packets.after[p] = NONE
    if ports.head_size[port, queue] == 0.0:
        ports.head[port, queue] = p
        ports.head_size[port, queue] = table.size[p]
    else:
        packets.after[ports.tail[port, queue]] = p
    ports.tail[port, queue] = p


def _take_first(port: int, table: PacketTable, ports: Ports, packets: Packets, record: Any) -> int:
    if is_checked(record):
        ports.fault[0] = CHOOSE
    queue = choose(port, ports.head_size[port], record)
    if is_checked(record) and not (0 <= queue < ports.head.shape[1] and ports.head_size[port, queue] > 0.0):
        refuse(queue, ports)
    p: int = ports.head[port, queue]
    follower = packets.after[p]
    ports.head[port, queue] = follower
    ports.head_size[port, queue] = table.size[follower] if follower != NONE else 0.0
    return p


def _drop_new(
    port: int, p: int, arrival: Arrival, table: PacketTable, ports: Ports, packets: Packets, record: Any
) -> int:
    return p


@inlined_part
def _put_ranked(
    port: int, p: int, arrival: Arrival, table: PacketTable, ports: Ports, packets: Packets, record: Any
) -> None:
    _note_rank(port, p, arrival, ports, packets)
    _rise(ports.waiting[port], p, ports.heap[port], packets)


def _take_ranked(port: int, table: PacketTable, ports: Ports, packets: Packets, record: Any) -> int:
    p: int = ports.heap[port, 0]
    _remove(p, ports.waiting[port], ports.heap[port], packets)
    return p


@inlined_part
def _drop_last(
    port: int, p: int, arrival: Arrival, table: PacketTable, ports: Ports, packets: Packets, record: Any
) -> int:
    _note_rank(port, p, arrival, ports, packets)
    last = _last_of(ports.waiting[port], ports.heap[port], packets)
    if _comes_before(last, p, packets):
        return p
    _remove(last, ports.waiting[port], ports.heap[port], packets)
    return last


def _put_in_flow(
    port: int, p: int, arrival: Arrival, table: PacketTable, ports: Ports, packets: Packets, record: Any
) -> None:
    _put_ranked(port, p, arrival, table, ports, packets, record)
    flow = table.flow[p]
    last = ports.flow_tail[port, flow]
    packets.after[p] = NONE
    packets.before[p] = last
    if last == NONE:
        ports.flow_head[port, flow] = p
    else:
        packets.after[last] = p
    ports.flow_tail[port, flow] = p


def _take_of_flow(port: int, table: PacketTable, ports: Ports, packets: Packets, record: Any) -> int:
    p: int = ports.flow_head[port, table.flow[ports.heap[port, 0]]]
    _remove(p, ports.waiting[port], ports.heap[port], packets)
    _leave_flow(port, p, table, ports, packets)
    return p


def _drop_last_of_flows(
    port: int, p: int, arrival: Arrival, table: PacketTable, ports: Ports, packets: Packets, record: Any
) -> int:
    dropped = _drop_last(port, p, arrival, table, ports, packets, record)
    if dropped != p:
        _leave_flow(port, dropped, table, ports, packets)
    return dropped


FUNCTIONS: Final[Mapping[str, Mapping[Order, Callable[..., int | None]]]] = {
    "put": {Order.ARRIVAL: _put_last, Order.RANK: _put_ranked, Order.FLOW: _put_in_flow},
    "take": {Order.ARRIVAL: _take_first, Order.RANK: _take_ranked, Order.FLOW: _take_of_flow},
    "make_room": {Order.ARRIVAL: _drop_new, Order.RANK: _drop_last, Order.FLOW: _drop_last_of_flows},
}
"""What ports do by the orders of schedulers."""


def _hook(name: str, record: Any) -> Any:
    """Finds a hook of the scheduler that keeps a record of this type."""
    return getattr(record.scheduler, name)


def _in_order(name: str, record: Any) -> Any:
    """Finds the function for the order of the scheduler that keeps a record of this type."""
    return FUNCTIONS[name][record.scheduler.order]


def _is_own(record: Any) -> bool:
    """Returns whether a user wrote the scheduler that keeps a record of this type."""
    return not str(record.scheduler.__module__).startswith("flowsched_gym.")


def _yes(record: Any) -> bool:
    return True


def _no(record: Any) -> bool:
    return False


@chosen_by_type(lambda _, record: _yes if _is_own(record) else _no)
def is_checked(record: Any) -> bool:
    """Returns whether what hooks do is checked: the package's own are tested, and pay nothing for it."""
    raise NotImplementedError


_of_scheduler = chosen_by_type(_hook, checked=_is_own)
arrive = _of_scheduler(Scheduler.arrive)
choose = _of_scheduler(Scheduler.choose)


@chosen_by_type(_in_order)
def put(port: int, p: int, arrival: Arrival, table: PacketTable, ports: Ports, packets: Packets, record: Any) -> None:
    """Lets a packet wait; those that waited before are counted in ``waiting`` still without it."""


@chosen_by_type(_in_order)
def take(port: int, table: PacketTable, ports: Ports, packets: Packets, record: Any) -> int:
    """Takes the packet that is to be sent next; ``waiting`` still counts it."""
    raise NotImplementedError


@chosen_by_type(_in_order)
def make_room(
    port: int, p: int, arrival: Arrival, table: PacketTable, ports: Ports, packets: Packets, record: Any
) -> int:
    """Returns the packet that a full buffer drops: the one that arrives, or one that waits, which it takes out."""
    raise NotImplementedError


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
