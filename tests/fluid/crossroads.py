"""Builds networks on which a flow has to choose a path, beside others that are on their way."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.fluid import Controls, FlowState, new_controls, new_flow_state
from flowsched_gym.fluid.rules.routing.choose_path import choose_path, review_paths
from flowsched_gym.topology import fat_tree
from flowsched_gym.topology.network import Network
from flowsched_gym.topology.routes import NetworkState, Routes, RoutingKind, new_chooser, new_routes

GAP = 1.0
"""Pause in s after which flows choose anew, unless said."""


@dataclass(frozen=True, kw_only=True)
class Flow:
    """A flow; ``left`` defaults to the size, and ``choices`` (first path, behind the last) to all paths."""

    path: int = 0
    size: float = 1.0
    left: float | None = None
    arrival: float = 0.0
    rate: float = 0.0
    hash: int = 0
    destination: int = 0
    choices: tuple[int, int] | None = None
    quiet_since: float = np.inf


class Crossroads(NamedTuple):
    """Flows on a network; all of them are live."""

    state: FlowState
    controls: Controls
    network: Network
    routes: Routes
    active: npt.NDArray[np.int64]

    def at(self, now: float, active: npt.NDArray[np.int64]) -> NetworkState:
        return NetworkState(now, active, len(active), *self[:4])

    def choose(self, kind: RoutingKind, row: int = -1, *, now: float = 0.0, is_active: bool = False) -> int:
        """Chooses the path of a flow, by default of the last one, which is about to join the others."""
        row = row % len(self.active)
        active = self.active if is_active else self.active[self.active != row]
        return choose_path(row, self.at(now, active), new_chooser(kind, GAP))

    def review(self, kind: RoutingKind, *, now: float, flowlet_gap: float = GAP) -> list[int]:
        """Lets flows choose anew, and returns who has moved."""
        moved = np.full(len(self.active), -1)
        count = review_paths(self.at(now, self.active), moved, new_chooser(kind, flowlet_gap))
        return moved[:count].tolist()


def crossroads(
    paths: Sequence[Sequence[int]], flows: Sequence[Flow], *, failed: Sequence[int] = (), **capacities: float
) -> Crossroads:
    """Puts flows on paths over links of capacity 1, save those given as ``link_<number>=capacity``."""
    capacity = np.ones(1 + max(max(path) for path in paths))
    for name, value in capacities.items():
        capacity[int(name.removeprefix("link_"))] = value
    capacity[list(failed)] = 0.0
    size = np.array([flow.size for flow in flows])
    state = new_flow_state(
        size=size,
        volume=size.copy(),
        arrival_time=np.array([flow.arrival for flow in flows]),
        deadline_span=np.full(len(flows), np.inf),
    )
    state.remaining[:] = [flow.size if flow.left is None else flow.left for flow in flows]
    state.attained[:] = state.volume - state.remaining
    state.rate[:] = [flow.rate for flow in flows]
    choices = np.array([flow.choices or (0, len(paths)) for flow in flows])
    routes = new_routes(
        first=choices[:, 0].copy(),
        last=choices[:, 1].copy(),
        hash=np.array([flow.hash for flow in flows]),
        destination=np.array([flow.destination for flow in flows]),
    )
    routes.quiet_since[:] = [flow.quiet_since for flow in flows]
    return Crossroads(
        state=state,
        controls=new_controls(np.array([flow.path for flow in flows])),
        network=Network(
            capacity=capacity,
            path_start=np.cumsum([0, *(len(path) for path in paths)]),
            path_links=np.concatenate(paths).astype(np.int64),
        ),
        routes=routes,
        active=np.arange(len(flows)),
    )


def random_crossroads(seed: int, *, num_flows: int = 60, num_failed: int = 4) -> Crossroads:
    """Draws flows on a fat-tree of sixteen hosts, some of whose inner links have failed; their sums are exact."""
    rng = np.random.default_rng(seed)
    topology = fat_tree(arity=4)
    hosts = topology.num_hosts
    source = rng.integers(0, hosts, num_flows)
    destination = (source + rng.integers(1, hosts, num_flows)) % hosts
    first, last = topology.candidates(source, destination)
    size = rng.choice([1e5, 1e6, 3e6], num_flows) * rng.integers(2, 6, num_flows) / 4.0
    state = new_flow_state(
        size=size,
        volume=size.copy(),
        arrival_time=rng.integers(0, 6, num_flows) / 64.0,
        deadline_span=np.full(num_flows, np.inf),
    )
    state.attained[:] = size * rng.choice([0.0, 0.25, 0.75], num_flows)
    state.remaining[:] = size - state.attained
    state.rate[:] = rng.choice([0.0, 1e7, 3e7], num_flows)
    routes = new_routes(first=first, last=last, hash=rng.integers(0, 2**63, num_flows), destination=destination)
    routes.quiet_since[state.rate == 0.0] = rng.uniform(0.0, 0.1, np.count_nonzero(state.rate == 0.0))
    network = topology.network._replace(capacity=topology.capacity.copy())
    network.capacity[rng.choice(np.arange(2 * hosts, 6 * hosts), num_failed, replace=False)] = 0.0
    path = first + rng.integers(0, last - first)
    return Crossroads(state, new_controls(path), network, routes, rng.permutation(num_flows))
