"""Lets flows send: stages before that, what happens between the permission and the first byte, and windows.

Functions of stages take ``t.stages`` besides, so that for flows without stages nothing of it is even compiled; see
``fluid.simpy.network``.
"""

from typing import Final

import numpy as np

from flowsched_gym.flows.stages import (
    AT_BARRIER,
    ON_CPU,
    WAITING,
    Stages,
    barrier_opens,
    begin_sending,
    begin_work,
    stops_waiting,
    waits_at_barrier,
)
from flowsched_gym.fluid.compiled.choosing import touch, waits_for_path
from flowsched_gym.fluid.compiled.events import set_timer
from flowsched_gym.fluid.compiled.sharing import begin_flow, mark_changed
from flowsched_gym.fluid.compiled.tables import NOBODY, Tables, controls_of, network_of, state_of
from flowsched_gym.fluid.rules.transport.lossy_senders import Senders, start_sender, token_jitter
from flowsched_gym.fluid.rules.transport.senders import next_window
from flowsched_gym.fluid.state import EventKind
from flowsched_gym.machine_code.decorators import inlined_part

START: Final = int(EventKind.START)


@inlined_part
def begin(t: Tables, n: int, row: int) -> None:
    """Lets a flow begin now, or after its handshake."""
    if t.sending.handshake_round_trips > 0.0:
        permit(t, n, row, 0.0)
    else:
        send(t, n, row)


@inlined_part
def send(t: Tables, n: int, row: int) -> None:
    """Lets a flow send from now on, for the first time."""
    net = t.networks[n]
    if t.sending.first_burst > 0.0:
        open_window(t, n, row, t.sending.first_burst)
    _start_lossy(t, n, row, t.senders)
    t.active[n * t.most_active + net.num_active] = row
    net.num_active += 1
    net.sharing_due = True
    mark_changed(n, row, t.cache)
    touch(t, n, row, t.choosing)


@inlined_part
def _start_lossy(t: Tables, n: int, row: int, senders: Senders | None) -> None:
    if senders is not None:
        start_sender(t.networks[n].now, n, row, controls_of(t.flows), network_of(t, n, t.data_capacity), senders)


@inlined_part
def lateness(n: int, row: int, senders: Senders | None) -> float:
    """Returns by how many s the sender of a flow is late in reacting to its token."""
    if senders is None:
        return 0.0
    return token_jitter(n, row, senders)


@inlined_part
def permit(t: Tables, n: int, row: int, delay: float) -> None:
    """Lets a flow begin ``delay`` seconds from now, plus its handshake."""
    if t.sending.handshake_round_trips > 0.0:
        delay += t.sending.handshake_round_trips * t.paths[t.flows[row].path].round_trip
    set_timer(t, n, t.networks[n].now + delay, START, row)


@inlined_part
def next_round(t: Tables, n: int, row: int) -> None:
    """Grows the window and opens it."""
    sending = t.sending
    window = next_window(t.windows[row].window, sending.exit_window, sending.slow_start_growth, sending.later_growth)
    open_window(t, n, row, window)


@inlined_part
def open_window(t: Tables, n: int, row: int, window: float) -> None:
    """Opens a window of so many segments from now on."""
    t.windows[row].window = window
    t.windows[row].round_end = t.networks[n].now + t.paths[t.flows[row].path].round_trip
    t.flows[row].review_at = t.flows[row].attained + window * (t.sending.segment + t.sending.header)


@inlined_part
def ask(t: Tables, n: int) -> None:
    """Asks again at the end of this instant."""
    net = t.networks[n]
    net.asking = NOBODY
    net.decision_due = True


@inlined_part
def arrives_to_wait(t: Tables, n: int, row: int, stages: Stages | None) -> bool:
    """Takes in a flow that arrives; returns whether it has stages before it sends."""
    if stages is None:
        return False
    if stops_waiting(row, stages):
        _start(t, n, row)
    return True


@inlined_part
def finish(t: Tables, n: int, row: int, stages: Stages | None) -> None:
    """Lets the flows that come after a delivered one begin, if they wait for no other."""
    if stages is None:
        return
    for index in range(stages.first_follower[row + n], stages.first_follower[row + n + 1]):
        follower = n * t.num_rows + stages.followers[index]
        if stops_waiting(follower, stages):
            _start(t, n, follower)


@inlined_part
def is_on_cpu(row: int, stages: Stages | None) -> bool:
    """Returns whether a flow runs on its CPU."""
    if stages is None:
        return False
    return bool(stages.stage[row] == ON_CPU)


@inlined_part
def goes_on(t: Tables, n: int, row: int, stages: Stages | None) -> bool:
    """Takes a flow whose start is due to its next stage; returns whether it has had one before it sends."""
    if stages is None:
        return False
    if stages.stage[row] == WAITING:
        now = t.networks[n].now
        state, controls = state_of(t.flows), controls_of(t.flows)
        has_work = begin_work(now, row, state, controls, stages)
        begin_flow(now, n, row, state, controls, t.record)
        if has_work:
            send(t, n, row)
        else:
            work_done(t, n, row, stages)
        return True
    if stages.stage[row] == AT_BARRIER:
        begin_sending(row, state_of(t.flows), controls_of(t.flows), stages)
        if not waits_for_path(t, n, row, t.choosing):
            begin(t, n, row)
        return True
    return False


@inlined_part
def work_done(t: Tables, n: int, row: int, stages: Stages | None) -> None:
    """Lets a flow whose CPU work is done wait at its barrier, and opens that for all if it is the last."""
    if stages is None:
        return
    first_row = n * t.num_rows
    if barrier_opens(row, first_row, stages):
        member = stages.group[row]
        while member != NOBODY:
            if waits_at_barrier(row, first_row + member, stages):
                _start(t, n, first_row + member)
            member = stages.next_in_group[first_row + member]


@inlined_part
def _start(t: Tables, n: int, row: int) -> None:
    # Of one type with all other rows, so that less is compiled.
    number: int = np.int64(row)  # type: ignore[assignment]
    set_timer(t, n, t.networks[n].now, START, number)
