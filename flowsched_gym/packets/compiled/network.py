"""The compiled loop of packets: the events of a network of ports in the order of ``PacketEventKind``.

One port is the smallest network. Machine code is of one kind of senders, and of one scheduler.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from flowsched_gym.flows.decisions import DecisionKind
from flowsched_gym.flows.state import new_controls
from flowsched_gym.machine_code.decorators import chosen_by_type, pasted_rule, threaded_function
from flowsched_gym.packets.compiled.asking import (
    Asking,
    Unasked,
    asks_agent,
    granted_time,
    new_asking,
    note_ends,
    take_with_path,
    waits_for_path,
)
from flowsched_gym.packets.compiled.changes import (
    Changes,
    change_links,
    find_way,
    leave_out_emptied,
    new_changes,
    next_change,
)
from flowsched_gym.packets.compiled.detecting import new_detecting
from flowsched_gym.packets.compiled.heaps import next_time
from flowsched_gym.packets.compiled.links import (
    NOTHING,
    GivenPackets,
    Sending,
    begin,
    choose,
    depart,
    enter,
    is_behind,
    of_senders,
    send_now,
)
from flowsched_gym.packets.compiled.state import (
    ARRIVED,
    COMPLETED,
    IDLE,
    NONE,
    Tables,
    Underway,
    new_tables,
    new_underway,
)
from flowsched_gym.packets.compiled.tokens import (
    Tokens,
    asks_for_grant,
    new_tokens,
    next_start,
    request_token,
    return_tokens,
    take_granted,
)
from flowsched_gym.packets.network import PacketNetwork


@of_senders
def take(now: float, p: int, t: Tables, u: Underway, s: Any) -> Sending:
    """Takes a packet, or an acknowledgement, behind its last port; returns what is to be sent now."""
    raise NotImplementedError


@of_senders
def timer_time(s: Any) -> float:
    """Returns when the next timer is to be looked at, in s, or inf."""
    raise NotImplementedError


@of_senders
def end_timer(now: float, s: Any) -> Sending:
    """Looks at the first timer, whose time has come; returns what is to be sent now."""
    raise NotImplementedError


_ASKERS: Final[dict[type, dict[str, Any]]] = {
    Unasked: {
        "waits": lambda now, row, asker: False,
        "start_time": lambda asker: np.inf,
        "take_start": lambda now, t, senders, asker: NONE,
        "note_over": lambda now, t, senders, asker: None,
        "stops": lambda num_over, num_flows, asker: False,
    },
    Asking: {
        "waits": waits_for_path,
        "start_time": granted_time,
        "take_start": take_with_path,
        "note_over": note_ends,
        "stops": asks_agent,
    },
    Tokens: {
        "waits": request_token,
        "start_time": next_start,
        "take_start": take_granted,
        "note_over": return_tokens,
        "stops": asks_for_grant,
    },
}
_of_asker = chosen_by_type(lambda name, asker: _ASKERS[asker][name])


@_of_asker
def waits(now: float, row: int, asker: Any) -> bool:
    """Notes a flow that arrives; returns whether an agent decides, or it waits, before it begins."""
    raise NotImplementedError


@_of_asker
def start_time(asker: Any) -> float:
    """Returns when the next flow that an agent has let begin does so, or one goes on to its next stage, in s."""
    raise NotImplementedError


@_of_asker
def take_start(now: float, t: Tables, senders: Any, asker: Any) -> int:
    """Takes that flow out, and returns it if it begins to send, or ``NONE``."""
    raise NotImplementedError


@_of_asker
def note_over(now: float, t: Tables, senders: Any, asker: Any) -> None:
    """Notes the flows that are over."""


@_of_asker
def stops(num_over: int, num_flows: int, asker: Any) -> bool:
    """Returns, at the end of an instant, whether an agent is asked, or all flows are over."""
    raise NotImplementedError


class Network(NamedTuple):
    """A network in the compiled engine, and what an agent is asked, if any is."""

    tables: Tables
    underway: Underway
    senders: Any
    asker: Tokens | Asking | Unasked
    changes: Changes | None


def new_network(network: PacketNetwork, *, num_rows: int = 0, counted: bool = False) -> Network:
    """Makes a network in which no flow has arrived; ``num_rows`` of a trace are kept, and queues ``counted``."""
    network = network.with_own_links()
    tables = new_tables(network, num_rows=num_rows, counted=counted)
    senders = GivenPackets(network.there) if network.are_given else new_detecting(network)
    asker: Tokens | Asking | Unasked
    if network.num_tokens is not None:
        asker = new_tokens(network)
    elif network.asks is not DecisionKind.NOTHING:
        asker = new_asking(network)
    else:
        asker = Unasked(new_controls(network.path.copy()), network.links)
    return Network(tables, new_underway(network), senders, asker, new_changes(network))


@threaded_function
def run_network(network: Network, goal: int, until: float) -> None:
    """Does what ``run`` does; for Python."""
    run(network, goal, until)


@pasted_rule
def run(network: Network, goal: int, until: float) -> None:
    """Runs until so many flows are over, this time in s, an agent is asked, or rows of the trace may not suffice.

    At the end all happens but the choice of idle ports, so that an agent can decide before it.

    Raises:
        IndexError: A hook is at fault, or more packets are on their way than there are slots: see ``Ports.fault``.
    """
    t, u, s, asker, changes = network
    num_flows = len(u.arrivals)
    now, arrived = t.clock[0], t.counts[ARRIVED]
    while True:
        arrival = u.arrival_time[u.arrivals[arrived]] if arrived < num_flows else np.inf
        end, timer = next_time(u.busy), timer_time(s)
        hop, which = np.inf, 0
        for index in range(len(u.delays.time)):
            if u.lists[0, index] != NONE and t.packets.time[u.lists[0, index]] < hop:
                hop, which = t.packets.time[u.lists[0, index]], index
        start, change = start_time(asker), next_change(changes)
        time = min(end, hop, timer, change, arrival, start)
        if time > now and stops(t.counts[COMPLETED], num_flows, asker):
            break
        if time > now and now < until and u.counts[IDLE] > 0:
            leave_out_emptied(t, u, changes)
            choose(now, t, u)
            continue
        if time == np.inf or (t.counts[COMPLETED] >= goal and goal < num_flows):
            break
        if time > until:
            now = until
            break
        if t.rows.kept and t.rows.written[0] + t.rows.most > len(t.rows.trace):
            break
        now, takes, starts = time, False, NONE
        row, kind, number, echo = NONE, NOTHING, 0, False
        if hop <= now:
            p = u.lists[0, which]
            u.lists[0, which] = t.packets.after[p]
            takes = is_behind(p, t, u)
            if takes:
                row, kind, number, echo = take(now, p, t, u, s)
            else:
                enter(now, p, t, u, s)
        elif end <= now:
            depart(now, t, u, s)
        elif timer <= now:
            row, kind, number, echo = end_timer(now, s)
        elif change <= now:
            change_links(now, arrived, t, u, s, asker, changes)
        elif arrival <= now:
            find_way(u.arrivals[arrived], s, asker, changes)
            if not waits(now, u.arrivals[arrived], asker):
                starts = u.arrivals[arrived]
            arrived += 1
        else:
            starts = take_start(now, t, s, asker)
        if starts != NONE:
            row, kind, number, echo = begin(now, starts, s)
        if kind != NOTHING:
            send_now(now, row, kind, number, echo, t, u, s)
        if takes:
            note_over(now, t, s, asker)
    t.clock[0] = now
    t.counts[ARRIVED] = arrived
