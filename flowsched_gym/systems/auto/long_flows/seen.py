"""The long flows of a network: whose turn it is, which of them an agent sees, and what is on their links.

Links are those of ``topology.multi_plane``: of each plane, the hosts' uplinks and then their downlinks. A flow has a
path in each plane, whose row in the path table is the plane's number modulo the number of planes, ``num_paths``.
"""

from typing import Final

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.envs import NetworkView
from flowsched_gym.flows.fields import FlowColumns
from flowsched_gym.machine_code.decorators import rule
from flowsched_gym.systems.auto.long_flows.config import AuTOLongFlowsConfig, Scope

UP: Final = 0
DOWN: Final = 1


def long_active(view: NetworkView, config: AuTOLongFlowsConfig) -> IntArray:
    """Returns the rows of the active flows that have sent the last threshold, in the order of arrival, (count,)."""
    rows = np.empty(len(view.active), dtype=np.int64)
    return rows[: find_long(view.active, view.columns, config.long_from, rows)]


def long_finished(view: NetworkView, config: AuTOLongFlowsConfig, rows: IntArray) -> IntArray:
    """Returns those of delivered flows that have been long, in the same order; of just that size none has."""
    long: IntArray = rows[view.size[rows] > config.long_from]
    return long


def asked_server(view: NetworkView, config: AuTOLongFlowsConfig) -> int | None:
    """Returns the server whose turn it is; ``None`` where all are asked at once."""
    return (view.num_periods - 1) % config.hosts if config.scope is Scope.SERVER else None


def of_asked(view: NetworkView, config: AuTOLongFlowsConfig, rows: IntArray) -> IntArray:
    """Returns those of some flows that the server sends whose turn it is, in the same order."""
    server = asked_server(view, config)
    return rows if server is None else rows[view.source[rows] == server]


def seen_flows(view: NetworkView, config: AuTOLongFlowsConfig) -> IntArray:
    """Returns the rows of the flows in the slots, slot by slot, at most ``n_l``: the oldest long ones."""
    return of_asked(view, config, long_active(view, config))[: config.n_l]


def path_of(view: NetworkView, config: AuTOLongFlowsConfig, rows: IntArray) -> IntArray:
    """Returns which of its paths each flow takes, from 0: the number of the plane, (count,)."""
    return view.path[rows].astype(np.int64) % config.paths


def usable_paths(view: NetworkView, config: AuTOLongFlowsConfig, rows: IntArray) -> BoolArray:
    """Returns which paths of flows have no failed link, or are taken already, (count, paths)."""
    usable = np.empty((len(rows), config.paths), dtype=np.bool_)
    capacity = view.capacity.reshape(config.paths, 2, config.hosts)
    mark_usable(rows, view.columns, capacity, usable)
    return usable


def on_links(view: NetworkView, config: AuTOLongFlowsConfig, rows: IntArray) -> IntArray:
    """Counts flows on each link: path, up or down, host; (paths, 2, hosts)."""
    count = np.empty((config.paths, 2, config.hosts), dtype=np.int64)
    count_on_links(rows, view.columns, count)
    return count


def long_on_links(view: NetworkView, config: AuTOLongFlowsConfig) -> IntArray:
    """Counts the active long flows on each link: path, up or down, host; (paths, 2, hosts)."""
    return on_links(view, config, long_active(view, config))


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
