"""The packets that wait at a port, in the order of the scheduler in use, and its hooks.

Machine code is of one scheduler: its hooks and its order are found by the type of its record; no other code is left.
"""

from typing import Any, Final

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.machine_code.decorators import chosen_by_type, inlined_part, is_outside
from flowsched_gym.packets.compiled.state import NONE, Packets, Ports, Tables
from flowsched_gym.packets.contract import BEYOND, HOOKS, Arrival, Order, Scheduler

ARRIVE: Final = HOOKS.index("arrive")
CHOOSE: Final = HOOKS.index("choose")


def _scheduler(record: Any) -> type[Scheduler]:
    scheduler: type[Scheduler] = record.scheduler
    return scheduler


def is_own(record: Any) -> bool:
    """Returns whether the scheduler that keeps a record is a user's own."""
    return is_outside(_scheduler(record))


def _yes(record: Any) -> bool:
    return True


def _no(record: Any) -> bool:
    return False


_hook = chosen_by_type(lambda name, record: getattr(_scheduler(record), name), checked=is_own)
_arrive = _hook(Scheduler.arrive)
_choose = _hook(Scheduler.choose)


@chosen_by_type(lambda _, record: _yes if is_own(record) else _no)
def _is_checked(record: Any) -> bool:
    """Returns whether what hooks do is checked: the package's own are tested, and pay nothing for it."""
    raise NotImplementedError


@chosen_by_type(lambda _, record: _yes if _scheduler(record).drops else _no)
def _may_drop(record: Any) -> bool:
    """Returns whether hooks may drop packets."""
    raise NotImplementedError


@chosen_by_type(lambda _, record: _no if _scheduler(record).order is Order.ARRIVAL else _yes)
def _is_ranked(record: Any) -> bool:
    """Returns whether packets wait in a heap by rank, not in queues."""
    raise NotImplementedError


@chosen_by_type(lambda _, record: _yes if _scheduler(record).order is Order.FLOW else _no)
def _is_by_flow(record: Any) -> bool:
    """Returns whether of the flow of the first packet the one that arrived first is sent."""
    raise NotImplementedError


@inlined_part
def arrive(now: float, port: int, p: int, t: Tables) -> Arrival:
    """Asks the scheduler where a packet is to wait.

    Raises:
        IndexError: There is no such queue, or an array has no such entry; ``Ports.fault`` says what happened.
    """
    if _is_checked(t.record):
        t.ports.fault[0] = ARRIVE
    arrival = _arrive(now, port, p, t.table, t.record)
    first = BEYOND if _may_drop(t.record) else 0
    if _is_checked(t.record) and not first <= arrival.queue < t.ports.head.shape[1]:
        _refuse(arrival.queue, t.ports)
    return arrival


@inlined_part
def put(port: int, p: int, arrival: Arrival, t: Tables) -> None:
    """Lets a packet wait; those that waited before are counted in ``waiting`` still without it."""
    ports, packets = t.ports, t.packets
    if _is_ranked(t.record):
        _note_rank(port, p, arrival, ports, packets)
        _rise(ports.waiting[port], p, ports.heap[port], packets)
        if _is_by_flow(t.record):
            _join_flow(port, p, t.table.flow[p], ports, packets)
        return
    queue = arrival.queue
    packets.after[p] = NONE
    if ports.head_size[port, queue] == 0.0:
        ports.head[port, queue] = p
        ports.head_size[port, queue] = t.table.size[p]
    else:
        packets.after[ports.tail[port, queue]] = p
    ports.tail[port, queue] = p


@inlined_part
def take(port: int, t: Tables) -> int:
    """Takes the packet that is to be sent next; ``waiting`` still counts it. Raises what ``arrive`` does."""
    ports, packets = t.ports, t.packets
    p: int
    if _is_ranked(t.record):
        p = ports.heap[port, 0]
        if _is_by_flow(t.record):
            flow = t.table.flow[p]
            p = ports.flow_head[port, flow]
            _leave_flow(port, p, flow, ports, packets)
        _remove(p, ports.waiting[port], ports.heap[port], packets)
        return p
    if _is_checked(t.record):
        ports.fault[0] = CHOOSE
    queue = _choose(port, ports.head_size[port], t.record)
    if _is_checked(t.record) and not (0 <= queue < ports.head.shape[1] and ports.head_size[port, queue] > 0.0):
        _refuse(queue, ports)
    p = ports.head[port, queue]
    follower = packets.after[p]
    ports.head[port, queue] = follower
    ports.head_size[port, queue] = t.table.size[follower] if follower != NONE else 0.0
    return p


@inlined_part
def make_room(port: int, p: int, arrival: Arrival, t: Tables) -> int:
    """Returns the packet that a full buffer drops: the one that arrives, or one that waits, which it takes out."""
    ports, packets = t.ports, t.packets
    if not _is_ranked(t.record):
        return p
    _note_rank(port, p, arrival, ports, packets)
    last = _last_of(ports.waiting[port], ports.heap[port], packets)
    if _comes_before(last, p, packets):
        return p
    _remove(last, ports.waiting[port], ports.heap[port], packets)
    if _is_by_flow(t.record):
        _leave_flow(port, last, t.table.flow[last], ports, packets)
    return last


@inlined_part
def bring_forward(flow: int, rank: float, t: Tables) -> None:
    """Gives the packets of a flow that wait a rank, where it is smaller and flows are served one by one."""
    ports, packets = t.ports, t.packets
    for port in range(ports.flow_head.shape[0] if _is_by_flow(t.record) else 0):
        p = ports.flow_head[port, flow]
        while p != NONE:
            if packets.rank[p] > rank:
                packets.rank[p] = rank
                _rise(packets.place[p], p, ports.heap[port], packets)
            p = packets.after[p]


@inlined_part
def _refuse(queue: int, ports: Ports) -> None:
    ports.fault[1], ports.fault[2] = 1, queue
    raise IndexError


@inlined_part
def _note_rank(port: int, p: int, arrival: Arrival, ports: Ports, packets: Packets) -> None:
    ports.arrived[port] += 1
    packets.queue[p] = arrival.queue
    packets.rank[p] = arrival.rank
    packets.order[p] = ports.arrived[port]


@inlined_part
def _join_flow(port: int, p: int, flow: int, ports: Ports, packets: Packets) -> None:
    last = ports.flow_tail[port, flow]
    packets.after[p] = NONE
    packets.before[p] = last
    if last == NONE:
        ports.flow_head[port, flow] = p
    else:
        packets.after[last] = p
    ports.flow_tail[port, flow] = p


@inlined_part
def _leave_flow(port: int, p: int, flow: int, ports: Ports, packets: Packets) -> None:
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
    first: bool = packets.order[p] < packets.order[q]
    if packets.queue[p] != packets.queue[q]:
        first = packets.queue[p] < packets.queue[q]
    elif packets.rank[p] != packets.rank[q]:
        first = packets.rank[p] < packets.rank[q]
    return first


@inlined_part
def _remove(p: int, count: int, heap: IntArray, packets: Packets) -> None:
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
