"""What flows go through before they send: they wait for other flows, run on a CPU, and wait for those of their task."""

from enum import IntEnum, StrEnum
from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.flows.fields import index_tasks
from flowsched_gym.flows.workload import Workload

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
        num_rows: Flows that a network can have.
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

    def numbers(count: int) -> IntArray:
        return np.zeros(count, dtype=np.int64)

    return Stages(
        stage=numbers(num_flows),
        waits_for=numbers(num_flows),
        cpu_time=np.zeros(num_flows),
        cpu_path=numbers(num_flows),
        path=numbers(num_flows),
        volume=np.zeros(num_flows),
        group=numbers(num_flows),
        next_in_group=numbers(num_flows),
        working=numbers(num_flows),
        first_follower=numbers(num_flows + num_networks),
        followers=numbers(num_networks * most_pairs),
        num_rows=num_rows,
        most_pairs=most_pairs,
    )


def fill_stages(
    stages: Stages,
    n: int,
    flows: Workload,
    *,
    cpu_path: IntArray,
    path: IntArray,
    volume: FloatArray,
    barrier: Barrier,
) -> None:
    """Puts the flows of an episode into a network, where none has arrived.

    Args:
        stages: Stages of all networks.
        n: Number of the network.
        flows: Its flows.
        cpu_path: Rows of the path table that stand for their CPUs, (num_flows,).
        path: Rows of the paths along which they send, (num_flows,).
        volume: Bytes that they send, (num_flows,).
        barrier: When a flow whose CPU work is done may send.
    """
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
