"""The compiled event loop: one network from event to event, as the reference engine (``fluid.simpy``) goes.

Each function has the name of what it stands for there. Events of one instant happen in the order of ``EventKind``:
the loop takes the earliest of what is pending, the smallest kind first, and within a kind the rows in their order.
"""

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.core.errors import SimulationError
from flowsched_gym.flows.tokens import asks_for_decision, queue_request, return_token
from flowsched_gym.fluid.compiled import choosing, sharing
from flowsched_gym.fluid.compiled.events import note, set_timer, take_timer
from flowsched_gym.fluid.compiled.loading import arriving_row, foresee_request
from flowsched_gym.fluid.compiled.senders import (
    arrives_to_wait,
    begin,
    finish,
    goes_on,
    is_on_cpu,
    next_round,
    send,
    work_done,
)
from flowsched_gym.fluid.compiled.tables import NOBODY, Row, Rows, Tables, controls_of, network_of, state_of
from flowsched_gym.fluid.rules.transport.lossy_ports import deliver, next_change
from flowsched_gym.fluid.rules.transport.lossy_senders import Senders, control_senders
from flowsched_gym.fluid.rules.transport.progress import advance, next_event_time
from flowsched_gym.fluid.state import EventKind
from flowsched_gym.machine_code.decorators import inlined_part, pasted_rule, threaded_function

LAST_BYTE_SENT, BYTE_THRESHOLD, DELIVERY, LINK_CHANGE, ARRIVAL, *_ = (int(kind) for kind in EventKind)
*_, START, RESUME, PERIOD_END, DECISION, SHARING = (int(kind) for kind in EventKind)


@pasted_rule
def run(t: Tables, n: int, goal: int) -> None:
    """Runs a network until a decision is asked, or so many flows are delivered, at most all."""
    net = t.networks[n]
    while net.asking == NOBODY and net.delivered < goal:
        kind = _next_event(
            t.timers, net, choosing.next_change_time(n, t.choosing), choosing.next_period_time(n, t.choosing)
        )
        advances = kind in (LAST_BYTE_SENT, START, SHARING) or (kind in (LINK_CHANGE, ARRIVAL) and t.num_tokens == 0)
        if advances or (kind == DECISION and choosing.asks_for_periods(t.choosing)):
            _advance_flows(t, n)
        if kind == LAST_BYTE_SENT:
            net.wake = np.inf
            net.sharing_due = True
        elif kind == DELIVERY:
            _deliver(t, n)
        elif kind == LINK_CHANGE:
            choosing.change_links(t, n, t.choosing)
        elif kind == ARRIVAL:
            _arrive(t, n)
        elif kind == DECISION:
            net.decision_due = False
            _find_asking(t, n)
        elif kind == SHARING:
            _share(t, n)
        elif kind == PERIOD_END:
            choosing.begin_period(t, n, t.choosing)
        else:
            _start(t, n, kind)
    if net.delivered == net.num_flows:
        choosing.forget_touched(t.choosing)


@threaded_function
def run_many(t: Tables, numbers: IntArray, goal: int) -> None:
    """Runs networks, (count,), each until a decision is asked, or so many flows or all are delivered; for Python."""
    for i in range(len(numbers)):
        run(t, numbers[i], min(goal, t.networks[numbers[i]].num_flows))


@inlined_part
def _next_event(timers: Rows, net: Row, change_time: float, period_time: float) -> int:
    """Moves the clock of a network to its next event, and returns the kind of that: the smallest of its instant."""
    time = net.wake
    kind = LAST_BYTE_SENT
    if net.timer_head < net.timer_tail:
        timer = timers[net.timer_head]
        if timer.time < time:
            time = timer.time
            kind = timer.kind
    if change_time < time or (change_time == time and kind > LINK_CHANGE):
        time = change_time
        kind = LINK_CHANGE
    if net.request_time < time or (net.request_time == time and kind > ARRIVAL):
        time = net.request_time
        kind = ARRIVAL
    if period_time < time:
        time = period_time
        kind = PERIOD_END
    if time > net.now:
        if net.decision_due:
            return DECISION
        if net.sharing_due:
            return SHARING
    net.now = time
    return kind


@inlined_part
def _find_asking(t: Tables, n: int) -> None:
    """Finds what an agent has to decide: of destinations, the first by host number."""
    net = t.networks[n]
    choosing.find_decision(t, n, t.choosing)
    for index in range(net.num_destinations):
        d = t.destinations[n * t.most_destinations + index]
        if asks_for_decision(d):
            net.asking = index
            net.last_asking = index
            return


@inlined_part
def _arrive(t: Tables, n: int) -> None:
    """Takes in all flows, or token requests, that arrive now."""
    net = t.networks[n]
    while net.request_time == net.now:
        row = arriving_row(t, n)
        net.arrived += 1
        foresee_request(t, n)
        note(t, n, ARRIVAL, row)
        if t.num_tokens == 0:
            t.flows[row].grant_time = net.now
        if arrives_to_wait(t, n, row, t.stages):
            continue
        sharing.begin_flow(net.now, n, row, state_of(t.flows), controls_of(t.flows), t.record)
        if t.num_tokens == 0:
            if not choosing.waits_for_path(t, n, row, t.choosing):
                begin(t, n, row)
            continue
        d = t.destinations[n * t.most_destinations + t.flows[row].destination_index]
        queue_request(d, row, t.requests)
        net.decision_due = True


@inlined_part
def _deliver(t: Tables, n: int) -> None:
    """Records flows whose last byte has arrived, and frees their tokens."""
    net = t.networks[n]
    row = take_timer(t, n, DELIVERY)
    while row != NOBODY:
        if is_on_cpu(row, t.stages):
            work_done(t, n, row, t.stages)
            row = take_timer(t, n, DELIVERY)
            continue
        t.flows[row].completion_time = net.now
        t.delivered[n * t.num_rows + net.delivered] = row
        net.delivered += 1
        note(t, n, DELIVERY, row)
        if t.num_tokens > 0:
            d = t.destinations[n * t.most_destinations + t.flows[row].destination_index]
            return_token(d, row, t.holders)
            net.decision_due = True
        finish(t, n, row, t.stages)
        row = take_timer(t, n, DELIVERY)
    choosing.count_delivered(t, n, t.choosing)


@inlined_part
def _start(t: Tables, n: int, kind: int) -> None:
    """Lets flows send from now on, for the first time or after a pause."""
    net = t.networks[n]
    row = take_timer(t, n, kind)
    while row != NOBODY:
        if kind == START:
            if not goes_on(t, n, row, t.stages):
                send(t, n, row)
        else:
            t.flows[row].admitted = True
            net.sharing_due = True
            sharing.mark_changed(n, row, t.cache)
            next_round(t, n, row)
        row = take_timer(t, n, kind)


@inlined_part
def _advance_flows(t: Tables, n: int) -> None:
    """Lets the flows send up to now; sends off the last bytes, and pauses senders that have sent their window."""
    net = t.networks[n]
    elapsed = net.now - net.advanced_to
    if elapsed == 0.0:
        return
    net.advanced_to = net.now
    if net.num_active == 0:
        return
    state, controls = state_of(t.flows), controls_of(t.flows)
    active = t.active[n * t.most_active : (n + 1) * t.most_active]
    served = t.served[n * t.most_active : (n + 1) * t.most_active]
    sharing.average(net.now, elapsed, n, active, net.num_active, state, controls, t.record)
    kept, num_finished, num_crossed = advance(
        net.now,
        elapsed,
        active,
        net.num_active,
        served,
        net.served,
        state.volume,
        state.attained,
        state.remaining,
        state.rate,
        controls.review_at,
        t.scratch["finished"],
        t.scratch["crossed"],
    )
    _deliver_lossy(t, n, elapsed, t.senders)
    net.num_active = kept
    if num_finished + num_crossed > 0:
        net.sharing_due = True
    for index in range(num_finished):
        # Of one type with all other rows, so that less is compiled.
        row: int = np.int64(t.scratch[index].finished)  # type: ignore[assignment]
        note(t, n, LAST_BYTE_SENT, row)
        sharing.finished(n, row, state, controls, t.record)
        choosing.touch(t, n, row, t.choosing)
        sharing.leave_links(t, n, row, t.cache)
        set_timer(t, n, net.now + t.paths[t.flows[row].path].delay, DELIVERY, row)
    for index in range(num_crossed):
        row = np.int64(t.scratch[index].crossed)  # type: ignore[assignment]
        note(t, n, BYTE_THRESHOLD, row)
        sharing.mark_changed(n, row, t.cache)
        if t.sending.first_burst > 0.0:
            if net.now >= t.windows[row].round_end:
                next_round(t, n, row)
            else:
                t.flows[row].admitted = False
                t.flows[row].review_at = np.inf
                set_timer(t, n, t.windows[row].round_end, RESUME, row)


@inlined_part
def _share(t: Tables, n: int) -> None:
    net = t.networks[n]
    net.sharing_due = False
    net.wake = np.inf
    count = net.num_active
    if count == 0:
        net.served = 0
        return
    state, controls = state_of(t.flows), controls_of(t.flows)
    active = t.active[n * t.most_active : (n + 1) * t.most_active]
    served = t.served[n * t.most_active : (n + 1) * t.most_active]
    choosing.review(t, n, t.choosing)
    if sharing.all_may_change(n, t.record):
        sharing.forget_network(n, t.cache)
    changed, num_changed = sharing.changed_flows(t, n, t.cache)
    sharing.control(net.now, n, changed, num_changed, state, controls, network_of(t, n, t.capacity), t.record)
    changes_at, rates_change = _control_lossy(t, n, t.senders)
    if rates_change:
        sharing.set_rates(t, n, changed, num_changed, t.cache)
    choosing.take_note_of_quiet(t, n, t.choosing)
    next_review = sharing.review_time(net.now, n, active, count, state, controls, t.record)
    if not next_review > net.now:
        net.wake = next_review
        raise SimulationError("review_time of the discipline returned a time that is not later than now")
    next_review = min(next_review, changes_at, _next_change_lossy(t, n, t.senders))
    net.wake = next_event_time(
        net.now, served, net.served, state.attained, state.remaining, state.rate, controls.review_at, next_review
    )


@inlined_part
def _deliver_lossy(t: Tables, n: int, elapsed: float, senders: Senders | None) -> None:
    """Lets windows grow by what was delivered, and loses what has found no room, where packets can be lost."""
    if senders is not None:
        net = t.networks[n]
        served = t.served[n * t.most_active : (n + 1) * t.most_active]
        deliver(net.now, elapsed, n, served, net.served, state_of(t.flows), controls_of(t.flows), senders)


@inlined_part
def _control_lossy(t: Tables, n: int, senders: Senders | None) -> tuple[float, bool]:
    """Steers senders whose packets can be lost; returns when one next notices, in s, and whether rates change now."""
    if senders is None:
        return np.inf, True
    net = t.networks[n]
    active = t.active[n * t.most_active : (n + 1) * t.most_active]
    state, controls = state_of(t.flows), controls_of(t.flows)
    next_time = control_senders(net.now, n, active, net.num_active, state, controls, t.paths["round_trip"], senders)
    return next_time, senders.steps["changed"][n]


@inlined_part
def _next_change_lossy(t: Tables, n: int, senders: Senders | None) -> float:
    """Returns when windows and losses next change the rates of senders whose packets can be lost, in s."""
    if senders is None:
        return np.inf
    net = t.networks[n]
    served = t.served[n * t.most_active : (n + 1) * t.most_active]
    capacity = network_of(t, n, t.data_capacity).capacity
    state, controls = state_of(t.flows), controls_of(t.flows)
    return next_change(net.now, n, served, net.served, state, controls, capacity, t.paths["round_trip"], senders)
