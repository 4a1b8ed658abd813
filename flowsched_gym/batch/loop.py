"""The compiled event loop: one network from event to event, as the reference engine (``simulation``) goes.

Each function has the name of what it stands for there. Events of one instant happen in the order of ``EventKind``:
the loop takes the earliest of what is pending, the smallest kind first, and within a kind the rows in their order.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.batch.control import control, review_time
from flowsched_gym.batch.tables import NOBODY, Row, Rows, Tables, View, view
from flowsched_gym.model.events import EventKind
from flowsched_gym.model.rules.compile import inlined_rule, rule
from flowsched_gym.model.rules.progress import advance, next_event_time
from flowsched_gym.model.rules.sharing import share_links
from flowsched_gym.model.rules.tokens import send_to_back, take_out, take_request
from flowsched_gym.model.rules.transport import next_window, wire_volume

__all__ = ["act_one", "grant", "hold", "load", "load_one", "postpone", "run", "run_one", "set_order"]

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


@rule
def load_one(
    tables: Tables,
    n: int,
    num_flows: int,
    size: FloatArray,
    arrival_time: FloatArray,
    deadline_span: FloatArray,
    path: IntArray,
    destination: IntArray,
) -> bool:
    """Does what ``load`` does, called from Python."""
    t = view(tables)
    return load(t, n, num_flows, size, arrival_time, deadline_span, path, destination)


@inlined_rule
def load(
    t: View,
    n: int,
    num_flows: int,
    size: FloatArray,
    arrival_time: FloatArray,
    deadline_span: FloatArray,
    path: IntArray,
    destination: IntArray,
) -> bool:
    """Puts flows into a network, at time 0.

    Args:
        t: The tables.
        n: Number of the network.
        num_flows: Flows, at most ``num_rows``.
        size: Bytes to deliver, at least (num_flows,), as the columns after it.
        arrival_time: Absolute arrival times in s.
        deadline_span: Times allowed after arrival in s.
        path: Rows of the path table.
        destination: Receiving hosts.

    Returns:
        Whether the requests arrive in the order of rows; if not, ``set_order`` has to follow.
    """
    first = n * t.num_rows
    state = t.state
    net = t.networks[n]
    last_time = 0.0
    in_order = True
    for i in range(num_flows):
        row = first + i
        state.size[row] = size[i]
        state.arrival_time[row] = arrival_time[i]
        state.deadline[row] = arrival_time[i] + deadline_span[i]
        t.controls.path[row] = path[i]
        t.grant_time[row] = np.nan
        t.completion_time[row] = np.nan
        time = _request_time(t, row)
        in_order = in_order and time >= last_time
        last_time = time
    wire_volume(size[:num_flows], t.sending.segment, t.sending.header, state.volume[first : first + num_flows])
    net.now = 0.0
    net.settled_at = 0.0
    net.wake = np.inf
    net.num_flows = num_flows
    net.arrived = 0
    net.delivered = 0
    net.live = 0
    net.timer_head = n * t.num_active
    net.timer_tail = n * t.num_active
    net.num_destinations = 0
    net.asking = NOBODY
    net.decision_due = False
    net.sharing_due = False
    net.in_order = in_order
    net.logged = 0
    if t.num_tokens > 0:
        _open_destinations(t, n, num_flows, destination)
    _foresee_request(t, n)
    return in_order


@rule
def set_order(tables: Tables, n: int, order: IntArray) -> None:
    """Sets the order in which requests arrive, as rows counted from the network's first, (num_flows,)."""
    t = view(tables)
    first = n * t.num_rows
    for i in range(len(order)):
        t.order[first + i] = first + order[i]
    _foresee_request(t, n)


@inlined_rule
def _open_destinations(t: View, n: int, num_flows: int, destination: IntArray) -> None:
    """Gives every host that receives flows a queue and its tokens, in the order of the hosts."""
    first = n * t.num_rows
    net = t.networks[n]
    count = t.host_place
    count[:] = 0
    for i in range(num_flows):
        count[destination[i]] += 1
    place = 0
    queue = 2 * first
    active = n * t.num_active
    for host in range(len(count)):
        expected = count[host]
        if expected == 0:
            continue
        d = t.destinations[n * t.num_places + place]
        d.host = host
        d.tokens = t.num_tokens
        d.expected = expected
        d.queue = queue
        d.head = queue
        d.tail = queue
        queue += 2 * expected
        d.queue_end = queue
        d.active = active
        d.num_active = 0
        d.held = False
        active += min(t.num_tokens, expected)
        count[host] = place
        place += 1
    net.num_destinations = place
    for i in range(num_flows):
        t.place[first + i] = count[destination[i]]


@inlined_rule
def run(t: View, n: int) -> None:
    """Runs a network until a decision is asked or all flows are delivered."""
    net = t.networks[n]
    while net.asking == NOBODY and net.delivered < net.num_flows:
        kind = _next_event(t.timers, net)
        if kind == COMPLETION or kind == START or kind == SHARING:
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
def run_one(tables: Tables, n: int) -> None:
    """Does what ``run`` does, called from Python."""
    run(view(tables), n)


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
def _request_time(t: View, row: int) -> float:
    """Returns when a flow, or its request, arrives."""
    if t.num_tokens > 0:
        return t.state.arrival_time[row] + t.path_delay[t.controls.path[row]]
    return t.state.arrival_time[row]


@inlined_rule
def _foresee_request(t: View, n: int) -> None:
    """Notes when the next request arrives."""
    net = t.networks[n]
    net.request_time = np.inf
    if net.arrived < net.num_flows:
        net.request_time = _request_time(t, _arriving_row(t, n))


@inlined_rule
def _arriving_row(t: View, n: int) -> int:
    """Returns the row of the next request."""
    place = n * t.num_rows + t.networks[n].arrived
    return place if t.networks[n].in_order else t.order[place]


@inlined_rule
def _arrive(t: View, n: int) -> None:
    """Takes in all flows, or token requests, that arrive now."""
    net = t.networks[n]
    while net.request_time == net.now:
        row = _arriving_row(t, n)
        net.arrived += 1
        _foresee_request(t, n)
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
    _set_timer(t, n, t.networks[n].now + delay, START, row)


@inlined_rule
def _set_timer(t: View, n: int, time: float, kind: int, row: int) -> None:
    """Puts a timer in its place among the pending ones."""
    net = t.networks[n]
    if net.timer_tail == (n + 1) * t.num_active:
        _move_timers_to_front(t.timers, net, n * t.num_active)
    net.timer_tail = _insert_timer(t.timers, net.timer_head, net.timer_tail, time, kind, row)


@rule
def _insert_timer(timers: Rows, head: int, tail: int, time: float, kind: int, row: int) -> int:
    """Inserts a timer into those from head to tail - 1, sorted by (time, kind, row); returns tail + 1.

    Starts of one instant keep the order in which they were set: links are shared in the order of rows anyway.
    """
    place = tail
    while place > head:
        before = timers[place - 1]
        if before.time < time or (
            before.time == time
            and (before.kind < kind or (before.kind == kind and (kind != TOKEN_RETURN or before.row < row)))
        ):
            break
        timers[place].time = before.time
        timers[place].kind = before.kind
        timers[place].row = before.row
        place -= 1
    timers[place].time = time
    timers[place].kind = kind
    timers[place].row = row
    return tail + 1


@rule
def _move_timers_to_front(timers: Rows, net: Row, front: int) -> None:
    """Makes room behind the timers."""
    count = net.timer_tail - net.timer_head
    for place in range(count):
        timer = timers[net.timer_head + place]
        timers[front + place].time = timer.time
        timers[front + place].kind = timer.kind
        timers[front + place].row = timer.row
    net.timer_head = front
    net.timer_tail = front + count


@inlined_rule
def _take_timer(t: View, n: int, kind: int) -> int:
    """Takes out the next timer if it is of this kind and due now, and returns its row, else NOBODY."""
    net = t.networks[n]
    if net.timer_head == net.timer_tail:
        return NOBODY
    timer = t.timers[net.timer_head]
    if timer.time != net.now or timer.kind != kind:
        return NOBODY
    net.timer_head += 1
    if net.timer_head == net.timer_tail:
        net.timer_head = n * t.num_active
        net.timer_tail = net.timer_head
    return np.int64(timer.row)


@inlined_rule
def _deliver(t: View, n: int) -> None:
    """Records flows whose last byte has arrived, and frees their tokens."""
    net = t.networks[n]
    row = _take_timer(t, n, TOKEN_RETURN)
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
        row = _take_timer(t, n, TOKEN_RETURN)


@inlined_rule
def _start(t: View, n: int, kind: int) -> None:
    """Lets flows send from now on, for the first time or after a pause."""
    net = t.networks[n]
    row = _take_timer(t, n, kind)
    while row != NOBODY:
        if kind == START:
            if t.sending.initial_window > 0.0:
                _open_window(t, n, row, t.sending.initial_window)
            t.live[n * t.num_active + net.live] = row
            net.live += 1
        else:
            t.controls.admitted[row] = True
            _next_round(t, n, row)
        row = _take_timer(t, n, kind)
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
        _set_timer(t, n, net.now + t.path_delay[t.controls.path[row]], TOKEN_RETURN, row)
    for place in range(num_crossed):
        row = t.crossed[place]
        _note(t, n, DEMOTION, row)
        if t.sending.initial_window > 0.0:
            if net.now >= t.round_end[row]:
                _next_round(t, n, row)
            else:
                t.controls.admitted[row] = False
                t.controls.review_at[row] = np.inf
                _set_timer(t, n, t.round_end[row], RESUME, row)


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
    control(net.now, live, count, state, controls, network, t.own)
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
    review = review_time(net.now, live, count, state, controls, t.own)
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
