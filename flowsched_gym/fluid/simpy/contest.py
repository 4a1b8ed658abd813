"""Flows that compete, so that an agent can be asked who goes first."""

from collections.abc import Callable

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.pending_decisions import OrderDecision
from flowsched_gym.fluid.rules.ordering.competing import count_first_contest, find_competing, touch_links
from flowsched_gym.fluid.rules.tasks.stages import first_cpu_path
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.topology.network import Network


class Contest:
    """The links on which flows have begun to send, or have sent their last byte, since the last decision.

    Args:
        state: The flows.
        controls: Their controls.
        network: Links and paths.
        on_touch: Called when there is another such flow.
    """

    def __init__(self, state: FlowState, controls: Controls, network: Network, *, on_touch: Callable[[], None]) -> None:
        self._on_touch = on_touch
        self._state = state
        self._controls = controls
        self._network = network
        self._touched = np.zeros(len(network.capacity), dtype=np.int64)
        self._competing = np.zeros(len(state.size), dtype=np.int64)
        self._first_cpu_path = first_cpu_path(network)
        self._first = self._last = 0

    def touch(self, row: int) -> None:
        """Records a flow that has begun to send, or has sent its last byte."""
        touch_links(self._controls.path[row], self._network.path_start, self._network.path_links, self._touched)
        self._on_touch()

    def pending(self, active: IntArray, count: int) -> OrderDecision | None:
        """Returns who competes with those noted since the last decision, if any; see also ``next``."""
        self._first = 0
        self._last = find_competing(
            active,
            count,
            self._state.arrival_time,
            self._controls.path,
            self._network.path_start,
            self._network.path_links,
            self._first_cpu_path,
            self._touched,
            self._competing,
        )
        return self.next()

    def next(self) -> OrderDecision | None:
        """Returns who competes next in this instant: on the network first, then on each CPU."""
        first, last = self._first, self._last
        self._first += count_first_contest(self._competing, first, last, self._controls.path, self._first_cpu_path)
        return OrderDecision(self._competing[first : self._first].copy()) if first < last else None
