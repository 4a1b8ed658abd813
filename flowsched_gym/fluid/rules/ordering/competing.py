"""Who an agent puts first: the flows that compete with those that have begun or ended, and the slot of one of them.

Flows on the network compete with each other, and so do those on each CPU.
"""

from typing import Final

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.flows.decisions import Order
from flowsched_gym.fluid.decision import Decision
from flowsched_gym.fluid.stages import first_cpu_path
from flowsched_gym.machine_code.decorators import inlined_part, rule
from flowsched_gym.topology.network import Network

ON_NETWORK: Final = -1
SERVE_FIRST: Final = int(Order.SERVE_FIRST)


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


@inlined_part
def serve_slot(decision: Decision, action: int) -> tuple[int, int, bool]:
    """Serves the flow in a slot first; an empty slot stands for the flow that has waited longest."""
    if action < decision.num_candidates:
        return SERVE_FIRST, action, False
    return SERVE_FIRST, 0, action >= max(decision.num_candidates, 1)


@inlined_part
def mask_slots(decision: Decision, num_slots: int, mask: BoolArray) -> None:
    """Writes which slots hold a flow; at the end, the first."""
    for slot in range(num_slots):
        mask[slot] = slot < max(decision.num_candidates, 1)
