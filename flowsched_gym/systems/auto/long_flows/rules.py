"""Finds the flows that have sent more than a threshold, and shows them to AuTO's agent of long flows.

Links are those of ``topology.multi_plane``: of each plane, the hosts' uplinks and then their downlinks. A flow has a
path in each plane, whose row in the path table is the plane's number modulo the number of planes, ``num_paths``.
"""

from typing import Final

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray, ObservationArray
from flowsched_gym.core.units import BYTES_PER_MEGABYTE
from flowsched_gym.flows.fields import FlowColumns
from flowsched_gym.machine_code.decorators import allocating_rule, rule
from flowsched_gym.machine_code.sums import pairwise_sum
from flowsched_gym.systems.auto.flows import NUM_TUPLE_COLUMNS, FlowUnits, write_five_tuple

BYTES_SCALE: Final = 10 * BYTES_PER_MEGABYTE
"""Bytes that become one half: where flows begin to be long."""
TIME_SCALE: Final = 0.1
"""Time in s that becomes one half: what these bytes take at 1 Gbps, and a little more."""
COUNT_SCALE: Final = 4.0
"""Other flows on a link that become one half."""

UP: Final = 0
DOWN: Final = 1
NUM_OWN_COLUMNS: Final = 5
"""Numbers that are shown of a flow itself, before those of its paths."""


@rule
def find_long(active: IntArray, flows: FlowColumns, long_from: float, long: IntArray) -> int:
    """Finds the active flows that have sent so much, in the order of arrival; returns how many there are.

    Args:
        active: Rows of the active flows, (num_active,), increasing.
        long_from: Bytes from which on a flow is long.
        long: Receives the rows, (at least num_active,); those of one instant in their own order.
    """
    count, arrival_time = 0, flows.arrival_time
    for index in range(len(active)):
        row = active[index]
        if flows.attained[row] >= long_from:
            hole = count
            while hole > 0 and arrival_time[long[hole - 1]] > arrival_time[row]:
                long[hole] = long[hole - 1]
                hole -= 1
            long[hole] = row
            count += 1
    return count


@rule
def latest_long(rows: IntArray, flows: FlowColumns, long_from: float, server: int, count: int, found: IntArray) -> int:
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
        if flows.size[row] > long_from and (server < 0 or flows.source[row] == server):
            found[count] = row
            count += 1
        index -= 1
    return count


@allocating_rule
def progress_of_long(
    now: float, finished: IntArray, long: IntArray, flows: FlowColumns, long_from: float, progress: FloatArray
) -> tuple[int, float, float, float]:
    """Adds up how long flows fare that have finished, and those that are active.

    Args:
        now: Time in s.
        finished: Rows of flows that have finished, (num_finished,), short ones too.
        long: Rows of the active long flows, (num_long,).
        long_from: Bytes above which a flow has been long.
        progress: Receives over ``long_from`` what active long flows have sent, and behind these what the finished ones
            have, (at least num_long + num_finished,).

    Returns:
        How many of the finished flows have been long, and three sums: of the slowdowns so far of active long flows, of
        the slowdowns of finished ones and of their throughputs in B/s.
    """
    so_far, slowdown, throughput = np.empty(len(long)), np.empty(len(finished)), np.empty(len(finished))
    for index in range(len(long)):
        row = long[index]
        so_far[index] = (now - flows.arrival_time[row]) / flows.ideal_fct[row]
        progress[index] = flows.attained[row] / long_from
    count = 0
    for index in range(len(finished)):
        row = finished[index]
        size = flows.size[row]
        if size > long_from:
            fct = flows.completion_time[row] - flows.arrival_time[row]
            slowdown[count] = fct / flows.ideal_fct[row]
            throughput[count] = size / fct
            progress[len(long) + count] = size / long_from
            count += 1
    return (
        count,
        pairwise_sum(so_far, 0, len(long)),
        pairwise_sum(slowdown, 0, count),
        pairwise_sum(throughput, 0, count),
    )


@rule
def count_on_links(rows: IntArray, flows: FlowColumns, count: IntArray) -> None:
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
        plane = flows.path[row] % num_paths
        count[plane, UP, flows.source[row]] += 1
        count[plane, DOWN, flows.destination[row]] += 1


@rule
def show_long(
    rows: IntArray,
    flows: FlowColumns,
    units: FlowUnits,
    first_queue: int,
    num_queues: float,
    slot_at: IntArray,
    shown: ObservationArray,
) -> None:
    """Shows active flows: five-tuple and queue of each.

    Args:
        rows: The flows, slot by slot, (count,).
        first_queue: Number of the highest queue.
        num_queues: Divides queues.
        slot_at: Where each slot begins, (num_slots,).
        shown: Receives six numbers of each flow.
    """
    for slot in range(len(rows)):
        row, at = rows[slot], slot_at[slot]
        write_five_tuple(row, flows, units, at, shown)
        shown[at + NUM_TUPLE_COLUMNS] = (flows.queue[row] + first_queue) / num_queues


@rule
def show_paths(
    rows: IntArray,
    now: float,
    flows: FlowColumns,
    long_on: IntArray,
    all_on: IntArray,
    capacity: float,
    at: IntArray,
    shown: ObservationArray,
) -> None:
    """Shows of active flows how far they are, and how many others are on the links up and down of each path.

    Args:
        rows: The flows, slot by slot, (count,).
        now: Time in s.
        long_on: Long flows on each link, these included: plane, up or down, host; (num_paths, 2, num_hosts).
        all_on: Active flows, likewise.
        capacity: Of each link in B/s.
        at: Where each slot begins, (num_slots,).
        shown: Receives five numbers of each flow, and four of each of its paths: long flows up and down, and all.
    """
    num_paths = len(long_on)
    for slot in range(len(rows)):
        row, index = rows[slot], at[slot]
        taken = flows.path[row] % num_paths
        attained, waiting = flows.attained[row], now - flows.arrival_time[row]
        shown[index] = attained / (attained + BYTES_SCALE)
        shown[index + 1] = waiting / (waiting + TIME_SCALE)
        shown[index + 2] = min(flows.rate[row] / capacity, 1.0)
        shown[index + 3] = min(flows.rate_cap[row] / capacity, 1.0)
        shown[index + 4] = (taken + 1) / num_paths
        index += NUM_OWN_COLUMNS
        for plane in range(num_paths):
            itself = 1 if plane == taken else 0
            for counts in (long_on, all_on):
                up = counts[plane, UP, flows.source[row]] - itself
                down = counts[plane, DOWN, flows.destination[row]] - itself
                shown[index] = up / (up + COUNT_SCALE)
                shown[index + 1] = down / (down + COUNT_SCALE)
                index += 2


@rule
def mark_usable(rows: IntArray, flows: FlowColumns, capacity: FloatArray, usable: BoolArray) -> None:
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
            up, down = capacity[plane, UP, flows.source[row]], capacity[plane, DOWN, flows.destination[row]]
            usable[index, plane] = (up > 0.0 and down > 0.0) or flows.path[row] % num_paths == plane
