"""A port of a switch: packets wait in its queues, it sends one after the other, and observers note what happens."""

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from simpy import Event
from simpy.events import ProcessGenerator

from flowsched_gym.core.simpy_environment import NetworkEnvironment
from flowsched_gym.packets.contract import BEYOND, Arrival, Order, PacketTable, Scheduler, hook_error
from flowsched_gym.packets.rules.queues import count_arrival, count_drop, count_start, new_counts
from flowsched_gym.packets.state import NO_ROOM, TRACE_ROW, PacketEventKind

PORT: Final = 0
NAN: Final = float("nan")
START, END, DROPPED = 7, 8, 9
"""Columns of ``TRACE_ROW``."""


class PacketLog:
    """Writes the rows of a ``PacketTrace``; of each packet, the last one can still change."""

    def __init__(self) -> None:
        self._rows: list[list[float]] = []
        self._row: dict[int, list[float]] = {}

    def arrive(self, now: float, p: int, flow: int, size: float, arrival: Arrival, *, marked: bool) -> None:
        """Begins a row, in the order of ``TRACE_ROW``."""
        queue, _, weight, last_seen, new_message = arrival
        self._row[p] = row = [flow, size, now, queue, weight, last_seen, new_message, NAN, NAN, False, marked]
        self._rows.append(row)

    def send(self, now: float, p: int, end: float) -> None:
        """Notes a transmission."""
        row = self._row[p]
        row[START], row[END] = now, end

    def drop(self, p: int) -> None:
        """Notes a loss."""
        self._row[p][DROPPED:] = True, False

    def rows(self) -> npt.NDArray[Any]:
        """Returns the rows, (num_rows,) of type ``TRACE_ROW``."""
        rows = np.zeros(len(self._rows), dtype=TRACE_ROW)
        for name, column in zip(TRACE_ROW.names or (), zip(*self._rows, strict=True), strict=False):
            rows[name] = column  # there is none where there are no rows
        return rows


class QueueCounter:
    """Counts, for an agent, what happens in the queues of a port."""

    def __init__(self, num_queues: int) -> None:
        self.counts = new_counts(1, num_queues, kept=True)
        self._entered: dict[int, tuple[int, float]] = {}

    def arrive(self, now: float, p: int, flow: int, size: float, arrival: Arrival, *, marked: bool) -> None:
        """Counts a packet that enters a queue."""
        if arrival.queue != BEYOND:
            self._entered[p] = arrival.queue, now
            count_arrival(PORT, arrival.queue, size, arrival.weight, marked, self.counts)

    def send(self, now: float, p: int, end: float) -> None:
        """Counts a transmission, and how long its packet has waited."""
        queue, since = self._entered.pop(p)
        count_start(PORT, queue, now - since, self.counts)

    def drop(self, p: int) -> None:
        """Counts a loss; none of a packet for which there was no queue."""
        if p in self._entered:
            count_drop(PORT, self._entered.pop(p)[0], self.counts)


class _Queues:
    """FIFO queues, among which the scheduler chooses; the two classes below do the same in other orders."""

    def __init__(self, scheduler: Scheduler, record: Any, sizes: Sequence[float], port: int) -> None:
        self._scheduler = scheduler
        self._record = record
        self._sizes = sizes
        self._port = port
        self._queues: list[deque[int]] = [deque() for _ in range(scheduler.num_queues)]
        self._head_size = np.zeros(scheduler.num_queues)

    def put(self, p: int, arrival: Arrival) -> None:
        queue = self._queues[arrival.queue]
        if not queue:
            self._head_size[arrival.queue] = self._sizes[p]
        queue.append(p)

    def take(self) -> int:
        """Returns the packet that is to be sent next, which waits no more."""
        try:
            number = self._scheduler.choose(self._port, self._head_size, self._record)
        except IndexError as error:
            raise hook_error(self._scheduler, "choose") from error
        if not (0 <= number < len(self._queues) and self._queues[number]):
            raise hook_error(self._scheduler, "choose", number)
        queue = self._queues[number]
        p = queue.popleft()
        self._head_size[number] = self._sizes[queue[0]] if queue else 0.0
        return p

    def make_room(self, p: int, arrival: Arrival) -> int:
        """Returns the packet that a full buffer drops, which does not wait: the one that arrives."""
        return p


class _ByRank:
    """Packets by queue, rank and order of arrival, a heap."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, float, int, int]] = []
        self._arrived = 0

    def put(self, p: int, arrival: Arrival) -> None:
        self._arrived += 1
        heappush(self._heap, (arrival.queue, arrival.rank, self._arrived, p))

    def take(self) -> int:
        return heappop(self._heap)[3]

    def make_room(self, p: int, arrival: Arrival) -> int:
        """Returns the packet that a full buffer drops, which does not wait: the one that would be served last."""
        last = max(self._heap)
        if (arrival.queue, arrival.rank) >= last[:2]:
            return p
        self._heap.remove(last)
        heapify(self._heap)
        return last[3]


class _ByFlow(_ByRank):
    """The same, but of the first packet's flow the one that arrived first is taken."""

    def __init__(self, flow: Sequence[int]) -> None:
        super().__init__()
        self._flow = flow
        self._of_flow: dict[int, deque[int]] = {}
        self._waiting: dict[int, int] = {}

    def put(self, p: int, arrival: Arrival) -> None:
        super().put(p, arrival)
        self._waiting[p] = self._arrived
        self._of_flow.setdefault(self._flow[p], deque()).append(p)

    def take(self) -> int:
        """Returns the packet that is to be sent next; the heap forgets those that wait no more when they are first."""
        while not self._waits(self._heap[0]):
            heappop(self._heap)
        p = self._of_flow[self._flow[self._heap[0][3]]].popleft()
        del self._waiting[p]
        return p

    def make_room(self, p: int, arrival: Arrival) -> int:
        self._heap = [entry for entry in self._heap if self._waits(entry)]
        dropped = super().make_room(p, arrival)
        if dropped != p:
            del self._waiting[dropped]
            self._of_flow[self._flow[dropped]].remove(dropped)
        else:
            heapify(self._heap)
        return dropped

    def bring_forward(self, row: int, rank: float) -> None:
        """Gives the packets of a flow that wait a rank, where it is smaller."""
        waiting = [entry for entry in self._heap if self._waits(entry)]
        self._heap = [
            (queue, min(old, rank) if self._flow[p] == row else old, order, p) for queue, old, order, p in waiting
        ]
        heapify(self._heap)

    def _waits(self, entry: tuple[int, float, int, int]) -> bool:
        return self._waiting.get(entry[3]) == entry[2]


class Place(NamedTuple):
    """Where a port stands: its number, its capacity in B/s, what may wait there, and whether that is in bytes."""

    number: int
    capacity: float
    room: float
    unmarked: float
    by_bytes: bool


class Port:
    """A port: a process that takes packets from its queues; observers note what arrives, is sent and is dropped.

    Sizes in B and flows of the packets of the table are sequences of their own, which are faster to read.
    """

    def __init__(
        self,
        env: NetworkEnvironment,
        scheduler: Scheduler,
        place: Place,
        record: Any,
        table: PacketTable,
        *,
        sizes: Sequence[float],
        flow: Sequence[int],
        observers: Sequence[PacketLog | QueueCounter] = (),
        on_departure: Callable[[int, int], None],
        on_drop: Callable[[int], None],
        marked: set[int],
    ) -> None:
        self.num_waiting = 0
        self.fill = 0.0
        self._marked = marked
        self._env = env
        self._scheduler = scheduler
        self._record = record
        self._table = table
        self._sizes = sizes
        self._flow = flow
        self._place = place
        self._room = place.room
        self._first_queue = BEYOND if scheduler.drops else 0
        self._observers = observers
        self._on_departure = on_departure
        self._on_drop = on_drop
        self._waiting: _Queues | _ByRank
        if scheduler.order is Order.ARRIVAL:
            self._waiting = _Queues(scheduler, record, sizes, place.number)
        else:
            self._waiting = _ByRank() if scheduler.order is Order.RANK else _ByFlow(flow)
        self._packet_there: Event | None = None
        self.sending: int | None = None
        env.process(self._send())

    def bring_forward(self, row: int, rank: float) -> None:
        """Gives the packets of a flow that wait a rank, where it is smaller and flows are served one by one."""
        if isinstance(self._waiting, _ByFlow):
            self._waiting.bring_forward(row, rank)

    def fail(self) -> None:
        """Drops what waits, and what arrives from now on: the link has failed."""
        self._place = self._place._replace(room=NO_ROOM)
        while self.num_waiting:
            self._drop(self._take())

    def come_up(self) -> None:
        """Lets packets wait again: the link has come up."""
        self._place = self._place._replace(room=self._room)

    def receive(self, p: int) -> None:
        """Lets a packet wait, or drops one if the buffer is full."""
        now, arrival, place = self._env.now, self._arrival(p), self._place
        size = self._counted(p)
        before = self.fill if self.num_waiting else 0.0  # not what parts of bytes that were rounded have left
        marked = before + (0.0 if place.by_bytes else size) > place.unmarked
        for each in self._observers:
            each.arrive(now, p, self._flow[p], self._sizes[p], arrival, marked=marked)
        if arrival.queue == BEYOND:
            self._drop(p)
            return
        if marked:
            self._marked.add(p)
        dropped = [p] if size > place.room else []
        while p not in dropped and self.num_waiting and self.fill + size > place.room:
            last = self._waiting.make_room(p, arrival)
            if last != p:
                self.num_waiting -= 1
                self.fill -= self._counted(last)
            dropped.append(last)
        if p not in dropped:
            self._waiting.put(p, arrival)
            self.num_waiting += 1
            self.fill += size
            if self._packet_there is not None:
                # It chooses when all else of this instant has happened.
                self._env.at(now, PacketEventKind.CHOICE, 0, self._packet_there)
                self._packet_there = None
        for each_dropped in reversed(dropped):
            self._drop(each_dropped)

    def _counted(self, p: int) -> float:
        return self._sizes[p] if self._place.by_bytes else 1.0

    def _arrival(self, p: int) -> Arrival:
        try:
            arrival = self._scheduler.arrive(self._env.now, self._place.number, p, self._table, self._record)
        except IndexError as error:
            raise hook_error(self._scheduler, "arrive") from error
        if not self._first_queue <= arrival.queue < self._scheduler.num_queues:
            raise hook_error(self._scheduler, "arrive", arrival.queue)
        return arrival

    def _send(self) -> ProcessGenerator:
        env, capacity = self._env, self._place.capacity
        while True:
            if self.num_waiting:
                yield env.at(env.now, PacketEventKind.CHOICE)
            else:
                self._packet_there = Event(env)
                yield self._packet_there
            if not self.num_waiting:  # the link has failed in this instant
                continue
            p = self.sending = self._take()
            end = env.now + self._sizes[p] / capacity
            for each in self._observers:
                each.send(env.now, p, end)
            yield env.at(end, PacketEventKind.TRANSMISSION_END)
            self.sending = None
            self._on_departure(p, self._place.number)

    def _take(self) -> int:
        """Returns the packet that is to be sent next, which waits no more."""
        p = self._waiting.take()
        self.num_waiting -= 1
        self.fill -= self._counted(p)
        return p

    def _drop(self, p: int) -> None:
        self._marked.discard(p)
        for each in self._observers:
            each.drop(p)
        self._on_drop(p)
