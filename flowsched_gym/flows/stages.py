"""What flows go through before they send: they wait for other flows, run on a CPU, and wait for those of their task.

See TAFE, section III.
"""

from collections.abc import Sequence
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.flows.fields import index_tasks
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.flows.workload import Workload
from flowsched_gym.machine_code.decorators import inlined_part, inlined_rule

if TYPE_CHECKING:  # machine code needs no SimPy
    from flowsched_gym.core.simpy_environment import Event, NetworkEnvironment

NOBODY: Final = -1
"""Ends a list of flows."""


class Stage(IntEnum):
    """Stages of a flow, in their order."""

    WAITING = 0
    """For its arrival, or for flows that it comes after."""
    ON_CPU = 1
    """It runs on the CPU of its source."""
    AT_BARRIER = 2
    """Its CPU work is done."""
    SENDING = 3
    """It may use the network."""


WAITING, ON_CPU, AT_BARRIER, SENDING = (int(stage) for stage in Stage)


class Barrier(StrEnum):
    """When a flow whose CPU work is done may send."""

    FLOW = "flow"
    """At once."""
    TASK = "task"
    """When the CPU work of all flows of its task is done that are as deep in the graph of who comes after whom."""


class Stages(NamedTuple):
    """Stages of the flows of all networks; flows are numbered from the first of their network.

    Attributes:
        stage: ``Stage`` of each flow, (num_flows,) int64.
        waits_for: Flows that must still finish before each flow, and 1 more until it has arrived, (num_flows,).
        cpu_time: Seconds of one whole CPU that each flow needs, (num_flows,).
        cpu_path: Row of the path table that stands for its CPU, (num_flows,).
        path: Row of the path along which it will send, (num_flows,).
        volume: Bytes that it will send, (num_flows,).
        group: Number of the first flow of those whose CPU work a flow waits for, (num_flows,).
        next_in_group: Next flow of the group, or ``NOBODY``, (num_flows,).
        working: At the first flow of a group: flows in it whose CPU work is not done, (num_flows,).
        first_follower: First entry of each flow among the followers, (num_flows + num_networks,).
        followers: Flows that wait for a flow, one list after the other, (num_networks * most_pairs,).
        most_pairs: Pairs of flows that wait for each other that a network can have.
    """

    stage: IntArray
    waits_for: IntArray
    cpu_time: FloatArray
    cpu_path: IntArray
    path: IntArray
    volume: FloatArray
    group: IntArray
    next_in_group: IntArray
    working: IntArray
    first_follower: IntArray
    followers: IntArray
    num_rows: int
    most_pairs: int


def new_stages(num_networks: int, num_rows: int, most_pairs: int) -> Stages:
    """Makes room for networks with so many flows and pairs."""
    num_flows = num_networks * num_rows
    names = ("stage", "waits_for", "cpu_path", "path", "group", "next_in_group", "working")
    return Stages(
        **{name: np.zeros(num_flows, dtype=np.int64) for name in names},
        cpu_time=np.zeros(num_flows),
        volume=np.zeros(num_flows),
        first_follower=np.zeros(num_flows + num_networks, dtype=np.int64),
        followers=np.zeros(num_networks * most_pairs, dtype=np.int64),
        num_rows=num_rows,
        most_pairs=most_pairs,
    )


def fill_stages(
    stages: Stages, n: int, flows: Workload, *, cpu_path: IntArray, path: IntArray, volume: FloatArray, barrier: Barrier
) -> None:
    """Puts the flows of an episode into network ``n``, where none has arrived; columns as in ``Stages``."""
    num_flows, first = len(flows.flow_id), n * stages.num_rows
    rows = np.s_[first : first + num_flows]
    depth = np.zeros(num_flows, dtype=np.int64)
    earlier = later = np.zeros(0, dtype=np.int64)
    if flows.after is not None:
        earlier, later = flows.after.rows(flows.flow_id)
        depth = flows.after.depth(flows.flow_id)
    stages.stage[rows] = Stage.WAITING
    stages.waits_for[rows] = 1 + np.bincount(later, minlength=num_flows)
    stages.cpu_time[rows] = flows.cpu_time
    stages.cpu_path[rows] = cpu_path
    stages.path[rows] = path
    stages.volume[rows] = volume
    member = np.arange(num_flows)
    stages.group[rows], stages.next_in_group[rows] = member, NOBODY
    stages.working[rows] = stages.cpu_time[rows] > 0.0
    if barrier is Barrier.TASK:
        _join_groups(stages, first, index_tasks(flows), depth)
    order = np.argsort(earlier, kind="stable")
    stages.followers[n * stages.most_pairs : n * stages.most_pairs + len(order)] = later[order]
    lists = np.s_[first + n : first + n + num_flows + 1]
    stages.first_follower[lists] = n * stages.most_pairs + np.searchsorted(earlier[order], np.arange(num_flows + 1))


def _join_groups(stages: Stages, first: int, task: IntArray, depth: IntArray) -> None:
    """Joins the flows of one task and depth into groups."""
    num_flows = len(task)
    order = np.lexsort((np.arange(num_flows), depth, task))
    begins = np.ones(num_flows, dtype=np.bool_)
    begins[1:] = (task[order][1:] != task[order][:-1]) | (depth[order][1:] != depth[order][:-1])
    starts = np.flatnonzero(begins)
    sizes = np.diff(starts, append=num_flows)
    working = np.add.reduceat(stages.working[first + order], starts) if num_flows else starts
    stages.group[first + order] = np.repeat(order[starts], sizes)
    stages.working[first + order] = np.repeat(working, sizes)
    inside = np.flatnonzero(~begins)
    stages.next_in_group[first + order[inside - 1]] = order[inside]


class Turns:
    """Hands out the events at which flows go on to their next stage, all of one instant in the order of their rows.

    A resource of both SimPy engines. The events are of one kind; where sources are ``late``, they begin to send by so
    many s later than they could, (num_flows,).
    """

    def __init__(
        self, env: "NetworkEnvironment", kind: IntEnum, stages: Stages, late: Sequence[float] | None = None
    ) -> None:
        self._env = env
        self._kind = kind
        self._stages = stages
        self._late = late
        self._waiting: dict[int, Event] = {}

    def to_begin(self, row: int) -> "Event":
        """Takes in a flow that arrives; its event happens when all flows that it comes after have finished."""
        event = self._waiting[row] = self._env.event()
        self._count_down(row)
        return event

    def finish(self, row: int) -> None:
        """Lets the flows that come after this one begin, if they wait for no other."""
        stages = self._stages
        for index in range(stages.first_follower[row], stages.first_follower[row + 1]):
            self._count_down(int(stages.followers[index]))

    def to_send(self, row: int) -> "Event":
        """Takes in a flow whose CPU work is done; its event happens when its barrier opens."""
        event = self._waiting[row] = self._env.event()
        if barrier_opens(row, 0, self._stages):
            member = int(self._stages.group[row])
            while member != NOBODY:
                if waits_at_barrier(row, member, self._stages):
                    self._start(member, 0.0 if self._late is None else self._late[member])
                member = int(self._stages.next_in_group[member])
        return event

    def _count_down(self, row: int) -> None:
        if stops_waiting(row, self._stages):
            self._start(row, 0.0)

    def _start(self, row: int, late: float) -> None:
        self._env.at(self._env.now + late, self._kind, row, self._waiting.pop(row))


@inlined_rule
def stops_waiting(row: int, stages: Stages) -> bool:
    """Counts the arrival of a flow, or the end of one that it comes after; returns whether it waits for no more."""
    stages.waits_for[row] -= 1
    return bool(stages.waits_for[row] == 0)


@inlined_rule
def begin_work(now: float, row: int, state: FlowState, controls: Controls, stages: Stages) -> bool:
    """Puts a flow that is ready on its CPU; returns whether it has work there. To disciplines, it arrives now."""
    state.arrival_time[row] = now
    if stages.cpu_time[row] == 0.0:
        return False
    stages.stage[row] = ON_CPU
    controls.path[row] = stages.cpu_path[row]
    _begin(row, stages.cpu_time[row], state)
    return True


@inlined_rule
def barrier_opens(row: int, first_row: int, stages: Stages) -> bool:
    """Lets a flow wait at its barrier; returns whether no CPU work is left for which it would wait."""
    stages.stage[row] = AT_BARRIER
    group = first_row + stages.group[row]
    if stages.cpu_time[row] > 0.0:
        stages.working[group] -= 1
    return bool(stages.working[group] == 0)


@inlined_rule
def waits_at_barrier(row: int, member: int, stages: Stages) -> bool:
    """Returns whether a flow waits for one whose barrier has opened: all do when the last CPU work of them is done."""
    return bool(member == row or (stages.cpu_time[row] > 0.0 and stages.stage[member] == AT_BARRIER))


@inlined_rule
def begin_sending(row: int, state: FlowState, controls: Controls, stages: Stages) -> None:
    """Puts a flow on the network."""
    stages.stage[row] = SENDING
    controls.path[row] = stages.path[row]
    _begin(row, stages.volume[row], state)


@inlined_rule
def is_sending(row: int, stages: Stages | None) -> bool:
    """Returns whether a flow has come as far as the network."""
    if stages is None:
        return True
    return bool(stages.stage[row] == SENDING)


@inlined_part
def _begin(row: int, volume: float, state: FlowState) -> None:
    state.volume[row] = volume
    state.remaining[row] = volume
    state.attained[row] = 0.0
