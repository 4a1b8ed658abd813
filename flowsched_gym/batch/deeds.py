"""Does what an agent decides, in compiled code: grants, waits, sends to the back, puts first, takes a path, goes on."""

from enum import IntEnum
from typing import Final

import numpy as np

from flowsched_gym.batch.choice_tables import Choosing
from flowsched_gym.batch.choosing import set_path
from flowsched_gym.batch.control import serve_first
from flowsched_gym.batch.log import note
from flowsched_gym.batch.remembering import forget_network
from flowsched_gym.batch.senders import ask, begin, permit
from flowsched_gym.batch.tables import NOBODY, Row, Tables, View, view
from flowsched_gym.model.events import EventKind
from flowsched_gym.model.rules.compile import inlined_rule, rule
from flowsched_gym.model.rules.transport.tokens import send_to_back, take_request

__all__ = ["Deed", "act_one", "go_on", "grant", "hold", "move_to_front", "postpone", "put_first", "take_path"]

DECISION: Final = int(EventKind.DECISION)


class Deed(IntEnum):
    """Numbers what an agent can do."""

    GRANT = 0
    POSTPONE = 1
    HOLD = 2
    PUT_FIRST = 3
    TAKE_PATH = 4
    GO_ON = 5


GRANT, POSTPONE, PUT_FIRST, TAKE_PATH, GO_ON = (
    int(deed) for deed in (Deed.GRANT, Deed.POSTPONE, Deed.PUT_FIRST, Deed.TAKE_PATH, Deed.GO_ON)
)


@inlined_rule
def grant(t: View, n: int, slot: int) -> int:
    """Gives a token of the asking destination to the request in a slot; returns the flow's row."""
    net = t.networks[n]
    d = t.destinations[n * t.num_places + net.asking]
    row = take_request(t.requests, d.head, slot)
    d.head += 1
    d.tokens -= 1
    t.active[d.active + d.num_active] = row
    d.num_active += 1
    t.grant_time[row] = net.now
    note(t, n, DECISION, row)
    permit(t, n, row, t.path_delay[t.controls.path[row]])
    ask(t, n)
    return row


@inlined_rule
def postpone(t: View, n: int, slot: int) -> int:
    """Sends the request in a slot to the back of the asking destination's queue; returns the flow's row."""
    d = t.destinations[n * t.num_places + t.networks[n].asking]
    if d.tail == d.queue_end:
        move_to_front(t, d)
    row = send_to_back(t.requests, d.head, d.tail, slot)
    d.head += 1
    d.tail += 1
    ask(t, n)
    return row


@inlined_rule
def hold(t: View, n: int) -> None:
    """Lets the asking destination wait for its next request or token."""
    t.destinations[n * t.num_places + t.networks[n].asking].held = True
    ask(t, n)


@inlined_rule
def put_first(t: View, n: int, place: int, choosing: Choosing | None) -> int:
    """Puts a flow, of those that compete, before all others; returns its row."""
    if choosing is None:
        return NOBODY
    row: int = np.int64(choosing.asked[choosing.choices[n].first_asked + place])  # type: ignore[assignment]  # signed
    t.networks[n].asking = NOBODY
    note(t, n, DECISION, row)
    serve_first(n, row, t.own)
    return row


@inlined_rule
def take_path(t: View, n: int, choice: int, choosing: Choosing | None) -> int:
    """Sends the flow that waits for a path along one of its paths; returns its row."""
    if choosing is None:
        return NOBODY
    choices = choosing.choices[n]
    row: int = np.int64(choosing.asked[choices.first_asked])  # type: ignore[assignment]  # signed
    choices.first_asked += 1
    choices.num_asked -= 1
    set_path(t, n, row, choosing.routes.first[row] + choice)
    note(t, n, DECISION, row)
    begin(t, n, row)
    ask(t, n)
    return row


@inlined_rule
def go_on(t: View, n: int, choosing: Choosing | None) -> int:
    """Begins a period, with the controls as they are now; returns the network's first row."""
    if choosing is None:
        return NOBODY
    net = t.networks[n]
    choices = choosing.choices[n]
    choices.num_asked = 0
    net.asking = NOBODY
    net.sharing_due = True
    forget_network(n, t.memory)
    note(t, n, DECISION, n * t.num_rows + choices.periods - 1)
    return n * t.num_rows


@rule
def act_one(tables: Tables, n: int, what: int, slot: int) -> int:
    """Decides, called from Python, by the number of a ``Deed``; returns the row, or the network's first."""
    t = view(tables)
    if what == GRANT:
        return grant(t, n, slot)
    if what == POSTPONE:
        return postpone(t, n, slot)
    if what == PUT_FIRST:
        return put_first(t, n, slot, t.choosing)
    if what == TAKE_PATH:
        return take_path(t, n, slot, t.choosing)
    if what == GO_ON:
        return go_on(t, n, t.choosing)
    hold(t, n)
    return n * t.num_rows


@inlined_rule
def move_to_front(t: View, d: Row) -> None:
    """Makes room behind the queue."""
    waiting = d.tail - d.head
    for place in range(waiting):
        t.requests[d.queue + place] = t.requests[d.head + place]
    d.head = d.queue
    d.tail = d.queue + waiting
