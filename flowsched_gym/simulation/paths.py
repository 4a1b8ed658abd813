"""Models the choice of paths while links fail and come up again."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.controls import Controls
from flowsched_gym.model.routes import Routes
from flowsched_gym.model.rules.liveness import count_live_paths, note_quiet, path_is_live
from flowsched_gym.model.rules.routing import choose_path, review_paths
from flowsched_gym.model.state import FlowState, Network
from flowsched_gym.routing import Routing, RoutingKind

__all__ = ["Paths"]

IntArray = npt.NDArray[np.int64]


class Paths:
    """Chooses the path of each flow: when it arrives, when its path fails, and as the routing likes.

    A flow whose paths have all failed keeps its path, sends nothing, and is looked at again at every change of a link.

    Args:
        routing: How paths are chosen.
        routes: Between which paths each flow may choose.
        state: The flows.
        controls: Their controls; paths are written here.
        network: Links and paths; a link that has failed has capacity 0.
        on_moved: Receives the row of a flow whose path has changed.

    Attributes:
        routes: Between which paths each flow may choose.
    """

    def __init__(
        self,
        routing: Routing,
        routes: Routes,
        state: FlowState,
        controls: Controls,
        network: Network,
        *,
        on_moved: Callable[[int], None],
    ) -> None:
        """Keeps what the rules read."""
        self.routes = routes
        self._kind = int(routing.kind)
        self._reviews = routing.kind is RoutingKind.CONGA
        self._flowlet_gap = routing.flowlet_gap
        self._state = state
        self._controls = controls
        self._network = network
        self._on_moved = on_moved
        self._moved = np.zeros(len(state.size), dtype=np.int64)

    def is_live(self, row: int) -> bool:
        """Tells whether the path of a flow carries data."""
        return bool(path_is_live(self._controls.path[row], *self._network))

    def num_live(self, row: int) -> int:
        """Counts the paths of a flow that carry data."""
        return int(count_live_paths(self.routes.first[row], self.routes.last[row], *self._network))

    def choose(self, now: float, row: int, live: IntArray, count: int) -> None:
        """Chooses the path of a flow, at ``now`` in s, beside the live flows."""
        path = choose_path(self._kind, now, row, live, count, self._state, self._controls, self._network, self.routes)
        self.set(row, path)

    def set(self, row: int, path: int) -> None:
        """Sends a flow along a path."""
        if self._controls.path[row] != path:
            self._controls.path[row] = path
            self._on_moved(row)

    def review(self, now: float, live: IntArray, count: int) -> None:
        """Lets flows that have been quiet choose anew, before links are shared."""
        if not self._reviews:
            return
        num_moved = review_paths(
            self._kind,
            now,
            self._flowlet_gap,
            live,
            count,
            self._state,
            self._controls,
            self._network,
            self.routes,
            self._moved,
        )
        for row in self._moved[:num_moved].tolist():
            self._on_moved(row)

    def note_quiet(self, now: float, live: IntArray, count: int) -> None:
        """Notes who has no rate, after links have been shared."""
        if self._reviews:
            note_quiet(now, live, count, self._state.rate, self.routes.quiet_since)
