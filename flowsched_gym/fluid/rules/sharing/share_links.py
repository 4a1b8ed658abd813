"""Shares the links among the admitted flows: strict priority, and weighted max-min fairness inside one priority.

With distinct priorities this is the greedy rule (each flow in its turn takes the least residual capacity of its
path); with one priority it is progressive filling.
"""

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.rules.sharing.filling import Filling, fill_class, is_still_blocked
from flowsched_gym.machine_code.decorators import inlined_part, inlined_rule
from flowsched_gym.topology.network import Network


@inlined_rule
def share_links(
    active: IntArray,
    count: int,
    controls: Controls,
    network: Network,
    rate: FloatArray,
    filling: Filling,
    served: IntArray,
    num_served: int,
) -> int:
    """Sets the rates of the active flows; returns how many have one.

    Args:
        active: Rows of the active flows in its first ``count`` entries; reordered by (priority, row).
        count: Number of active flows, >= 1.
        rate: Rates in B/s; updated. Flows that are not admitted have 0.
        filling: Scratch.
        served: Rows of the flows that have a rate, in its first entries, at least (count,); updated.
        num_served: Number of flows that have had a rate; the rates of all other active ones are 0.
    """
    priority = controls.priority
    for i in range(num_served):
        rate[served[i]] = 0.0
    # Not the literal 0, for which Numba would compile the parts once more.
    none: int = np.int64(0)  # type: ignore[assignment]
    first = num_served = none
    _open_links(network, filling)
    if count > 1 and priority[active[0]] < priority[active[1]]:
        # Mostly all are in order and have priorities of their own: one walk finds that out and serves them.
        num_served = _serve_alone(active[0], controls, network, rate, filling, served, num_served)
        first += 1
        while first < count and priority[active[first - 1]] < priority[active[first]]:
            num_served = _serve_alone(active[first], controls, network, rate, filling, served, num_served)
            first += 1
        if first == count:
            return num_served
        for i in range(num_served):
            rate[served[i]] = 0.0
        first = num_served = none
        _open_links(network, filling)
    sort_by_priority(active, count, priority)
    while first < count:
        last = first + 1
        while last < count and priority[active[last]] == priority[active[first]]:
            last += 1
        if last - first == 1:
            num_served = _serve_alone(active[first], controls, network, rate, filling, served, num_served)
        else:
            num_served = fill_class(
                active, first, last, last == count, controls, network, rate, filling, served, num_served
            )
        first = last
    return num_served


@inlined_rule
def sort_by_priority(active: IntArray, count: int, priority: IntArray) -> None:
    """Sorts the active flows by (priority, row); quick where they are nearly in order."""
    row_before, before = active[0], priority[active[0]]
    for i in range(1, count):
        row = active[i]
        key = priority[row]
        if before < key or (before == key and row_before < row):
            row_before, before = row, key
            continue
        hole = i
        while hole > 0 and (
            priority[active[hole - 1]] > key or (priority[active[hole - 1]] == key and active[hole - 1] > row)
        ):
            active[hole] = active[hole - 1]
            hole -= 1
        active[hole] = row


@inlined_part
def _open_links(network: Network, filling: Filling) -> None:
    """Leaves the links all of their capacities."""
    for link in range(len(network.capacity)):
        filling.residual[link] = network.capacity[link]


@inlined_part
def _serve_alone(
    row: int,
    controls: Controls,
    network: Network,
    rate: FloatArray,
    filling: Filling,
    served: IntArray,
    num_served: int,
) -> int:
    """Assigns a flow with a priority of its own what is left on its path; returns how many flows have a rate now."""
    path = controls.path[row]
    residual = filling.residual
    if not controls.admitted[row] or is_still_blocked(row, path, filling):
        return num_served
    least = np.inf
    for step in range(network.path_start[path], network.path_start[path + 1]):
        least = min(least, residual[network.path_links[step]])
        if least == 0.0:
            filling.blocks["next_path"][row] = path + 1
            filling.blocks["full_link"][row] = network.path_links[step]
            return num_served
    least = min(least, controls.rate_cap[row])
    rate[row] = least
    for step in range(network.path_start[path], network.path_start[path + 1]):
        residual[network.path_links[step]] -= least
    served[num_served] = row
    return num_served + 1
