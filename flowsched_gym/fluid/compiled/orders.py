"""Carries out what an agent decides, in compiled code."""

from typing import Final

import numpy as np

from flowsched_gym.flows.decisions import Order
from flowsched_gym.flows.tokens import grant_token, postpone_request
from flowsched_gym.fluid.compiled.choosing import ask_next_contest, set_path
from flowsched_gym.fluid.compiled.events import note
from flowsched_gym.fluid.compiled.records import Choosing
from flowsched_gym.fluid.compiled.senders import ask, begin, lateness, permit
from flowsched_gym.fluid.compiled.sharing import forget_network
from flowsched_gym.fluid.compiled.sharing import serve_first as serve_flow_first
from flowsched_gym.fluid.compiled.tables import NOBODY, Tables
from flowsched_gym.fluid.state import EventKind
from flowsched_gym.machine_code.decorators import chosen_by_presence, engine_function, inlined_part

DECISION: Final = int(EventKind.DECISION)
GRANT, POSTPONE, _, SERVE_FIRST, TAKE_PATH, _ = (int(order) for order in Order)


@inlined_part
def _grant(t: Tables, n: int, index: int) -> int:
    net = t.networks[n]
    d = t.destinations[n * t.most_destinations + net.asking]
    row = grant_token(d, index, t.requests, t.holders)
    t.flows[row].grant_time = net.now
    note(t, n, DECISION, row)
    permit(t, n, row, t.paths[t.flows[row].path].delay + lateness(n, row, t.senders))
    ask(t, n)
    return row


@inlined_part
def _postpone(t: Tables, n: int, index: int) -> int:
    d = t.destinations[n * t.most_destinations + t.networks[n].asking]
    row = postpone_request(d, index, t.requests)
    ask(t, n)
    return row


@inlined_part
def _serve_first(t: Tables, n: int, index: int, choosing: Choosing) -> int:
    row: int = np.int64(choosing.asked[choosing.choices[n].first_asked + index])  # type: ignore[assignment]  # signed
    note(t, n, DECISION, row)
    serve_flow_first(n, row, t.record)
    ask_next_contest(t, n, choosing)
    return row


@inlined_part
def _take_path(t: Tables, n: int, index: int, choosing: Choosing) -> int:
    """Sends the flow that waits for a path along one of its paths."""
    choices = choosing.choices[n]
    row: int = np.int64(choosing.asked[choices.first_asked])  # type: ignore[assignment]  # signed
    choices.first_asked += 1
    choices.num_asked -= 1
    set_path(t, n, row, choosing.routes.first[row] + index)
    note(t, n, DECISION, row)
    begin(t, n, row)
    ask(t, n)
    return row


@inlined_part
def _begin_next_period(t: Tables, n: int, choosing: Choosing) -> int:
    """Begins a period, with the controls as they are now."""
    net = t.networks[n]
    choices = choosing.choices[n]
    choices.num_asked = 0
    net.asking = NOBODY
    net.sharing_due = True
    forget_network(n, t.cache)
    note(t, n, DECISION, n * t.num_rows + choices.periods - 1)
    return NOBODY


@inlined_part
def _at_destination(t: Tables, n: int, order: int, index: int, choosing: None) -> int:
    if order == GRANT:
        return _grant(t, n, index)
    if order == POSTPONE:
        return _postpone(t, n, index)
    t.destinations[n * t.most_destinations + t.networks[n].asking].held = True
    ask(t, n)
    return NOBODY


@inlined_part
def _among_flows(t: Tables, n: int, order: int, index: int, choosing: Choosing) -> int:
    if order == SERVE_FIRST:
        return _serve_first(t, n, index, choosing)
    if order == TAKE_PATH:
        return _take_path(t, n, index, choosing)
    return _begin_next_period(t, n, choosing)


give = chosen_by_presence(_at_destination, _among_flows)
"""Carries out an ``Order``, about tokens where nothing else is chosen; returns the flow's row, or ``NOBODY``."""


@engine_function
def give_one(t: Tables, n: int, order: int, index: int) -> int:
    """Does what ``give`` does, called from Python."""
    return give(t, n, order, index, t.choosing)
