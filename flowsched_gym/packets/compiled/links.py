"""Ports and links in compiled code: packets wait at the next port of their path, and travel from port to port."""

from typing import Any, Final, NamedTuple

import numpy as np
from numba.extending import overload

from flowsched_gym.machine_code.decorators import INLINED, LINKED, inlined_part
from flowsched_gym.packets.compiled.heaps import set_time
from flowsched_gym.packets.compiled.ports import begin_transmission, end_transmission, receive
from flowsched_gym.packets.compiled.state import BEGUN, COMPLETED, DROPPED, HOPS, IDLE, NONE, SENT, Tables, Underway
from flowsched_gym.packets.network import BEHIND, Ways

KINDS: Final[dict[type, dict[str, Any]]] = {}
"""What senders of each kind do: functions by name, found by the type of their record."""
NOTHING: Final = -1
"""The kind of a packet where none is to be sent."""
Sending = tuple[int, int, int, bool]
"""What an event leads to, so that all is sent in one place: row of a flow; kind, number and echo of a packet."""


def of_senders(function: Any) -> Any:
    """Calls, in place of a function, the one of that name that fits the kind of its last argument: the senders."""

    def call(*arguments: Any) -> Any:
        return KINDS[type(arguments[-1])][function.__name__](*arguments)

    def find(*types: Any) -> Any:
        return KINDS[types[-1].instance_class][function.__name__]

    options: Any = {**LINKED, **INLINED}
    overload(call, strict=False, jit_options=options)(find)
    return call


@of_senders
def begin(now: float, row: int, s: Any) -> Sending:
    """Lets a flow arrive; returns what is to be sent now."""
    raise NotImplementedError


@of_senders
def send_now(now: float, row: int, kind: int, number: int, echo: bool, t: Tables, u: Underway, s: Any) -> None:
    """Sends what an event has led to: see ``Sending``."""


@of_senders
def lose(now: float, p: int, t: Tables, u: Underway, s: Any) -> None:
    """Notes that a port has dropped a packet."""


@of_senders
def leave(now: float, port: int, p: int, t: Tables, u: Underway, s: Any) -> None:
    """Lets a packet that has left a port travel on; ``Packets.hop`` is where its next port is."""


@inlined_part
def enter(now: float, p: int, t: Tables, u: Underway, s: Any) -> None:
    """Lets a packet wait at the next port of its path."""
    port = u.path_ports[t.packets.hop[p]]
    dropped = receive(now, port, p, t)
    while dropped != NONE:
        follower = t.packets.after[dropped]
        u.counts[DROPPED] += 1
        lose(now, dropped, t, u, s)
        dropped = follower
    _note_idle(port, t, u)


@inlined_part
def send(now: float, p: int, row: int, ways: Ways, t: Tables, u: Underway, s: Any) -> None:
    """Lets a packet of a flow wait at the first port of its path."""
    path = ways.first[row] + ways.turn[row]
    if ways.step > 0:
        ways.turn[row] = (ways.turn[row] + ways.step) % ways.number[row]
    t.packets.hop[p] = u.path_start[path]
    t.packets.marked[p] = False
    u.counts[SENT] += 1
    enter(now, p, t, u, s)


@inlined_part
def depart(now: float, t: Tables, u: Underway, s: Any) -> None:
    """Ends the first transmission."""
    port = u.busy.items[0]
    set_time(port, np.inf, u.busy)
    u.counts[HOPS] += 1
    p = end_transmission(port, t)
    t.packets.hop[p] += 1
    leave(now, port, p, t, u, s)
    _note_idle(port, t, u)


@inlined_part
def travel(now: float, p: int, which: int, t: Tables, u: Underway) -> None:
    """Sends a packet on one of the ways."""
    t.packets.time[p] = now + u.delays.time[which]
    t.packets.after[p] = NONE
    if u.lists[0, which] == NONE:
        u.lists[0, which] = p
    else:
        t.packets.after[u.lists[1, which]] = p
    u.lists[1, which] = p


@inlined_part
def is_behind(p: int, t: Tables, u: Underway) -> bool:
    """Returns whether a packet is behind the last port of its path."""
    behind: bool = u.path_ports[t.packets.hop[p]] == BEHIND
    return behind


@inlined_part
def choose(now: float, t: Tables, u: Underway) -> None:
    """Lets idle ports choose, in the order in which they came to be asked."""
    for index in range(u.counts[IDLE]):
        port = u.idle[index]
        u.is_idle[port] = False
        u.busy.turn[port] = u.counts[BEGUN]
        u.counts[BEGUN] += 1
        set_time(port, begin_transmission(now, port, t), u.busy)
    u.counts[IDLE] = 0


@inlined_part
def _note_idle(port: int, t: Tables, u: Underway) -> None:
    """Notes a port that is to choose when all else of this instant has happened."""
    if t.ports.waiting[port] > 0 and t.ports.sending[port] == NONE and not u.is_idle[port]:
        u.is_idle[port] = True
        u.idle[u.counts[IDLE]] = port
        u.counts[IDLE] += 1


class GivenPackets(NamedTuple):
    """Packets that arrive at given times, each by itself, and the paths that they take."""

    there: Ways


@inlined_part
def _arrive(now: float, p: int, s: GivenPackets) -> Sending:
    return p, 0, 0, False


@inlined_part
def _send(now: float, p: int, kind: int, number: int, echo: bool, t: Tables, u: Underway, s: GivenPackets) -> None:
    send(now, p, p, s.there, t, u, s)


@inlined_part
def _go(now: float, port: int, p: int, t: Tables, u: Underway, s: GivenPackets) -> None:
    t.counts[COMPLETED] += 1


@inlined_part
def _end(now: float, p: int, t: Tables, u: Underway, s: GivenPackets) -> None:
    t.counts[COMPLETED] += 1


@inlined_part
def _take(now: float, p: int, t: Tables, u: Underway, s: GivenPackets) -> Sending:
    t.counts[COMPLETED] += 1
    return p, NOTHING, 0, False


@inlined_part
def _never(s: GivenPackets) -> float:
    return np.inf


@inlined_part
def _nothing(now: float, s: GivenPackets) -> Sending:
    return NONE, NOTHING, 0, False


KINDS[GivenPackets] = {
    "begin": _arrive,
    "send_now": _send,
    "lose": _end,
    "leave": _go,
    "take": _take,
    "timer_time": _never,
    "end_timer": _nothing,
}
