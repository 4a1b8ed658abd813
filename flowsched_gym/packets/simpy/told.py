"""Senders in SimPy that are told of losses; and packets that are given."""

from collections import deque
from collections.abc import Sequence

import numpy as np
from simpy import Event
from simpy.events import ProcessGenerator

from flowsched_gym.packets.network import PacketNetwork
from flowsched_gym.packets.rules.windows import acknowledge, may_send, note_sent, time_out
from flowsched_gym.packets.simpy.network import Network, Paths
from flowsched_gym.packets.simpy.port import PacketLog, QueueCounter
from flowsched_gym.packets.state import FlowOutcomes, PacketEventKind


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

    def take(self, p: int) -> None:
        """Takes no packet: none travels."""
        raise NotImplementedError

    def lose(self, p: int) -> None:
        """Forgets a packet that was dropped."""


class ToldReplay(Network):
    """Flows whose senders are told of losses; ``order`` has those that are acknowledged, in that order."""

    def __init__(self, network: PacketNetwork, observers: Sequence[PacketLog | QueueCounter] = ()) -> None:
        super().__init__(network, observers)
        num_flows = network.flows.num_flows
        self.order: list[int] = []
        self.windows = network.new_windows()
        self._there = Paths(network, network.there)
        self._first = network.flows.first_packet.tolist()
        self._min_rto = network.parameters.min_rto
        self._of_flow = self.delays.of_flow.tolist()
        self._senders: dict[int, _Sender] = {}
        self._packets_left = network.flows.packets.tolist()
        self._completion = [float("nan")] * num_flows
        self._drops = [0] * num_flows
        self._marks = [0] * num_flows
        self._disordered = [0] * num_flows
        self._latest = [-1] * num_flows

    def outcomes(self) -> FlowOutcomes:
        """Returns what became of each flow."""
        counts = (self._drops, self._marks, self._disordered, self._drops)
        return FlowOutcomes(np.array(self._completion), *map(np.array, counts))

    def begin(self, row: int) -> None:
        """Starts the sender of a flow."""
        self._senders[row] = _Sender(self, row, range(self._first[row], self._first[row + 1]))

    def send_packet(self, p: int) -> None:
        """Sends a packet, again or for the first time."""
        self.send(p, self._there.next_ports(self.flow[p]))

    def end(self, row: int) -> None:
        """Notes that all packets of a flow are acknowledged."""
        self.order.append(row)
        self.num_delivered += 1

    def leave(self, p: int, port: int) -> None:
        """Delivers a packet that has left its last port, and lets its acknowledgement travel back."""
        if not self.is_behind(p):
            super().leave(p, port)
            return
        row = self.flow[p]
        which = self._of_flow[row]
        self.count_delivery()
        self._marks[row] += p in self.marked
        if p < self._latest[row]:
            self._disordered[row] += 1
        else:
            self._latest[row] = p
        self._packets_left[row] -= 1
        if self._packets_left[row] == 0:
            self._completion[row] = self.env.now + float(self.delays.forth[which])
        self.travel(p, which, is_packet=False)

    def take(self, p: int) -> None:
        """Lets the sender take an acknowledgement."""
        self._senders[self.flow[p]].acknowledge(marked=p in self.marked)

    def lose(self, p: int) -> None:
        """Lets the sender notice a loss later."""
        row = self.flow[p]
        self._drops[row] += 1
        loss = self.env.at(self.env.now + self._min_rto, PacketEventKind.TIMEOUT)
        loss.callbacks.append(lambda _: self._senders[row].notice(p))


class _Sender:
    """The sender of one flow: it waits for acknowledgements, and sends what its window has room for."""

    def __init__(self, replay: ToldReplay, row: int, packets: range) -> None:
        self._replay = replay
        self._row = row
        self._windows = replay.windows
        self._unsent = deque(packets)
        self._num_left = len(packets)
        self._lost: deque[int] = deque()
        self._news: Event
        replay.env.process(self._run())

    def acknowledge(self, *, marked: bool) -> None:
        """Takes an acknowledgement."""
        self._num_left -= 1
        acknowledge(self._replay.env.now, self._row, marked, self._windows)
        if not self._num_left:
            self._replay.end(self._row)
        self._news.succeed()

    def notice(self, p: int) -> None:
        """Notices that a packet is lost."""
        self._lost.append(p)
        time_out(self._replay.env.now, self._row, self._windows)
        self._news.succeed()

    def _run(self) -> ProcessGenerator:
        replay = self._replay
        while True:
            while (self._lost or self._unsent) and may_send(self._row, self._windows):
                note_sent(self._row, self._windows)
                replay.send_packet((self._lost or self._unsent).popleft())
            if not self._num_left:
                return
            self._news = Event(replay.env)
            yield self._news
