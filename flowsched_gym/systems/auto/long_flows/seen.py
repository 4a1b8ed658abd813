"""Finds the long flows of a network: whose turn it is, which of them an agent sees, and what is on their links.

Links are those of ``topology.multi_plane``: of each plane, the hosts' uplinks and then their downlinks.
"""

import numpy as np
import numpy.typing as npt

from flowsched_gym.envs import NetworkView
from flowsched_gym.systems.auto.long_flows.config import AuTOLongFlowsConfig, Scope

__all__ = [
    "asked_server",
    "links_of",
    "long_finished",
    "long_live",
    "long_on_links",
    "others_on_links",
    "path_of",
    "seen_flows",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def long_live(view: NetworkView, config: AuTOLongFlowsConfig) -> IntArray:
    """Returns the rows of the live flows that have sent the last threshold, in the order of arrival, (count,)."""
    rows = view.live[view.attained[view.live] >= config.long_from]
    ordered: IntArray = rows[np.argsort(view.arrival_time[rows], kind="stable")]
    return ordered


def long_finished(view: NetworkView, config: AuTOLongFlowsConfig, rows: IntArray) -> IntArray:
    """Returns those of delivered flows that have been long, in the same order; of just that size none has."""
    long: IntArray = rows[view.size[rows] > config.long_from]
    return long


def asked_server(view: NetworkView, config: AuTOLongFlowsConfig) -> int | None:
    """Returns the server whose turn it is; ``None`` where all are asked at once."""
    return (view.num_periods - 1) % config.hosts if config.scope is Scope.SERVER else None


def seen_flows(view: NetworkView, config: AuTOLongFlowsConfig) -> IntArray:
    """Returns the rows of the flows in the slots, slot by slot, at most ``n_l``: the oldest long ones."""
    rows, server = long_live(view, config), asked_server(view, config)
    if server is not None:
        rows = rows[view.source[rows] == server]
    return rows[: config.n_l]


def path_of(view: NetworkView, config: AuTOLongFlowsConfig, rows: IntArray) -> IntArray:
    """Returns which of its paths each flow takes, from 0: the number of the plane, (count,)."""
    return view.path[rows].astype(np.int64) % config.paths


def links_of(view: NetworkView, config: AuTOLongFlowsConfig, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Returns the links up and down by which flows may go, (count, paths) each."""
    plane = 2 * config.hosts * np.arange(config.paths)
    return view.source[rows][:, None] + plane, view.destination[rows][:, None] + plane + config.hosts


def others_on_links(
    view: NetworkView, config: AuTOLongFlowsConfig, rows: IntArray, crossing: IntArray
) -> tuple[IntArray, IntArray]:
    """Counts other flows on the links of each path.

    Args:
        view: The network.
        config: The arguments of the environment.
        rows: Flows that are looked at, (count,); some of those that are counted.
        crossing: Flows that are counted.

    Returns:
        How many of them, the flow itself left out, are on the link up and on the link down of each path, (count, paths)
        each.
    """
    on_link = _count_on_links(view, config, crossing)
    itself = path_of(view, config, rows)[:, None] == np.arange(config.paths)
    up, down = links_of(view, config, rows)
    return on_link[up] - itself, on_link[down] - itself


def long_on_links(view: NetworkView, config: AuTOLongFlowsConfig) -> IntArray:
    """Counts the live long flows on each link: path, up or down, host; (paths, 2, hosts)."""
    return _count_on_links(view, config, long_live(view, config)).reshape(config.paths, 2, config.hosts)


def _count_on_links(view: NetworkView, config: AuTOLongFlowsConfig, crossing: IntArray) -> IntArray:
    """Counts flows on each link, (num_links,)."""
    plane = 2 * config.hosts * path_of(view, config, crossing)
    taken = np.concatenate([plane + view.source[crossing], plane + view.destination[crossing] + config.hosts])
    return np.bincount(taken, minlength=len(view.capacity))
