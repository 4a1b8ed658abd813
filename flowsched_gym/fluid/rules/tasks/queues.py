"""Serves tasks in feedback queues by the bytes that they have sent (TAFE, section IV), on CPUs and links alike.

Tasks are served level by level, in a level in the order of their arrival; the flows of a task as ``Within`` says. What
earlier tasks leave idle serves later ones. By Algorithm 1, it is the bytes of the flows that have arrived that demote.
"""

from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.fluid.rules.ordering.keys import sort_rows
from flowsched_gym.fluid.rules.tasks.madd import lay_out
from flowsched_gym.fluid.rules.transport.progress import TIME_TOLERANCE, time_after
from flowsched_gym.machine_code.decorators import inlined_part, inlined_rule, rule
from flowsched_gym.topology.network import Network

LEAST_WEIGHT: Final = 1e-100
"""Weight of a flow that is so much larger than the smallest that their ratio could not be told from 0."""
LEVEL_TOLERANCE: Final = 1e-12
"""Part of a threshold that a task may lack when it counts as there: bytes summed over many flows and events round."""


class WithinTask(IntEnum):
    """Ways to serve the flows of a task, or of a level."""

    SERIAL = 0
    """Flow by flow, in the order of ids."""
    SHORTEST = 1
    """Flow by flow, the one with the least left of its stage first."""
    FAIR = 2
    """The flows of a task share."""
    REMAINING = 3
    """All flows of the level share links by the inverse of what is left of them, and CPUs equally."""


SERIAL, SHORTEST, FAIR, REMAINING = (int(within) for within in WithinTask)


class TaskQueues(NamedTuple):
    """Queues of tasks. Tasks are numbered from the first row of their network, so that there is room for one per flow.

    Attributes:
        by_arrival: Whether a flow keeps the level that its task had when it came (Algorithm 1), instead of the task
            being demoted by what it has sent (section IV-A).
        heavy: Bytes sent from which on a task shares with its successors, inf for never.
        first_cpu_path: Row of the path table from which on paths stand for CPUs.
        thresholds: Demotion thresholds in B, (num_networks, num_thresholds).
        task: Task of each flow, from 0 in each network, (num_flows,).
        flow_level: Level that its task had when each flow came, (num_flows,).
        came: When the first flow of each task was ready, in s, inf before, (num_flows,).
        arrived: Bytes of its flows that have come, (num_flows,).
        sent: Bytes sent by its flows that have finished, (num_flows,).
        sent_now: Bytes sent by all its flows as of the last sharing of the links, (num_flows,).
        rate: Bytes that each task sends in a second, (num_flows,).
        level: Level of each task as of the last sharing, (num_flows,).
        arrived_level: Level that the bytes of its flows have reached (Algorithm 1), (num_flows,).
        listed: Tasks with active flows in their order as of then, in the first entries of each network, (num_flows,).
        num_listed: How many these are, (num_networks,).
        place: Scratch of tasks, all 0 before and after, (num_flows,).
        laid: Scratch of flows, (num_flows,).
        foreseen: When mean rates that were set then end, in s, inf where all rates are constant, (num_networks,).
        least: What will be left of the smallest of the flows that share by what is left, in B, (num_networks,).
        capacity: What these send in sum as of the last sharing, in B/s, (num_networks,).
    """

    within: int
    by_arrival: bool
    heavy: float
    first_cpu_path: int
    single_link: bool
    num_rows: int
    thresholds: FloatArray
    task: IntArray
    flow_level: IntArray
    came: FloatArray
    arrived: FloatArray
    sent: FloatArray
    sent_now: FloatArray
    rate: FloatArray
    level: IntArray
    arrived_level: IntArray
    listed: IntArray
    num_listed: IntArray
    place: IntArray
    laid: IntArray
    foreseen: FloatArray
    least: FloatArray
    capacity: FloatArray


@inlined_rule
def begin_task(now: float, n: int, row: int, state: FlowState, controls: Controls, record: TaskQueues) -> None:
    """Takes in a flow that is ready: the first one of its task begins that."""
    task = n * record.num_rows + record.task[row]
    if record.came[task] == np.inf:
        record.came[task] = now
    if record.by_arrival:
        record.flow_level[row] = record.arrived_level[task]
        record.arrived[task] += state.size[row]
        record.arrived_level[task] = level_after(record.arrived_level[task], record.arrived[task], record.thresholds[n])


@rule
def order_tasks(
    now: float,
    n: int,
    active: IntArray,
    count: int,
    state: FlowState,
    controls: Controls,
    network: Network,
    record: TaskQueues,
) -> None:
    """Orders the active flows, and sets their ``priority`` and, by ``REMAINING``, their ``weight``."""
    base = n * record.num_rows
    num_tasks = _list_tasks(now, n, active, count, state, controls, record)
    sort_rows(record.listed[base:], num_tasks, record.level, record.level, record.came)
    lay_out(base, active, count, num_tasks, record.listed, record.task, record.place, record.laid)
    for index in range(base, base + num_tasks):
        record.place[record.listed[index]] = 0
    if record.by_arrival:
        _sort_by_level(active, count, record.flow_level)
    if record.within == SERIAL or record.within == SHORTEST:
        _sort_within(base, active, count, state.remaining, record)
    _set_priorities(base, active, count, controls, record)
    if record.within == REMAINING:
        smallest = np.inf
        for index in range(count):
            smallest = min(smallest, state.remaining[active[index]])
        for index in range(count):
            row = active[index]
            on_cpu = controls.path[row] >= record.first_cpu_path
            controls.weight[row] = 1.0 if on_cpu else max(smallest / state.remaining[row], LEAST_WEIGHT)


@inlined_part
def _list_tasks(
    now: float, n: int, active: IntArray, count: int, state: FlowState, controls: Controls, record: TaskQueues
) -> int:
    """Lists the tasks that have active flows, in the order of these, with what they have sent and their levels."""
    base = n * record.num_rows
    num_tasks = 0
    for index in range(count):
        row = active[index]
        task = base + record.task[row]
        if record.place[task] == 0:
            record.listed[base + num_tasks] = task
            num_tasks += 1
            record.sent_now[task] = record.sent[task]
            record.rate[task] = 0.0
        record.place[task] += 1
        if controls.path[row] < record.first_cpu_path:
            record.sent_now[task] += state.attained[row]
            record.rate[task] += state.rate[row]
    record.num_listed[n] = num_tasks
    for index in range(base, base + num_tasks):
        task = record.listed[index]
        # At its present rate it would have moved so many bytes from time 0 to now: a part of them is rounding of time.
        moved = record.rate[task] * now
        level = 0
        while not record.by_arrival and level < record.thresholds.shape[1]:
            threshold = record.thresholds[n, level]
            if threshold - record.sent_now[task] > moved * TIME_TOLERANCE + threshold * LEVEL_TOLERANCE:
                break
            level += 1
        record.level[task] = level
    return num_tasks


@inlined_part
def _sort_by_level(active: IntArray, count: int, level: IntArray) -> None:
    """Sorts the active flows by their levels; those of one level keep their order."""
    for index in range(1, count):
        row = active[index]
        hole = index
        while hole > 0 and level[active[hole - 1]] > level[row]:
            active[hole] = active[hole - 1]
            hole -= 1
        active[hole] = row


@inlined_part
def _sort_within(base: int, active: IntArray, count: int, remaining: FloatArray, record: TaskQueues) -> None:
    """Sorts the active flows of each task and level by what is left of them, or by their ids."""
    by_size = record.within == SHORTEST
    for index in range(1, count):
        row = active[index]
        hole = index
        while hole > 0:
            other = active[hole - 1]
            if record.task[other] != record.task[row] or record.flow_level[other] != record.flow_level[row]:
                break
            alike = not by_size or remaining[other] == remaining[row]
            if not (other > row if alike else remaining[other] > remaining[row]):
                break
            active[hole] = other
            hole -= 1
        active[hole] = row


@inlined_part
def _set_priorities(base: int, active: IntArray, count: int, controls: Controls, record: TaskQueues) -> None:
    """Numbers the active flows in their order: each one, each task with those it shares with, or each level."""
    priority = -1
    before = -1
    is_shared = False
    for index in range(count):
        row = active[index]
        task = base + record.task[row]
        if before < 0 or record.within == SERIAL or record.within == SHORTEST:
            priority += 1
        else:
            other = base + record.task[before]
            parts = record.level[task] != record.level[other] or record.flow_level[row] != record.flow_level[before]
            if record.within == FAIR and task != other:
                # A heavy task shares with those behind it, up to the first that is not heavy.
                is_shared = record.sent_now[other] >= record.heavy * (1.0 - LEVEL_TOLERANCE)
                parts = parts or not is_shared
            if parts:
                priority += 1
        controls.priority[row] = priority
        before = row


@rule
def next_demotion(
    now: float, n: int, active: IntArray, count: int, state: FlowState, controls: Controls, record: TaskQueues
) -> float:
    """Returns the absolute time in s at which a task reaches its next threshold at the present rates; inf for never."""
    base = n * record.num_rows
    for index in range(base, base + record.num_listed[n]):
        record.rate[record.listed[index]] = 0.0
    for index in range(count):
        row = active[index]
        if controls.path[row] < record.first_cpu_path:
            record.rate[base + record.task[row]] += state.rate[row]
    soonest = np.inf
    for index in range(base, base + record.num_listed[n]):
        task = record.listed[index]
        if record.rate[task] > 0.0:
            soonest = min(soonest, bytes_to_demotion(n, task, record) / record.rate[task])
    return time_after(now, soonest)


@inlined_rule
def bytes_to_demotion(n: int, task: int, record: TaskQueues) -> float:
    """Returns what a task has to send until it is demoted, or shares with its successors, in B; inf for never."""
    left = np.inf
    level = record.level[task]
    if not record.by_arrival and level < record.thresholds.shape[1]:
        left = record.thresholds[n, level] - record.sent_now[task]
    if record.sent_now[task] < record.heavy * (1.0 - LEVEL_TOLERANCE):
        left = min(left, record.heavy - record.sent_now[task])
    return left


@rule
def level_after(level: int, total: float, thresholds: FloatArray) -> int:
    """Returns the level of a task after a flow has arrived: one lower if the task has outgrown its present level.

    One flow demotes its task by one level at most, whatever its size (Algorithm 1, lines 11 to 13). ``total`` are the
    bytes of all of its flows that have arrived, this one included.
    """
    if level < len(thresholds) and total > thresholds[level]:
        return level + 1
    return level
