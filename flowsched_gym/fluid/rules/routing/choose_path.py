"""Chooses the path of a flow among those of its hosts on which no link has failed.

A flow is never counted among those that it competes with. Every rule but the hash sees the state of the whole network.
Ties go to the lower path, unless said.

ECMP: the hash of the flow modulo the number of paths that are up counts them (equal-cost multi-path, RFC 2992).

Least-loaded: the load of a link is the bytes that the active flows on it have left, then the number of these flows. The
load of a path is that of its most loaded link; those at its ends that all paths that are up share do not count. The
least load wins.

MEMR: see ``memr.py``.

CONGA (Alizadeh et al., SIGCOMM 2014) as a model of flows. Kept: the congestion of a path is the largest utilisation of
its links, rates over capacity; a new flow takes the least congested path, at random (by its hash) among equals; a flow
that has paused for the flowlet gap chooses anew, but leaves its path only for a less congested one (sections 3.4 and
3.5). Lost: flowlets inside a flow that sends without a pause; the decay of the estimate and the age of the feedback, as
rates are known at once and exactly; quantisation to three bits. Flows that choose at one instant all see the rates
before it. A flow without a rate pauses, whatever the reason: one that an ordered discipline keeps waiting for the gap
moves to an idle path, which serves such disciplines better than packets could that must find the path first. Paused
flows are looked at when some flow begins or ends or a link changes, not at the moment at which the gap is over.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.fluid.contract import moved
from flowsched_gym.fluid.decision import Decision
from flowsched_gym.fluid.rules.routing.memr import choose_by_expansion
from flowsched_gym.machine_code.decorators import allocating_rule, chosen_by_type, inlined_part, rule
from flowsched_gym.topology.routes import (
    ByCongestion,
    ByExpansion,
    ByHash,
    ByLoad,
    Chooser,
    NetworkState,
    count_paths_up,
    nth_path_up,
    path_is_up,
    shared_ends,
)

NOBODY: Final = -1


@inlined_part
def move(decision: Decision, row: int, choice: int) -> None:
    """Sends an active flow along one of its paths from the period on that begins; it stays if a link there has failed.

    Nothing that it has sent is lost. The network needs a routing.
    """
    path = decision.routes.first[row] + choice  # type: ignore[union-attr]  # there is a routing
    if path != decision.controls.path[row] and path_is_up(path, decision.network):
        decision.controls.path[row] = path
        moved(decision.number, row, decision.record)


@rule
def choose_path(row: int, scene: NetworkState, chooser: Chooser | None) -> int:
    """Chooses the path of a flow that arrives, or whose path has failed: the present one where none is up.

    The flow may be among the active ones. Without a chooser, flows keep their paths.
    """
    first, last, network = scene.routes.first[row], scene.routes.last[row], scene.network
    num_paths = count_paths_up(first, last, network)
    if num_paths == 0:
        chosen = int(scene.controls.path[row])
    elif num_paths == 1:
        chosen = int(nth_path_up(0, first, last, network))
    else:
        chosen = int(choose(row, scene, chooser))
    return chosen


def _by_hash(row: int, scene: NetworkState, chooser: ByHash) -> int:
    first, last, network = scene.routes.first[row], scene.routes.last[row], scene.network
    num_paths = count_paths_up(first, last, network)
    return int(nth_path_up(scene.routes.hash[row] % num_paths, first, last, network))


def _by_load(row: int, scene: NetworkState, chooser: ByLoad) -> int:
    return int(_least_loaded(row, scene))


def _by_congestion(row: int, scene: NetworkState, chooser: ByCongestion) -> int:
    return int(choose_least_congested(row, scene))


def _by_expansion(row: int, scene: NetworkState, chooser: ByExpansion) -> int:
    return int(choose_by_expansion(chooser.hop_by_hop, row, scene))


def _stay(row: int, scene: NetworkState, chooser: None) -> int:
    return int(scene.controls.path[row])


def _review_none(scene: NetworkState, moved: IntArray, chooser: Chooser | None) -> int:
    return 0


def _review_quiet(scene: NetworkState, moved: IntArray, chooser: ByCongestion) -> int:
    return int(review_quiet(chooser.flowlet_gap, scene, moved))


def _note_none(scene: NetworkState, chooser: Chooser | None) -> None:
    pass


def _note_quiet(scene: NetworkState, chooser: ByCongestion) -> None:
    note_quiet(scene.now, scene.active, scene.num_active, scene.state.rate, scene.routes.quiet_since)


CHOICES: Final[Mapping[type, Any]] = {
    type(None): _stay,
    ByHash: _by_hash,
    ByLoad: _by_load,
    ByCongestion: _by_congestion,
    ByExpansion: _by_expansion,
}
PAUSES: Final = {"review_paths": (_review_quiet, _review_none), "note_pauses": (_note_quiet, _note_none)}
"""What CONGA does, and what all others do."""


def _chosen(name: str, chooser: type) -> Any:
    if name == "choose":
        return CHOICES[chooser]
    of_congestion, others = PAUSES[name]
    return of_congestion if chooser is ByCongestion else others


@chosen_by_type(_chosen)
def choose(row: int, scene: NetworkState, chooser: Chooser | None) -> int:
    """Chooses among several paths that are up."""
    raise NotImplementedError


@chosen_by_type(_chosen)
def note_pauses(scene: NetworkState, chooser: Chooser | None) -> None:
    """Records in ``routes`` since when flows have had no rate, after links have been shared, where it matters."""


@chosen_by_type(_chosen)
def review_paths(scene: NetworkState, moved: IntArray, chooser: Chooser | None) -> int:
    """Chooses anew for flows that have been quiet for the flowlet gap, under CONGA; others keep their paths.

    A flow that goes on to be quiet chooses at each call, as its next packet would if it left now. ``moved`` receives
    the rows of the flows that change their path, in the order of ``active``. Returns how many do.
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
        if not path_is_up(path, network):
            continue
        most, crowd = 0.0, 0
        for step in range(path_start[path] + head, path_start[path + 1] - tail):
            link = path_links[step]
            if bytes_left[link] > most or (bytes_left[link] == most and num_flows[link] > crowd):
                most, crowd = bytes_left[link], num_flows[link]
        if most < least or (most == least and crowd < fewest):
            chosen, least, fewest = path, most, crowd
    return chosen


@allocating_rule
def choose_least_congested(row: int, scene: NetworkState) -> int:
    """Returns the least congested path of a flow."""
    used = np.zeros(len(scene.network.capacity))
    _add_rates(row, scene, used)
    congestion = np.empty(scene.routes.last[row] - scene.routes.first[row])
    return _least_congested(row, scene, used, congestion)


@allocating_rule
def review_quiet(flowlet_gap: float, scene: NetworkState, moved: IntArray) -> int:
    """Does what ``review_paths`` says of CONGA."""
    now, active, count, routes, path_of = scene.now, scene.active, scene.num_active, scene.routes, scene.controls.path
    waits = 0
    while waits < count and routes.quiet_since[active[waits]] + flowlet_gap > now:
        waits += 1
    if waits == count:
        return 0
    used = np.zeros(len(scene.network.capacity))
    # Nobody is left out: who chooses has no rate.
    _add_rates(NOBODY, scene, used)
    num_moved = 0
    for index in range(count):
        row = active[index]
        if routes.quiet_since[row] + flowlet_gap > now:
            continue
        congestion = np.empty(routes.last[row] - routes.first[row])
        path = _least_congested(row, scene, used, congestion)
        if path != path_of[row]:
            path_of[row] = path
            moved[num_moved] = row
            num_moved += 1
    return num_moved


@rule
def note_quiet(now: float, active: IntArray, count: int, rate: FloatArray, quiet_since: FloatArray) -> None:
    """Records since when active flows have had no rate, absolute times in s; inf while they send."""
    for index in range(count):
        row = active[index]
        if rate[row] > 0.0:
            quiet_since[row] = np.inf
        elif quiet_since[row] == np.inf:
            quiet_since[row] = now


@rule
def _add_rates(left_out: int, scene: NetworkState, used: FloatArray) -> None:
    """Adds the rates in B/s of all flows but one to the links that they cross."""
    network, rate, path_of = scene.network, scene.state.rate, scene.controls.path
    for index in range(scene.num_active):
        row = scene.active[index]
        if row != left_out and rate[row] > 0.0:
            for step in range(network.path_start[path_of[row]], network.path_start[path_of[row] + 1]):
                used[network.path_links[step]] += rate[row]


@rule
def _least_congested(row: int, scene: NetworkState, used: FloatArray, congestion: FloatArray) -> int:
    """Returns the least congested path, the present one where none is up; ``congestion`` is scratch."""
    network, routes = scene.network, scene.routes
    first, last, present = routes.first[row], routes.last[row], scene.controls.path[row]
    head, tail = shared_ends(first, last, network)
    least, num_least = np.inf, 0
    for path in range(first, last):
        congestion[path - first] = np.inf
        if not path_is_up(path, network):
            continue
        largest = 0.0
        for step in range(network.path_start[path] + head, network.path_start[path + 1] - tail):
            link = network.path_links[step]
            largest = max(largest, used[link] / network.capacity[link])
        congestion[path - first] = largest
        if largest < least:
            least, num_least = largest, 0
        if largest == least:
            num_least += 1
    if num_least == 0:
        return int(present)
    if scene.state.attained[row] > 0.0 and first <= present < last and congestion[present - first] == least:
        return int(present)
    index = routes.hash[row] % num_least
    path = first
    while congestion[path - first] != least or index > 0:
        if congestion[path - first] == least:
            index -= 1
        path += 1
    return int(path)
