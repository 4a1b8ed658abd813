"""Chooses paths, changes links, and finds out what an agent has to decide beside tokens.

Each function takes ``t.choosing`` besides, so that for networks without choices nothing of it is even compiled.
"""

from typing import Final

import numpy as np

from flowsched_gym.flows.decisions import DecisionKind
from flowsched_gym.flows.stages import is_sending
from flowsched_gym.fluid.compiled.events import note
from flowsched_gym.fluid.compiled.records import Choosing
from flowsched_gym.fluid.compiled.sharing import forget_network, mark_changed
from flowsched_gym.fluid.compiled.tables import NOBODY, Tables, controls_of, network_of, state_of
from flowsched_gym.fluid.contract import moved
from flowsched_gym.fluid.rules.routing.choose_path import choose_path, note_pauses, review_paths
from flowsched_gym.fluid.rules.transport.progress import insert_sorted
from flowsched_gym.fluid.state import EventKind
from flowsched_gym.machine_code.decorators import inlined_part
from flowsched_gym.topology.competing import count_first_contest, find_competing, touch_links
from flowsched_gym.topology.routes import NetworkState, count_paths_up, path_is_up

_, ORDER, PATH, PERIOD = (int(kind) for kind in DecisionKind)
START: Final = int(EventKind.START)
LINK_CHANGE: Final = int(EventKind.LINK_CHANGE)


@inlined_part
def next_change_time(n: int, choosing: Choosing | None) -> float:
    """Returns when the next link of a network fails or comes up, an absolute time in s; inf for never."""
    if choosing is None:
        return np.inf
    choices = choosing.choices[n]
    if choices.next_change == choices.num_changes:
        return np.inf
    return float(choosing.changes[n * choosing.most_changes + choices.next_change].time)


@inlined_part
def next_period_time(n: int, choosing: Choosing | None) -> float:
    """Returns when the next period of a network begins by the clock, an absolute time in s; inf for never."""
    if choosing is None:
        return np.inf
    if choosing.asks != PERIOD:
        return np.inf
    periods = choosing.choices[n].periods
    return periods * choosing.seconds if periods > 0 else 0.0


@inlined_part
def begin_period(t: Tables, n: int, choosing: Choosing | None) -> None:
    """Begins a period, and asks."""
    if choosing is None:
        return
    choices = choosing.choices[n]
    choices.periods += 1
    choices.counted = t.networks[n].delivered
    choices.num_asked = 1
    t.networks[n].decision_due = True


@inlined_part
def count_delivered(t: Tables, n: int, choosing: Choosing | None) -> None:
    """Begins a period where enough flows have been delivered."""
    if choosing is None:
        return
    counts = choosing.asks == PERIOD and choosing.flows > 0
    if counts and t.networks[n].delivered - choosing.choices[n].counted >= choosing.flows:
        begin_period(t, n, choosing)


@inlined_part
def asks_for_periods(choosing: Choosing | None) -> bool:
    """Returns whether an agent is asked after each period."""
    if choosing is None:
        return False
    return bool(choosing.asks == PERIOD)


@inlined_part
def change_links(t: Tables, n: int, choosing: Choosing | None) -> None:
    """Changes the links that change now, and gives flows whose paths have failed others."""
    if choosing is None:
        return
    net = t.networks[n]
    choices = choosing.choices[n]
    while next_change_time(n, choosing) == net.now:
        change = choosing.changes[n * choosing.most_changes + choices.next_change]
        capacity = t.network.capacity[change.link] if change.up else 0.0
        t.capacity[n * t.link_stride + change.link] = capacity
        t.data_capacity[n * t.link_stride + change.link] = capacity * t.data_share
        note(t, n, LINK_CHANGE, n * t.num_rows + change.link)
        choices.next_change += 1
    net.sharing_due = True
    forget_network(n, t.cache)
    network = network_of(t, n, t.capacity)
    stuck: int = np.int64(0)  # type: ignore[assignment]  # of one type with the rows
    for index in range(n * t.most_active, n * t.most_active + net.num_active):
        row: int = np.int64(t.active[index])  # type: ignore[assignment]
        if not path_is_up(t.flows[row].path, network):
            stuck = insert_sorted(choosing.moved, stuck, row)
    for index in range(net.timer_head, net.timer_tail):
        timer = t.timers[index]
        if timer.kind == START and is_sending(timer.row, t.stages):
            row = np.int64(timer.row)  # type: ignore[assignment]
            if not path_is_up(t.flows[row].path, network):
                stuck = insert_sorted(choosing.moved, stuck, row)
    for index in range(stuck):
        choose(t, n, choosing.moved[index], choosing)


@inlined_part
def waits_for_path(t: Tables, n: int, row: int, choosing: Choosing | None) -> bool:
    """Chooses the path of a flow that arrives, or notes that it is asked for; returns whether it is."""
    if choosing is None:
        return False
    if choosing.chooser is None:
        return False
    if choosing.asks == PATH:
        first, last = choosing.routes.first[row], choosing.routes.last[row]
        if count_paths_up(first, last, network_of(t, n, t.capacity)) > 1:
            choices = choosing.choices[n]
            if choices.num_asked == 0:
                choices.first_asked = n * t.num_rows
            choosing.asked[choices.first_asked + choices.num_asked] = row
            choices.num_asked += 1
            t.networks[n].decision_due = True
            return True
    choose(t, n, row, choosing)
    return False


@inlined_part
def _scene(t: Tables, n: int, choosing: Choosing) -> NetworkState:
    net = t.networks[n]
    active = t.active[n * t.most_active : (n + 1) * t.most_active]
    state, controls, network = state_of(t.flows), controls_of(t.flows), network_of(t, n, t.capacity)
    return NetworkState(net.now, active, net.num_active, state, controls, network, choosing.routes)


@inlined_part
def choose(t: Tables, n: int, row: int, choosing: Choosing) -> None:
    """Chooses the path of a flow by the routing."""
    set_path(t, n, row, choose_path(row, _scene(t, n, choosing), choosing.chooser))


@inlined_part
def set_path(t: Tables, n: int, row: int, path: int) -> None:
    """Sends a flow of network ``n`` along a path."""
    if t.flows[row].path != path:
        t.flows[row].path = path
        moved(n, row, t.record)


@inlined_part
def review(t: Tables, n: int, choosing: Choosing | None) -> None:
    """Lets flows that have been quiet choose anew, before links are shared."""
    if choosing is None:
        return
    num_moved = review_paths(_scene(t, n, choosing), choosing.moved, choosing.chooser)
    for index in range(num_moved):
        moved(n, choosing.moved[index], t.record)
        mark_changed(n, choosing.moved[index], t.cache)


@inlined_part
def take_note_of_quiet(t: Tables, n: int, choosing: Choosing | None) -> None:
    """Notes who has no rate, after links have been shared."""
    if choosing is None:
        return
    note_pauses(_scene(t, n, choosing), choosing.chooser)


@inlined_part
def touch(t: Tables, n: int, row: int, choosing: Choosing | None) -> None:
    """Notes that a flow has begun to send, or has sent its last byte."""
    if choosing is None:
        return
    if choosing.asks == ORDER:
        touch_links(t.flows[row].path, t.network, choosing.touched)
        t.networks[n].decision_due = True


@inlined_part
def forget_touched(choosing: Choosing | None) -> None:
    """Takes away what the last flows of an episode have touched: nobody asks any more, and other networks go on."""
    if choosing is None:
        return
    if choosing.asks == ORDER:
        for link in range(len(choosing.touched)):
            choosing.touched[link] = 0


@inlined_part
def find_decision(t: Tables, n: int, choosing: Choosing | None) -> None:
    """Finds what an agent has to decide beside tokens."""
    if choosing is None:
        return
    net = t.networks[n]
    choices = choosing.choices[n]
    if choosing.asks == ORDER:
        first = n * t.num_rows
        choices.first_asked = first
        choices.num_asked = 0
        choices.last_asked = first + find_competing(
            t.active[n * t.most_active : (n + 1) * t.most_active],
            net.num_active,
            t.flows["arrival_time"],
            t.flows["path"],
            t.network,
            choosing.touched,
            choosing.asked[first : first + t.num_rows],
        )
        ask_next_contest(t, n, choosing)
    elif choices.num_asked > 0:
        net.asking = 0


@inlined_part
def ask_next_contest(t: Tables, n: int, choosing: Choosing) -> None:
    """Asks who goes first where flows still compete in this instant: on the network first, then on each CPU."""
    choices = choosing.choices[n]
    choices.first_asked += choices.num_asked
    choices.num_asked = count_first_contest(
        choosing.asked, choices.first_asked, choices.last_asked, t.flows["path"], t.network
    )
    t.networks[n].asking = 0 if choices.num_asked > 0 else NOBODY
