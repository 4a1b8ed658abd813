"""Takes flows through the stages before they send, where they have any; see ``fluid.simpy.stages``.

Each function takes ``t.stages`` besides, so that for flows without stages nothing of it is even compiled.
"""

from typing import Final

import numpy as np

from flowsched_gym.fluid.compiled.choosing import waits_for_path
from flowsched_gym.fluid.compiled.senders import begin, send
from flowsched_gym.fluid.compiled.sharing import begin_flow
from flowsched_gym.fluid.compiled.tables import NOBODY, View
from flowsched_gym.fluid.compiled.timers import set_timer
from flowsched_gym.fluid.events import EventKind
from flowsched_gym.fluid.rules.tasks.stages import (
    barrier_opens,
    begin_sending,
    begin_work,
    stops_waiting,
    waits_at_barrier,
)
from flowsched_gym.fluid.stages import Stage, Stages
from flowsched_gym.machine_code.decorators import inlined_part

START: Final = int(EventKind.START)
WAITING: Final = int(Stage.WAITING)
ON_CPU: Final = int(Stage.ON_CPU)
AT_BARRIER: Final = int(Stage.AT_BARRIER)


@inlined_part
def arrives_to_wait(t: View, n: int, row: int, stages: Stages | None) -> bool:
    """Takes in a flow that arrives; returns whether it has stages before it sends."""
    if stages is None:
        return False
    _count_down(t, n, row, stages)
    return True


@inlined_part
def finish(t: View, n: int, row: int, stages: Stages | None) -> None:
    """Lets the flows that come after a delivered one begin, if they wait for no other."""
    if stages is None:
        return
    for index in range(stages.first_follower[row + n], stages.first_follower[row + n + 1]):
        _count_down(t, n, n * t.num_rows + stages.followers[index], stages)


@inlined_part
def is_on_cpu(row: int, stages: Stages | None) -> bool:
    """Returns whether a flow runs on its CPU."""
    if stages is None:
        return False
    on_cpu: bool = stages.stage[row] == ON_CPU
    return on_cpu


@inlined_part
def goes_on(t: View, n: int, row: int, stages: Stages | None) -> bool:
    """Takes a flow whose start is due to its next stage; returns whether it has had one before it sends."""
    if stages is None:
        return False
    if stages.stage[row] == WAITING:
        now = t.networks[n].now
        has_work = begin_work(now, row, t.state, t.controls, stages)
        begin_flow(now, n, row, t.state, t.controls, t.record)
        if has_work:
            send(t, n, row)
        else:
            work_done(t, n, row, stages)
        return True
    if stages.stage[row] == AT_BARRIER:
        begin_sending(row, t.state, t.controls, stages)
        if not waits_for_path(t, n, row, t.choosing):
            begin(t, n, row)
        return True
    return False


@inlined_part
def work_done(t: View, n: int, row: int, stages: Stages | None) -> None:
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
def _count_down(t: View, n: int, row: int, stages: Stages) -> None:
    """Counts an arrival, or an end for which a flow has waited."""
    if stops_waiting(row, stages):
        _start(t, n, row)


@inlined_part
def _start(t: View, n: int, row: int) -> None:
    """Lets a flow go on in this instant."""
    # Of one type with all other rows, so that less is compiled.
    number: int = np.int64(row)  # type: ignore[assignment]
    set_timer(t, n, t.networks[n].now, START, number)
