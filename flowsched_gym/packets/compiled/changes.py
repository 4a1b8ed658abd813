"""Links that fail and come up in compiled code; see ``packets.simpy.network``, which says what is lost.

Each function takes the changes last; where links never change, there are none.
"""

from typing import Any, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.machine_code.decorators import inlined_part
from flowsched_gym.packets.compiled.links import lose
from flowsched_gym.packets.compiled.ports import drop_first
from flowsched_gym.packets.compiled.state import DROPPED, IDLE, Tables, Underway, whole
from flowsched_gym.packets.network import PacketNetwork, Ways
from flowsched_gym.packets.rules.tcp import has_to_send
from flowsched_gym.packets.state import NO_ROOM
from flowsched_gym.topology.network import Network as Links
from flowsched_gym.topology.routes import path_instead


class Changes(NamedTuple):
    """Failures and repairs of links, one row per change: see ``LinkChanges``.

    Attributes:
        port: The port before each link, (num_changes,).
        done: Changes that have happened, (1,).
        room: What may wait at each port while its link is up, (num_ports,).
    """

    time: FloatArray
    link: IntArray
    port: IntArray
    up: BoolArray
    done: IntArray
    room: FloatArray


def new_changes(network: PacketNetwork) -> Changes | None:
    """Makes the changes of a network, none of which has happened; ``None`` where links stay as they are."""
    changes = network.changes
    if changes is None:
        return None
    port = np.argsort(network.link_of_port)[changes.link]
    room = network.limits.room.copy()
    return Changes(changes.time.copy(), changes.link.copy(), port, changes.up.copy(), whole(1), room)


@inlined_part
def next_change(c: Changes | None) -> float:
    """Returns when links next fail or come up, in s, or inf."""
    if c is None:
        return np.inf
    return c.time[c.done[0]] if c.done[0] < len(c.time) else np.inf


@inlined_part
def change_links(now: float, arrived: int, t: Tables, u: Underway, s: Any, asker: Any, c: Changes | None) -> None:
    """Lets links fail and come up, and flows whose path has failed take others: the first ``arrived`` ones."""
    if c is None:
        return
    capacity, ports = asker.network.capacity, t.ports
    while next_change(c) <= now:
        row = c.done[0]
        link, port = c.link[row], c.port[row]
        c.done[0] += 1
        capacity[link] = ports.capacity[port] if c.up[row] else 0.0
        ports.limits.room[port] = c.room[port] if c.up[row] else NO_ROOM
        while not c.up[row] and ports.waiting[port] > 0:
            u.counts[DROPPED] += 1
            lose(now, drop_first(port, t), t, u, s)
    for index in range(arrived):
        row = u.arrivals[index]
        if has_to_send(s.rows[row]):
            find_way(row, s, asker, c)


@inlined_part
def leave_out_emptied(t: Tables, u: Underway, c: Changes | None) -> None:
    """Lets no idle port choose that has lost its packets with its link in this instant."""
    if c is None:
        return
    kept = 0
    for index in range(u.counts[IDLE]):
        port = u.idle[index]
        u.is_idle[port] = t.ports.waiting[port] > 0
        if u.is_idle[port]:
            u.idle[kept] = port
            kept += 1
    u.counts[IDLE] = kept


@inlined_part
def find_way(row: int, s: Any, asker: Any, c: Changes | None) -> None:
    """Gives a flow another path, there and back, where its own has failed."""
    if c is None:
        return
    _turn(row, s.there, asker.network)
    _turn(row, s.back, asker.network)
    asker.controls.path[row] = s.there.first[row] + s.there.turn[row]


@inlined_part
def _turn(row: int, ways: Ways, network: Links) -> None:
    first = ways.first[row]
    path = path_instead(first + ways.turn[row], first, first + ways.number[row], network)
    ways.turn[row] = path - first
