"""Chooses the queue of a packet and the queue that a port serves next; counts, for an agent, what happens in them."""

from typing import Any, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.machine_code.decorators import inlined_part
from flowsched_gym.packets.state import PortLimits

STRICT, ROUND, DEFICIT = range(3)
"""Strict priority: the first queue that holds a packet; weighted round robin: so many packets of each queue; deficit
round robin: so many bytes of each queue (Shreedhar and Varghese, 1995)."""


class Service(NamedTuple):
    """The way in which ports serve their queues, in one group or in two, of which the first goes before the second.

    Attributes:
        way: ``STRICT``, ``ROUND`` or ``DEFICIT``.
        way_behind: The same for the second group.
        split: First queue of the second group; 0 where there is but one group, the first.
        quantum: Packets, or bytes, that a queue may send in each round, (num_ports, num_queues) float64, > 0.
        credit: What it may still send, (num_ports, num_queues) float64.
        turn: Queue of each group whose turn it is, (num_ports, 2) int64.
        arrived: 1 while that queue has got its quantum of this round, (num_ports, 2) int64.
    """

    way: int
    way_behind: int
    split: int
    quantum: FloatArray
    credit: FloatArray
    turn: IntArray
    arrived: IntArray


class QueueCounts(NamedTuple):
    """Counts of the queues of each port, (num_ports, num_queues) each.

    All but ``waiting`` are since an agent acted; before its second action, since the beginning.

    Attributes:
        waiting: Packets that wait now.
        packets: Packets that entered; ``size`` are their bytes on the wire, ``weight`` is the sum of their weights.
        drops: Packets that were dropped; those for which there was no queue are counted nowhere.
        started: Packets whose transmission began; ``waited`` is how long these had waited, in s, together.
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


def new_service(way: int, quantum: FloatArray, num_ports: int, split: int = 0, way_behind: int = STRICT) -> Service:
    """Makes a record of ports that begin with the first queues; packets, or bytes, of each queue are (num_queues,)."""
    turn = np.tile(np.array([0, split], dtype=np.int64), (num_ports, 1))
    quanta = np.tile(quantum, (num_ports, 1))
    return Service(way, way_behind, split, quanta, np.zeros_like(quanta), turn, np.zeros_like(turn))


@inlined_part
def counted_size(size: float, limits: PortLimits) -> float:
    """Returns what the limits of ports count of a packet of so many bytes on the wire."""
    return size if limits.by_bytes else 1.0


@inlined_part
def first_within(weight: float, port: int, thresholds: FloatArray, first: int, last: int) -> int:
    """Returns the first queue with ``weight <= threshold``, from the first to the last, which has no threshold.

    Thresholds below the queues are (num_ports, num_queues - 1).
    """
    for queue in range(first, last):
        if weight <= thresholds[port, queue]:
            return queue
    return last


@inlined_part
def next_queue(port: int, head_size: FloatArray, service: Service) -> int:
    """Returns the queue from which the port takes its next packet.

    In rounds, a queue whose turn comes gets its quantum, and sends while its credit lasts. It keeps its turn until it
    is found without packets, and then loses its credit, or without enough credit, which it keeps for the next round.
    Rounds in which no queue can send are skipped.
    """
    queue: int = 0
    while head_size[queue] == 0.0:
        queue += 1
    group, first, last, way = 0, 0, len(head_size), service.way
    if queue >= service.split > 0:
        group, first, way = 1, service.split, service.way_behind
    elif service.split > 0:
        last = service.split
    if way == STRICT:
        return queue
    queue = int(service.turn[port, group])
    visits = 0
    while True:
        if visits == last - first:
            _skip_rounds(port, head_size, first, last, way, service)
            visits = 0
        visits += 1
        if head_size[queue] == 0.0:
            service.credit[port, queue] = 0.0
        else:
            if service.arrived[port, group] == 0:
                service.arrived[port, group] = 1
                service.credit[port, queue] += service.quantum[port, queue]
            cost = _cost(head_size[queue], way)
            if cost <= service.credit[port, queue]:
                service.credit[port, queue] -= cost
                service.turn[port, group] = queue
                return queue
        service.arrived[port, group] = 0
        queue += 1
        if queue == last:
            queue = first


def new_counts(num_ports: int, num_queues: int, *, kept: bool) -> QueueCounts:
    """Makes counts of nothing."""
    shape = (num_ports, num_queues) if kept else (1, 1)
    real = ("size", "weight", "waited")
    arrays: Any = (np.zeros(shape, np.float64 if name in real else np.int64) for name in QueueCounts._fields[1:])
    return QueueCounts(kept, *arrays)


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
    """Counts a packet that is dropped: one of those that wait, or that has just come."""
    counts.waiting[port, queue] -= 1
    counts.drops[port, queue] += 1


@inlined_part
def count_start(port: int, queue: int, waited: float, counts: QueueCounts) -> None:
    """Counts a packet whose transmission begins after so many s."""
    counts.waiting[port, queue] -= 1
    counts.started[port, queue] += 1
    counts.waited[port, queue] += waited


@inlined_part
def forget_counts(counts: QueueCounts) -> None:
    """Begins to count anew; packets that wait go on waiting."""
    for each in (counts.packets, counts.marks, counts.drops, counts.started):
        each[:, :] = 0
    for total in (counts.size, counts.weight, counts.waited):
        total[:, :] = 0.0


@inlined_part
def _cost(size: float, way: int) -> float:
    return size if way == DEFICIT else 1.0


@inlined_part
def _skip_rounds(port: int, head_size: FloatArray, first: int, last: int, way: int, service: Service) -> None:
    """Gives all queues of a group the quanta of as many rounds as are left in which none of them can send."""
    rounds = np.inf
    for queue in range(first, last):
        if head_size[queue] > 0.0:
            missing = _cost(head_size[queue], way) - service.credit[port, queue]
            rounds = min(rounds, np.ceil(missing / service.quantum[port, queue]) - 1.0)
    if rounds > 0.0:
        for queue in range(first, last):
            if head_size[queue] > 0.0:
                service.credit[port, queue] += rounds * service.quantum[port, queue]
