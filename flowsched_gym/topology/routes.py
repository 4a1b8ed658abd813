"""The paths between which each flow may choose, those of them that are up, and the ways to choose.

A link that has failed has capacity 0; a path is up while all its links are. ``fluid/rules/routing/choose_path.py`` has
the ways to choose.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray, to_float
from flowsched_gym.core.checks import check_choice
from flowsched_gym.core.errors import ConfigError, listed, shown
from flowsched_gym.core.units import SECONDS_PER_MICROSECOND
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.machine_code.decorators import rule
from flowsched_gym.topology.network import Network


class RoutingKind(IntEnum):
    """Ways to choose a path."""

    ECMP = 0
    LEAST_LOADED = 1
    CONGA = 2
    MEMR = 3
    MEMR_HOP_BY_HOP = 4


DEFAULT_FLOWLET_GAP: Final = 500 * SECONDS_PER_MICROSECOND
"""Pause in s after which a flow may change its path (Alizadeh et al., SIGCOMM 2014, section 3.4)."""

ROUTINGS: Final[Mapping[str, RoutingKind]] = {kind.name.lower().replace("_", "-"): kind for kind in RoutingKind}
"""Ways to choose a path by name."""

DESCRIPTIONS: Final[Mapping[str, str]] = {
    "ecmp": "a hash of the flow over the paths that are up (equal-cost multi-path)",
    "least-loaded": "fewest bytes left on the most loaded link",
    "conga": "least utilised links, anew after each pause of a flow (CONGA, as a model of flows)",
    "memr": "largest expansion ratio and smallest tail rate over the whole path (MERP, Algorithms 4 to 6)",
    "memr-hop-by-hop": "the same, decided switch by switch",
}
"""What each of them does."""


@dataclass(frozen=True, slots=True)
class Routing:
    """How flows choose among those paths between their hosts that are up.

    CONGA alone looks at ``flowlet_gap``, the pause in s, > 0, after which a flow chooses anew.
    """

    kind: RoutingKind
    flowlet_gap: float = DEFAULT_FLOWLET_GAP

    def __post_init__(self) -> None:
        if not isinstance(self.kind, RoutingKind):
            raise ConfigError(
                f"routing kind is {shown(self.kind)}: it must be one of {', '.join(kind.name for kind in RoutingKind)}"
            )
        if not 0 < to_float(self.flowlet_gap) < math.inf:
            raise ConfigError(f"flowlet_gap is {shown(self.flowlet_gap)}: it must be a finite number > 0 s")


def make_routing(name: str, **parameters: object) -> Routing:
    """Makes a routing by name, one of ``ROUTINGS``; ``conga`` alone takes ``flowlet_gap`` in s.

    Raises:
        ConfigError: The name or a parameter is unknown, or a value is not allowed.
    """
    kind = ROUTINGS[check_choice("routing", name, ROUTINGS)]
    allowed = ["flowlet_gap"] if kind is RoutingKind.CONGA else []
    for parameter in parameters:
        if parameter not in allowed:
            raise ConfigError(
                f"routing {name} has no parameter {shown(parameter)}: it takes {listed(parameter, allowed)}"
            )
    given: dict[str, Any] = parameters
    return Routing(kind, **given)


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
