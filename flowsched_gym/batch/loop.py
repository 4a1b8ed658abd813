"""The compiled event loop: one network from event to event, as the reference engine (``simulation``) goes.

Each function has the name of what it stands for there. Events of one instant happen in the order of ``EventKind``:
the loop takes the earliest of what is pending, the smallest kind first, and within a kind the rows in their order.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.batch.control import begin_flow, control, review_time
from flowsched_gym.batch.loading import arriving_row, foresee_request
from flowsched_gym.batch.tables import NOBODY, Row, Rows, Tables, View, view
from flowsched_gym.batch.timers import set_timer, take_timer
from flowsched_gym.model.events import EventKind
from flowsched_gym.model.rules.compile import inlined_rule, rule
from flowsched_gym.model.rules.progress import advance, next_event_time
from flowsched_gym.model.rules.sharing import share_links
from flowsched_gym.model.rules.tokens import send_to_back, take_out, take_request
from flowsched_gym.model.rules.transport import next_window

__all__ = ["act_one", "grant", "hold", "postpone", "run", "run_many"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

COMPLETION: Final = int(EventKind.COMPLETION)
DEMOTION: Final = int(EventKind.DEMOTION)
TOKEN_RETURN: Final = int(EventKind.TOKEN_RETURN)
ARRIVAL: Final = int(EventKind.ARRIVAL)
START: Final = int(EventKind.START)
RESUME: Final = int(EventKind.EXPIRY)
"""The end of a sender's pause, a start too; this number only sorts it behind the starts of its instant."""
DECISION: Final = int(EventKind.DECISION)
SHARING: Final = int(EventKind.SHARING)


@inlined_rule
def run(t: View, n: int) -> None:
    """Runs a network until a decision is asked or all flows are delivered."""
    net = t.networks[n]
    while net.asking == NOBODY and net.delivered < net.num_flows:
        kind = _next_event(t.timers, net)
        if kind in (COMPLETION, START, SHARING):
            _settle(t, n)
        if kind == COMPLETION:
            net.wake = np.inf
            net.sharing_due = True
        elif kind == TOKEN_RETURN:
            _deliver(t, n)
        elif kind == ARRIVAL:
            _arrive(t, n)
        elif kind == DECISION:
            net.decision_due = False
            _find_asking(t, n)
        elif kind == SHARING:
            _share(t, n)
        else:
            _start(t, n, kind)


@rule
def run_many(tables: Tables, numbers: IntArray) -> None:
    """Runs networks, (count,), each until a decision is asked or all flows are delivered; called from Python."""
    t = view(tables)
    for i in range(len(numbers)):
        run(t, numbers[i])


@inlined_rule
def _next_event(timers: Rows, net: Row) -> int:
    """Moves the clock of a network to its next event, and returns the kind of that: the smallest of its instant."""
    time = net.wake
    kind = COMPLETION
    if net.timer_head < net.timer_tail:
        timer = timers[net.timer_head]
        if timer.time < time:
            time = timer.time
            kind = timer.kind
    if net.request_time < time or (net.request_time == time and kind > ARRIVAL):
        time = net.request_time
        kind = ARRIVAL
    if time > net.now:
        if net.decision_due:
            return DECISION
        if net.sharing_due:
            return SHARING
    net.now = time
    return kind


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
    _note(t, n, DECISION, row)
    _permit(t, n, row, t.path_delay[t.controls.path[row]])
    _ask(t, n)
    return row


@inlined_rule
def postpone(t: View, n: int, slot: int) -> int:
    """Sends the request in a slot to the back of the asking destination's queue; returns the flow's row."""
    d = t.destinations[n * t.num_places + t.networks[n].asking]
    if d.tail == d.queue_end:
        _move_to_front(t, d)
    row = send_to_back(t.requests, d.head, d.tail, slot)
    d.head += 1
    d.tail += 1
    _ask(t, n)
    return row


@inlined_rule
def hold(t: View, n: int) -> None:
    """Lets the asking destination wait for its next request or token."""
    t.destinations[n * t.num_places + t.networks[n].asking].held = True
    _ask(t, n)


@rule
def act_one(tables: Tables, n: int, what: int, slot: int) -> int:
    """Decides, called from Python: 0 grants, 1 postpones, 2 holds; returns the row, or the network's first."""
    t = view(tables)
    if what == 0:
        return grant(t, n, slot)
    if what == 1:
        return postpone(t, n, slot)
    hold(t, n)
    return n * t.num_rows


@inlined_rule
def _ask(t: View, n: int) -> None:
    """Asks again at the end of this instant."""
    net = t.networks[n]
    net.asking = NOBODY
    net.decision_due = True


@inlined_rule
def _find_asking(t: View, n: int) -> None:
    """Finds the first destination, by host number, that has to decide."""
    net = t.networks[n]
    for place in range(net.num_destinations):
        d = t.destinations[n * t.num_places + place]
        if d.tokens > 0 and d.tail > d.head and not d.held:
            net.asking = place
            return


@inlined_rule
def _arrive(t: View, n: int) -> None:
    """Takes in all flows, or token requests, that arrive now."""
    net = t.networks[n]
    while net.request_time == net.now:
        row = arriving_row(t, n)
        net.arrived += 1
        foresee_request(t, n)
        _begin(t, row)
        _note(t, n, ARRIVAL, row)
        if t.num_tokens == 0:
            t.grant_time[row] = net.now
            _permit(t, n, row, 0.0)
            continue
        d = t.destinations[n * t.num_places + t.place[row]]
        if d.tail == d.queue_end:
            _move_to_front(t, d)
        t.requests[d.tail] = row
        d.tail += 1
        d.expected -= 1
        d.held = False
        net.decision_due = True


@inlined_rule
def _begin(t: View, row: int) -> None:
    """Sets what the flow before it in this row has left behind."""
    state, controls = t.state, t.controls
    state.attained[row] = 0.0
    state.remaining[row] = state.volume[row]
    state.rate[row] = 0.0
    controls.admitted[row] = True
    controls.review_at[row] = np.inf
    begin_flow(row, state, t.own)


@inlined_rule
def _move_to_front(t: View, d: Row) -> None:
    """Makes room behind the queue."""
    waiting = d.tail - d.head
    for place in range(waiting):
        t.requests[d.queue + place] = t.requests[d.head + place]
    d.head = d.queue
    d.tail = d.queue + waiting


@inlined_rule
def _permit(t: View, n: int, row: int, delay: float) -> None:
    """Lets a flow begin ``delay`` seconds from now, plus its handshake."""
    if t.sending.handshake > 0.0:
        delay += t.sending.handshake * t.round_trip[t.controls.path[row]]
    set_timer(t, n, t.networks[n].now + delay, START, row)


@inlined_rule
def _deliver(t: View, n: int) -> None:
    """Records flows whose last byte has arrived, and frees their tokens."""
    net = t.networks[n]
    row = take_timer(t, n, TOKEN_RETURN)
    while row != NOBODY:
        t.completion_time[row] = net.now
        t.delivered[n * t.num_rows + net.delivered] = row
        net.delivered += 1
        _note(t, n, TOKEN_RETURN, row)
        if t.num_tokens > 0:
            d = t.destinations[n * t.num_places + t.place[row]]
            d.num_active = take_out(t.active, d.active, d.num_active, row)
            d.tokens += 1
            d.held = False
            net.decision_due = True
        row = take_timer(t, n, TOKEN_RETURN)


@inlined_rule
def _start(t: View, n: int, kind: int) -> None:
    """Lets flows send from now on, for the first time or after a pause."""
    net = t.networks[n]
    row = take_timer(t, n, kind)
    while row != NOBODY:
        if kind == START:
            if t.sending.initial_window > 0.0:
                _open_window(t, n, row, t.sending.initial_window)
            t.live[n * t.num_active + net.live] = row
            net.live += 1
        else:
            t.controls.admitted[row] = True
            _next_round(t, n, row)
        row = take_timer(t, n, kind)
    net.sharing_due = True


@inlined_rule
def _next_round(t: View, n: int, row: int) -> None:
    """Grows the window and opens it."""
    sending = t.sending
    window = next_window(t.window[row], sending.exit_window, sending.slow_start_growth, sending.later_growth)
    _open_window(t, n, row, window)


@inlined_rule
def _open_window(t: View, n: int, row: int, window: float) -> None:
    """Opens a window of so many segments from now on."""
    t.window[row] = window
    t.round_end[row] = t.networks[n].now + t.round_trip[t.controls.path[row]]
    t.controls.review_at[row] = t.state.attained[row] + window * (t.sending.segment + t.sending.header)


@inlined_rule
def _settle(t: View, n: int) -> None:
    """Lets the flows send up to now; sends off the last bytes, and pauses senders that have sent their window."""
    net = t.networks[n]
    elapsed = net.now - net.settled_at
    if elapsed == 0.0:
        return
    net.settled_at = net.now
    if net.live == 0:
        return
    begin = n * t.num_active
    state = t.state
    kept, num_finished, num_crossed = advance(
        net.now,
        elapsed,
        t.live[begin : begin + t.num_active],
        net.live,
        state.volume,
        state.attained,
        state.remaining,
        state.rate,
        t.controls.review_at,
        t.finished,
        t.crossed,
    )
    net.live = kept
    if num_finished + num_crossed > 0:
        net.sharing_due = True
    for place in range(num_finished):
        row = t.finished[place]
        _note(t, n, COMPLETION, row)
        set_timer(t, n, net.now + t.path_delay[t.controls.path[row]], TOKEN_RETURN, row)
    for place in range(num_crossed):
        row = t.crossed[place]
        _note(t, n, DEMOTION, row)
        if t.sending.initial_window > 0.0:
            if net.now >= t.round_end[row]:
                _next_round(t, n, row)
            else:
                t.controls.admitted[row] = False
                t.controls.review_at[row] = np.inf
                set_timer(t, n, t.round_end[row], RESUME, row)


@inlined_rule
def _share(t: View, n: int) -> None:
    """Sets the rates, and foresees the next event."""
    net = t.networks[n]
    net.sharing_due = False
    net.wake = np.inf
    count = net.live
    if count == 0:
        return
    state, controls, network = t.state, t.controls, t.network
    live = t.live[n * t.num_active : (n + 1) * t.num_active]
    control(net.now, n, live, count, state, controls, network, t.own)
    share_links(
        live,
        count,
        controls.admitted,
        controls.priority,
        controls.weight,
        controls.rate_cap,
        controls.path,
        t.data_capacity,
        network.path_start,
        network.path_links,
        state.rate,
        t.residual,
        t.load,
        t.open_flows,
        t.links,
    )
    review = review_time(net.now, n, live, count, state, controls, t.own)
    net.wake = next_event_time(
        net.now, live, count, state.attained, state.remaining, state.rate, controls.review_at, review
    )


@inlined_rule
def _note(t: View, n: int, kind: int, row: int) -> None:
    """Adds an event of this instant to the log, while there is room."""
    if t.log_length > 0:
        net = t.networks[n]
        if net.logged < t.log_length:
            entry = t.log[n * t.log_length + net.logged]
            entry.time = net.now
            entry.kind = kind
            entry.row = row - n * t.num_rows
        net.logged += 1
