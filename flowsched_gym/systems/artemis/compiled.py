"""Steps many Artemis environments at once, in compiled code: acts, runs, pays, observes, as ``env.ArtemisEnv`` does."""

from enum import IntEnum
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.batch.deeds import grant, hold, postpone
from flowsched_gym.batch.loop import run
from flowsched_gym.batch.prefetch import prefetch
from flowsched_gym.batch.records import CACHE_LINE
from flowsched_gym.batch.stepping import (
    EMPTY_SLOT_CHOICES,
    EPISODE_FIELDS,
    OWN_AMOUNTS,
    OWN_COUNTS,
    REWARD,
    TIME,
    Columns,
    begin_episode,
    begin_step,
    end_step,
    find_wrong_action,
    first_to_tell,
)
from flowsched_gym.batch.tables import NOBODY, Rows, Tables, View, view
from flowsched_gym.model.rules.compile import inlined_rule, rule
from flowsched_gym.model.rules.observation import (
    NUM_CONTEXT_COLUMNS,
    NUM_SLOT_COLUMNS,
    POSTPONED,
    fill_full,
    fill_paper,
    fill_requirements,
)
from flowsched_gym.model.rules.transport.progress import latest_completion

__all__ = [
    "DESTINATION",
    "EPISODE",
    "FLOW_FIELDS",
    "NUM_AMOUNTS",
    "NUM_COUNTS",
    "SEEN_COLUMNS",
    "UNPAID",
    "DeferCode",
    "Episodes",
    "observe",
    "prepare",
    "step",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

FLOW_FIELDS: Final = (("send_time", "f8"),)
"""What the observation keeps of a flow, and just fills its second cache line."""
SEEN_COLUMNS: Final = 8
"""Columns that are kept of a request: those of a slot, and their moment. With eight it lies in one cache line."""

EPISODE: Final = np.dtype(
    [
        ("asked", "i8"),  # place of the destination that was asked last
        ("paid", "i8"),  # delivered flows that an action was paid for
        *EPISODE_FIELDS,
    ],
    align=True,
)
"""What an environment keeps of an episode beside its network."""


class DeferCode(IntEnum):
    """Numbers what the agent may do besides granting, as ``config.Defer``."""

    NONE = 0
    WAIT = 1
    TO_BACK = 2


STRIDE: Final = 3
"""Environments from one look ahead to the next: about as many as are stepped while memory answers."""

DEFER_WAIT: Final = int(DeferCode.WAIT)
DEFER_TO_BACK: Final = int(DeferCode.TO_BACK)


class Episodes(NamedTuple):
    """Holds what environments keep beside their networks, and their arguments.

    Attributes:
        episodes: One for each network, (num_networks,) EPISODE.
        seen: Columns of a slot that show each request, (num_networks * num_rows, SEEN_COLUMNS).
        seen_at: Moments for which they hold, the last of these columns, (num_networks * num_rows,) int32.
        num_slots: Slots (f).
        num_actions: Actions.
        defer: What the agent may do besides granting.
        lagged: Whether one finished flow is paid for each action.
        full: Whether all is observed, or what the paper has.
        max_decisions: Decisions after which an episode is truncated.
        line_rate: Capacity of a host's link in B/s.
        size_scale: Size in B that becomes one half.
        time_scale: Time in s that becomes one half.
    """

    episodes: npt.NDArray[Any]
    seen: npt.NDArray[np.float32]
    seen_at: npt.NDArray[np.int32]
    num_slots: int
    num_actions: int
    defer: int
    lagged: bool
    full: bool
    max_decisions: float
    line_rate: float
    size_scale: float
    time_scale: float


UNPAID, NUM_AMOUNTS = range(OWN_AMOUNTS, OWN_AMOUNTS + 2)
"""Met deadlines that are still to be paid."""
DESTINATION, NUM_COUNTS = range(OWN_COUNTS, OWN_COUNTS + 2)
"""Host that asks, -1 for none."""


@rule
def step(
    tables: Tables, own: Episodes, current: IntArray, over: BoolArray, actions: IntArray, out: Columns
) -> tuple[int, int]:
    """Applies an action in each environment that is not over, and runs it to its next decision or end.

    Returns:
        Number of flows that finished, or, negated and less 1, the number of the first environment whose action is
        outside the space: nothing is changed then. And the number of environments that are over now.
    """
    wrong = find_wrong_action(over, actions, own.num_actions)
    if wrong != NOBODY:
        return -1 - wrong, 0
    t = view(tables)
    flows = tables.flows
    send_time = flows["send_time"]
    finished = 0
    num_over = 0
    for e in range(len(current)):
        _look_ahead(t, flows, own, current, actions, e)
        begin_step(e, out)
        if not over[e]:
            n = current[e]
            episode = own.episodes[n]
            told = first_to_tell(t.networks[n], episode)
            _act(t, own, n, actions[e])
            run(t, n, t.networks[n].num_flows)
            finished = end_step(t, n, e, episode, told, own.max_decisions, over, finished, out)
            out.amounts[REWARD, e] = _pay(t, own, n)
            _show(t, own, send_time, e, n, out)
        num_over += over[e]
    return finished, num_over


@rule
def observe(tables: Tables, own: Episodes, current: IntArray, numbers: IntArray, out: Columns) -> None:
    """Writes what some environments show."""
    t = view(tables)
    flows = tables.flows
    for i in range(len(numbers)):
        e = numbers[i]
        _show(t, own, flows["send_time"], e, current[e], out)


@rule
def prepare(tables: Tables, own: Episodes, n: int, size: FloatArray, deadline_span: FloatArray) -> None:
    """Describes the requests of an episode that has been loaded; its flows are (num_flows,) each."""
    first = n * tables.num_rows
    flows = tables.flows
    fill_requirements(
        first,
        first + tables.networks[n].num_flows,
        size,
        deadline_span,
        flows["volume"],
        own.line_rate,
        own.size_scale,
        own.time_scale,
        flows["send_time"],
        own.seen_at,
        own.seen,
    )
    episode = own.episodes[n]
    begin_episode(episode)
    episode.asked = 0
    episode.paid = 0


@inlined_rule
def _look_ahead(t: View, flows: Rows, own: Episodes, current: IntArray, actions: IntArray, e: int) -> None:
    """Asks memory for what the environments after this one will touch, in the order in which one leads to the next."""
    last = len(current) - 1
    n = current[min(e + 4 * STRIDE, last)]
    prefetch(t.networks, n, 0)
    prefetch(t.networks, n, CACHE_LINE)
    n = current[min(e + 3 * STRIDE, last)]
    place = n * t.num_places + max(t.networks[n].asking, 0)
    prefetch(t.destinations, place, 0)
    prefetch(t.destinations, place, CACHE_LINE)
    prefetch(own.episodes, n, 0)
    n = current[min(e + 2 * STRIDE, last)]
    net = t.networks[n]
    d = t.destinations[n * t.num_places + max(net.asking, 0)]
    prefetch(t.requests, d.head, 0)
    prefetch(t.active, d.active, 0)
    prefetch(t.timers, net.timer_tail, 0)
    next_one = min(e + STRIDE, last)
    n = current[next_one]
    d = t.destinations[n * t.num_places + max(t.networks[n].asking, 0)]
    end = min(d.tail, d.head + own.num_slots + 1)
    for place in range(d.head, end):
        prefetch(own.seen, t.requests[place], 0)
    chosen = d.head + actions[next_one]
    if d.head <= chosen < end:
        prefetch(flows, t.requests[chosen], 0)
        prefetch(flows, t.requests[chosen], CACHE_LINE)
    if end > d.head:
        prefetch(flows, t.requests[end - 1], CACHE_LINE)
    if d.tokens == 1:
        for place in range(d.active, d.active + d.num_active):
            prefetch(flows, t.active[place], 0)


@inlined_rule
def _act(t: View, own: Episodes, n: int, choice: int) -> None:
    """Grants, waits, or sends a request to the back."""
    net = t.networks[n]
    own.episodes[n].asked = net.asking
    d = t.destinations[n * t.num_places + net.asking]
    waiting = d.tail - d.head
    slot = 0
    if choice < own.num_slots:
        if choice < waiting:
            slot = choice
        else:
            own.episodes[n].empty_slot_choices += 1
    elif own.defer == DEFER_WAIT and (d.num_active > 0 or d.expected > 0):
        hold(t, n)
        return
    else:
        slot = choice - own.num_slots
        if own.defer == DEFER_TO_BACK and slot < waiting and waiting > 1:
            row = t.requests[d.head + slot]
            if own.seen[row, POSTPONED] == 0.0:
                own.seen[row, POSTPONED] = 1.0
                postpone(t, n, slot)
                return
        slot = 0
        own.episodes[n].empty_slot_choices += 1
    grant(t, n, slot)


@inlined_rule
def _pay(t: View, own: Episodes, n: int) -> float:
    """Pays for deadlines met: one finished flow, or all."""
    episode = own.episodes[n]
    last = t.networks[n].delivered
    if own.lagged:
        last = min(last, episode.paid + 1)
    reward = _met(t, n, episode.paid, last)
    episode.paid = last
    return reward


@inlined_rule
def _met(t: View, n: int, first: int, last: int) -> float:
    """Counts the delivered flows in the places first to last - 1 that met their deadlines."""
    met = 0.0
    for place in range(n * t.num_rows + first, n * t.num_rows + last):
        row = t.delivered[place]
        if t.completion_time[row] <= latest_completion(t.state.deadline[row]):
            met += 1.0
    return met


@inlined_rule
def _show(t: View, own: Episodes, send_time: FloatArray, e: int, n: int, out: Columns) -> None:
    """Writes what an environment shows: observation, mask, time, who asks."""
    net = t.networks[n]
    episode = own.episodes[n]
    state = t.state
    asks = net.asking != NOBODY
    d = t.destinations[n * t.num_places + (net.asking if asks else episode.asked)]
    if own.full:
        if d.counted_at != net.moment:
            d.counted_at = net.moment
            d.num_counted = 0
            d.in_flight = 0.0
        d.in_flight = fill_full(
            out.observation,
            e * (NUM_CONTEXT_COLUMNS + NUM_SLOT_COLUMNS * own.num_slots),
            own.num_slots,
            t.requests,
            d.head,
            d.tail,
            t.active,
            d.active,
            d.num_active,
            d.num_counted,
            d.in_flight,
            t.num_tokens,
            net.now,
            net.settled_at,
            net.moment,
            send_time,
            own.seen_at,
            own.seen,
            state.arrival_time,
            state.deadline,
            state.remaining,
            state.rate,
            own.size_scale,
            own.time_scale,
        )
        d.num_counted = d.num_active
    else:
        fill_paper(out.observation, e * 2 * own.num_slots, own.num_slots, t.requests, d.head, d.tail, own.seen)
    waiting = d.tail - d.head if asks else 1
    at = e * own.num_actions
    for slot in range(own.num_slots):
        out.mask[at + slot] = slot < waiting
    at += own.num_slots
    if own.defer == DEFER_WAIT:
        out.mask[at] = asks and (d.num_active > 0 or d.expected > 0)
    elif own.defer == DEFER_TO_BACK:
        for slot in range(own.num_slots):
            out.mask[at + slot] = (
                asks and slot < waiting and waiting > 1 and own.seen[t.requests[d.head + slot], POSTPONED] == 0.0
            )
    out.amounts[TIME, e] = net.now
    out.amounts[UNPAID, e] = _met(t, n, episode.paid, net.delivered) if own.lagged else 0.0
    out.counts[DESTINATION, e] = d.host if asks else NOBODY
    out.counts[EMPTY_SLOT_CHOICES, e] = episode.empty_slot_choices
