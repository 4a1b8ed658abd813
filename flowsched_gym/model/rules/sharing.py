"""Shares the links among the admitted flows: strict priority, and weighted max-min fairness inside one priority.

With distinct priorities this is the greedy rule (each flow in its turn takes the least residual capacity of its
path); with one priority it is progressive filling.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.compile import inlined_rule
from flowsched_gym.model.rules.filling import fill_class, is_still_blocked

__all__ = ["share_links"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Records = npt.NDArray[Any]


@inlined_rule
def share_links(
    live: IntArray,
    count: int,
    admitted: BoolArray,
    priority: IntArray,
    weight: FloatArray,
    rate_cap: FloatArray,
    path: IntArray,
    capacity: FloatArray,
    path_start: IntArray,
    path_links: IntArray,
    rate: FloatArray,
    residual: FloatArray,
    links: Records,
    sharers: Records,
    crossings: Records,
    blocks: Records,
    served: IntArray,
) -> int:
    """Sets the rates of the live flows; returns how many have one.

    Args:
        live: Rows of the live flows in its first ``count`` places; reordered by (priority, row).
        count: Number of live flows.
        admitted: Whether a flow may send.
        priority: Smaller is served first.
        weight: Share inside one priority, > 0.
        rate_cap: Largest rate in B/s.
        path: Path of each flow.
        capacity: Capacities in B/s, (num_links,).
        path_start: Where each path begins in ``path_links``.
        path_links: Links of all paths.
        rate: Receives the rates in B/s; 0 for flows that are not admitted.
        residual: Scratch, (num_links,): capacities in B/s that are left.
        links: Scratch, (num_links,) LINK.
        sharers: Scratch, (largest count,) SHARER.
        crossings: Scratch, (largest count * longest path,) CROSSING.
        blocks: Scratch, (num_flows,) with the fields of BLOCK, kept from call to call, all 0 at first.
        served: Receives the rows of the flows that have a rate, in its first places, at least (count,).
    """
    ranked = _sort_by_priority(live, count, priority)
    one_class = priority[live[0]] == priority[live[count - 1]]
    if not one_class:
        for link in range(len(capacity)):
            residual[link] = capacity[link]
    num_served = 0
    if ranked and not one_class:
        for place in range(count):
            _serve_alone(live[place], admitted, rate_cap, path, path_start, path_links, rate, residual, blocks)
            if rate[live[place]] > 0.0:
                served[num_served] = live[place]
                num_served += 1
        return num_served
    # Not the literal 0, for which Numba would compile the parts once more.
    first: int = np.int64(0)  # type: ignore[assignment]
    while first < count:
        last = first + 1
        while last < count and (one_class or priority[live[last]] == priority[live[first]]):
            last += 1
        if last - first == 1 and not one_class:
            _serve_alone(live[first], admitted, rate_cap, path, path_start, path_links, rate, residual, blocks)
            if rate[live[first]] > 0.0:
                served[num_served] = live[first]
                num_served += 1
        else:
            num_served = fill_class(
                live,
                first,
                last,
                admitted,
                weight,
                rate_cap,
                path,
                capacity,
                path_start,
                path_links,
                rate,
                residual,
                links,
                sharers,
                crossings,
                blocks,
                one_class,
                last == count,
                served,
                num_served,
            )
        first = last
    return num_served


@inlined_rule
def _sort_by_priority(live: IntArray, count: int, priority: IntArray) -> bool:
    """Sorts the live flows by (priority, row); quick where they are nearly in order.

    Returns:
        Whether they were in order, each with a priority of its own.
    """
    row_before, before = live[0], priority[live[0]]
    ranked = True
    for place in range(1, count):
        row = live[place]
        key = priority[row]
        if before < key:
            row_before, before = row, key
            continue
        ranked = False
        if before == key and row_before < row:
            row_before = row
            continue
        hole = place
        while hole > 0 and (
            priority[live[hole - 1]] > key or (priority[live[hole - 1]] == key and live[hole - 1] > row)
        ):
            live[hole] = live[hole - 1]
            hole -= 1
        live[hole] = row
    return ranked


@inlined_rule
def _serve_alone(
    row: int,
    admitted: BoolArray,
    rate_cap: FloatArray,
    path: IntArray,
    path_start: IntArray,
    path_links: IntArray,
    rate: FloatArray,
    residual: FloatArray,
    blocks: Records,
) -> None:
    """Gives a flow with a priority of its own what is left on its path."""
    if rate[row] != 0.0:
        rate[row] = 0.0
    if not admitted[row]:
        return
    if is_still_blocked(row, path, residual, blocks):
        return
    least = np.inf
    for step in range(path_start[path[row]], path_start[path[row] + 1]):
        least = min(least, residual[path_links[step]])
        if least == 0.0:
            blocks["next_path"][row] = path[row] + 1
            blocks["full_link"][row] = path_links[step]
            return
    least = min(least, rate_cap[row])
    rate[row] = least
    for step in range(path_start[path[row]], path_start[path[row] + 1]):
        residual[path_links[step]] -= least
