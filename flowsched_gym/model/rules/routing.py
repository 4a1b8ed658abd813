"""Chooses the path of a flow among those of its hosts on which no link has failed.

A flow is never counted among those that it competes with. Every rule but the hash sees the state of the whole network.
Ties go to the lower path, unless said.

ECMP: the hash of the flow modulo the number of live paths counts them (equal-cost multi-path, RFC 2992).

Least-loaded: the load of a link is the bytes that the live flows on it have left, then the number of these flows. The
load of a path is that of its most loaded link, links that all live paths share left out. The least load wins.

CONGA: see ``congestion.py``. MEMR: see ``memr.py``.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.controls import Controls
from flowsched_gym.model.routes import Routes, RoutingKind
from flowsched_gym.model.rules.candidates import is_candidate, nth_candidate, shared_ends
from flowsched_gym.model.rules.compile import allocating_rule, rule
from flowsched_gym.model.rules.congestion import choose_least_congested, review_quiet
from flowsched_gym.model.rules.liveness import count_live_paths
from flowsched_gym.model.rules.memr import choose_by_expansion
from flowsched_gym.model.state import FlowState, Network

__all__ = ["choose_path", "review_paths"]

IntArray = npt.NDArray[np.int64]

LEAST_LOADED: Final = int(RoutingKind.LEAST_LOADED)
CONGA: Final = int(RoutingKind.CONGA)
MEMR: Final = int(RoutingKind.MEMR)
MEMR_HOP_BY_HOP: Final = int(RoutingKind.MEMR_HOP_BY_HOP)


@rule
def choose_path(
    kind: int,
    now: float,
    row: int,
    live: IntArray,
    count: int,
    state: FlowState,
    controls: Controls,
    network: Network,
    routes: Routes,
) -> int:
    """Chooses the path of a flow that arrives, or whose path has failed.

    Args:
        kind: A ``RoutingKind``.
        now: Time in s.
        row: Row of the flow; it may be among the live ones.
        live: Rows of the live flows in its first ``count`` places.
        count: Number of live flows.
        state: The flows; rates are those before this instant.
        controls: Their controls.
        network: Links and paths; a link that has failed has capacity 0.
        routes: Between which paths each flow may choose.

    Returns:
        Row of the path table; the flow's present path where none is live.
    """
    first, last = routes.first[row], routes.last[row]
    num_paths = count_live_paths(first, last, network.capacity, network.path_start, network.path_links)
    if num_paths == 0:
        chosen = controls.path[row]
    elif num_paths > 1 and kind == LEAST_LOADED:
        chosen = _least_loaded(row, live, count, state, controls, network, first, last)
    elif num_paths > 1 and kind == CONGA:
        chosen = choose_least_congested(row, live, count, state, controls, network, routes)
    elif num_paths > 1 and kind in (MEMR, MEMR_HOP_BY_HOP):
        hop_by_hop = kind == MEMR_HOP_BY_HOP
        chosen = choose_by_expansion(hop_by_hop, now, row, live, count, state, controls, network, routes)
    else:
        chosen = nth_candidate(routes.hash[row] % num_paths, first, last, network)
    return int(chosen)


@rule
def review_paths(
    kind: int,
    now: float,
    flowlet_gap: float,
    live: IntArray,
    count: int,
    state: FlowState,
    controls: Controls,
    network: Network,
    routes: Routes,
    moved: IntArray,
) -> int:
    """Lets the flows choose anew that have been quiet for the flowlet gap, under CONGA; others keep their paths.

    A flow that goes on to be quiet chooses at each call, as its next packet would if it left now.

    Args:
        kind: A ``RoutingKind``.
        now: Time in s.
        flowlet_gap: Pause in s, > 0, after which a flow chooses anew.
        live: Rows of the live flows in its first ``count`` places.
        count: Number of live flows.
        state: The flows; rates are those before this instant.
        controls: Their controls; ``path`` is written for flows that change their path.
        network: Links and paths; a link that has failed has capacity 0.
        routes: Between which paths each flow may choose, and since when it has been quiet.
        moved: Receives the rows of the flows whose path has changed, in the order of ``live``.

    Returns:
        How many have changed their path.
    """
    if kind != CONGA:
        return 0
    for place in range(count):
        if routes.quiet_since[live[place]] + flowlet_gap <= now:
            return int(review_quiet(now, flowlet_gap, live, count, state, controls, network, routes, moved))
    return 0


@allocating_rule
def _least_loaded(
    row: int,
    live: IntArray,
    count: int,
    state: FlowState,
    controls: Controls,
    network: Network,
    first: int,
    last: int,
) -> int:
    """Returns the path with the fewest bytes left, then the fewest flows, on its most loaded link."""
    path_start, path_links = network.path_start, network.path_links
    bytes_left = np.zeros(len(network.capacity))
    num_flows = np.zeros(len(network.capacity), dtype=np.int64)
    for place in range(count):
        other = live[place]
        if other == row:
            continue
        path = controls.path[other]
        for step in range(path_start[path], path_start[path + 1]):
            bytes_left[path_links[step]] += state.remaining[other]
            num_flows[path_links[step]] += 1
    head, tail = shared_ends(first, last, network)
    chosen, least, fewest = -1, np.inf, 0
    for path in range(first, last):
        if not is_candidate(path, network):
            continue
        most, crowd = 0.0, 0
        for step in range(path_start[path] + head, path_start[path + 1] - tail):
            link = path_links[step]
            if bytes_left[link] > most or (bytes_left[link] == most and num_flows[link] > crowd):
                most, crowd = bytes_left[link], num_flows[link]
        if most < least or (most == least and crowd < fewest):
            chosen, least, fewest = path, most, crowd
    return chosen
