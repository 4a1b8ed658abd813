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
    "of_asked",
    "others_on_links",
    "path_of",
    "seen_flows",
    "takes_path",
]

BoolArray = npt.NDArray[np.bool_]
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


def of_asked(view: NetworkView, config: AuTOLongFlowsConfig, rows: IntArray) -> IntArray:
    """Returns those of some flows that the server sends whose turn it is, in the same order."""
    server = asked_server(view, config)
    return rows if server is None else rows[view.source[rows] == server]


def seen_flows(view: NetworkView, config: AuTOLongFlowsConfig) -> IntArray:
    """Returns the rows of the flows in the slots, slot by slot, at most ``n_l``: the oldest long ones."""
    return of_asked(view, config, long_live(view, config))[: config.n_l]


def path_of(view: NetworkView, config: AuTOLongFlowsConfig, rows: IntArray) -> IntArray:
    """Returns which of its paths each flow takes, from 0: the number of the plane, (count,)."""
    return view.path[rows].astype(np.int64) % config.paths


def takes_path(view: NetworkView, config: AuTOLongFlowsConfig, rows: IntArray) -> BoolArray:
    """Tells which of its paths each flow takes, (count, paths)."""
    taken: BoolArray = path_of(view, config, rows)[:, np.newaxis] == np.arange(config.paths)
    return taken


def links_of(view: NetworkView, config: AuTOLongFlowsConfig, rows: IntArray) -> IntArray:
    """Returns the links by which flows may go, of each path up and down, (count, paths, 2)."""
    plane = 2 * config.hosts * np.arange(config.paths)
    links = np.empty((len(rows), config.paths, 2), dtype=np.int64)
    links[:, :, 0] = view.source[rows][:, np.newaxis] + plane
    links[:, :, 1] = view.destination[rows][:, np.newaxis] + (plane + config.hosts)
    return links


def others_on_links(
    view: NetworkView, config: AuTOLongFlowsConfig, rows: IntArray, *crossing: IntArray
) -> tuple[IntArray, ...]:
    """Counts other flows on the links of each path.

    Args:
        view: The network.
        config: The arguments of the environment.
        rows: Flows that are looked at, (count,); some of those that are counted.
        *crossing: Flows that are counted.

    Returns:
        For each of these groups, how many of it, the flow itself left out, are on the link up and on the link down of
        each path, (count, paths, 2).
    """
    links, itself = links_of(view, config, rows), takes_path(view, config, rows)[:, :, np.newaxis]
    return tuple(_count_on_links(view, config, group)[links] - itself for group in crossing)


def long_on_links(view: NetworkView, config: AuTOLongFlowsConfig) -> IntArray:
    """Counts the live long flows on each link: path, up or down, host; (paths, 2, hosts)."""
    return _count_on_links(view, config, long_live(view, config)).reshape(config.paths, 2, config.hosts)


def _count_on_links(view: NetworkView, config: AuTOLongFlowsConfig, crossing: IntArray) -> IntArray:
    """Counts flows on each link, (num_links,)."""
    plane = 2 * config.hosts * path_of(view, config, crossing)
    taken = np.concatenate([plane + view.source[crossing], plane + view.destination[crossing] + config.hosts])
    return np.bincount(taken, minlength=len(view.capacity))
