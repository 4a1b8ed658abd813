"""A network of ports in SimPy: ports hand packets on over links, to the senders of a subclass at their ends."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from simpy.events import ProcessGenerator

from flowsched_gym.core.simpy_environment import NetworkEnvironment
from flowsched_gym.flows.link_changes import LinkChanges
from flowsched_gym.packets.network import PacketNetwork, Ways
from flowsched_gym.packets.simpy.port import PORT, PacketLog, Place, Port, QueueCounter
from flowsched_gym.packets.state import PacketEventKind
from flowsched_gym.topology.network import Network as Links
from flowsched_gym.topology.routes import path_instead


class Census(NamedTuple):
    """Packets so far: at every event, those sent are those delivered, dropped, waiting, being sent and travelling."""

    sent: int
    delivered: int
    dropped: int
    waiting: int
    sending: int
    travelling: int


class Network(ABC):
    """Ports, and links on which packets travel from port to port; observers note what happens at the first port.

    A subclass has the senders: it sends packets, by their rows in the table, when a flow begins, and takes them.
    """

    def __init__(self, network: PacketNetwork, observers: Sequence[PacketLog | QueueCounter] = ()) -> None:
        self.env = NetworkEnvironment()
        self.network = network = network.with_own_links()
        self.record = network.new_record()
        self.sizes: list[float] = network.table.size.tolist() if network.are_given else []
        self.flow: list[int] = network.table.flow.tolist() if network.are_given else []
        self.marked: set[int] = set()
        self.num_delivered = 0
        self.delays = network.delays()
        self._times: list[float] = self.delays.time.tolist()
        self._of_port: list[int] = self.delays.of_port.tolist()
        self._left: dict[int, list[int]] = {}
        self._sent = self._arrived = self._dropped = self._travelling = 0
        self._begun: list[int] = []
        limits = network.limits
        places = zip(network.capacity.tolist(), limits.room.tolist(), limits.unmarked.tolist(), strict=True)
        self.ports = [
            Port(
                self.env,
                network.scheduler,
                Place(number, *place, limits.by_bytes),
                self.record,
                network.table,
                sizes=self.sizes,
                flow=self.flow,
                observers=observers if number == PORT else (),
                on_departure=self.leave,
                on_drop=self._drop,
                marked=self.marked,
            )
            for number, place in enumerate(places)
        ]
        self.env.process(self._begin())
        if network.changes is not None:
            self.env.process(self._change_links(network.changes))

    @property
    def census(self) -> Census:
        """Where all packets are."""
        waiting = sending = 0
        for port in self.ports:
            waiting += port.num_waiting
            sending += port.sending is not None
        return Census(self._sent, self._arrived, self._dropped, waiting, sending, self._travelling)

    def run(self, until: float | None = None) -> None:
        """Runs until this time in s, or to the end."""
        self.env.run(until)

    def send(self, p: int, ports: list[int]) -> None:
        """Sends a packet on its way through these ports, the last one first."""
        self.marked.discard(p)
        self._sent += 1
        self._left[p] = ports
        self.ports[ports.pop()].receive(p)

    def skip_ports(self, p: int) -> None:
        """Lets a packet be behind its last port at once, before it travels."""
        self.marked.discard(p)
        self._sent += 1
        self._left[p] = []

    def travel(self, p: int, which: int) -> None:
        """Lets a packet travel on one of the ways."""
        self._travelling += 1
        arrival = self.env.at(self.env.now + self._times[which], PacketEventKind.ACKNOWLEDGEMENT, which)
        arrival.callbacks.append(lambda _: self._end_travel(p))

    def leave(self, p: int, port: int) -> None:
        """Lets a packet that has left a port travel on the link behind it."""
        self.travel(p, self._of_port[port])

    @abstractmethod
    def begin(self, row: int) -> None:
        """Lets a flow arrive."""

    @abstractmethod
    def find_ways(self, rows: list[int]) -> None:
        """Gives those of these flows that are not over another path, where theirs has failed."""

    @abstractmethod
    def take(self, p: int) -> None:
        """Takes a packet that has ended its travel behind its last port."""

    @abstractmethod
    def lose(self, p: int) -> None:
        """Notes that a port has dropped a packet."""

    def count_delivery(self) -> None:
        """Counts a packet that has reached its host."""
        self._arrived += 1

    def _begin(self) -> ProcessGenerator:
        """Lets flows, or their requests, arrive in the order of time, and at one instant by id."""
        times = self.network.begin_time
        for row in np.argsort(times, kind="stable").tolist():
            yield self.env.at(float(times[row]), PacketEventKind.ARRIVAL)
            self._begun.append(row)
            self.find_ways([row])
            self.begin(row)

    def _change_links(self, changes: LinkChanges) -> ProcessGenerator:
        """Process that lets links fail and come up.

        What waits at the port of a link that fails is lost, as is all that arrives there until it comes up; the packet
        that is being sent, and those on the link, get through. Senders notice by what is not acknowledged. Flows whose
        path has failed take another one at once, if one is up (fast failover), without asking an agent.
        """
        capacity, number = self.network.links.capacity, np.argsort(self.network.link_of_port).tolist()
        rows = zip(changes.time.tolist(), changes.link.tolist(), changes.up.tolist(), strict=True)
        for time, now_changing in groupby(rows, key=lambda row: row[0]):
            yield self.env.at(time, PacketEventKind.LINK_CHANGE)
            for _, link, up in now_changing:
                port = self.ports[number[link]]
                if up:
                    port.come_up()
                else:
                    port.fail()
                capacity[link] = float(self.network.capacity[number[link]]) if up else 0.0
            self.find_ways(self._begun)

    def _end_travel(self, p: int) -> None:
        self._travelling -= 1
        left = self._left[p]
        if left:
            self.ports[left.pop()].receive(p)
        else:
            self.take(p)

    def _drop(self, p: int) -> None:
        self._dropped += 1
        self.lose(p)


class Paths:
    """The paths that the packets of each flow take in turns."""

    def __init__(self, network: PacketNetwork, ways: Ways) -> None:
        self._first, self._count, self._turn = ways.first.tolist(), ways.number.tolist(), ways.turn.tolist()
        self._step = ways.step
        self._start = network.path_start.tolist()
        self._ports = network.path_ports.tolist()

    def next_ports(self, row: int) -> list[int]:
        """Returns the ports of the next packet's path, the last one first, without ``BEHIND``."""
        path = self._first[row] + self._turn[row]
        self._turn[row] = (self._turn[row] + self._step) % self._count[row]
        ports: list[int] = self._ports[self._start[path] : self._start[path + 1] - 1][::-1]
        return ports

    def find(self, row: int, links: Links) -> int:
        """Sends the next packet along another path, where that of a flow has failed; returns the path that it takes."""
        first = self._first[row]
        path = path_instead(first + self._turn[row], first, first + self._count[row], links)
        self._turn[row] = path - first
        return path

    def turn_to(self, row: int, choice: int) -> None:
        """Sends the next packet of a flow along the path with this index, of as many as there are."""
        self._turn[row] = choice % self._count[row]


class PacketServing(Network):
    """Packets at times that are given, which leave the network behind their last port."""

    def __init__(self, network: PacketNetwork, observers: Sequence[PacketLog]) -> None:
        super().__init__(network, observers)
        self._there = Paths(network, network.there)

    def begin(self, row: int) -> None:
        """Sends the packet of that row."""
        self.send(row, self._there.next_ports(row))

    def leave(self, p: int, port: int) -> None:
        """Forgets a packet that has been sent."""
        self.num_delivered += 1
        self.count_delivery()

    def find_ways(self, rows: list[int]) -> None:
        """Changes no path: links stay up."""

    def take(self, p: int) -> None:
        """Takes no packet: none travels."""
        raise NotImplementedError

    def lose(self, p: int) -> None:
        """Forgets a packet that was dropped."""
