"""Shares the links among the admitted flows: strict priority, and weighted max-min fairness inside one priority.

With distinct priorities this is the greedy rule (each flow in its turn takes the least residual capacity of its
path); with one priority it is progressive filling (Bertsekas and Gallager, Data Networks, section 6.5.2): the link
that would give its flows least per unit of weight fixes their rates, is taken out with them, and so on.
"""

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.compile import inlined_rule

__all__ = ["share_links"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


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
    load: FloatArray,
    open_flows: IntArray,
    links: IntArray,
) -> None:
    """Sets the rates of the live flows.

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
        residual: Scratch, (num_links,) float64.
        load: Scratch, (num_links,) float64, all 0 before and after.
        open_flows: Scratch, (num_links,) int64, all 0 before and after.
        links: Scratch, (num_links,) int64.
    """
    _sort_by_priority(live, count, priority)
    one_class = priority[live[0]] == priority[live[count - 1]]
    if not one_class:
        for place in range(count):
            row = live[place]
            for step in range(path_start[path[row]], path_start[path[row] + 1]):
                residual[path_links[step]] = capacity[path_links[step]]
    # Not the literal 0, for which Numba would compile the parts once more.
    first: int = np.int64(0)  # type: ignore[assignment]
    while first < count:
        last = first + 1
        while last < count and (one_class or priority[live[last]] == priority[live[first]]):
            last += 1
        if last - first == 1 and not one_class:
            _serve_alone(live[first], admitted, rate_cap, path, path_start, path_links, rate, residual)
        else:
            _fill_class(
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
                load,
                open_flows,
                links,
                one_class,
                last == count,
            )
        first = last


@inlined_rule
def _sort_by_priority(live: IntArray, count: int, priority: IntArray) -> None:
    """Sorts the live flows by (priority, row); quick where they are nearly in order."""
    for place in range(1, count):
        row = live[place]
        hole = place
        while hole > 0 and (
            priority[live[hole - 1]] > priority[row]
            or (priority[live[hole - 1]] == priority[row] and live[hole - 1] > row)
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
) -> None:
    """Gives a flow with a priority of its own what is left on its path."""
    rate[row] = 0.0
    if not admitted[row]:
        return
    least = rate_cap[row]
    for step in range(path_start[path[row]], path_start[path[row] + 1]):
        least = min(least, residual[path_links[step]])
    rate[row] = least
    for step in range(path_start[path[row]], path_start[path[row] + 1]):
        residual[path_links[step]] -= least


@inlined_rule
def _fill_class(
    live: IntArray,
    first: int,
    last: int,
    admitted: BoolArray,
    weight: FloatArray,
    rate_cap: FloatArray,
    path: IntArray,
    capacity: FloatArray,
    path_start: IntArray,
    path_links: IntArray,
    rate: FloatArray,
    residual: FloatArray,
    load: FloatArray,
    open_flows: IntArray,
    links: IntArray,
    is_first: bool,
    is_last: bool,
) -> None:
    """Fills the flows of one priority progressively; a rate of -1 marks a flow that is not fixed yet.

    Before the first priority nothing has been taken from the links, and behind the last nobody asks what is left.
    """
    num_links = 0
    num_open = 0
    any_cap = False
    for place in range(first, last):
        row = live[place]
        if not admitted[row]:
            rate[row] = 0.0
            continue
        rate[row] = -1.0
        num_open += 1
        any_cap = any_cap or rate_cap[row] < np.inf
        for step in range(path_start[path[row]], path_start[path[row] + 1]):
            link = path_links[step]
            if open_flows[link] == 0:
                links[num_links] = link
                num_links += 1
                if is_first:
                    residual[link] = capacity[link]
            open_flows[link] += 1
            load[link] += weight[row]
    while num_open > 0:
        bottleneck, level = -1, np.inf
        for place in range(num_links):
            link = links[place]
            if open_flows[link] > 0:
                share = residual[link] / load[link]
                if share < level:
                    bottleneck, level = np.int64(link), share  # type: ignore[assignment]  # links may be unsigned
        if is_last and not any_cap and open_flows[bottleneck] == num_open:
            # All that are left cross this link.
            for place in range(first, last):
                if rate[live[place]] == -1.0:
                    rate[live[place]] = level * weight[live[place]]
            break
        capped = False
        if any_cap:
            for place in range(first, last):
                row = live[place]
                capped = capped or (rate[row] == -1.0 and rate_cap[row] <= level * weight[row])
        for place in range(first, last):
            row = live[place]
            if rate[row] != -1.0:
                continue
            if capped:
                fix = rate_cap[row] <= level * weight[row]
            else:
                fix = False
                for step in range(path_start[path[row]], path_start[path[row] + 1]):
                    fix = fix or path_links[step] == bottleneck
            if not fix:
                continue
            rate[row] = min(level * weight[row], rate_cap[row])
            num_open -= 1
            for step in range(path_start[path[row]], path_start[path[row] + 1]):
                link = path_links[step]
                residual[link] = max(residual[link] - rate[row], 0.0)
                open_flows[link] -= 1
                load[link] = load[link] - weight[row] if open_flows[link] > 0 else 0.0
    for place in range(num_links):
        open_flows[links[place]] = 0
        load[links[place]] = 0.0
