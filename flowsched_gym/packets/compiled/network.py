"""The compiled loop of a network of ports: TCP senders, links between ports, equal bit for bit to ``simpy.network``."""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.machine_code.decorators import inlined_part, threaded_function
from flowsched_gym.packets.compiled.heaps import Heap, new_heap, next_time, set_time
from flowsched_gym.packets.compiled.loop import begin_transmission, end_transmission, receive
from flowsched_gym.packets.compiled.state import ARRIVED, COMPLETED, NONE, Tables, new_tables, whole
from flowsched_gym.packets.network import ACK, DATA, READY, SYN, SYN_ACK, Acks, PacketNetwork, Ways
from flowsched_gym.packets.rules import tcp
from flowsched_gym.packets.rules.tcp import Segments
from flowsched_gym.packets.schedulers import PacketSetup
from flowsched_gym.packets.state import PortParameters

IDLE, FREE, FRESH, HOPS, SENT, DELIVERED, DROPPED = range(7)
"""Indices of ``Underway.counts``."""
NO_SLOT: Final = 2
"""``Ports.fault[1]`` where there are more packets on their way than slots."""


class Underway(NamedTuple):
    """Packets underway, by slot, (num_slots,), and what ports and timers wait for.

    Attributes:
        kind: What it is, such as ``DATA``; ``number`` is its segment, or of an acknowledgement what had been delivered.
        echo: Whether an acknowledgement answers a packet with a mark.
        hop: Where in ``path_ports`` its next port is; ``end`` is behind its last one.
        free: Slots that are free, the last of the first ``counts[FREE]`` is taken next; then fresh ones.
        delay: Delays in s of links, and of acknowledgements that are free, without repetition, (num_delays,).
        of_port: Delay of each port's link, as an index of these, (num_ports,); ``of_flow``: of its acknowledgements.
        lists: First and last packet of those that travel for each of these delays, (2, num_delays).
        busy: Ports that send, by the end of their transmission.
        idle: Idle ports at which packets wait, (num_ports,).
        timers: Flows, by when their timer is looked at.
        counts: Idle ports, free slots and those ever taken; transmissions that have ended, packets sent, delivered and
            dropped so far.
    """

    kind: npt.NDArray[np.int8]
    number: IntArray
    echo: BoolArray
    hop: IntArray
    end: IntArray
    free: IntArray
    delay: FloatArray
    of_port: IntArray
    of_flow: IntArray
    lists: IntArray
    busy: Heap
    idle: IntArray
    is_idle: BoolArray
    timers: Heap
    counts: IntArray


class Senders(NamedTuple):
    """The senders, and what they send: see ``NetworkParameters`` and ``PacketNetwork`` for what is not named here.

    Attributes:
        rows: State of each, (num_flows,) of type ``tcp.SENDER``.
        arrivals: Flows in the order of arrival.
        size: Bytes on the wire of each segment, (num_segments,).
        completion_time: When the last byte is delivered, in s, (num_flows,); NaN for not yet.
    """

    rows: npt.NDArray[Any]
    segments: Segments
    arrivals: IntArray
    arrival_time: FloatArray
    size: FloatArray
    completion_time: FloatArray
    there: Ways
    back: Ways
    path_start: IntArray
    path_ports: IntArray
    min_rto: float
    ack_size: float
    transport: int
    handshake: bool
    acks_are_packets: bool


class CompiledNetwork(NamedTuple):
    """A network in the compiled engine."""

    senders: Senders
    tables: Tables
    underway: Underway


def compile_network(network: PacketNetwork) -> CompiledNetwork:
    """Makes a network in which no flow has arrived."""
    num_ports, slots, flows = len(network.capacity), len(network.table.flow), network.flows
    setup = PacketSetup(scheduler=network.scheduler, capacity=1.0, port=PortParameters())
    smallest = min(network.parameters.ack_size, float(flows.table.size.min(initial=np.inf)))
    most = network.limits.room.max() / smallest + 2.0
    tables = new_tables(
        network.table,
        setup,
        network.new_record(),
        network.capacity,
        limits=network.limits,
        heap_room=int(min(most, slots)),
    )
    delay, index = np.unique(np.concatenate([network.delay, network.back_delay]), return_inverse=True)
    underway = Underway(
        kind=np.zeros(slots, dtype=np.int8),
        number=whole(slots),
        echo=np.zeros(slots, dtype=np.bool_),
        hop=whole(slots),
        end=whole(slots),
        free=whole(slots),
        delay=delay,
        of_port=index[:num_ports].copy(),
        of_flow=index[num_ports:].copy(),
        lists=whole((2, len(delay)), NONE),
        busy=new_heap(num_ports),
        idle=whole(num_ports),
        is_idle=np.zeros(num_ports, dtype=np.bool_),
        timers=new_heap(flows.num_flows),
        counts=whole(7),
    )
    parameters = network.parameters
    senders = Senders(
        rows=network.new_senders(),
        segments=network.new_segments(),
        arrivals=np.argsort(flows.arrival_time, kind="stable"),
        arrival_time=flows.arrival_time.copy(),
        size=flows.table.size,
        completion_time=np.full(flows.num_flows, np.nan),
        there=network.there._replace(turn=network.there.turn.copy()),
        back=network.back._replace(turn=network.back.turn.copy()),
        path_start=network.path_start.copy(),
        path_ports=network.path_ports.copy(),
        min_rto=float(parameters.min_rto),
        ack_size=parameters.ack_size,
        transport=network.transport,
        handshake=bool(parameters.handshake),
        acks_are_packets=parameters.acks == Acks.PACKETS,
    )
    return CompiledNetwork(senders, tables, underway)


@threaded_function
def replay_network(s: Senders, t: Tables, u: Underway, goal: int, until: float) -> None:
    """Sends flows until so many are acknowledged, or this time in s; see ``PacketEventKind`` for the order of events.

    Raises:
        IndexError: More packets are on their way than there are slots (``NO_SLOT``); or see ``queues``.
    """
    num_flows = len(s.arrivals)
    now, arrived = t.clock[0], t.counts[ARRIVED]
    while True:
        arrival = s.arrival_time[s.arrivals[arrived]] if arrived < num_flows else np.inf
        end, timer = next_time(u.busy), next_time(u.timers)
        hop, which = np.inf, 0
        for index in range(len(u.delay)):
            if u.lists[0, index] != NONE and t.packets.time[u.lists[0, index]] < hop:
                hop, which = t.packets.time[u.lists[0, index]], index
        time = min(end, hop, timer, arrival)
        if time > now and now < until and u.counts[IDLE] > 0:
            _choose(now, t, u)
            continue
        if time == np.inf or (t.counts[COMPLETED] >= goal and goal < num_flows):
            break
        if time > until:
            now = until
            break
        now = time
        if end <= now:
            _depart(now, t, u)
        elif hop <= now:
            p = u.lists[0, which]
            u.lists[0, which] = t.packets.after[p]
            if u.hop[p] < u.end[p]:
                _enter(now, p, s, t, u)
            else:
                _arrive(now, p, s, t, u)
        elif timer <= now:
            _end_timer(now, u.timers.items[0], s, t, u)
        else:
            _begin(now, s.arrivals[arrived], s, t, u)
            arrived += 1
    t.clock[0] = now
    t.counts[ARRIVED] = arrived


@inlined_part
def _begin(now: float, row: int, s: Senders, t: Tables, u: Underway) -> None:
    sender = s.rows[row]
    if s.handshake:
        sender.syn_time = now
        sender.deadline = now + sender.rto
        set_time(row, sender.deadline, u.timers)
        _send_packet(now, row, SYN, 0, False, s.there, s, t, u)
    else:
        tcp.connect(now, sender)
        _send(now, row, s, t, u)


@inlined_part
def _send(now: float, row: int, s: Senders, t: Tables, u: Underway) -> None:
    """Sends the segments that a flow's window has room for."""
    sender = s.rows[row]
    while True:
        q = tcp.next_segment(sender, s.segments)
        if q == tcp.NO_SEGMENT:
            break
        tcp.note_segment(now, q, sender, s.segments)
        _send_packet(now, row, DATA, q, False, s.there, s, t, u)
    if sender.deadline < u.timers.time[row]:
        set_time(row, sender.deadline, u.timers)


@inlined_part
def _send_packet(
    now: float, row: int, kind: int, number: int, echo: bool, ways: Ways, s: Senders, t: Tables, u: Underway
) -> None:
    """Makes a packet, and lets it wait at its first port."""
    p = _new_slot(row, kind, number, echo, s, t, u)
    path = ways.first[row] + ways.turn[row]
    ways.turn[row] = (ways.turn[row] + ways.step) % ways.number[row]
    u.hop[p] = s.path_start[path]
    u.end[p] = s.path_start[path + 1]
    _enter(now, p, s, t, u)


@inlined_part
def _new_slot(row: int, kind: int, number: int, echo: bool, s: Senders, t: Tables, u: Underway) -> int:
    counts = u.counts
    p: int
    if counts[FREE] > 0:
        counts[FREE] -= 1
        p = u.free[counts[FREE]]
    else:
        p = counts[FRESH]
        if p == len(u.free):
            t.ports.fault[1] = NO_SLOT
            raise IndexError
        counts[FRESH] += 1
    counts[SENT] += 1
    u.kind[p] = kind
    u.number[p] = number
    u.echo[p] = echo
    t.table.flow[p] = row
    t.table.size[p] = s.size[number] if kind == DATA else s.ack_size
    t.packets.marked[p] = False
    if len(t.table.remaining) > 0:
        left = tcp.left_to_send(number, s.rows[row].last - 1, s.size, t.table.header) if kind == DATA else 0.0
        t.table.remaining[p] = left
    return p


@inlined_part
def _enter(now: float, p: int, s: Senders, t: Tables, u: Underway) -> None:
    """Lets a packet wait at the next port of its path; a mark stays."""
    port = s.path_ports[u.hop[p]]
    marked = t.packets.marked[p]
    dropped = receive(now, port, p, t)
    t.packets.marked[p] |= marked
    while dropped != NONE:
        follower = t.packets.after[dropped]
        s.rows[t.table.flow[dropped]].drops += 1
        u.counts[DROPPED] += 1
        _free(dropped, u)
        dropped = follower
    _note_idle(port, t, u)


@inlined_part
def _free(p: int, u: Underway) -> None:
    u.free[u.counts[FREE]] = p
    u.counts[FREE] += 1


@inlined_part
def _arrive(now: float, p: int, s: Senders, t: Tables, u: Underway) -> None:
    """Takes a packet at its host, and sends what answers it."""
    row, kind, number, marked, echo = t.table.flow[p], u.kind[p], u.number[p], t.packets.marked[p], u.echo[p]
    sender = s.rows[row]
    u.counts[DELIVERED] += 1
    _free(p, u)
    if kind == DATA:
        tcp.receive(number, marked, sender, s.segments)
        if sender.received == sender.last - sender.first and np.isnan(s.completion_time[row]):
            s.completion_time[row] = now
        _answer(now, row, ACK, sender.received, marked, s, t, u)
    elif kind == ACK:
        was_done = sender.una == sender.last
        tcp.acknowledge(now, number, echo, s.min_rto, s.transport, sender, s.segments)
        if sender.una == sender.last and not was_done:
            t.counts[COMPLETED] += 1
        _send(now, row, s, t, u)
    elif kind == SYN:
        _answer(now, row, SYN_ACK, 0, False, s, t, u)
    elif kind == SYN_ACK and sender.connected == 0:
        tcp.connect(now, sender)
        _send_packet(now, row, READY, 0, False, s.there, s, t, u)
        _send(now, row, s, t, u)


@inlined_part
def _answer(now: float, row: int, kind: int, number: int, echo: bool, s: Senders, t: Tables, u: Underway) -> None:
    """Sends a packet back, which queues or takes the propagation delay alone."""
    if s.acks_are_packets:
        _send_packet(now, row, kind, number, echo, s.back, s, t, u)
    else:
        p = _new_slot(row, kind, number, echo, s, t, u)
        u.hop[p] = u.end[p] = 0
        _travel(now, p, u.of_flow[row], t, u)


@inlined_part
def _travel(now: float, p: int, which: int, t: Tables, u: Underway) -> None:
    """Sends a packet on for one of the delays."""
    t.packets.time[p] = now + u.delay[which]
    t.packets.after[p] = NONE
    if u.lists[0, which] == NONE:
        u.lists[0, which] = p
    else:
        t.packets.after[u.lists[1, which]] = p
    u.lists[1, which] = p


@inlined_part
def _end_timer(now: float, row: int, s: Senders, t: Tables, u: Underway) -> None:
    """Looks at a timer whose time has come: it may have been set to a later one meanwhile."""
    sender = s.rows[row]
    expired = sender.deadline <= now
    if expired:
        if sender.connected == 0:
            tcp.repeat_syn(now, sender)
        else:
            tcp.expire(now, s.transport, sender, s.segments)
    set_time(row, sender.deadline, u.timers)
    if expired:
        if sender.connected == 0:
            _send_packet(now, row, SYN, 0, False, s.there, s, t, u)
        else:
            _send(now, row, s, t, u)


@inlined_part
def _choose(now: float, t: Tables, u: Underway) -> None:
    """Lets idle ports choose: each by itself, so that their order is of no matter."""
    for index in range(u.counts[IDLE]):
        port = u.idle[index]
        u.is_idle[port] = False
        begin_transmission(now, port, t)
        set_time(port, t.ports.end[port], u.busy)
    u.counts[IDLE] = 0


@inlined_part
def _depart(now: float, t: Tables, u: Underway) -> None:
    """Ends the first transmission: its packet is on a link."""
    port = u.busy.items[0]
    set_time(port, np.inf, u.busy)
    u.counts[HOPS] += 1
    p = end_transmission(port, t)
    u.hop[p] += 1
    _travel(now, p, u.of_port[port], t, u)
    _note_idle(port, t, u)


@inlined_part
def _note_idle(port: int, t: Tables, u: Underway) -> None:
    """Notes a port that is to choose when all else of this instant has happened."""
    if t.ports.waiting[port] > 0 and t.ports.sending[port] == NONE and not u.is_idle[port]:
        u.is_idle[port] = True
        u.idle[u.counts[IDLE]] = port
        u.counts[IDLE] += 1
