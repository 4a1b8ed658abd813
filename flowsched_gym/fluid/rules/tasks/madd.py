"""Serves tasks whose sizes are known, the shortest first, with rates at which all flows of a task end together.

These are MADD's rates (minimum allocation for desired duration; Varys: Chowdhury, Zhong, Stoica, SIGCOMM 2014,
Algorithm 1): as slow as the bottleneck of the task allows, so that other tasks have the rest.
"""

from enum import IntEnum
from typing import Final, NamedTuple

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.fluid.rules.ordering.keys import sort_rows
from flowsched_gym.machine_code.decorators import inlined_part, rule
from flowsched_gym.topology.network import Network

ABOVE: Final = 1.0 + 2.0**-30
"""Weights are so much above largest rates, which decide therefore, rounding aside."""
PASSES: Final = 2
"""How often what is left of links is given to tasks in their order: by MADD's rule, and once more to keep links busy,
as Varys does. Four passes lower the mean on its trace by 8 % more, ten by 14 %."""
FULL: Final = 2.0**-40
"""Part of a link's capacity of which less is rounding."""


class TaskKey(IntEnum):
    """What makes a task short."""

    REMAINING = 0
    """Bytes that all its flows have still to send."""
    LONGEST = 1
    """What is left of the longest of its flows that are ready."""
    BOTTLENECK = 2
    """Time that the flows which are ready need on their most loaded resource alone."""


_, LONGEST, BOTTLENECK = (int(key) for key in TaskKey)


class KnownTasks(NamedTuple):
    """Tasks with their sizes. They are numbered from the first row of their network.

    The last five are scratch; ``place`` and ``load`` are all 0 before and after.

    Attributes:
        first_cpu_path: Row of the path table from which on paths stand for CPUs.
        task: Task of each flow, from 0 in each network, (num_flows,).
        came: When the first flow of each task was ready, in s, inf before, (num_flows,).
        total: Bytes of all flows of each task, (num_flows,).
        sent: Bytes sent by its flows that have finished, (num_flows,).
    """

    key: int
    first_cpu_path: int
    num_rows: int
    task: IntArray
    came: FloatArray
    total: FloatArray
    sent: FloatArray
    rank: FloatArray
    listed: IntArray
    place: IntArray
    laid: IntArray
    load: FloatArray
    residual: FloatArray


@rule
def serve_shortest(
    now: float,
    n: int,
    active: IntArray,
    count: int,
    state: FlowState,
    controls: Controls,
    network: Network,
    record: KnownTasks,
) -> None:
    """Gives the flows of the shortest task MADD's rates, then those of the next on what is left, and so on.

    Flows with a resource on their path that is full wait; the others of their task do not wait for them. What the last
    task leaves idle is given out once more in the same way. Flows send at their largest rates: ``admitted``,
    ``rate_cap`` and ``weight`` are written.
    """
    path_start, path_links = network.path_start, network.path_links
    base = n * record.num_rows
    num_tasks = _list_tasks(base, active, count, state, controls, record)
    lay_out(base, active, count, num_tasks, record.listed, record.task, record.place, record.laid)
    for link in range(len(network.capacity)):
        record.residual[link] = network.capacity[link]
    if record.key == BOTTLENECK:
        for index in range(count):
            controls.admitted[active[index]] = True
        first = 0
        for index in range(base, base + num_tasks):
            end = _end_of_task(first, active, count, record)
            record.rank[record.listed[index]] = _bottleneck(first, end, active, state, controls, network, record)
            first = end
    sort_rows(record.listed[base:], num_tasks, record.rank, record.rank, record.came)
    lay_out(base, active, count, num_tasks, record.listed, record.task, record.place, record.laid)
    for index in range(count):
        controls.rate_cap[active[index]] = 0.0
    for _ in range(PASSES):
        first = number = 0
        while first < count:
            end = _end_of_task(first, active, count, record)
            for index in range(first, end):
                row = active[index]
                controls.admitted[row] = _is_open(controls.path[row], network, record)
                controls.priority[row] = number
            duration = _bottleneck(first, end, active, state, controls, network, record)
            for index in range(first, end):
                row = active[index]
                if controls.admitted[row]:
                    rate = state.remaining[row] / duration
                    controls.rate_cap[row] += rate
                    for step in range(path_start[controls.path[row]], path_start[controls.path[row] + 1]):
                        link = path_links[step]
                        record.residual[link] = max(record.residual[link] - rate, 0.0)
            first = end
            number += 1
    for index in range(count):
        row = active[index]
        controls.admitted[row] = controls.rate_cap[row] > 0.0
        if controls.admitted[row]:
            controls.weight[row] = controls.rate_cap[row] * ABOVE
    for index in range(base, base + num_tasks):
        record.place[record.listed[index]] = 0


@inlined_part
def _list_tasks(
    base: int, active: IntArray, count: int, state: FlowState, controls: Controls, record: KnownTasks
) -> int:
    """Lists the tasks that have active flows, in the order of these, with their keys."""
    num_tasks = 0
    for index in range(count):
        row = active[index]
        task = base + record.task[row]
        if record.place[task] == 0:
            record.listed[base + num_tasks] = task
            num_tasks += 1
            record.rank[task] = 0.0 if record.key == LONGEST else record.total[task] - record.sent[task]
        record.place[task] += 1
        on_network = controls.path[row] < record.first_cpu_path
        if record.key == LONGEST:
            record.rank[task] = max(record.rank[task], state.remaining[row] if on_network else state.size[row])
        elif on_network:
            record.rank[task] -= state.attained[row]
    return num_tasks


@inlined_part
def lay_out(
    base: int,
    active: IntArray,
    count: int,
    num_tasks: int,
    listed: IntArray,
    task: IntArray,
    place: IntArray,
    laid: IntArray,
) -> None:
    """Puts the active flows in the order of the tasks listed from ``base`` on; those of one task keep theirs.

    ``place`` counts the flows of each task, before and after; ``laid`` is scratch.
    """
    begin = 0
    for index in range(base, base + num_tasks):
        flows = place[listed[index]]
        place[listed[index]] = begin
        begin += flows
    for index in range(count):
        row = active[index]
        laid[base + place[base + task[row]]] = row
        place[base + task[row]] += 1
    for index in range(count):
        active[index] = laid[base + index]
    before = 0
    for index in range(base, base + num_tasks):
        end = place[listed[index]]
        place[listed[index]] = end - before
        before = end


@inlined_part
def _end_of_task(first: int, active: IntArray, count: int, record: KnownTasks) -> int:
    """Returns the index behind the last flow of the task whose flows begin at an index."""
    end = first
    while end < count and record.task[active[end]] == record.task[active[first]]:
        end += 1
    return end


@inlined_part
def _bottleneck(
    first: int, end: int, active: IntArray, state: FlowState, controls: Controls, network: Network, record: KnownTasks
) -> float:
    """Returns the time that admitted flows need on what is left of their most loaded resource, in s."""
    longest = 0.0
    for index in range(first, end):
        row = active[index]
        if controls.admitted[row]:
            for step in range(network.path_start[controls.path[row]], network.path_start[controls.path[row] + 1]):
                record.load[network.path_links[step]] += state.remaining[row]
    for index in range(first, end):
        row = active[index]
        for step in range(network.path_start[controls.path[row]], network.path_start[controls.path[row] + 1]):
            link = network.path_links[step]
            if record.load[link] > 0.0:
                longest = max(longest, record.load[link] / record.residual[link])
                record.load[link] = 0.0
    return longest


@inlined_part
def _is_open(path: int, network: Network, record: KnownTasks) -> bool:
    for step in range(network.path_start[path], network.path_start[path + 1]):
        link = network.path_links[step]
        if record.residual[link] <= network.capacity[link] * FULL:
            return False
    return True
