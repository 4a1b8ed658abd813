"""What an agent is asked of flows that need no tokens, in compiled code: once per period, who goes first, or a path.

Each function takes this, or the tokens, last; where no agent is asked, there is nothing of it.
"""

from typing import Any, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.flows.decisions import DecisionKind, Order
from flowsched_gym.flows.state import Controls, new_controls
from flowsched_gym.machine_code.decorators import chosen_by_type, inlined_part
from flowsched_gym.packets.compiled.detecting import DetectingSenders, pace, take_path
from flowsched_gym.packets.compiled.queues import bring_forward
from flowsched_gym.packets.compiled.state import COMPLETED, Tables, whole
from flowsched_gym.packets.contract import Scheduler
from flowsched_gym.packets.network import PacketNetwork
from flowsched_gym.packets.rules.queues import forget_counts
from flowsched_gym.topology.competing import find_competing, touch_links
from flowsched_gym.topology.network import Network as Links
from flowsched_gym.topology.routes import Routes, count_paths_up

ORDER, PATH, PERIOD = (int(kind) for kind in (DecisionKind.ORDER, DecisionKind.PATH, DecisionKind.PERIOD))
SERVE_FIRST, TAKE_PATH = int(Order.SERVE_FIRST), int(Order.TAKE_PATH)
ASKED, FIRST, IS_DUE, NOTED, ACTIVE, COUNTED, PERIODS, GRANTED = range(8)
"""Indices of ``Asking.numbers``."""


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
        arrival_time: Absolute times in s, (num_flows,).
        controls: Those of paths; ``network``: links and paths, as rules know them; ``routes``: paths to choose from.
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
    controls: Controls
    network: Links
    routes: Routes


def new_asking(network: PacketNetwork) -> Asking:
    """Makes what an agent is asked where no flow has arrived."""
    num_flows, period = network.flows.num_flows, network.period
    seconds = None if period is None else period.seconds
    flows = None if period is None else period.flows
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
        controls=new_controls(network.path.copy()),
        network=network.links,
        routes=network.new_routes(),
    )


def _serve_first(_: str, record: Any) -> Any:
    return record.scheduler.serve_first


serve_first = chosen_by_type(_serve_first)(Scheduler.serve_first)
"""Puts a flow before all others, as the scheduler does it; returns its rank."""


@inlined_part
def waits_for_path(row: int, a: Asking) -> bool:
    """Notes a flow that arrives; returns whether an agent is to choose its path before it begins."""
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
    return a.granted_at[0]  # type: ignore[no-any-return]  # a float


@inlined_part
def take_with_path(a: Asking) -> int:
    """Takes that flow out, and returns it."""
    a.granted_at[0] = np.inf
    return a.numbers[GRANTED]  # type: ignore[no-any-return]  # a row


@inlined_part
def note_ends(t: Tables, senders: Any, a: Asking) -> None:
    """Takes the flows that are over from the active ones."""
    numbers, active = a.numbers, a.active
    while numbers[NOTED] < t.counts[COMPLETED]:
        row = senders.order[numbers[NOTED]]
        numbers[NOTED] += 1
        place = 0
        while active[place] != row:
            place += 1
        for index in range(place + 1, numbers[ACTIVE]):
            active[index - 1] = active[index]
        numbers[ACTIVE] -= 1
        _touch(row, a)


@inlined_part
def asks_agent(num_over: int, num_flows: int, a: Asking) -> bool:
    """Returns, at the end of an instant, whether an agent is asked, or all flows are over."""
    numbers = a.numbers
    if numbers[IS_DUE] == 1:
        numbers[IS_DUE] = numbers[FIRST] = 0
        arrival, path = a.arrival_time, a.controls.path
        numbers[ASKED] = find_competing(a.active, numbers[ACTIVE], arrival, path, a.network, a.touched, a.asked)
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
def carry_out(now: float, order: int, index: int, t: Tables, s: DetectingSenders, a: Asking) -> None:
    """Carries out an ``Order`` about flows, or to go on."""
    numbers = a.numbers
    if order == SERVE_FIRST:
        row = a.asked[index]
        bring_forward(row, serve_first(row, t.record), t)
        numbers[ASKED] = 0
    elif order == TAKE_PATH:
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
