"""Among whom an agent chooses who goes first: the flows that compete with those that have begun or ended.

Flows on the network compete with each other, and so do those on each CPU.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.flows.decisions import OrderDecision
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.machine_code.decorators import inlined_part, rule
from flowsched_gym.topology.network import Network, first_cpu_path

ON_NETWORK: Final = -1


@inlined_part
def _contest_of(path: int, network: Network) -> int:
    """Returns the number of the CPU that a flow with this path runs on, or ``ON_NETWORK``."""
    return max(path - first_cpu_path(network), ON_NETWORK)


@rule
def touch_links(path: int, network: Network, touched: IntArray) -> None:
    """Marks the links of a path, for ``find_competing``."""
    for step in range(network.path_start[path], network.path_start[path + 1]):
        touched[network.path_links[step]] = 1


@rule
def find_competing(
    active: IntArray,
    count: int,
    arrival: FloatArray,
    path: IntArray,
    network: Network,
    touched: IntArray,
    competing: IntArray,
) -> int:
    """Finds the active flows that share a marked link with another active flow, and takes the marks away.

    ``touched`` is 1 for marked links and 0 for others, (num_links,). ``competing`` receives the rows: those on the
    network, then those on each CPU, by (arrival, row) each. Returns how many compete: none, or at least two.
    """
    path_start, path_links = network.path_start, network.path_links
    for index in range(count):
        row = active[index]
        for step in range(path_start[path[row]], path_start[path[row] + 1]):
            if touched[path_links[step]] > 0:
                touched[path_links[step]] += 1
    found = 0
    for index in range(count):
        row = active[index]
        shares = False
        for step in range(path_start[path[row]], path_start[path[row] + 1]):
            shares = shares or touched[path_links[step]] > 2
        if not shares:
            continue
        hole = found
        contest = _contest_of(path[row], network)
        while hole > 0:
            other = competing[hole - 1]
            others = _contest_of(path[other], network)
            if others < contest or (others == contest and arrival[other] < arrival[row]):
                break
            if others == contest and arrival[other] == arrival[row] and other < row:
                break
            competing[hole] = other
            hole -= 1
        competing[hole] = row
        found += 1
    for link in range(len(touched)):
        touched[link] = 0
    return found


@rule
def count_first_contest(competing: IntArray, first: int, last: int, path: IntArray, network: Network) -> int:
    """Counts the flows from ``first`` on, and before ``last``, that compete with each other."""
    end = first
    while end < last and _contest_of(path[competing[end]], network) == _contest_of(path[competing[first]], network):
        end += 1
    return end - first


class Contest:
    """The links on which flows have begun to send, or have sent their last byte, since the last decision.

    Each such flow leads to a call of ``on_touch``.
    """

    def __init__(self, state: FlowState, controls: Controls, network: Network, *, on_touch: Callable[[], None]) -> None:
        self._on_touch = on_touch
        self._state = state
        self._controls = controls
        self._network = network
        self._touched = np.zeros(len(network.capacity), dtype=np.int64)
        self._competing = np.zeros(len(state.size), dtype=np.int64)
        self._first = self._last = 0

    def touch(self, row: int) -> None:
        """Records a flow that has begun to send, or has sent its last byte."""
        touch_links(self._controls.path[row], self._network, self._touched)
        self._on_touch()

    def pending(self, active: IntArray, count: int) -> OrderDecision | None:
        """Returns who competes with those noted since the last decision, if any; see also ``next``."""
        arrival, path = self._state.arrival_time, self._controls.path
        self._first = 0
        self._last = find_competing(active, count, arrival, path, self._network, self._touched, self._competing)
        return self.next()

    def next(self) -> OrderDecision | None:
        """Returns who competes next in this instant: on the network first, then on each CPU."""
        first, last = self._first, self._last
        self._first += count_first_contest(self._competing, first, last, self._controls.path, self._network)
        return OrderDecision(self._competing[first : self._first].copy()) if first < last else None
