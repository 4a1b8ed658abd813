"""Moves flows that share a link by the inverse of what is left of them (TAFE, equations 1 to 5, as a fluid).

A flow with r bytes left gets a share 1 / r, so that r dr/dt is the same for all: differences of r ** 2 stay as they
are. When the smallest flow has x bytes left of r, each other one of r_i has ``sqrt(r_i ** 2 - r ** 2 + x ** 2)`` left.
Rates change all the time; what is set are mean rates from one event to the next, which give the exact bytes there.
"""

from typing import Final

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.fluid.rules.tasks.queues import TaskQueues, bytes_to_demotion
from flowsched_gym.fluid.rules.transport.progress import time_after
from flowsched_gym.machine_code.decorators import inlined_part, rule

ANY_TASK: Final = -1
MOST_STEPS: Final = 200
"""Steps in which a root is found at most; Newton's method takes five or so, halving an interval 60."""
REFRESH: Final = 0.03125
"""On several links, weights are set anew when so large a part of what is left of a flow has been sent,"""
REFRESHED: Final = 0.0078125
"""unless less than this part of the flow is left. Against the exact rates, completion times differ by 1 % or less."""
SAME: Final = 1.0 + 2.0**-46
"""Flows that differ by less have equal sizes, and rounding: what differs by 1e-16 now differs by 1e-8 at the end."""


@inlined_part
def _shares_by_remaining(row: int, state: FlowState, controls: Controls, record: TaskQueues) -> bool:
    return bool(state.rate[row] > 0.0 and controls.path[row] < record.first_cpu_path)


@inlined_part
def _left_when(left: float, least: float) -> float:
    """Returns what is left of a flow when ``least``, from 0 to 1, is left of the smallest, in units of its bytes now.

    Of the flow, ``left`` >= 1 is left now. Nothing cancels when ``least`` is near 0.
    """
    beyond = (left - 1.0) * (left + 1.0) if left > SAME else 0.0
    root: float = np.sqrt(beyond + least * least)
    return root


@inlined_part
def _sum_sent(
    n: int,
    active: IntArray,
    count: int,
    task: int,
    smallest: float,
    least: float,
    state: FlowState,
    controls: Controls,
    record: TaskQueues,
) -> tuple[float, float]:
    """Adds up what the flows of a task, or all, send until the smallest has a part of its bytes left; and its slope.

    All in units of what is left of the smallest flow now, so that neither very small nor very large sizes are squared.
    """
    total = slope = 0.0
    fall = (1.0 - least) * (1.0 + least)
    for index in range(count):
        row = active[index]
        if not _shares_by_remaining(row, state, controls, record):
            continue
        if task != ANY_TASK and n * record.num_rows + record.task[row] != task:
            continue
        left = state.remaining[row] / smallest
        root = _left_when(left, least)
        total += fall / (left + root)
        slope -= least / root if root > 0.0 else 1.0
    return total, slope


@inlined_part
def _least_when_sent(
    n: int,
    active: IntArray,
    count: int,
    task: int,
    wanted: float,
    smallest: float,
    floor: float,
    state: FlowState,
    controls: Controls,
    record: TaskQueues,
) -> float:
    """Returns what is left of the smallest flow, as a part, when a task, or all, have sent so much: from floor to 1.

    Newton's method, which an interval that halves keeps from leaving.
    """
    low, high = floor, 1.0
    least = 1.0
    for _ in range(MOST_STEPS):
        total, slope = _sum_sent(n, active, count, task, smallest, least, state, controls, record)
        if total < wanted:
            high = least
        else:
            low = least
        step = least - (total - wanted) / slope if slope < 0.0 else low
        if not low < step < high:
            step = 0.5 * (low + high)
        if step in (low, high) or step == least:
            break
        least = step
    return least


@rule
def foresee_by_remaining(
    now: float, n: int, active: IntArray, count: int, state: FlowState, controls: Controls, record: TaskQueues
) -> float:
    """Sets the mean rates of the flows that share one link until the first of them, or its task, needs attention.

    Before, their rates are as their weights want them at ``now``. On several links, rates stay, and weights are set
    anew after a while. Returns the absolute time in s of that; inf where no flow shares.
    """
    record.foreseen[n] = np.inf
    capacity = 0.0
    smallest = soonest = np.inf
    for index in range(count):
        row = active[index]
        if _shares_by_remaining(row, state, controls, record):
            capacity += state.rate[row]
            smallest = min(smallest, state.remaining[row])
            if state.remaining[row] > REFRESHED * state.volume[row]:
                soonest = min(soonest, REFRESH * state.remaining[row] / state.rate[row])
    if capacity == 0.0:
        return np.inf
    if not record.single_link:
        return time_after(now, soonest)
    least = 0.0
    base = n * record.num_rows
    for index in range(base, base + record.num_listed[n]):
        task = record.listed[index]
        left = bytes_to_demotion(n, task, record) / smallest
        if left < np.inf:
            total, _ = _sum_sent(n, active, count, task, smallest, least, state, controls, record)
            if total > left:
                least = _least_when_sent(n, active, count, task, left, smallest, least, state, controls, record)
    total, _ = _sum_sent(n, active, count, ANY_TASK, smallest, least, state, controls, record)
    span = total * smallest / capacity
    record.foreseen[n] = now + span
    record.least[n] = least * smallest
    record.capacity[n] = _set_mean_rates(active, count, smallest, least, span, state, controls, record)
    return time_after(now, span)


@rule
def average_by_remaining(
    now: float,
    elapsed: float,
    n: int,
    active: IntArray,
    count: int,
    state: FlowState,
    controls: Controls,
    record: TaskQueues,
) -> None:
    """Sets the mean rates of the flows that share one link over a step of ``elapsed`` > 0 s that ends now.

    It ends when foreseen or before; but for their rates, the flows are as they were at its beginning.
    """
    if record.foreseen[n] == np.inf:
        return
    smallest = np.inf
    for index in range(count):
        row = active[index]
        if _shares_by_remaining(row, state, controls, record):
            smallest = min(smallest, state.remaining[row])
    if smallest == np.inf:
        return
    least = record.least[n] / smallest
    if now < record.foreseen[n]:
        wanted = record.capacity[n] * elapsed / smallest
        least = _least_when_sent(n, active, count, ANY_TASK, wanted, smallest, least, state, controls, record)
    if least == 1.0:  # in so short a step all that is sent is rounding: rates stay
        return
    _set_mean_rates(active, count, smallest, least, elapsed, state, controls, record)


@inlined_part
def _set_mean_rates(
    active: IntArray,
    count: int,
    smallest: float,
    least: float,
    span: float,
    state: FlowState,
    controls: Controls,
    record: TaskQueues,
) -> float:
    """Sets the rates at which flows send in ``span`` seconds what they do until ``least`` of the smallest is left.

    Returns their sum, which rounding parts from the capacity where a step is as short as the clock can tell.
    """
    fall = (1.0 - least) * (1.0 + least)
    total = 0.0
    for index in range(count):
        row = active[index]
        if _shares_by_remaining(row, state, controls, record):
            left = state.remaining[row] / smallest
            state.rate[row] = smallest * (fall / (left + _left_when(left, least))) / span
            total += state.rate[row]
    return total
