"""Senders in compiled code that are told of each loss, and packets that are given; see ``rules.windows``."""

from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.machine_code.decorators import inlined_part
from flowsched_gym.packets.compiled.links import KINDS, is_behind, send, travel
from flowsched_gym.packets.compiled.state import COMPLETED, DELIVERED, NONE, Tables, Underway, whole
from flowsched_gym.packets.network import PacketNetwork, Ways
from flowsched_gym.packets.rules.windows import Windows, acknowledge, may_send, note_sent, time_out
from flowsched_gym.topology.network import Network as Links


class ToldSenders(NamedTuple):
    """The senders, (num_flows,) each; see ``PacketFlows`` and ``PacketRecords`` for what is not named here.

    Attributes:
        next_packet: Next packet that a flow sends for the first time.
        lost_head: First packet that it is to send again, or ``NONE``.
        left: Packets to be delivered; ``latest`` is the latest that was.
        completion_time: When its last byte is delivered; NaN before it has been sent.
        order: Flows in the order in which their last packet was acknowledged.
        min_rto: Time in s after which a loss is noticed; ``lost`` are the first and the last packet of which it is not.
    """

    first_packet: IntArray
    next_packet: IntArray
    lost_head: IntArray
    lost_tail: IntArray
    left: IntArray
    latest: IntArray
    completion_time: FloatArray
    drops: IntArray
    marks: IntArray
    disordered: IntArray
    order: IntArray
    windows: Windows
    there: Ways
    min_rto: float
    lost: IntArray


class GivenPackets(NamedTuple):
    """Packets that arrive at given times, each by itself, and the paths that they take."""

    there: Ways


def new_told(network: PacketNetwork) -> ToldSenders:
    """Makes senders that have sent nothing."""
    flows, count = network.flows, network.flows.num_flows
    return ToldSenders(
        first_packet=flows.first_packet,
        next_packet=flows.first_packet[:-1].copy(),
        lost_head=whole(count, NONE),
        lost_tail=whole(count, NONE),
        left=flows.packets,
        latest=whole(count, NONE),
        completion_time=np.full(count, np.nan),
        drops=whole(count),
        marks=whole(count),
        disordered=whole(count),
        order=whole(count, NONE),
        windows=network.new_windows(),
        there=network.there._replace(turn=network.there.turn.copy()),
        min_rto=float(network.parameters.min_rto),
        lost=whole(2, NONE),
    )


@inlined_part
def _begin(now: float, row: int, t: Tables, u: Underway, s: ToldSenders) -> None:
    """Sends the packets that a flow's window has room for, lost ones first."""
    last = s.first_packet[row + 1]
    while (s.lost_head[row] != NONE or s.next_packet[row] < last) and may_send(row, s.windows):
        p = s.lost_head[row]
        if p != NONE:
            s.lost_head[row] = t.packets.after[p]
        else:
            p = s.next_packet[row]
            s.next_packet[row] = p + 1
        note_sent(row, s.windows)
        send(now, p, row, s.there, t, u, s)


@inlined_part
def _lose(now: float, p: int, t: Tables, u: Underway, s: ToldSenders) -> None:
    """Lets the sender notice the loss later."""
    s.drops[t.table.flow[p]] += 1
    t.packets.time[p] = now + s.min_rto
    t.packets.after[p] = NONE
    if s.lost[0] == NONE:
        s.lost[0] = p
    else:
        t.packets.after[s.lost[1]] = p
    s.lost[1] = p


@inlined_part
def _leave(now: float, port: int, p: int, t: Tables, u: Underway, s: ToldSenders) -> None:
    """Delivers a packet that has left the last port, and lets its acknowledgement travel back."""
    if not is_behind(p, t, u):
        travel(now, p, u.delays.of_port[port], t, u)
        return
    row = t.table.flow[p]
    which = u.delays.of_flow[row]
    u.counts[DELIVERED] += 1
    if t.packets.marked[p]:
        s.marks[row] += 1
    if p < s.latest[row]:
        s.disordered[row] += 1
    else:
        s.latest[row] = p
    s.left[row] -= 1
    if s.left[row] == 0:
        s.completion_time[row] = now + u.delays.forth[which]
    travel(now, p, which, t, u)


@inlined_part
def _take(now: float, p: int, t: Tables, u: Underway, s: ToldSenders) -> None:
    """Takes an acknowledgement."""
    row = t.table.flow[p]
    acknowledge(now, row, t.packets.marked[p], s.windows)
    if s.left[row] == 0 and s.windows.outstanding[row] == 0:
        s.order[t.counts[COMPLETED]] = row
        t.counts[COMPLETED] += 1
    _begin(now, row, t, u, s)


@inlined_part
def _loss_time(t: Tables, u: Underway, s: ToldSenders) -> float:
    time: float = t.packets.time[s.lost[0]] if s.lost[0] != NONE else np.inf
    return time


@inlined_part
def _notice(now: float, t: Tables, u: Underway, s: ToldSenders) -> None:
    """Lets the sender of the first lost packet notice."""
    p = s.lost[0]
    s.lost[0] = t.packets.after[p]
    row = t.table.flow[p]
    t.packets.after[p] = NONE
    if s.lost_head[row] == NONE:
        s.lost_head[row] = p
    else:
        t.packets.after[s.lost_tail[row]] = p
    s.lost_tail[row] = p
    time_out(now, row, s.windows)
    _begin(now, row, t, u, s)


@inlined_part
def _no_state(s: ToldSenders) -> None:
    return None


@inlined_part
def _stays(row: int, path: int, network: Links, s: ToldSenders) -> None:
    return


@inlined_part
def _is_not_paced(row: int, rate_cap: float, s: ToldSenders) -> None:
    return


KINDS[ToldSenders] = {
    "state_of": _no_state,
    "take_path": _stays,
    "pace": _is_not_paced,
    "begin": _begin,
    "lose": _lose,
    "leave": _leave,
    "take": _take,
    "timer_time": _loss_time,
    "end_timer": _notice,
}


@inlined_part
def _arrive(now: float, p: int, t: Tables, u: Underway, s: GivenPackets) -> None:
    send(now, p, p, s.there, t, u, s)


@inlined_part
def _go(now: float, port: int, p: int, t: Tables, u: Underway, s: GivenPackets) -> None:
    t.counts[COMPLETED] += 1


@inlined_part
def _end(now: float, p: int, t: Tables, u: Underway, s: GivenPackets) -> None:
    t.counts[COMPLETED] += 1


@inlined_part
def _never(t: Tables, u: Underway, s: GivenPackets) -> float:
    return np.inf


@inlined_part
def _nothing(now: float, t: Tables, u: Underway, s: GivenPackets) -> None:
    return


KINDS[GivenPackets] = {
    "begin": _arrive,
    "lose": _end,
    "leave": _go,
    "take": _end,
    "timer_time": _never,
    "end_timer": _nothing,
}
