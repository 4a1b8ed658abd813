"""Calls the rules of a discipline by its number, inside compiled code."""

import numpy as np
import numpy.typing as npt

from flowsched_gym.disciplines import DisciplineArrays, DisciplineKind
from flowsched_gym.model.controls import Controls
from flowsched_gym.model.rules.compile import rule
from flowsched_gym.model.rules.expansion import (
    NEW,
    UNKNOWN,
    forget_virtual_deadline,
    hold_until,
    serve_by_virtual_deadline,
)
from flowsched_gym.model.rules.feedback import (
    catch_up_time,
    head_of_each_level,
    level_by_attained,
    level_of_size,
    share_least_attained,
    weigh_queues,
)
from flowsched_gym.model.rules.ordering import (
    order_by_arrival,
    order_by_deadline,
    order_by_rank,
    order_by_ratio,
    order_by_remaining,
    order_by_size,
    order_without_preemption,
    size_deadline_ratio,
)
from flowsched_gym.model.state import FlowState, Network

__all__ = ["all_may_change", "begin_flow", "control", "moved", "review_time"]

IntArray = npt.NDArray[np.int64]

FIFO, PSJF, SRPT, SJF, EDF, RATIO, LAS, FEEDBACK, SIZE_CLASSES, WEIGHTED, MERP, RANKED = (
    int(kind)
    for kind in (
        DisciplineKind.FIFO,
        DisciplineKind.PSJF,
        DisciplineKind.SRPT,
        DisciplineKind.SJF,
        DisciplineKind.EDF,
        DisciplineKind.RATIO,
        DisciplineKind.LAS,
        DisciplineKind.FEEDBACK,
        DisciplineKind.SIZE_CLASSES,
        DisciplineKind.WEIGHTED,
        DisciplineKind.MERP,
        DisciplineKind.RANKED,
    )
)


@rule
def begin_flow(n: int, row: int, state: FlowState, controls: Controls, own: DisciplineArrays | None) -> None:
    """Sets what is kept of a flow that arrives in network ``n``, as the discipline's ``begin_flow`` does."""
    if own is None:
        return
    if own.kind == RATIO:
        own.first[row] = size_deadline_ratio(row, state.size, state.arrival_time, state.deadline, own.settings[0])
    elif own.kind == FEEDBACK:
        own.level[row] = 0
        own.entered[row] = state.arrival_time[row]
        own.pinned[row] = -1
        controls.review_at[row] = 0.0
    elif own.kind == SIZE_CLASSES:
        own.level[row] = level_of_size(state.size[row], own.limits)
    elif own.kind == MERP:
        own.first[row] = UNKNOWN
        own.unknown[n] += 1
        own.level[row] = NEW
    elif own.kind == RANKED:
        own.level[row] = 0


@rule
def moved(n: int, row: int, own: DisciplineArrays | None) -> None:
    """Notes that the path of a live flow of network ``n`` has changed, as the discipline's ``moved`` does."""
    if own is None:
        return
    if own.kind == MERP:
        forget_virtual_deadline(n, row, own.first, own.unknown)


@rule
def all_may_change(n: int, own: DisciplineArrays | None) -> bool:
    """Tells whether other flows of network ``n`` than new ones and those at ``review_at`` may get other priorities."""
    if own is None:
        return False
    unknown: bool = own.kind == FEEDBACK and own.unknown[n] > 0
    return unknown


@rule
def control(
    now: float,
    n: int,
    live: IntArray,
    count: int,
    state: FlowState,
    controls: Controls,
    network: Network,
    own: DisciplineArrays | None,
) -> None:
    """Fills the controls of the live flows of network ``n``, as the discipline's ``control`` does.

    Where flows share within priorities, those flows are enough that may have changed since the last call.

    ``None`` stands for processor sharing, which changes nothing; code for the others is then not even compiled.
    """
    if own is None:
        return
    arrival, priority = state.arrival_time, controls.priority
    if own.kind == FIFO:
        order_by_arrival(live, count, arrival, priority)
    elif own.kind == PSJF:
        order_by_size(live, count, state.size, arrival, priority)
    elif own.kind == SRPT:
        order_by_remaining(live, count, state.remaining, arrival, priority)
    elif own.kind == SJF:
        order_without_preemption(live, count, state.size, state.attained, arrival, priority, own.first, own.second)
    elif own.kind == EDF:
        order_by_deadline(live, count, state.deadline, state.remaining, arrival, priority, own.second)
    elif own.kind == RATIO:
        order_by_ratio(live, count, own.first, state.remaining, arrival, priority, own.second)
    elif own.kind == LAS:
        share_least_attained(now, live, count, state.attained, state.rate, priority)
    elif own.kind == FEEDBACK:
        level_by_attained(
            now,
            n,
            live,
            count,
            state.attained,
            own.table,
            own.num_groups,
            own.group,
            own.pinned,
            own.level,
            own.entered,
            own.unknown,
            controls.review_at,
            priority,
        )
        if not own.share:
            head_of_each_level(live, count, own.level, own.entered, priority, own.share)
    elif own.kind == SIZE_CLASSES:
        head_of_each_level(live, count, own.level, arrival, priority, own.share)
    elif own.kind == WEIGHTED:
        weigh_queues(
            live,
            count,
            own.level,
            own.weights,
            arrival,
            own.share,
            controls.admitted,
            controls.weight,
            own.occupancy,
        )
    elif own.kind == MERP:
        serve_by_virtual_deadline(
            now,
            n,
            live,
            count,
            state.size,
            arrival,
            state.remaining,
            controls.path,
            network.capacity,
            network.path_start,
            network.path_links,
            priority,
            controls.admitted,
            own.first,
            own.table,
            own.mark,
            own.level,
            own.unknown,
            own.settings,
            own.held,
            own.share,
            own.links,
            own.members,
            own.matches,
        )
    elif own.kind == RANKED:
        order_by_rank(live, count, own.level, arrival, priority)


@rule
def review_time(
    now: float, n: int, live: IntArray, count: int, state: FlowState, controls: Controls, own: DisciplineArrays | None
) -> float:
    """Returns when the controls of network ``n`` change by themselves, as the discipline's ``review_time`` does."""
    if own is None:
        return np.inf
    if own.kind == LAS:
        return catch_up_time(now, live, count, state.attained, controls.priority, state.rate)
    if own.kind == MERP:
        return hold_until(now, n, own.held)
    return np.inf
