"""A port of a switch: packets wait in its queues, and it sends one after the other."""

from collections.abc import Callable
from typing import Any

from simpy import Event
from simpy.events import ProcessGenerator

from flowsched_gym.core.simpy_environment import NetworkEnvironment
from flowsched_gym.packets.events import PacketEventKind
from flowsched_gym.packets.rules.counts import QueueCounts, count_arrival, count_drop, count_start
from flowsched_gym.packets.rules.table import BEYOND, PacketTable
from flowsched_gym.packets.schedulers import BaseScheduler
from flowsched_gym.packets.simpy.log import PacketLog
from flowsched_gym.packets.simpy.queues import waiting_packets
from flowsched_gym.packets.state import PortParameters


class Port:
    """A port: a process that takes packets from its queues.

    Args:
        env: Environment of the simulation.
        scheduler: Says which queue a packet enters, and which queue is served.
        own: What the scheduler keeps.
        table: The packets.
        capacity: Bytes that it sends per s.
        parameters: Its buffer.
        counts: What an agent is told of the queues.
        log: Where to write what becomes of packets, if wanted.
        on_departure: Called with each packet that has been sent.
        on_drop: Called with each packet that is dropped.

    Attributes:
        num_waiting: Packets that wait.
        sending: Whether a packet is being sent.
        marked: Packets that are marked and on their way.
    """

    def __init__(
        self,
        env: NetworkEnvironment,
        scheduler: BaseScheduler,
        own: Any,
        table: PacketTable,
        capacity: float,
        parameters: PortParameters,
        *,
        counts: QueueCounts,
        log: PacketLog | None,
        on_departure: Callable[[int], None],
        on_drop: Callable[[int], None],
    ) -> None:
        self.num_waiting = 0
        self.sending = False
        self.marked: set[int] = set()
        self._env = env
        self._arrive = scheduler.rules.arrive
        self._own = own
        self._table = table
        self._sizes = table.size.tolist()
        self._capacity = capacity
        self._room, self._unmarked = parameters.room, parameters.unmarked
        self._counts = counts
        self._entered: dict[int, tuple[int, float]] = {}
        self._log = log
        self._on_departure = on_departure
        self._on_drop = on_drop
        self._waiting = waiting_packets(scheduler.rules, own, table, scheduler.num_queues)
        self._packet_there: Event | None = None
        env.process(self._send())

    def receive(self, p: int) -> None:
        """Lets a packet wait, or drops one if the buffer is full."""
        now = self._env.now
        arrival = self._arrive(now, 0, p, self._table, self._own)
        marked = self.num_waiting >= self._unmarked
        if self._log is not None:
            self._log.arrive(now, p, arrival, marked=marked)
        if arrival.queue == BEYOND:
            self._drop(p)
            return
        if marked:
            self.marked.add(p)
        if self._counts.kept:
            self._entered[p] = arrival.queue, now
            count_arrival(0, arrival.queue, self._sizes[p], arrival.weight, marked, self._counts)
        if self.num_waiting >= self._room:
            dropped = self._waiting.make_room(p, arrival)
            if dropped != p:
                self._waiting.put(p, arrival)
            if self._counts.kept:
                count_drop(0, self._entered.pop(dropped)[0], self._counts)
            self._drop(dropped)
            return
        self._waiting.put(p, arrival)
        self.num_waiting += 1
        if self._packet_there is not None:
            # It chooses when all else of this instant has happened.
            self._env.at(now, PacketEventKind.CHOICE, 0, self._packet_there)
            self._packet_there = None

    def _send(self) -> ProcessGenerator:
        env = self._env
        while True:
            if self.num_waiting:
                yield env.at(env.now, PacketEventKind.CHOICE)
            else:
                self._packet_there = Event(env)
                yield self._packet_there
            p = self._waiting.take()
            self.num_waiting -= 1
            self.sending = True
            end = env.now + self._sizes[p] / self._capacity
            if self._counts.kept:
                queue, since = self._entered.pop(p)
                count_start(0, queue, env.now - since, self._counts)
            if self._log is not None:
                self._log.send(env.now, p, end)
            yield env.at(end, PacketEventKind.TRANSMISSION_END)
            self.sending = False
            self._on_departure(p)

    def _drop(self, p: int) -> None:
        self.marked.discard(p)
        if self._log is not None:
            self._log.drop(p)
        self._on_drop(p)
