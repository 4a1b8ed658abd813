"""Senders in compiled code, which detect losses as TCP does; see ``rules.tcp``."""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.flows.state import FlowState
from flowsched_gym.machine_code.decorators import inlined_part
from flowsched_gym.packets.compiled.heaps import Heap, new_heap, next_time, set_time
from flowsched_gym.packets.compiled.links import KINDS, NOTHING, Sending, send, travel
from flowsched_gym.packets.compiled.state import COMPLETED, DELIVERED, NONE, SENT, Tables, Underway, whole
from flowsched_gym.packets.network import ACK, DATA, READY, SYN, SYN_ACK, PacketNetwork, Ways
from flowsched_gym.packets.parameters import Acks
from flowsched_gym.packets.rules import tcp
from flowsched_gym.packets.rules.tcp import Segments
from flowsched_gym.topology.network import Network as Links
from flowsched_gym.topology.routes import path_is_up

FREE, FRESH = range(2)
"""Indices of ``DetectingSenders.slots``."""
NO_SLOT: Final = 2
"""``Ports.fault[1]`` where there are more packets on their way than slots."""


class DetectingSenders(NamedTuple):
    """The senders, and what they send: see ``NetworkParameters`` and ``PacketNetwork`` for what is not named here.

    Attributes:
        rows: State of each, (num_flows,) of type ``tcp.SENDER``.
        size: Bytes on the wire of each segment, (num_segments,).
        state: What has been received of each flow.
        completion_time: When the last byte is delivered, in s, (num_flows,); NaN for not yet.
        order: Flows that are delivered, in that order, (num_flows,).
        timers: Flows, by when their timer is looked at; behind them, by when their receivers acknowledge what waits.
        kind: What the packet of each slot is, such as ``DATA``, (num_slots,); ``number`` is its segment, or of an
            acknowledgement what had been delivered, ``echo`` whether that answers a packet with a mark.
        rate_cap: Largest rate of each sender in B/s on the wire, (num_flows,), or (0,) where none is paced.
        pace_time: From when on it may send its next segment, in s, likewise.
        free: Slots that are free, the last of the first ``slots[FREE]`` is taken next; then fresh ones.
    """

    rows: npt.NDArray[Any]
    segments: Segments
    size: FloatArray
    state: FlowState
    completion_time: FloatArray
    order: IntArray
    there: Ways
    back: Ways
    timers: Heap
    min_rto: float
    ack_size: float
    ack_every: int
    ack_delay: float
    transport: int
    handshake: bool
    acks_are_packets: bool
    kind: npt.NDArray[np.int8]
    number: IntArray
    echo: BoolArray
    free: IntArray
    slots: IntArray
    behind: int
    rate_cap: FloatArray
    pace_time: FloatArray


def new_detecting(network: PacketNetwork) -> DetectingSenders:
    """Makes senders that have sent nothing."""
    parameters, num_slots = network.parameters, len(network.table.flow)
    return DetectingSenders(
        rows=network.new_senders(),
        segments=network.new_segments(),
        size=network.flows.table.size,
        state=network.new_state(),
        completion_time=np.full(network.flows.num_flows, np.nan),
        order=whole(network.flows.num_flows, NONE),
        there=network.there._replace(turn=network.there.turn.copy()),
        back=network.back._replace(turn=network.back.turn.copy()),
        timers=new_heap((3 if network.steers else 2) * network.flows.num_flows),
        min_rto=network.min_rto,
        ack_size=parameters.ack_size,
        ack_every=parameters.ack_every,
        ack_delay=float(parameters.ack_delay),
        transport=network.transport,
        handshake=bool(parameters.handshake),
        acks_are_packets=parameters.acks == Acks.PACKETS,
        kind=np.zeros(num_slots, dtype=np.int8),
        number=whole(num_slots),
        echo=np.zeros(num_slots, dtype=np.bool_),
        free=whole(num_slots),
        slots=whole(2),
        behind=len(network.path_ports) - 1,
        rate_cap=np.full(network.flows.num_flows if network.steers else 0, np.inf),
        pace_time=np.zeros(network.flows.num_flows if network.steers else 0),
    )


@inlined_part
def _begin(now: float, row: int, s: DetectingSenders) -> Sending:
    sender = s.rows[row]
    if not s.handshake:
        tcp.connect(now, sender)
        return row, DATA, 0, False
    sender.syn_time = now
    sender.deadline = now + sender.rto
    set_time(row, sender.deadline, s.timers)
    return row, SYN, 0, False


@inlined_part
def _send(
    now: float, row: int, kind: int, number: int, echo: bool, t: Tables, u: Underway, s: DetectingSenders
) -> None:
    """Sends a packet; of ``DATA``, and after ``READY``, the segments that the window has room for, and its pace time.

    What answers a packet queues on its way back, or takes the propagation delay alone.
    """
    sender, answers = s.rows[row], kind in (ACK, SYN_ACK)
    while True:
        if kind == DATA:
            if len(s.pace_time) > 0 and s.pace_time[row] > now:
                set_time(2 * len(s.rows) + row, s.pace_time[row], s.timers)
                break
            number = tcp.next_segment(sender, s.segments)
            if number == tcp.NO_SEGMENT:
                break
            tcp.note_segment(now, number, sender, s.segments)
        p = _new_slot(row, kind, number, echo, t, s)
        if answers and not s.acks_are_packets:
            u.counts[SENT] += 1
            t.packets.hop[p] = s.behind
            travel(now, p, u.delays.of_flow[row], t, u)
        else:
            send(now, p, row, s.back if answers else s.there, t, u, s)
        if kind not in (DATA, READY):
            break
        if kind == DATA and len(s.pace_time) > 0:
            s.pace_time[row] = now + s.size[number] / s.rate_cap[row]
        kind = DATA
    if sender.deadline < s.timers.time[row]:
        set_time(row, sender.deadline, s.timers)


@inlined_part
def _new_slot(row: int, kind: int, number: int, echo: bool, t: Tables, s: DetectingSenders) -> int:
    """Makes a packet, in the slot that became free last."""
    p: int
    if s.slots[FREE] > 0:
        s.slots[FREE] -= 1
        p = s.free[s.slots[FREE]]
    else:
        p = s.slots[FRESH]
        if p == len(s.free):
            t.ports.fault[1] = NO_SLOT
            raise IndexError
        s.slots[FRESH] += 1
    s.kind[p] = kind
    s.number[p] = number
    s.echo[p] = echo
    t.table.flow[p] = row
    t.table.size[p] = s.size[number] if kind == DATA else s.ack_size
    if len(t.table.remaining) > 0:
        left = tcp.left_to_send(number, s.rows[row].last - 1, s.size, t.table.header) if kind == DATA else 0.0
        t.table.remaining[p] = left
    return p


@inlined_part
def _free(p: int, s: DetectingSenders) -> None:
    s.free[s.slots[FREE]] = p
    s.slots[FREE] += 1


@inlined_part
def _lose(now: float, p: int, t: Tables, u: Underway, s: DetectingSenders) -> None:
    s.rows[t.table.flow[p]].drops += 1
    _free(p, s)


@inlined_part
def _leave(now: float, port: int, p: int, t: Tables, u: Underway, s: DetectingSenders) -> None:
    travel(now, p, u.delays.of_port[port], t, u)


@inlined_part
def _take(now: float, p: int, t: Tables, u: Underway, s: DetectingSenders) -> Sending:
    """Takes a packet at its host; returns what is to be sent now."""
    row, kind, number, marked, echo = t.table.flow[p], s.kind[p], s.number[p], t.packets.marked[p], s.echo[p]
    sender = s.rows[row]
    u.counts[DELIVERED] += 1
    _free(p, s)
    if kind == DATA:
        before = sender.received
        at_once = tcp.receive(number, marked, s.ack_every, sender, s.segments)
        if sender.received > before:
            is_last = sender.received == sender.last - sender.first
            tcp.note_received(row, s.size[number], is_last, s.state)
            if is_last:
                s.completion_time[row] = now
                s.order[t.counts[COMPLETED]] = row
                t.counts[COMPLETED] += 1
        receiver = len(s.rows) + row
        if at_once:
            set_time(receiver, np.inf, s.timers)
            return row, ACK, tcp.told(s.transport, sender), marked
        if s.timers.time[receiver] == np.inf:
            set_time(receiver, now + s.ack_delay, s.timers)
    elif kind == ACK:
        tcp.acknowledge(now, number, echo, s.min_rto, s.transport, sender, s.segments)
        return row, DATA, 0, False
    elif kind == SYN:
        return row, SYN_ACK, 0, False
    elif kind == SYN_ACK and sender.connected == 0:
        tcp.connect(now, sender)
        return row, READY, 0, False
    return row, NOTHING, 0, False


@inlined_part
def _timer_time(s: DetectingSenders) -> float:
    return next_time(s.timers)


@inlined_part
def _end_timer(now: float, s: DetectingSenders) -> Sending:
    """Looks at the first timer, which may have been set to a later time meanwhile; returns what is to be sent now."""
    row = s.timers.items[0]
    if row >= 2 * len(s.rows):
        set_time(row, np.inf, s.timers)
        return row - 2 * len(s.rows), DATA, 0, False
    if row >= len(s.rows):
        set_time(row, np.inf, s.timers)
        row -= len(s.rows)
        s.rows[row].unanswered = 0
        return row, ACK, tcp.told(s.transport, s.rows[row]), False
    sender = s.rows[row]
    expired = sender.deadline <= now
    if expired:
        if sender.connected == 0:
            tcp.repeat_syn(now, sender)
        else:
            tcp.expire(now, s.transport, sender, s.segments)
    set_time(row, sender.deadline, s.timers)
    if not expired:
        return row, NOTHING, 0, False
    return row, SYN if sender.connected == 0 else DATA, 0, False


@inlined_part
def take_path(row: int, path: int, network: Links, s: DetectingSenders) -> None:
    """Sends the packets of a flow along a path from now on, and what answers them along the one beside it, if it is up.

    That has the same index among the paths back.
    """
    choice = path - s.there.first[row]
    s.there.turn[row] = choice
    back = choice % s.back.number[row]
    if path_is_up(s.back.first[row] + back, network):
        s.back.turn[row] = back


@inlined_part
def pace(row: int, rate_cap: float, s: DetectingSenders) -> None:
    """Sets the largest rate of a sender in B/s, from its next segment on."""
    s.rate_cap[row] = rate_cap


KINDS[DetectingSenders] = {
    "begin": _begin,
    "send_now": _send,
    "lose": _lose,
    "leave": _leave,
    "take": _take,
    "timer_time": _timer_time,
    "end_timer": _end_timer,
}
