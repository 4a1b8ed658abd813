"""A heap of ports or timers by the time at which something happens to each, and at one instant by turn, then number."""

from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.machine_code.decorators import inlined_part


class Heap(NamedTuple):
    """A binary heap.

    Attributes:
        items: The heap, (num_items,), in its first ``length[0]`` entries; ``place`` is where each item is in it.
        time: Time of each item in s, (num_items,); inf for one that is not in it.
        turn: Which of the items of one instant comes first, (num_items,): that with the least; set before ``set_time``.
    """

    items: IntArray
    place: IntArray
    time: FloatArray
    turn: IntArray
    length: IntArray


def new_heap(num_items: int) -> Heap:
    """Makes a heap of so many items at most, empty yet."""
    items, place, turn = np.zeros((3, num_items), dtype=np.int64)
    return Heap(items, place, np.full(num_items, np.inf), turn, np.zeros(1, dtype=np.int64))


@inlined_part
def next_time(heap: Heap) -> float:
    """Returns the time of the first item, or inf."""
    time: float = heap.time[heap.items[0]] if heap.length[0] > 0 else np.inf
    return time


@inlined_part
def set_time(item: int, time: float, heap: Heap) -> None:
    """Sets the time of an item in place of another one; inf takes it out."""
    was_in = heap.time[item] < np.inf
    heap.time[item] = time
    here = heap.place[item]
    if time == np.inf:
        if not was_in:
            return
        heap.length[0] -= 1
        moved = heap.items[heap.length[0]]
        if moved == item:
            return
        item = moved
    elif not was_in:
        here = heap.length[0]
        heap.length[0] += 1
    while here > 0 and _is_before(item, heap.items[(here - 1) // 2], heap):
        here = _move((here - 1) // 2, here, heap)
    while 2 * here + 1 < heap.length[0]:
        below = 2 * here + 1
        if below + 1 < heap.length[0] and _is_before(heap.items[below + 1], heap.items[below], heap):
            below += 1
        if _is_before(item, heap.items[below], heap):
            break
        here = _move(below, here, heap)
    heap.items[here] = item
    heap.place[item] = here


@inlined_part
def _move(origin: int, target: int, heap: Heap) -> int:
    heap.items[target] = heap.items[origin]
    heap.place[heap.items[target]] = target
    return origin


@inlined_part
def _is_before(one: int, other: int, heap: Heap) -> bool:
    if heap.time[one] != heap.time[other]:
        first: bool = heap.time[one] < heap.time[other]
    elif heap.turn[one] != heap.turn[other]:
        first = heap.turn[one] < heap.turn[other]
    else:
        first = one < other
    return first
