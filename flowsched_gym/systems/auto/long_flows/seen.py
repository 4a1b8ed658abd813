"""Finds the long flows of a network: whose turn it is, which of them an agent sees, and what is on their links."""

import numpy as np

from flowsched_gym.core.arrays import BoolArray, IntArray
from flowsched_gym.envs import NetworkView
from flowsched_gym.systems.auto.long_flows.config import AuTOLongFlowsConfig, Scope
from flowsched_gym.systems.auto.long_flows.rules import count_on_links, find_long, mark_usable


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
