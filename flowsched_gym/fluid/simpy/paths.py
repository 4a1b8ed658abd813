"""The paths of flows: chosen by a rule or an agent, and anew when links fail."""

from collections.abc import Callable
from typing import Any

import numpy as np
from simpy import Event

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.core.simpy_environment import NetworkEnvironment
from flowsched_gym.flows.decisions import PathDecision
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.fluid.rules.routing.choose_path import choose_path, note_quiet, review_paths
from flowsched_gym.fluid.simpy.links import SharedLinks
from flowsched_gym.topology import Routing
from flowsched_gym.topology.network import Network
from flowsched_gym.topology.routes import NetworkState, Routes, count_paths_up, new_chooser, path_is_up


class Paths:
    """A resource from which each flow takes a path when it arrives, when its path fails, and as the routing likes.

    A flow whose paths have all failed keeps its path, sends nothing, and is looked at again at every change of a link.

    Args:
        on_moved: Receives the row of a flow whose path has changed.
        on_request: Called when a flow waits for an agent to choose its path.
    """

    def __init__(
        self,
        routing: Routing,
        routes: Routes,
        state: FlowState,
        controls: Controls,
        network: Network,
        env: NetworkEnvironment,
        *,
        on_moved: Callable[[int], None],
        on_request: Callable[[], None],
    ) -> None:
        self._env = env
        self._on_request = on_request
        self._waiting: dict[int, Event] = {}
        self.routes = routes
        self._chooser = new_chooser(routing.kind, routing.flowlet_gap)
        self._state = state
        self._controls = controls
        self._network = network
        self._on_moved = on_moved
        self._moved = np.zeros(len(state.size), dtype=np.int64)

    def _scene(self, now: float, active: IntArray, count: int) -> NetworkState:
        return NetworkState(now, active, count, self._state, self._controls, self._network, self.routes)

    def is_up(self, row: int) -> bool:
        """Returns whether the path of a flow is up."""
        return bool(path_is_up(self._controls.path[row], self._network))

    def num_up(self, row: int) -> int:
        """Counts the paths of a flow that are up."""
        return int(count_paths_up(self.routes.first[row], self.routes.last[row], self._network))

    def choose(self, now: float, row: int, active: IntArray, count: int) -> None:
        """Chooses the path of a flow, at ``now`` in s, beside the active flows."""
        self.take(row, choose_path(row, self._scene(now, active, count), self._chooser))

    def request(self, row: int) -> Event:
        """Queues a flow for an agent; the event happens when it has chosen a path."""
        self._on_request()
        event = self._waiting[row] = self._env.event()
        return event

    def pending(self) -> PathDecision | None:
        """Returns whose path an agent is to choose next, if any."""
        for row in self._waiting:
            return PathDecision(row, int(self.routes.first[row]), int(self.routes.last[row]))
        return None

    def grant(self, row: int, path: int) -> None:
        """Sends a flow that waits along a path."""
        self.take(row, path)
        self._waiting.pop(row).succeed()

    def take(self, row: int, path: int) -> None:
        """Sends a flow along a path."""
        if self._controls.path[row] != path:
            self._controls.path[row] = path
            self._on_moved(row)

    def review(self, now: float, active: IntArray, count: int) -> None:
        """Chooses anew for flows that have been quiet, before links are shared."""
        num_moved = review_paths(self._scene(now, active, count), self._moved, self._chooser)
        for row in self._moved[:num_moved].tolist():
            self._on_moved(row)


class FlowletLinks(SharedLinks):
    """Links on which flows choose their paths anew after a pause (CONGA)."""

    def __init__(self, *arguments: Any, paths: Paths) -> None:
        super().__init__(*arguments)
        self._paths = paths

    def _control(self, now: float) -> None:
        self._paths.review(now, self.active, self.num_active)
        super()._control(now)

    def _review_time(self, now: float) -> float:
        note_quiet(now, self.active, self.num_active, self._state.rate, self._paths.routes.quiet_since)
        return super()._review_time(now)
