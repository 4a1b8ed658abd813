"""The paths between which each flow may choose, and the ways to choose."""

from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.topology.network import Network
from flowsched_gym.topology.routing import RoutingKind


class ByHash(NamedTuple):
    """Equal-cost multi-path: a hash of the flow over the paths that are up."""


class ByLoad(NamedTuple):
    """Least-loaded: fewest bytes left on the most loaded link."""


class ByCongestion(NamedTuple):
    """CONGA: least utilised links, anew after each pause of a flow.

    Attributes:
        flowlet_gap: Pause in s, > 0, after which a flow chooses anew.
    """

    flowlet_gap: float


class ByExpansion(NamedTuple):
    """MEMR: largest expansion ratio and smallest tail rate over the whole path."""


class HopByHop(NamedTuple):
    """MEMR, decided switch by switch."""


Chooser = ByHash | ByLoad | ByCongestion | ByExpansion | HopByHop
"""How paths are chosen, as the rules take it: each way is a type, so that compiled code has the rules of one alone."""


def new_chooser(kind: RoutingKind, flowlet_gap: float) -> Chooser:
    """Makes what the rules take; the gap in s is CONGA's."""
    if kind is RoutingKind.CONGA:
        return ByCongestion(flowlet_gap)
    others: dict[RoutingKind, Chooser] = {
        RoutingKind.ECMP: ByHash(),
        RoutingKind.LEAST_LOADED: ByLoad(),
        RoutingKind.MEMR: ByExpansion(),
        RoutingKind.MEMR_HOP_BY_HOP: HopByHop(),
    }
    return others[kind]


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


class NetworkState(NamedTuple):
    """One network at an instant, as those see it who choose paths.

    Attributes:
        now: Time in s.
        active: Rows of the active flows, in the first ``num_active`` entries.
        num_active: Number of active flows.
        state: The flows; rates are those before this instant.
        controls: Their controls.
        network: Links and paths; a link that has failed has capacity 0.
        routes: Between which paths each flow may choose.
    """

    now: float
    active: IntArray
    num_active: int
    state: FlowState
    controls: Controls
    network: Network
    routes: Routes


def new_routes(*, first: IntArray, last: IntArray, hash: IntArray, destination: IntArray) -> Routes:
    """Builds the routes of flows none of which has been without a rate."""
    return Routes(first=first, last=last, hash=hash, destination=destination, quiet_since=np.full(len(first), np.inf))
