"""A heap of packets by queue, rank and order of arrival, from which any packet can be removed."""

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.machine_code.decorators import inlined_part
from flowsched_gym.packets.compiled.state import Packets


@inlined_part
def comes_before(p: int, q: int, packets: Packets) -> bool:
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
def push(p: int, count: int, heap: IntArray, packets: Packets) -> None:
    """Adds a packet to a heap of so many."""
    _rise(count, p, heap, packets)


@inlined_part
def remove(p: int, count: int, heap: IntArray, packets: Packets) -> None:
    """Removes a packet from a heap of so many."""
    place = packets.place[p]
    moved = heap[count - 1]
    if moved == p:
        return
    if comes_before(moved, p, packets):
        _rise(place, moved, heap, packets)
    else:
        _sink(place, moved, count - 1, heap, packets)


@inlined_part
def last_of(count: int, heap: IntArray, packets: Packets) -> int:
    """Returns the packet that is served last of so many."""
    last: int = heap[0]
    for index in range(1, count):
        if comes_before(last, heap[index], packets):
            last = heap[index]
    return last


@inlined_part
def _rise(place: int, p: int, heap: IntArray, packets: Packets) -> None:
    while place > 0:
        above = (place - 1) // 2
        if comes_before(heap[above], p, packets):
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
        if below + 1 < count and comes_before(heap[below + 1], heap[below], packets):
            below += 1
        if comes_before(p, heap[below], packets):
            break
        heap[place] = heap[below]
        packets.place[heap[place]] = place
        place = below
    heap[place] = p
    packets.place[p] = place
