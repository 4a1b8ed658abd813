"""The virtual time of bit-by-bit round robin (Demers, Keshav and Shenker, 1989)."""

from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.machine_code.decorators import inlined_part


class VirtualTime(NamedTuple):
    """Rounds in which each flow with bits left sends one of them.

    Attributes:
        capacity: Capacity of each port in B/s, (num_ports,) float64.
        round: Rounds so far, in B, (num_ports,) float64.
        time: Time in s at which that was so, (num_ports,) float64.
        finish: Round in which the last packet of each key ends, (num_ports, num_keys) float64.
        active: Whether a key is in the heap, (num_ports, num_keys) bool.
        heap: Keys with bits left, by ``expected``, a binary heap, (num_ports, num_keys) int64.
        expected: Round in which each of these was to end when it entered its place, (num_ports, num_keys) float64.
        num_active: Number of these, (num_ports,) int64.
    """

    capacity: FloatArray
    round: FloatArray
    time: FloatArray
    finish: FloatArray
    active: IntArray
    heap: IntArray
    expected: FloatArray
    num_active: IntArray


def new_virtual_time(num_keys: int, capacity: FloatArray, num_ports: int) -> VirtualTime:
    """Makes a record in which no flow has sent."""
    shape = (num_ports, num_keys)
    return VirtualTime(
        capacity,
        np.zeros(num_ports),
        np.zeros(num_ports),
        np.zeros(shape),
        np.zeros(shape, dtype=np.int64),
        np.zeros(shape, dtype=np.int64),
        np.zeros(shape),
        np.zeros(num_ports, dtype=np.int64),
    )


@inlined_part
def finish_round(now: float, port: int, key: int, size: float, virtual: VirtualTime) -> float:
    """Returns the round in which a packet that arrives ends, which is its rank."""
    _advance(now, port, virtual)
    finish: float = max(virtual.round[port], virtual.finish[port, key]) + size
    virtual.finish[port, key] = finish
    if virtual.active[port, key] == 0:
        virtual.active[port, key] = 1
        last = virtual.num_active[port]
        virtual.num_active[port] = last + 1
        _rise(last, key, finish, virtual.heap[port], virtual.expected[port])
    return finish


@inlined_part
def _advance(now: float, port: int, virtual: VirtualTime) -> None:
    """Advances the rounds to now: the more flows have bits left, the slower they go."""
    heap, expected, finish = virtual.heap[port], virtual.expected[port], virtual.finish[port]
    while virtual.num_active[port] > 0:
        count = virtual.num_active[port]
        key = heap[0]
        if finish[key] > expected[0]:
            _sink(count, key, finish[key], heap, expected)
            continue
        end = virtual.time[port] + (expected[0] - virtual.round[port]) * count / virtual.capacity[port]
        if end > now:
            virtual.round[port] += (now - virtual.time[port]) * virtual.capacity[port] / count
            break
        virtual.round[port] = expected[0]
        virtual.time[port] = end
        virtual.active[port, key] = 0
        virtual.num_active[port] = count - 1
        if count > 1:
            _sink(count - 1, heap[count - 1], expected[count - 1], heap, expected)
    virtual.time[port] = now


@inlined_part
def _rise(place: int, key: int, value: float, heap: IntArray, expected: FloatArray) -> None:
    """Puts a key into the heap, from its end upwards."""
    while place > 0:
        above = (place - 1) // 2
        if expected[above] <= value:
            break
        heap[place], expected[place] = heap[above], expected[above]
        place = above
    heap[place], expected[place] = key, value


@inlined_part
def _sink(count: int, key: int, value: float, heap: IntArray, expected: FloatArray) -> None:
    """Puts a key into the heap, from its top downwards, in place of the one there."""
    place = 0
    while 2 * place + 1 < count:
        below = 2 * place + 1
        if below + 1 < count and expected[below + 1] < expected[below]:
            below += 1
        if expected[below] >= value:
            break
        heap[place], expected[place] = heap[below], expected[below]
        place = below
    heap[place], expected[place] = key, value
