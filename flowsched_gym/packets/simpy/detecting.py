"""Senders in SimPy, which detect losses as TCP does: processes that wait for acknowledgements and timers."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from simpy import Event
from simpy.events import ProcessGenerator

from flowsched_gym.flows.state import new_controls
from flowsched_gym.packets.network import ACK, DATA, READY, SYN, SYN_ACK, PacketNetwork, too_many_underway
from flowsched_gym.packets.parameters import Acks
from flowsched_gym.packets.rules import tcp
from flowsched_gym.packets.simpy.network import Network, Paths
from flowsched_gym.packets.simpy.port import PacketLog, QueueCounter
from flowsched_gym.packets.state import FlowOutcomes, PacketEventKind

NEVER: Final = float("inf")


class Packet(NamedTuple):
    """A packet: its flow, what it is, its segment or count, and whether it answers a mark."""

    row: int
    kind: int
    number: int
    echo: bool


class SenderState:
    """The state of a sender, an attribute for each field of ``tcp.SENDER``."""

    __slots__ = tuple(tcp.SENDER.names or ())

    def __init__(self, values: tuple[Any, ...]) -> None:
        for name, value in zip(self.__slots__, values, strict=True):
            setattr(self, name, value)


class DetectingReplay(Network):
    """Flows and their senders. Packets and acknowledgements have slots of the table while they are underway.

    ``order`` has the flows whose last byte has been received, in that order.
    """

    def __init__(self, network: PacketNetwork, observers: Sequence[PacketLog | QueueCounter] = ()) -> None:
        super().__init__(network, observers)
        self.segments = tcp.Segments(*(array.tolist() for array in network.new_segments()))
        self.states: list[Any] = [SenderState(row) for row in network.new_senders().tolist()]
        self.senders: dict[int, _Sender] = {}
        self.state = network.new_state()
        self.order: list[int] = []
        self.segment_size = network.flows.table.size.tolist()
        self._there, self._back = Paths(network, network.there), Paths(network, network.back)
        self._of_flow = self.delays.of_flow.tolist()
        self._completion = [float("nan")] * network.flows.num_flows
        self._controls = new_controls(network.path.copy())
        self._ack_times = [NEVER] * network.flows.num_flows
        self._packets: list[Packet] = []
        self.rate_cap = [NEVER] * network.flows.num_flows
        self._free: list[int] = []

    def outcomes(self) -> FlowOutcomes:
        """Returns what became of each flow."""
        counts = ([getattr(s, name) for s in self.states] for name in ("drops", "marks", "disordered", "timeouts"))
        return FlowOutcomes(np.array(self._completion), *map(np.array, counts))

    def send_segment(self, row: int, kind: int, number: int = 0) -> None:
        """Sends a packet of a flow on its way to the receiver."""
        self.send(self._new(Packet(row, kind, number, False)), self._there.next_ports(row))

    def find_ways(self, rows: list[int]) -> None:
        """Gives those of these flows whose senders have something to send other paths, where theirs have failed."""
        if self.network.changes is not None:
            for row in (row for row in rows if tcp.has_to_send(self.states[row])):
                self._controls.path[row] = self._there.find(row, self.network.links)
                self._back.find(row, self.network.links)

    def begin(self, row: int) -> None:
        """Starts the sender of a flow."""
        self.senders[row] = _Sender(self, row)

    def end(self, row: int) -> None:
        """Notes that the last byte of a flow has been received."""
        self._completion[row] = self.env.now
        self.order.append(row)
        self.num_delivered += 1

    def lose(self, p: int) -> None:
        """Frees the slot of a packet that was dropped."""
        self.states[self.flow[p]].drops += 1
        self._free.append(p)

    def take(self, p: int) -> None:
        """Takes a packet at its host: data and a SYN are answered, the sender acts upon what comes back."""
        row, kind, number, echo = self._packets[p]
        marked = p in self.marked
        self.count_delivery()
        self._free.append(p)
        if kind == DATA:
            state = self.states[row]
            before = state.received
            at_once = tcp.receive(number, marked, self.network.parameters.ack_every, state, self.segments)
            if state.received > before:
                is_last = state.received == state.last - state.first
                tcp.note_received(row, self.segment_size[number], is_last, self.state)
                if is_last:
                    self.end(row)
            if at_once:
                self._ack_times[row] = NEVER
                self._answer(row, ACK, tcp.told(self.network.transport, state), echo=marked)
            elif self._ack_times[row] == NEVER:
                self._acknowledge_later(row)
        elif kind == SYN:
            self._answer(row, SYN_ACK, 0, echo=False)
        elif kind == ACK:
            self.senders[row].acknowledge(number, marked=echo)
        elif kind == SYN_ACK:
            self.senders[row].connect()

    def _acknowledge_later(self, row: int) -> None:
        """Lets a receiver acknowledge what waits for it, unless that happens earlier."""
        time = self._ack_times[row] = self.env.now + self.network.parameters.ack_delay

        def acknowledge(_: Event) -> None:
            if self._ack_times[row] == time:
                self._ack_times[row] = NEVER
                self.states[row].unanswered = 0
                self._answer(row, ACK, tcp.told(self.network.transport, self.states[row]), echo=False)

        event = self.env.at(time, PacketEventKind.TIMEOUT, len(self.states) + row)
        event.callbacks.append(acknowledge)

    def _new(self, packet: Packet) -> int:
        """Gives a packet a slot, the one that became free last."""
        table = self.network.table
        if self._free:
            p = self._free.pop()
        else:
            p = len(self._packets)
            if p == len(table.flow):
                raise too_many_underway(p)
            self._packets.append(packet)
            self.sizes.append(0.0)
            self.flow.append(0)
        is_data = packet.kind == DATA
        size = self.segment_size[packet.number] if is_data else self.network.parameters.ack_size
        self._packets[p] = packet
        self.sizes[p], self.flow[p] = size, packet.row
        table.size[p], table.flow[p] = size, packet.row
        if len(table.remaining):
            last = self.states[packet.row].last - 1
            left = tcp.left_to_send(packet.number, last, self.segment_size, table.header) if is_data else 0.0
            table.remaining[p] = left
        return p

    def _answer(self, row: int, kind: int, number: int, *, echo: bool) -> None:
        """Sends a packet back, which queues or takes the propagation delay alone."""
        p = self._new(Packet(row, kind, number, echo))
        if self.network.parameters.acks == Acks.PACKETS:
            self.send(p, self._back.next_ports(row))
        else:
            self.skip_ports(p)
            self.travel(p, self._of_flow[row])


class _Sender:
    """The sender of one flow: a process that sends what its window has room for, and waits for news."""

    def __init__(self, replay: DetectingReplay, row: int) -> None:
        self._replay = replay
        self._row = row
        self._state: Any = replay.states[row]
        self._segments = replay.segments
        self._min_rto = replay.network.min_rto
        self._transport = replay.network.transport
        self._timer = NEVER
        self._pace_time = self._wakes_at = 0.0
        self._news: Event
        replay.env.process(self._run())

    def acknowledge(self, count: int, *, marked: bool) -> None:
        """Takes an acknowledgement."""
        state, now = self._state, self._replay.env.now
        tcp.acknowledge(now, count, marked, self._min_rto, self._transport, state, self._segments)
        self._news.succeed()

    def connect(self) -> None:
        """Takes the answer to the SYN; a second one is of no matter."""
        if not self._state.connected:
            tcp.connect(self._replay.env.now, self._state)
            self._news.succeed()

    def _run(self) -> ProcessGenerator:
        replay, state = self._replay, self._state
        if replay.network.parameters.handshake:
            state.syn_time = replay.env.now
            state.deadline = replay.env.now + state.rto
            while not state.connected:
                self._set_timer()
                replay.send_segment(self._row, SYN)
                yield self._wait()
            replay.send_segment(self._row, READY)
        else:
            tcp.connect(replay.env.now, state)
        while True:
            while not self._is_paced() and (q := tcp.next_segment(state, self._segments)) != tcp.NO_SEGMENT:
                tcp.note_segment(replay.env.now, q, state, self._segments)
                replay.send_segment(self._row, DATA, q)
                self._pace_time = replay.env.now + replay.segment_size[q] / replay.rate_cap[self._row]
            self._set_timer()
            yield self._wait()

    def _is_paced(self) -> bool:
        """Returns whether the largest rate lets the next segment wait; the sender is then woken when it may go."""
        env = self._replay.env
        if self._pace_time <= env.now:
            return False
        if self._wakes_at != self._pace_time:
            self._wakes_at = self._pace_time
            event = env.at(self._pace_time, PacketEventKind.TIMEOUT, 2 * len(self._replay.states) + self._row)
            event.callbacks.append(self._wake)
        return True

    def _wake(self, _: Event) -> None:
        self._news.succeed()

    def _wait(self) -> Event:
        self._news = Event(self._replay.env)
        return self._news

    def _set_timer(self) -> None:
        """Lets the timer be looked at when it may expire; one that is set to a later time is found to be so then."""
        time = self._state.deadline
        if time < self._timer:
            self._timer = time
            event = self._replay.env.at(time, PacketEventKind.TIMEOUT, self._row)
            event.callbacks.append(lambda _: self._look_at_timer(time))

    def _look_at_timer(self, time: float) -> None:
        if time != self._timer:
            return  # it was set to an earlier time meanwhile
        self._timer = NEVER
        state = self._state
        if state.deadline > time:
            self._set_timer()
            return
        if state.connected:
            tcp.expire(time, self._transport, state, self._segments)
        else:
            tcp.repeat_syn(time, state)
        self._news.succeed()
