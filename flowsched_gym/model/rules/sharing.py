"""Shares the links among the admitted flows: strict priority, and weighted max-min fairness inside one priority.

With distinct priorities this is the greedy rule (each flow in its turn takes the least residual capacity of its
path); with one priority it is progressive filling (Bertsekas and Gallager, Data Networks, section 6.5.2): the link
that would give its flows least per unit of weight fixes their rates, is taken out with them, and so on.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.compile import inlined_rule

__all__ = ["BLOCK", "CROSSING", "LINK", "SHARER", "share_links"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Records = npt.NDArray[Any]

LINK: Final = np.dtype(
    [
        ("load", "f8"),  # weight of the flows whose rates are not fixed yet
        ("open_flows", "i4"),  # flows whose rates are not fixed yet
        ("first_member", "u4"),  # place of the first of the sharers of a rival
        ("used", "u4"),  # links that flows cross, in the order in which flows touch them first
        ("rival", "i4"),  # place of a link among the rivals, or ``NOBODY``
        ("share", "f8"),  # by place: rate per unit of weight that a rival could give
        ("link", "u4"),  # by place: the rivals, links that may be the tightest
    ],
    align=True,
)
"""Scratch for a link; ``load`` and ``open_flows`` are 0 before and after."""

SHARER: Final = np.dtype(
    [
        ("weight", "f8"),
        ("row", "u4"),
        ("first", "u4"),  # place of its first link among the crossings
        ("end", "u4"),  # place behind its last link
        ("is_open", "?"),  # whether its rate is not fixed yet
    ],
    align=True,
)
"""Scratch: a flow of the priority that is being filled."""

CROSSING: Final = np.dtype([("link", "u4"), ("sharer", "u4")])
"""Scratch: the links of all sharers, one after the other; and, apart from that, the sharers of all rivals."""

BLOCK: Final = np.dtype([("next_path", "u4"), ("full_link", "u4")])
"""A path, plus 1, and a link on it that was full when its flow was last looked at: it is looked at first next time."""

NOBODY: Final = -1


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
            num_served = _fill_class(
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
    if _is_still_blocked(row, path, residual, blocks):
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


@inlined_rule
def _is_still_blocked(row: int, path: IntArray, residual: FloatArray, blocks: Records) -> bool:
    """Tells whether the link that was full when the flow was last looked at is full now."""
    blocked: bool = blocks["next_path"][row] == path[row] + 1 and residual[blocks["full_link"][row]] == 0.0
    return blocked


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
    links: Records,
    sharers: Records,
    crossings: Records,
    blocks: Records,
    is_first: bool,
    is_last: bool,
    served: IntArray,
    num_served: int,
) -> int:
    """Fills the flows of one priority progressively; returns how many flows of this and higher ones have a rate.

    Before the first priority nothing has been taken from the links, and behind the last nobody asks what is left.
    """
    load, open_flows, used = links["load"], links["open_flows"], links["used"]
    num_used = 0
    num_sharers = 0
    num_crossings = 0
    for place in range(first, last):
        row = live[place]
        if rate[row] != 0.0:
            rate[row] = 0.0
        if not admitted[row]:
            continue
        if not is_first and _is_still_blocked(row, path, residual, blocks):
            continue
        least = np.inf
        full_link = path_links[path_start[path[row]]]
        end = num_crossings
        for step in range(path_start[path[row]], path_start[path[row] + 1]):
            link = path_links[step]
            crossings["link"][end] = link
            end += 1
            left = capacity[link] if is_first else residual[link]
            if left < least:
                least, full_link = left, link
        if least == 0.0:
            blocks["next_path"][row] = path[row] + 1
            blocks["full_link"][row] = full_link
            continue
        sharers["weight"][num_sharers] = weight[row]
        sharers["row"][num_sharers] = row
        sharers["first"][num_sharers] = num_crossings
        sharers["end"][num_sharers] = end
        sharers["is_open"][num_sharers] = True
        num_sharers += 1
        for step in range(num_crossings, end):
            link = crossings["link"][step]
            if open_flows[link] == 0:
                used[num_used] = link
                num_used += 1
                links["rival"][link] = NOBODY
                if is_first:
                    residual[link] = capacity[link]
            open_flows[link] += 1
            load[link] += weight[row]
        num_crossings = end
    num_rivals = 0
    num_members = 0
    for place in range(num_used):
        if open_flows[used[place]] > 1:
            num_members = _add_rival(used[place], num_rivals, num_members, residual, links)
            num_rivals += 1
    num_open = 0
    any_cap = False
    for place in range(num_sharers):
        least_shared = np.inf
        least, tightest = np.inf, used[0]
        for step in range(sharers["first"][place], sharers["end"][place]):
            link = crossings["link"][step]
            if open_flows[link] > 1:
                least_shared = min(least_shared, residual[link])
            elif residual[link] < least:
                least, tightest = residual[link], link
        cap = rate_cap[sharers["row"][place]]
        if least_shared == np.inf:
            num_rivals = _fix(place, min(least, cap), rate, residual, links, sharers, crossings, num_rivals)
            continue
        num_open += 1
        any_cap = any_cap or cap < min(least, least_shared)
        if least < least_shared:
            num_members = _add_rival(tightest, num_rivals, num_members, residual, links)
            num_rivals += 1
    if num_rivals == 1 and is_last and not any_cap:
        for place in range(num_sharers):
            if sharers["is_open"][place]:
                rate[sharers["row"][place]] = links["share"][0] * sharers["weight"][place]
        num_open = 0
    if num_open > 0:
        _list_members(num_sharers, links, sharers, crossings)
    while num_open > 0:
        rival = _tightest_rival(links, num_rivals)
        link = links["link"][rival]
        level = links["share"][rival]
        before = num_open
        for place in range(num_sharers if any_cap else 0):
            cap = rate_cap[sharers["row"][place]]
            if sharers["is_open"][place] and cap <= level * sharers["weight"][place]:
                num_rivals = _fix(place, cap, rate, residual, links, sharers, crossings, num_rivals)
                num_open -= 1
        if num_open < before:
            continue
        member = links["first_member"][link]
        while open_flows[link] > 0:
            place = crossings["sharer"][member]
            member += 1
            if sharers["is_open"][place]:
                fair = level * sharers["weight"][place]
                num_rivals = _fix(place, fair, rate, residual, links, sharers, crossings, num_rivals)
                num_open -= 1
        residual[link] = 0.0
    for place in range(num_used):
        open_flows[used[place]] = 0
        load[used[place]] = 0.0
    for place in range(num_sharers):
        row = sharers["row"][place]
        if rate[row] > 0.0:
            served[num_served] = row
            num_served += 1
    return num_served


@inlined_rule
def _add_rival(link: int, num_rivals: int, num_members: int, residual: FloatArray, links: Records) -> int:
    """Adds a link to the rivals; returns how many members all of them have."""
    links["rival"][link] = num_rivals
    links["link"][num_rivals] = link
    links["share"][num_rivals] = residual[link] / links["load"][link]
    total: int = num_members + links["open_flows"][link]
    links["first_member"][link] = total
    return total


@inlined_rule
def _list_members(num_sharers: int, links: Records, sharers: Records, crossings: Records) -> None:
    """Lists the open flows of each rival, from the last one to the first."""
    for place in range(num_sharers - 1, -1, -1):
        if sharers["is_open"][place]:
            for step in range(sharers["first"][place], sharers["end"][place]):
                link = crossings["link"][step]
                if links["rival"][link] != NOBODY:
                    links["first_member"][link] -= 1
                    crossings["sharer"][links["first_member"][link]] = place


@inlined_rule
def _fix(
    place: int,
    rate_of_flow: float,
    rate: FloatArray,
    residual: FloatArray,
    links: Records,
    sharers: Records,
    crossings: Records,
    num_rivals: int,
) -> int:
    """Fixes the rate of a flow, and takes it from the links of its path; returns how many rivals are left."""
    rate[sharers["row"][place]] = rate_of_flow
    sharers["is_open"][place] = False
    for step in range(sharers["first"][place], sharers["end"][place]):
        link = crossings["link"][step]
        residual[link] = max(residual[link] - rate_of_flow, 0.0)
        rival = links["rival"][link]
        if rival == NOBODY:
            continue
        links["open_flows"][link] -= 1
        if links["open_flows"][link] > 0:
            links["load"][link] -= sharers["weight"][place]
            links["share"][rival] = residual[link] / links["load"][link]
        else:
            num_rivals -= 1
            moved = links["link"][num_rivals]
            links["link"][rival] = moved
            links["share"][rival] = links["share"][num_rivals]
            links["rival"][moved] = rival
            links["rival"][link] = NOBODY
    return num_rivals


@inlined_rule
def _tightest_rival(links: Records, num_rivals: int) -> int:
    """Returns the place of the link that could give least, the first of such."""
    share = links["share"]
    tightest = 0
    for place in range(1, num_rivals):
        if share[place] < share[tightest]:
            tightest = place
    return tightest
