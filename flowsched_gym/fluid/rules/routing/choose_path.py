"""Chooses the path of a flow among those of its hosts on which no link has failed.

A flow is never counted among those that it competes with. Every rule but the hash sees the state of the whole network.
Ties go to the lower path, unless said.

ECMP: the hash of the flow modulo the number of paths that are up counts them (equal-cost multi-path, RFC 2992).

Least-loaded: the load of a link is the bytes that the active flows on it have left, then the number of these flows. The
load of a path is that of its most loaded link, links that all paths that are up share left out. The least load wins.

CONGA: see ``congestion.py``. MEMR: see ``memr.py``.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.fluid.routes import ByCongestion, ByExpansion, ByHash, ByLoad, Chooser, HopByHop, NetworkState
from flowsched_gym.fluid.rules.routing.availability import count_paths_up, note_quiet
from flowsched_gym.fluid.rules.routing.candidates import is_candidate, nth_candidate, shared_ends
from flowsched_gym.fluid.rules.routing.congestion import choose_least_congested, review_quiet
from flowsched_gym.fluid.rules.routing.memr import choose_by_expansion
from flowsched_gym.machine_code.decorators import allocating_rule, chosen_by_type, rule


@rule
def choose_path(row: int, scene: NetworkState, chooser: Chooser | None) -> int:
    """Chooses the path of a flow that arrives, or whose path has failed.

    Args:
        row: Row of the flow; it may be among the active ones.
        scene: The network.
        chooser: How it is chosen; ``None``: flows keep their paths.

    Returns:
        Row of the path table; the flow's present path where none is up.
    """
    first, last, network = scene.routes.first[row], scene.routes.last[row], scene.network
    num_paths = count_paths_up(first, last, network.capacity, network.path_start, network.path_links)
    if num_paths == 0:
        chosen = int(scene.controls.path[row])
    elif num_paths == 1:
        chosen = int(nth_candidate(0, first, last, network))
    else:
        chosen = int(choose(row, scene, chooser))
    return chosen


def _by_hash(row: int, scene: NetworkState, chooser: ByHash) -> int:
    first, last, network = scene.routes.first[row], scene.routes.last[row], scene.network
    num_paths = count_paths_up(first, last, network.capacity, network.path_start, network.path_links)
    return int(nth_candidate(scene.routes.hash[row] % num_paths, first, last, network))


def _by_load(row: int, scene: NetworkState, chooser: ByLoad) -> int:
    return int(_least_loaded(row, scene))


def _by_congestion(row: int, scene: NetworkState, chooser: ByCongestion) -> int:
    return int(choose_least_congested(row, scene))


def _by_expansion(row: int, scene: NetworkState, chooser: ByExpansion) -> int:
    return int(choose_by_expansion(False, row, scene))


def _hop_by_hop(row: int, scene: NetworkState, chooser: HopByHop) -> int:
    return int(choose_by_expansion(True, row, scene))


def _stay(row: int, scene: NetworkState, chooser: None) -> int:
    return int(scene.controls.path[row])


def _review_none(scene: NetworkState, moved: IntArray, chooser: Chooser | None) -> int:
    return 0


def _review_quiet(scene: NetworkState, moved: IntArray, chooser: ByCongestion) -> int:
    return int(review_quiet(chooser.flowlet_gap, scene, moved))


def _note_none(scene: NetworkState, chooser: Chooser | None) -> None:
    """Does nothing."""


def _note_quiet(scene: NetworkState, chooser: ByCongestion) -> None:
    note_quiet(scene.now, scene.active, scene.num_active, scene.state.rate, scene.routes.quiet_since)


CHOICES: Final[Mapping[type, Any]] = {
    type(None): _stay,
    ByHash: _by_hash,
    ByLoad: _by_load,
    ByCongestion: _by_congestion,
    ByExpansion: _by_expansion,
    HopByHop: _hop_by_hop,
}
PAUSES: Final = {"review_paths": (_review_quiet, _review_none), "note_pauses": (_note_quiet, _note_none)}
"""What CONGA does, and what all others do."""


def _chosen(name: str, chooser: type) -> Any:
    """Finds a rule of a way to choose paths."""
    if name == "choose":
        return CHOICES[chooser]
    of_congestion, others = PAUSES[name]
    return of_congestion if chooser is ByCongestion else others


@chosen_by_type(_chosen)
def choose(row: int, scene: NetworkState, chooser: Chooser | None) -> int:
    """Chooses among several paths that are up; arguments as in ``choose_path``."""
    raise NotImplementedError


@chosen_by_type(_chosen)
def note_pauses(scene: NetworkState, chooser: Chooser | None) -> None:
    """Records which flows have no rate, after links have been shared, where it matters.

    Args:
        scene: The network; ``routes`` receives since when each flow has been quiet.
        chooser: How paths are chosen.
    """


@chosen_by_type(_chosen)
def review_paths(scene: NetworkState, moved: IntArray, chooser: Chooser | None) -> int:
    """Chooses anew for flows that have been quiet for the flowlet gap, under CONGA; others keep their paths.

    A flow that goes on to be quiet chooses at each call, as its next packet would if it left now.

    Args:
        scene: The network; ``controls.path`` is written for flows that change their path.
        moved: Receives the rows of the flows whose path has changed, in the order of ``active``.
        chooser: How paths are chosen.

    Returns:
        How many have changed their path.
    """
    raise NotImplementedError


@allocating_rule
def _least_loaded(row: int, scene: NetworkState) -> int:
    """Returns the path with the fewest bytes left, then the fewest flows, on its most loaded link."""
    network, first, last = scene.network, scene.routes.first[row], scene.routes.last[row]
    path_start, path_links = network.path_start, network.path_links
    bytes_left = np.zeros(len(network.capacity))
    num_flows = np.zeros(len(network.capacity), dtype=np.int64)
    for index in range(scene.num_active):
        other = scene.active[index]
        if other == row:
            continue
        path = scene.controls.path[other]
        for step in range(path_start[path], path_start[path + 1]):
            bytes_left[path_links[step]] += scene.state.remaining[other]
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
