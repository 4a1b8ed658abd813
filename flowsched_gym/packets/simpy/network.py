"""A network of ports in SimPy: ports hand packets on over links, senders wait for acknowledgements and timers."""

from typing import Any, Final, NamedTuple

import numpy as np
from simpy import Event
from simpy.events import ProcessGenerator

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.simpy_environment import NetworkEnvironment
from flowsched_gym.packets.network import ACK, DATA, READY, SYN, SYN_ACK, Acks, PacketNetwork, Ways, too_many_underway
from flowsched_gym.packets.rules import tcp
from flowsched_gym.packets.simpy.port import Place, Port
from flowsched_gym.packets.state import FlowOutcomes, PacketEventKind

NEVER: Final = float("inf")


class Packet(NamedTuple):
    """A packet: its flow, what it is, its segment or count, whether it answers a mark, and the ports before it."""

    row: int
    kind: int
    number: int
    echo: bool
    ports: list[int]


class SenderState:
    """The state of a sender, an attribute for each field of ``tcp.SENDER``."""

    __slots__ = tuple(tcp.SENDER.names or ())

    def __init__(self, values: tuple[Any, ...]) -> None:
        for name, value in zip(self.__slots__, values, strict=True):
            setattr(self, name, value)


class Census(NamedTuple):
    """Packets so far: at every event, those sent are those delivered, dropped, waiting, being sent and travelling."""

    sent: int
    delivered: int
    dropped: int
    waiting: int
    sending: int
    travelling: int


class NetworkReplay:
    """Flows whose senders send packets across a network of ports."""

    def __init__(self, network: PacketNetwork) -> None:
        flows = network.flows
        self.env = NetworkEnvironment()
        self.num_delivered = 0
        self.network = network
        self.segments = tcp.Segments(*(array.tolist() for array in network.new_segments()))
        self.states: list[Any] = [SenderState(row) for row in network.new_senders().tolist()]
        self.senders: dict[int, _Sender] = {}
        self._size = flows.table.size.tolist()
        self._there, self._back = _Paths(network, network.there), _Paths(network, network.back)
        self._delays = network.delay.tolist()
        self._back_delays = network.back_delay.tolist()
        every = np.unique(np.concatenate([network.delay, network.back_delay])).tolist()
        self._rank = {delay: rank for rank, delay in enumerate(every)}
        self._completion = [float("nan")] * flows.num_flows
        self._packets: list[Packet | None] = []
        self._free: list[int] = []
        self._sizes: list[float] = []
        self._flow: list[int] = []
        self._marked: set[int] = set()
        self._sent = self._arrived = self._dropped = self._travelling = 0
        record = network.new_record()
        places = zip(
            range(len(self._delays)),
            network.capacity.tolist(),
            network.limits.room.tolist(),
            network.limits.unmarked.tolist(),
            strict=True,
        )
        self.ports = [
            Port(
                self.env,
                network.scheduler,
                Place(*place, True),
                record,
                network.table,
                sizes=self._sizes,
                flow=self._flow,
                on_departure=self._depart,
                on_drop=self._drop,
                marked=self._marked,
            )
            for place in places
        ]
        self.env.process(self._begin(flows.arrival_time))

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

    def outcomes(self) -> FlowOutcomes:
        """Returns what became of each flow."""
        counts = ([getattr(s, name) for s in self.states] for name in ("drops", "marks", "disordered", "timeouts"))
        return FlowOutcomes(np.array(self._completion), *map(np.array, counts))

    def send(self, row: int, kind: int, number: int = 0) -> None:
        """Sends a packet of a flow on its way to the receiver."""
        size = self._size[number] if kind == DATA else self.network.parameters.ack_size
        self._enter(self._new(Packet(row, kind, number, False, self._there.next_ports(row)), size))

    def _begin(self, times: FloatArray) -> ProcessGenerator:
        """Starts the flows in the order of their arrival, and at one instant by id."""
        for row in np.argsort(times, kind="stable").tolist():
            yield self.env.at(float(times[row]), PacketEventKind.ARRIVAL)
            self.senders[row] = _Sender(self, row)

    def _new(self, packet: Packet, size: float) -> int:
        """Gives a packet a slot, the one that became free last."""
        if self._free:
            p = self._free.pop()
        else:
            p = len(self._packets)
            if p == len(self.network.table.flow):
                raise too_many_underway(p)
            self._packets.append(None)
            self._sizes.append(0.0)
            self._flow.append(0)
        self._sent += 1
        self._packets[p] = packet
        self._sizes[p], self._flow[p] = size, packet.row
        table = self.network.table
        table.size[p], table.flow[p] = size, packet.row
        if len(table.remaining):
            last = self.states[packet.row].last - 1
            left = tcp.left_to_send(packet.number, last, self._size, table.header) if packet.kind == DATA else 0.0
            table.remaining[p] = left
        return p

    def _enter(self, p: int) -> None:
        packet = self._packets[p]
        assert packet is not None
        self.ports[packet.ports.pop()].receive(p)

    def _depart(self, p: int, port: int) -> None:
        """Lets a packet that has left a port cross the link behind it."""
        self._travel(p, self._delays[port])

    def _travel(self, p: int, delay: float) -> None:
        self._travelling += 1
        arrival = self.env.at(self.env.now + delay, PacketEventKind.ACKNOWLEDGEMENT, self._rank[delay])
        arrival.callbacks.append(lambda _: self._end_link(p))

    def _end_link(self, p: int) -> None:
        self._travelling -= 1
        packet = self._packets[p]
        assert packet is not None
        if packet.ports:
            self._enter(p)
            return
        marked = p in self._marked
        self._arrived += 1
        self._release(p)
        self._arrive(packet, marked=marked)

    def _drop(self, p: int) -> None:
        self._dropped += 1
        self.states[self._flow[p]].drops += 1
        self._release(p)

    def _release(self, p: int) -> None:
        self._marked.discard(p)
        self._free.append(p)

    def _arrive(self, packet: Packet, *, marked: bool) -> None:
        """Takes a packet at its host: data and a SYN are answered, the sender acts upon what comes back."""
        row, kind, number, echo, _ = packet
        if kind == DATA:
            state = self.states[row]
            tcp.receive(number, marked, state, self.segments)
            if state.received == state.last - state.first and self._completion[row] != self._completion[row]:
                self._completion[row] = self.env.now
            self._answer(row, ACK, state.received, echo=marked)
        elif kind == SYN:
            self._answer(row, SYN_ACK, 0, echo=False)
        elif kind == ACK:
            self.senders[row].acknowledge(number, marked=echo)
        elif kind == SYN_ACK:
            self.senders[row].connect()

    def _answer(self, row: int, kind: int, number: int, *, echo: bool) -> None:
        """Sends a packet back, which queues or takes the propagation delay alone."""
        size, are_packets = self.network.parameters.ack_size, self.network.parameters.acks == Acks.PACKETS
        p = self._new(Packet(row, kind, number, echo, self._back.next_ports(row) if are_packets else []), size)
        if are_packets:
            self._enter(p)
        else:
            self._travel(p, self._back_delays[row])


class _Paths:
    """The paths that the packets of each flow take in turns."""

    def __init__(self, network: PacketNetwork, ways: Ways) -> None:
        self._first, self._count, self._turn = ways.first.tolist(), ways.number.tolist(), ways.turn.tolist()
        self._step = ways.step
        self._start = network.path_start.tolist()
        self._ports = network.path_ports.tolist()

    def next_ports(self, row: int) -> list[int]:
        """Returns the ports of the next packet's path, the last one first."""
        path = self._first[row] + self._turn[row]
        self._turn[row] = (self._turn[row] + self._step) % self._count[row]
        ports: list[int] = self._ports[self._start[path] : self._start[path + 1]][::-1]
        return ports


class _Sender:
    """The sender of one flow: a process that sends what its window has room for, and waits for news."""

    def __init__(self, replay: NetworkReplay, row: int) -> None:
        self._replay = replay
        self._row = row
        self._state: Any = replay.states[row]
        self._segments = replay.segments
        self._min_rto = float(replay.network.parameters.min_rto)
        self._transport = replay.network.transport
        self._timer = NEVER
        self._news: Event
        replay.env.process(self._run())

    def acknowledge(self, count: int, *, marked: bool) -> None:
        """Takes an acknowledgement."""
        state = self._state
        was_done = state.una == state.last
        tcp.acknowledge(self._replay.env.now, count, marked, self._min_rto, self._transport, state, self._segments)
        if state.una == state.last and not was_done:
            self._replay.num_delivered += 1
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
                replay.send(self._row, SYN)
                yield self._wait()
            replay.send(self._row, READY)
        else:
            tcp.connect(replay.env.now, state)
        while True:
            while (q := tcp.next_segment(state, self._segments)) != tcp.NO_SEGMENT:
                tcp.note_segment(replay.env.now, q, state, self._segments)
                replay.send(self._row, DATA, q)
            self._set_timer()
            yield self._wait()

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
