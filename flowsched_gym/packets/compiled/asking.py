"""What an agent is asked of flows that need no tokens, in compiled code: once per period, who goes first, or a path.

Each function takes this, or the tokens, last; where no agent is asked, there is nothing of it.
"""

from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.flows.decisions import DecisionKind, Order
from flowsched_gym.flows.stages import (
    AT_BARRIER,
    NOBODY,
    ON_CPU,
    WAITING,
    Stages,
    barrier_opens,
    begin_sending,
    begin_work,
    stops_waiting,
    waits_at_barrier,
)
from flowsched_gym.flows.state import Controls, new_controls
from flowsched_gym.machine_code.decorators import inlined_part
from flowsched_gym.packets.compiled.detecting import DetectingSenders, pace, take_path
from flowsched_gym.packets.compiled.heaps import Heap, new_heap, next_time, set_time
from flowsched_gym.packets.compiled.queues import bring_forward
from flowsched_gym.packets.compiled.state import COMPLETED, NONE, Tables, whole
from flowsched_gym.packets.contract import Scheduler
from flowsched_gym.packets.network import PacketNetwork
from flowsched_gym.packets.rules.cpus import Cpus, choose_work, end_work, new_cpus, note_work, of_scheduler
from flowsched_gym.packets.rules.queues import forget_counts
from flowsched_gym.topology.competing import count_first_contest, find_competing, touch_links
from flowsched_gym.topology.network import Network as Links
from flowsched_gym.topology.routes import Routes, count_paths_up

ORDER, PATH, PERIOD = (int(kind) for kind in (DecisionKind.ORDER, DecisionKind.PATH, DecisionKind.PERIOD))
SERVE_FIRST, TAKE_PATH = int(Order.SERVE_FIRST), int(Order.TAKE_PATH)
ASKED, FIRST, IS_DUE, NOTED, ACTIVE, COUNTED, PERIODS, GRANTED = range(8)
"""Indices of ``Asking.numbers``."""


class Staging(NamedTuple):
    """Flows on their way to the network.

    Attributes:
        stages: Their stages, and ``cpus`` on which they work.
        starts: Flows by when they go on to their next stage.
        late: By how many s the source of each flow begins to send later than it could, (num_flows,).
    """

    stages: Stages
    cpus: Cpus
    starts: Heap
    late: FloatArray


class Unasked(NamedTuple):
    """In place of what an agent is asked, where none is: the controls of paths; links and paths, as rules know them."""

    controls: Controls
    network: Links


class Asking(NamedTuple):
    """What an agent is asked.

    Attributes:
        kind: The kind of ``DecisionKind``.
        seconds: Length of a period in s, inf for none; ``flows``: flows that are delivered in it, 0 for none.
        steers: Whether paths and largest rates of active flows may be set at each period.
        numbers: Flows that are asked about, and the index of the first of them; whether flows have begun or ended in
            this instant; flows whose end has been noted; active flows; flows delivered before this period; periods that
            have begun; the flow whose path has been chosen.
        granted_at: When that flow begins, in s, (1,), or inf.
        active: Rows of the flows that send, in the order in which they began, (num_flows,).
        asked: Rows of the flows that are asked about, (num_flows,).
        touched: Links on which a flow has begun or ended, (num_links,).
        arrival_time: Absolute times in s, (num_flows,); ``ready_time``: when flows that wait for others are ready.
        controls: Those of paths; ``network``: links and paths, as rules know them; ``routes``: paths to choose from.
        staging: Flows that do not send yet; ``None`` where they begin as they arrive.
    """

    kind: int
    seconds: float
    flows: int
    steers: bool
    numbers: IntArray
    granted_at: FloatArray
    active: IntArray
    asked: IntArray
    touched: IntArray
    arrival_time: FloatArray
    ready_time: FloatArray
    controls: Controls
    network: Links
    routes: Routes
    staging: Staging | None


def new_asking(network: PacketNetwork) -> Asking:
    """Makes what an agent is asked where no flow has arrived."""
    num_flows, period = network.flows.num_flows, network.period
    seconds = None if period is None else period.seconds
    flows = None if period is None else period.flows
    staging = None
    if network.stages is not None:
        cpus = new_cpus(network.links, num_flows)
        staging = Staging(network.stages, cpus, new_heap(num_flows), network.flows.late.copy())
    return Asking(
        kind=int(network.asks),
        seconds=np.inf if seconds is None else seconds,
        flows=flows or 0,
        steers=network.steers,
        numbers=whole(8),
        granted_at=np.full(1, np.inf),
        active=whole(num_flows),
        asked=whole(num_flows),
        touched=whole(network.topology.num_links),
        arrival_time=network.flows.arrival_time.copy(),
        ready_time=network.flows.arrival_time.copy(),
        controls=new_controls(network.path.copy()),
        network=network.links,
        routes=network.new_routes(),
        staging=staging,
    )


serve_first, serve_last = of_scheduler(Scheduler.serve_first), of_scheduler(Scheduler.serve_last)
"""Put a flow before, or behind, all others, as the scheduler does it; return its rank."""


@inlined_part
def waits_for_path(now: float, row: int, a: Asking) -> bool:
    """Notes a flow that arrives; returns whether an agent is to choose its path, or it waits, before it begins."""
    if arrives_to_wait(now, row, a.staging):
        return True
    if a.kind == PATH and count_paths_up(a.routes.first[row], a.routes.last[row], a.network) > 1:
        numbers = a.numbers
        if numbers[ASKED] == 0:
            numbers[FIRST] = 0
        a.asked[numbers[FIRST] + numbers[ASKED]] = row
        numbers[ASKED] += 1
        return True
    _join(row, a)
    return False


@inlined_part
def _join(row: int, a: Asking) -> None:
    a.active[a.numbers[ACTIVE]] = row
    a.numbers[ACTIVE] += 1
    _touch(row, a)


@inlined_part
def _touch(row: int, a: Asking) -> None:
    if a.kind == ORDER:
        touch_links(a.controls.path[row], a.network, a.touched)
        a.numbers[IS_DUE] = 1


@inlined_part
def granted_time(a: Asking) -> float:
    """Returns when the flow begins whose path has been chosen, in s, or inf."""
    return min(a.granted_at[0], next_start(a.staging))  # type: ignore[no-any-return]  # a float


@inlined_part
def take_with_path(now: float, t: Tables, s: DetectingSenders, a: Asking) -> int:
    """Takes that flow out, and returns it; or takes one to its next stage, and returns ``NONE`` until it sends."""
    if a.granted_at[0] > now:
        return goes_on(now, t, s, a, a.staging)
    a.granted_at[0] = np.inf
    return a.numbers[GRANTED]  # type: ignore[no-any-return]  # a row


@inlined_part
def note_ends(now: float, t: Tables, senders: DetectingSenders, a: Asking) -> None:
    """Takes the flows that are over from the active ones."""
    numbers = a.numbers
    while numbers[NOTED] < t.counts[COMPLETED]:
        row = senders.order[numbers[NOTED]]
        numbers[NOTED] += 1
        _leave(row, a)
        finish(now, row, a.staging)
        choose_all_work(now, t, senders, a, a.staging)


@inlined_part
def _leave(row: int, a: Asking) -> None:
    active, place = a.active, 0
    while active[place] != row:
        place += 1
    for index in range(place + 1, a.numbers[ACTIVE]):
        active[index - 1] = active[index]
    a.numbers[ACTIVE] -= 1
    _touch(row, a)


@inlined_part
def asks_agent(num_over: int, num_flows: int, a: Asking) -> bool:
    """Returns, at the end of an instant, whether an agent is asked, or all flows are over."""
    numbers = a.numbers
    if numbers[IS_DUE] == 1:
        numbers[IS_DUE] = numbers[FIRST] = 0
        ready, path = a.ready_time, a.controls.path
        numbers[ASKED] = find_competing(a.active, numbers[ACTIVE], ready, path, a.network, a.touched, a.asked)
    counts = a.flows > 0 and numbers[PERIODS] > 0
    return num_over == num_flows or numbers[ASKED] > 0 or (counts and num_over - numbers[COUNTED] >= a.flows)


@inlined_part
def next_period_time(a: Asking) -> float:
    """Returns when the next period begins by the clock, in s, or inf."""
    time = 0.0 if a.kind == PERIOD else np.inf
    return a.numbers[PERIODS] * a.seconds if a.numbers[PERIODS] > 0 else time


@inlined_part
def begins_period(num_over: int, a: Asking) -> bool:
    """Begins a period, where an agent is asked once in each; returns whether it is."""
    if a.kind != PERIOD:
        return False
    a.numbers[PERIODS] += 1
    a.numbers[COUNTED] = num_over
    return True


@inlined_part
def count_asked(a: Asking) -> int:
    """Counts the flows that are asked about in one decision."""
    first, count = a.numbers[FIRST], a.numbers[ASKED]
    if a.kind == ORDER:
        return count_first_contest(a.asked, first, first + count, a.controls.path, a.network)
    return min(count, 1)  # type: ignore[no-any-return]  # a number


@inlined_part
def carry_out(now: float, order: int, index: int, t: Tables, s: DetectingSenders, a: Asking) -> bool:
    """Carries out an ``Order`` about flows, or to go on; returns whether another one is asked for at once."""
    numbers = a.numbers
    if order == SERVE_FIRST:
        count, row = count_asked(a), a.asked[numbers[FIRST] + index]
        rank = serve_first(row, t.record)
        bring_forward(row, rank, t)
        work_first(now, row, rank, t, s, a, a.staging)
        numbers[FIRST] += count
        numbers[ASKED] -= count
        return numbers[ASKED] > 0  # type: ignore[no-any-return]  # a boolean
    if order == TAKE_PATH:
        row = a.asked[numbers[FIRST]]
        numbers[FIRST] += 1
        numbers[ASKED] -= 1
        a.controls.path[row] = a.routes.first[row] + index
        take_path(row, a.controls.path[row], a.network, s)
        _join(row, a)
        numbers[GRANTED] = row
        a.granted_at[0] = now
    else:
        for index in range(numbers[ACTIVE] if a.steers else 0):
            row = a.active[index]
            take_path(row, a.controls.path[row], a.network, s)
            pace(row, a.controls.rate_cap[row], s)
        if numbers[PERIODS] > 1:
            forget_counts(t.queue_counts)
        choose_all_work(now, t, s, a, a.staging)
    return False


@inlined_part
def arrives_to_wait(now: float, row: int, g: Staging | None) -> bool:
    """Takes in a flow that arrives; returns whether it has stages before it sends."""
    if g is None:
        return False
    if stops_waiting(row, g.stages):
        set_time(row, now, g.starts)
    return True


@inlined_part
def next_start(g: Staging | None) -> float:
    """Returns when a flow next goes on to its next stage, in s, or inf."""
    if g is None:
        return np.inf
    return next_time(g.starts)


@inlined_part
def finish(now: float, row: int, g: Staging | None) -> None:
    """Lets the flows that come after a delivered one begin, if they wait for no other."""
    if g is None:
        return
    for index in range(g.stages.first_follower[row], g.stages.first_follower[row + 1]):
        arrives_to_wait(now, g.stages.followers[index], g)


@inlined_part
def goes_on(now: float, t: Tables, s: DetectingSenders, a: Asking, g: Staging | None) -> int:
    """Takes the first flow that is due to its next stage; returns it if that is sending, or ``NONE``."""
    if g is None:
        return NONE
    row: int = g.starts.items[0]
    set_time(row, np.inf, g.starts)
    stage, state = g.stages.stage[row], s.state
    if stage == AT_BARRIER:
        begin_sending(row, state, a.controls, g.stages)
        _join(row, a)
        return row
    if stage == WAITING:
        a.ready_time[row] = now
        g.cpus.rank[row] = serve_last(row, t.record)
        if begin_work(now, row, state, a.controls, g.stages):
            _join(row, a)
            _choose_work(now, _cpu_of(row, g), t, s, a, g)
            return NONE
    else:
        end_work(_cpu_of(row, g), state, g.cpus)
        _leave(row, a)
        _choose_work(now, _cpu_of(row, g), t, s, a, g)
    if barrier_opens(row, 0, g.stages):
        member = g.stages.group[row]
        while member != NOBODY:
            if waits_at_barrier(row, member, g.stages):
                set_time(member, now + g.late[member], g.starts)
            member = g.stages.next_in_group[member]
    return NONE


@inlined_part
def work_first(now: float, row: int, rank: float, t: Tables, s: DetectingSenders, a: Asking, g: Staging | None) -> None:
    """Puts a flow before all others on its CPU."""
    if g is not None:
        g.cpus.rank[row] = rank
        if g.stages.stage[row] == ON_CPU:
            _choose_work(now, _cpu_of(row, g), t, s, a, g)


@inlined_part
def choose_all_work(now: float, t: Tables, s: DetectingSenders, a: Asking, g: Staging | None) -> None:
    """Lets all CPUs choose anew."""
    if g is not None:
        for cpu in range(len(g.cpus.running)):
            _choose_work(now, cpu, t, s, a, g)


@inlined_part
def _cpu_of(row: int, g: Staging) -> int:
    return g.stages.cpu_path[row] - g.cpus.first_path  # type: ignore[no-any-return]  # a number


@inlined_part
def _choose_work(now: float, cpu: int, t: Tables, s: DetectingSenders, a: Asking, g: Staging) -> None:
    """Lets the flow that goes first run on a CPU, and foresees the end of its work."""
    before = choose_work(now, cpu, a.active, a.numbers[ACTIVE], s.state, a.controls, g.cpus, t.record)
    first = g.cpus.running[cpu]
    if first != before:
        if before != NOBODY:
            set_time(before, np.inf, g.starts)
        if first != NOBODY:
            set_time(first, g.cpus.end[cpu], g.starts)


@inlined_part
def show_work(now: float, s: DetectingSenders, g: Staging | None) -> None:
    """Notes what is left of the work of flows that run on CPUs."""
    if g is not None:
        note_work(now, s.state, g.cpus)
