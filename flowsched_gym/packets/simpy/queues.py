"""The packets that wait at a port."""

from abc import ABC, abstractmethod
from collections import deque
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from flowsched_gym.packets.rules.table import Arrival, PacketTable
from flowsched_gym.packets.schedulers import Order, Rules


class WaitingPackets(ABC):
    """Packets that wait, in the order of a scheduler."""

    @abstractmethod
    def put(self, p: int, arrival: Arrival) -> None:
        """Lets a packet wait."""

    @abstractmethod
    def take(self) -> int:
        """Returns the packet that is to be sent next, which waits no more."""

    @abstractmethod
    def make_room(self, p: int, arrival: Arrival) -> int:
        """Returns which packet a full buffer drops: the one that arrives, or one that waits, which it takes out."""


class _Queues(WaitingPackets):
    """FIFO queues, among which the scheduler chooses."""

    def __init__(self, rules: Rules, own: Any, table: PacketTable, num_queues: int) -> None:
        self._choose = rules.choose
        self._own = own
        self._sizes = table.size.tolist()
        self._queues: list[deque[int]] = [deque() for _ in range(num_queues)]
        self._head_size = np.zeros(num_queues)

    def put(self, p: int, arrival: Arrival) -> None:
        queue = self._queues[arrival.queue]
        if not queue:
            self._head_size[arrival.queue] = self._sizes[p]
        queue.append(p)

    def take(self) -> int:
        number = self._choose(0, self._head_size, self._own)
        queue = self._queues[number]
        p = queue.popleft()
        self._head_size[number] = self._sizes[queue[0]] if queue else 0.0
        return p

    def make_room(self, p: int, arrival: Arrival) -> int:
        return p


class _ByRank(WaitingPackets):
    """Packets by queue, rank and order of arrival."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, float, int, int]] = []
        self._waiting: dict[int, int] = {}
        self._arrived = 0

    def put(self, p: int, arrival: Arrival) -> None:
        self._arrived += 1
        self._waiting[p] = self._arrived
        heappush(self._heap, (arrival.queue, arrival.rank, self._arrived, p))

    def take(self) -> int:
        p = self._first()
        del self._waiting[p]
        return p

    def make_room(self, p: int, arrival: Arrival) -> int:
        self._heap = [entry for entry in self._heap if self._waits(entry)]
        heapify(self._heap)
        last = max(self._heap)
        if (arrival.queue, arrival.rank) >= last[:2]:
            return p
        self._remove(last[3])
        return last[3]

    def _first(self) -> int:
        """Returns the packet of the smallest rank; those that wait no more are forgotten here."""
        while not self._waits(self._heap[0]):
            heappop(self._heap)
        return self._heap[0][3]

    def _waits(self, entry: tuple[int, float, int, int]) -> bool:
        return self._waiting.get(entry[3]) == entry[2]

    def _remove(self, p: int) -> None:
        del self._waiting[p]


class _ByFlow(_ByRank):
    """The same, but of the first packet's flow the one that arrived first is taken."""

    def __init__(self, table: PacketTable) -> None:
        super().__init__()
        self._flow = table.flow.tolist()
        self._of_flow: dict[int, deque[int]] = {}

    def put(self, p: int, arrival: Arrival) -> None:
        super().put(p, arrival)
        self._of_flow.setdefault(self._flow[p], deque()).append(p)

    def take(self) -> int:
        p = self._of_flow[self._flow[self._first()]].popleft()
        del self._waiting[p]
        return p

    def _remove(self, p: int) -> None:
        super()._remove(p)
        self._of_flow[self._flow[p]].remove(p)


def waiting_packets(rules: Rules, own: Any, table: PacketTable, num_queues: int) -> WaitingPackets:
    """Makes an empty port in the order of a scheduler."""
    if rules.order is Order.ARRIVAL:
        return _Queues(rules, own, table, num_queues)
    return _ByRank() if rules.order is Order.RANK else _ByFlow(table)
