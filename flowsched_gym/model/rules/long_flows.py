"""Finds the flows that have sent more than a threshold, and tells AuTO's agent of long flows about them.

Links are those of ``topology.multi_plane``: of each plane, the hosts' uplinks and then their downlinks. A flow has a
path in each plane, whose row in the path table is the plane's number modulo the number of planes, ``num_paths``.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.model.rules.compile import rule
from flowsched_gym.model.rules.finished_flows import NUM_TUPLE_COLUMNS, write_five_tuple
from flowsched_gym.model.rules.numerics.sums import pairwise_sum

__all__ = ["count_on_links", "find_long", "latest_long", "mark_usable", "progress_of_long", "show_long", "show_paths"]

PathArray = npt.NDArray[np.integer[Any]]
SeenArray = npt.NDArray[np.float32]

UP: Final = 0
DOWN: Final = 1
NUM_OWN_COLUMNS: Final = 5
"""Numbers that are shown of a flow itself, before those of its paths."""


@rule
def find_long(
    active: IntArray, attained: FloatArray, arrival_time: FloatArray, long_from: float, long: IntArray
) -> int:
    """Finds the active flows that have sent so much, in the order of arrival; returns how many there are.

    Args:
        active: Rows of the active flows, (num_active,), increasing.
        long_from: Bytes from which on a flow is long.
        long: Receives the rows, (at least num_active,); those of one instant in their own order.
    """
    count = 0
    for index in range(len(active)):
        row = active[index]
        if attained[row] >= long_from:
            hole = count
            while hole > 0 and arrival_time[long[hole - 1]] > arrival_time[row]:
                long[hole] = long[hole - 1]
                hole -= 1
            long[hole] = row
            count += 1
    return count


@rule
def latest_long(
    rows: IntArray, size: FloatArray, source: IntArray, long_from: float, server: int, count: int, found: IntArray
) -> int:
    """Finds flows that have been long among some that have finished, the last one first.

    Args:
        rows: Flows in the order of their delivery, (num_rows,).
        long_from: Bytes above which a flow has been long; of just that size none has.
        server: The host whose flows are looked for; below 0 for all.
        count: Flows that have been found before.
        found: Receives the rows behind these, as many as fit.

    Returns:
        How many flows have been found.
    """
    index = len(rows) - 1
    while index >= 0 and count < len(found):
        row = rows[index]
        if size[row] > long_from and (server < 0 or source[row] == server):
            found[count] = row
            count += 1
        index -= 1
    return count


@rule
def progress_of_long(
    now: float,
    finished: IntArray,
    long: IntArray,
    size: FloatArray,
    arrival_time: FloatArray,
    completion_time: FloatArray,
    ideal_fct: FloatArray,
    attained: FloatArray,
    long_from: float,
    scratch: FloatArray,
    progress: FloatArray,
) -> tuple[int, float, float, float]:
    """Adds up how long flows fare that have finished, and those that are active.

    Args:
        finished: Rows of flows that have finished, (num_finished,), short ones too.
        long: Rows of the active long flows, (num_long,).
        long_from: Bytes above which a flow has been long.
        scratch: Room for them, (num_long + 2 * num_finished,).
        progress: Receives over ``long_from`` what active long flows have sent, and behind these what the finished ones
            have, (at least num_long + num_finished,).

    Returns:
        How many of the finished flows have been long, and three sums: of the slowdowns so far of active long flows, of
        the slowdowns of finished ones and of their throughputs in B/s.
    """
    num_active, most = len(long), len(finished)
    for index in range(num_active):
        row = long[index]
        scratch[index] = (now - arrival_time[row]) / ideal_fct[row]
        progress[index] = attained[row] / long_from
    count = 0
    for index in range(most):
        row = finished[index]
        if size[row] > long_from:
            fct = completion_time[row] - arrival_time[row]
            scratch[num_active + count] = fct / ideal_fct[row]
            scratch[num_active + most + count] = size[row] / fct
            progress[num_active + count] = size[row] / long_from
            count += 1
    slowdown = pairwise_sum(scratch, num_active, num_active + count)
    throughput = pairwise_sum(scratch, num_active + most, num_active + most + count)
    return count, pairwise_sum(scratch, 0, num_active), slowdown, throughput


@rule
def count_on_links(
    rows: IntArray,
    source: IntArray,
    destination: IntArray,
    path: PathArray,
    count: IntArray,
) -> None:
    """Counts flows on links.

    Args:
        rows: The flows.
        count: Receives the counts: plane, up or down, host; (num_paths, 2, num_hosts).
    """
    num_paths, _, num_hosts = count.shape
    for plane in range(num_paths):
        for host in range(num_hosts):
            count[plane, UP, host] = count[plane, DOWN, host] = 0
    for index in range(len(rows)):
        row = rows[index]
        plane = path[row] % num_paths
        count[plane, UP, source[row]] += 1
        count[plane, DOWN, destination[row]] += 1


@rule
def show_long(
    rows: IntArray,
    flow_id: IntArray,
    source: IntArray,
    destination: IntArray,
    queue: IntArray,
    host: float,
    port: float,
    protocol: float,
    first_queue: int,
    num_queues: float,
    slot_at: IntArray,
    shown: SeenArray,
) -> None:
    """Shows active flows: five-tuple and queue of each.

    Args:
        rows: The flows, slot by slot, (count,).
        queue: Queues, (num_flows,).
        host: Divides hosts.
        port: Divides ports.
        protocol: Divides the protocol's number.
        first_queue: Number of the highest queue.
        num_queues: Divides queues.
        slot_at: Where each slot begins, (num_slots,).
        shown: Receives six numbers of each flow.
    """
    for slot in range(len(rows)):
        row, at = rows[slot], slot_at[slot]
        write_five_tuple(row, flow_id, source, destination, host, port, protocol, at, shown)
        shown[at + NUM_TUPLE_COLUMNS] = (queue[row] + first_queue) / num_queues


@rule
def show_paths(
    rows: IntArray,
    now: float,
    attained: FloatArray,
    arrival_time: FloatArray,
    rate: FloatArray,
    rate_cap: FloatArray,
    source: IntArray,
    destination: IntArray,
    path: PathArray,
    long_on: IntArray,
    all_on: IntArray,
    capacity: float,
    bytes_scale: float,
    time_scale: float,
    count_scale: float,
    at: IntArray,
    shown: SeenArray,
) -> None:
    """Shows of active flows how far they are, and how many others are on the links up and down of each path.

    Args:
        rows: The flows, slot by slot, (count,).
        long_on: Long flows on each link, these included: plane, up or down, host; (num_paths, 2, num_hosts).
        all_on: Live flows, likewise.
        capacity: Of each link in B/s.
        bytes_scale: Bytes that become one half.
        time_scale: Time in s that becomes one half.
        count_scale: Number of flows that becomes one half.
        at: Where each slot begins, (num_slots,).
        shown: Receives five numbers of each flow, and four of each of its paths: long flows up and down, and all.
    """
    num_paths = len(long_on)
    for slot in range(len(rows)):
        row, index = rows[slot], at[slot]
        taken = path[row] % num_paths
        waiting = now - arrival_time[row]
        shown[index] = attained[row] / (attained[row] + bytes_scale)
        shown[index + 1] = waiting / (waiting + time_scale)
        shown[index + 2] = min(rate[row] / capacity, 1.0)
        shown[index + 3] = min(rate_cap[row] / capacity, 1.0)
        shown[index + 4] = (taken + 1) / num_paths
        index += NUM_OWN_COLUMNS
        for plane in range(num_paths):
            itself = 1 if plane == taken else 0
            for counts in (long_on, all_on):
                up = counts[plane, UP, source[row]] - itself
                down = counts[plane, DOWN, destination[row]] - itself
                shown[index] = up / (up + count_scale)
                shown[index + 1] = down / (down + count_scale)
                index += 2


@rule
def mark_usable(
    rows: IntArray,
    source: IntArray,
    destination: IntArray,
    path: PathArray,
    capacity: FloatArray,
    usable: BoolArray,
) -> None:
    """Marks the paths of flows that have no failed link, or are taken already.

    Args:
        rows: The flows, (count,).
        capacity: Capacities in B/s, 0 of failed links: plane, up or down, host; (num_paths, 2, num_hosts).
        usable: Receives the answers, (at least count, num_paths).
    """
    num_paths = len(capacity)
    for index in range(len(rows)):
        row = rows[index]
        for plane in range(num_paths):
            up, down = capacity[plane, UP, source[row]], capacity[plane, DOWN, destination[row]]
            usable[index, plane] = (up > 0.0 and down > 0.0) or path[row] % num_paths == plane
