"""The paths between which each flow may choose, those of them that are up, and the ways to choose.

A link that has failed has capacity 0; a path is up while all its links are.
"""

from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.machine_code.decorators import rule
from flowsched_gym.topology.network import Network
from flowsched_gym.topology.routing import RoutingKind


class ByHash(NamedTuple):
    """Equal-cost multi-path: a hash of the flow over the paths that are up."""


class ByLoad(NamedTuple):
    """Least-loaded: fewest bytes left on the most loaded link."""


class ByCongestion(NamedTuple):
    """CONGA: least utilised links, anew after a pause of ``flowlet_gap`` > 0 s of a flow."""

    flowlet_gap: float


class ByExpansion(NamedTuple):
    """MEMR: largest expansion ratio and smallest tail rate, of the whole path or switch by switch (``hop_by_hop``)."""

    hop_by_hop: bool


Chooser = ByHash | ByLoad | ByCongestion | ByExpansion
"""How paths are chosen, as the rules take it: each way is a type, so that compiled code has the rules of one alone."""


def new_chooser(kind: RoutingKind, flowlet_gap: float) -> Chooser:
    """Makes what the rules take; the gap in s is CONGA's."""
    choosers: dict[RoutingKind, Chooser] = {
        RoutingKind.ECMP: ByHash(),
        RoutingKind.LEAST_LOADED: ByLoad(),
        RoutingKind.CONGA: ByCongestion(flowlet_gap),
        RoutingKind.MEMR: ByExpansion(hop_by_hop=False),
        RoutingKind.MEMR_HOP_BY_HOP: ByExpansion(hop_by_hop=True),
    }
    return choosers[kind]


class Routes(NamedTuple):
    """The paths between which each flow may choose, (num_flows,) each.

    Attributes:
        first: Row of the first path in the network's path table.
        last: Row behind the last path.
        hash: Hash of the flow, >= 0.
        destination: Receiving host.
        quiet_since: Absolute time in s since which the flow has had no rate, inf while it sends.
    """

    first: IntArray
    last: IntArray
    hash: IntArray
    destination: IntArray
    quiet_since: FloatArray


def new_routes(*, first: IntArray, last: IntArray, hash: IntArray, destination: IntArray) -> Routes:
    """Builds the routes of flows none of which has been without a rate."""
    return Routes(first, last, hash, destination, quiet_since=np.full(len(first), np.inf))


class NetworkState(NamedTuple):
    """One network at an instant, as those see it who choose paths; ``state`` has the rates before this instant."""

    now: float
    active: IntArray
    num_active: int
    state: FlowState
    controls: Controls
    network: Network
    routes: Routes


@rule
def path_is_up(path: int, network: Network) -> bool:
    """Returns whether every link of a path is up."""
    is_up = True
    for step in range(network.path_start[path], network.path_start[path + 1]):
        is_up = is_up and network.capacity[network.path_links[step]] > 0.0
    return is_up


@rule
def count_paths_up(first: int, last: int, network: Network) -> int:
    """Counts the paths that are up from row ``first`` of the path table to before row ``last``."""
    count = 0
    for path in range(first, last):
        if path_is_up(path, network):
            count += 1
    return count


@rule
def nth_path_up(index: int, first: int, last: int, network: Network) -> int:
    """Returns the path that is up before which ``index`` others are; there must be more than that."""
    for path in range(first, last):
        if path_is_up(path, network):
            if index == 0:
                return path
            index -= 1
    return first


@rule
def path_instead(path: int, first: int, last: int, network: Network) -> int:
    """Returns the path that packets take in place of one that has failed: itself if it is up, or if none is.

    Its place among all counts those that are up, so that flows spread over them.
    """
    num_up = count_paths_up(first, last, network)
    if num_up == 0 or path_is_up(path, network):
        return path
    return nth_path_up((path - first) % num_up, first, last, network)


@rule
def shared_ends(first: int, last: int, network: Network) -> tuple[int, int]:
    """Returns how many links are the same on all paths that are up, at their beginning and at their end.

    Such links, those of the hosts among them, tell nothing about which path is better.
    """
    links, path_start = network.path_links, network.path_start
    some = nth_path_up(0, first, last, network)
    begin, end = path_start[some], path_start[some + 1]
    head = tail = shortest = end - begin
    for path in range(first, last):
        if not path_is_up(path, network):
            continue
        start, stop = path_start[path], path_start[path + 1]
        shortest = min(shortest, stop - start)
        same = 0
        while same < min(head, shortest) and links[start + same] == links[begin + same]:
            same += 1
        head, same = same, 0
        while same < min(tail, shortest) and links[stop - 1 - same] == links[end - 1 - same]:
            same += 1
        tail = same
    return head, min(tail, shortest - head)
