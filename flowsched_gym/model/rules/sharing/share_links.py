"""Shares the links among the admitted flows: strict priority, and weighted max-min fairness inside one priority.

With distinct priorities this is the greedy rule (each flow in its turn takes the least residual capacity of its
path); with one priority it is progressive filling.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.compile import inlined_rule
from flowsched_gym.model.rules.sharing.filling import fill_class, is_still_blocked

__all__ = ["share_links", "sort_by_priority"]

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
    num_served: int,
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
        rate: Rates in B/s; updated. Flows that are not admitted have 0.
        residual: Scratch, (num_links,): capacities in B/s that are left.
        links: Scratch, (num_links,) LINK.
        sharers: Scratch, (largest count,) SHARER.
        crossings: Scratch, (largest count * longest path,) CROSSING.
        blocks: Scratch, (num_flows,) with the fields of BLOCK, kept from call to call, all 0 at first.
        served: Rows of the flows that have a rate, in its first places, at least (count,); updated.
        num_served: Number of flows that have had a rate; the rates of all other live ones are 0.
    """
    for place in range(num_served):
        rate[served[place]] = 0.0
    num_links = len(capacity)
    if count > 1 and priority[live[0]] < priority[live[1]]:
        for link in range(num_links):
            residual[link] = capacity[link]
        num_ranked, num_served = _serve_in_order(
            live, count, admitted, priority, rate_cap, path, path_start, path_links, rate, residual, blocks, served
        )
        if num_ranked == count:
            return num_served
        for place in range(num_served):
            rate[served[place]] = 0.0
    sort_by_priority(live, count, priority)
    one_class = priority[live[0]] == priority[live[count - 1]]
    if not one_class:
        for link in range(num_links):
            residual[link] = capacity[link]
    # Not the literal 0, for which Numba would compile the parts once more.
    first: int = np.int64(0)  # type: ignore[assignment]
    num_served = first
    while first < count:
        last = first + 1
        while last < count and (one_class or priority[live[last]] == priority[live[first]]):
            last += 1
        if last - first == 1 and not one_class:
            num_served = _serve_alone(
                live[first],
                admitted,
                rate_cap,
                path,
                path_start,
                path_links,
                rate,
                residual,
                blocks,
                served,
                num_served,
            )
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
def _serve_in_order(
    live: IntArray,
    count: int,
    admitted: BoolArray,
    priority: IntArray,
    rate_cap: FloatArray,
    path: IntArray,
    path_start: IntArray,
    path_links: IntArray,
    rate: FloatArray,
    residual: FloatArray,
    blocks: Records,
    served: IntArray,
) -> tuple[int, int]:
    """Serves flows one by one as long as each has a larger priority than the one before.

    Returns:
        How many were looked at, all unless one was out of order; and how many of them have a rate.
    """
    num_served: int = np.int64(0)  # type: ignore[assignment]  # as in ``share_links``
    before = priority[live[0]]
    for place in range(count):
        row = live[place]
        if place > 0 and priority[row] <= before:
            return place, num_served
        before = priority[row]
        num_served = _serve_alone(
            row, admitted, rate_cap, path, path_start, path_links, rate, residual, blocks, served, num_served
        )
    return count, num_served


@inlined_rule
def sort_by_priority(live: IntArray, count: int, priority: IntArray) -> None:
    """Sorts the live flows by (priority, row); quick where they are nearly in order."""
    row_before, before = live[0], priority[live[0]]
    for place in range(1, count):
        row = live[place]
        key = priority[row]
        if before < key or (before == key and row_before < row):
            row_before, before = row, key
            continue
        hole = place
        while hole > 0 and (
            priority[live[hole - 1]] > key or (priority[live[hole - 1]] == key and live[hole - 1] > row)
        ):
            live[hole] = live[hole - 1]
            hole -= 1
        live[hole] = row


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
    served: IntArray,
    num_served: int,
) -> int:
    """Gives a flow with a priority of its own what is left on its path; returns how many flows have a rate now."""
    if not admitted[row] or is_still_blocked(row, path, residual, blocks):
        return num_served
    least = np.inf
    for step in range(path_start[path[row]], path_start[path[row] + 1]):
        least = min(least, residual[path_links[step]])
        if least == 0.0:
            blocks["next_path"][row] = path[row] + 1
            blocks["full_link"][row] = path_links[step]
            return num_served
    least = min(least, rate_cap[row])
    rate[row] = least
    for step in range(path_start[path[row]], path_start[path[row] + 1]):
        residual[path_links[step]] -= least
    served[num_served] = row
    return num_served + 1
