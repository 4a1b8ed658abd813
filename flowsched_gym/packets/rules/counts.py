"""What an agent is told of a port's queues: what entered them, how long it waited, what was marked and dropped."""

from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.machine_code.decorators import inlined_part


class QueueCounts(NamedTuple):
    """Counts of the queues of each port, (num_ports, num_queues) each.

    All but ``waiting`` are since an agent acted; before its second action, since the beginning.

    Attributes:
        kept: Whether anything is counted.
        waiting: Packets that wait now.
        packets: Packets that entered.
        size: Their bytes on the wire.
        weight: Sum of their weights.
        marks: Packets that were marked.
        drops: Packets that were dropped; those for which there was no queue are counted nowhere.
        started: Packets whose transmission began.
        waited: How long these had waited, in s, together.
    """

    kept: bool
    waiting: IntArray
    packets: IntArray
    size: FloatArray
    weight: FloatArray
    marks: IntArray
    drops: IntArray
    started: IntArray
    waited: FloatArray


def new_counts(num_ports: int, num_queues: int, *, kept: bool) -> QueueCounts:
    """Makes counts of nothing."""
    shape = (num_ports, num_queues) if kept else (1, 1)

    def zeros() -> IntArray:
        return np.zeros(shape, dtype=np.int64)

    return QueueCounts(
        kept, zeros(), zeros(), np.zeros(shape), np.zeros(shape), zeros(), zeros(), zeros(), np.zeros(shape)
    )


@inlined_part
def count_arrival(port: int, queue: int, size: float, weight: float, marked: bool, counts: QueueCounts) -> None:
    """Counts a packet that enters a queue."""
    counts.waiting[port, queue] += 1
    counts.packets[port, queue] += 1
    counts.size[port, queue] += size
    counts.weight[port, queue] += weight
    if marked:
        counts.marks[port, queue] += 1


@inlined_part
def count_drop(port: int, queue: int, counts: QueueCounts) -> None:
    """Counts a packet that is dropped: of those that wait, the one that has just come among them."""
    counts.waiting[port, queue] -= 1
    counts.drops[port, queue] += 1


@inlined_part
def count_start(port: int, queue: int, waited: float, counts: QueueCounts) -> None:
    """Counts a packet whose transmission begins after so many s."""
    counts.waiting[port, queue] -= 1
    counts.started[port, queue] += 1
    counts.waited[port, queue] += waited


def forget_counts(counts: QueueCounts) -> None:
    """Begins to count anew; packets that wait go on waiting."""
    for name in QueueCounts._fields[2:]:
        getattr(counts, name)[:] = 0
