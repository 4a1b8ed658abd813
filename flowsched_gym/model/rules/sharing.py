"""Shares the links among the admitted flows: strict priority, and weighted max-min fairness inside one priority.

With distinct priorities this is the greedy rule (each flow in its turn takes the least residual capacity of its
path); with one priority it is progressive filling (Bertsekas and Gallager, Data Networks, section 6.5.2): the link
that would give its flows least per unit of weight fixes their rates, is taken out with them, and so on.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.compile import inlined_rule

__all__ = ["BLOCK", "LINK", "MEMBER", "share_links"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Records = npt.NDArray[Any]

LINK: Final = np.dtype(
    [
        ("load", "f8"),  # weight of the flows whose rates are not fixed yet
        ("share", "f8"),  # rate per unit of weight that the link could give, or less
        ("open_flows", "i4"),  # flows whose rates are not fixed yet
        ("first_member", "i4"),  # first of the link's members
        ("used", "u4"),  # links that flows cross, in the order in which flows touch them first
        ("heap", "u4"),  # places in ``used``: a binary heap by (share, place)
        ("place", "u4"),  # place of a link in ``used``
        ("spot", "u4"),  # where a place is in the heap
    ],
    align=True,
)
"""Scratch for a link; ``load`` and ``open_flows`` are 0 before and after."""

MEMBER: Final = np.dtype([("row", "u4"), ("next_member", "i4")])
"""Scratch: a flow that crosses a link, and the next flow that does."""

BLOCK: Final = np.dtype([("next_path", "u4"), ("link", "u4")])
"""A path, plus 1, and a link on it that was full when its flow was last looked at: it is looked at first next time."""

NOBODY: Final = -1
OPEN: Final = -1.0
"""Marks a rate that is not fixed yet."""


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
    members: Records,
    blocks: Records,
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
        residual: Scratch, (num_links,): capacities in B/s that are left.
        links: Scratch, (num_links,) LINK.
        members: Scratch, (largest count * longest path,) MEMBER.
        blocks: Scratch, (num_flows,) BLOCK, kept from call to call, all 0 at first.
    """
    _sort_by_priority(live, count, priority)
    one_class = priority[live[0]] == priority[live[count - 1]]
    if not one_class:
        for link in range(len(capacity)):
            residual[link] = capacity[link]
    # Not the literal 0, for which Numba would compile the parts once more.
    first: int = np.int64(0)  # type: ignore[assignment]
    while first < count:
        last = first + 1
        while last < count and (one_class or priority[live[last]] == priority[live[first]]):
            last += 1
        if last - first == 1 and not one_class:
            _serve_alone(live[first], admitted, rate_cap, path, path_start, path_links, rate, residual, blocks)
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
                links,
                members,
                one_class,
                last == count,
            )
        first = last


@inlined_rule
def _sort_by_priority(live: IntArray, count: int, priority: IntArray) -> None:
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
) -> None:
    """Gives a flow with a priority of its own what is left on its path."""
    rate[row] = 0.0
    if not admitted[row]:
        return
    if blocks["next_path"][row] == path[row] + 1 and residual[blocks["link"][row]] == 0.0:
        return
    least = np.inf
    for step in range(path_start[path[row]], path_start[path[row] + 1]):
        least = min(least, residual[path_links[step]])
        if least == 0.0:
            blocks["next_path"][row] = path[row] + 1
            blocks["link"][row] = path_links[step]
            return
    least = min(least, rate_cap[row])
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
    links: Records,
    members: Records,
    is_first: bool,
    is_last: bool,
) -> None:
    """Fills the flows of one priority progressively.

    Before the first priority nothing has been taken from the links, and behind the last nobody asks what is left.
    """
    load, share, open_flows = links["load"], links["share"], links["open_flows"]
    used, place_of = links["used"], links["place"]
    num_links = 0
    num_open = 0
    any_cap = False
    for place in range(first, last):
        row = live[place]
        if not admitted[row]:
            rate[row] = 0.0
            continue
        rate[row] = OPEN
        num_open += 1
        any_cap = any_cap or rate_cap[row] < np.inf
        for step in range(path_start[path[row]], path_start[path[row] + 1]):
            link = path_links[step]
            if open_flows[link] == 0:
                used[num_links] = link
                place_of[link] = num_links
                num_links += 1
                if is_first:
                    residual[link] = capacity[link]
            open_flows[link] += 1
            load[link] += weight[row]
    tightest = 0
    for place in range(num_links):
        share[used[place]] = residual[used[place]] / load[used[place]]
        if share[used[place]] < share[used[tightest]]:
            tightest = place
    if num_open > 0 and is_last and not any_cap and open_flows[used[tightest]] == num_open:
        # All cross this link.
        for place in range(first, last):
            if rate[live[place]] == OPEN:
                rate[live[place]] = share[used[tightest]] * weight[live[place]]
        num_open = 0
    if num_open > 0:
        _list_members(live, first, last, path, path_start, path_links, rate, links, members, num_links)
        _heapify(links, num_links)
    while num_open > 0:
        link = _tightest_link(residual, links, num_links)
        level = share[link]
        capped = False
        if any_cap:
            for place in range(first, last):
                row = live[place]
                if rate[row] == OPEN and rate_cap[row] <= level * weight[row]:
                    _fix(row, rate_cap[row], weight, path, path_start, path_links, rate, residual, links)
                    num_open -= 1
                    capped = True
        member = links["first_member"][link]
        while member != NOBODY and not capped:
            row = members["row"][member]
            if rate[row] == OPEN:
                _fix(row, level * weight[row], weight, path, path_start, path_links, rate, residual, links)
                num_open -= 1
            member = members["next_member"][member]
    for place in range(num_links):
        open_flows[used[place]] = 0
        load[used[place]] = 0.0


@inlined_rule
def _list_members(
    live: IntArray,
    first: int,
    last: int,
    path: IntArray,
    path_start: IntArray,
    path_links: IntArray,
    rate: FloatArray,
    links: Records,
    members: Records,
    num_links: int,
) -> None:
    """Lists the open flows of each link, in the order of rows."""
    first_member = links["first_member"]
    for place in range(num_links):
        first_member[links["used"][place]] = NOBODY
    num_members = 0
    for place in range(last - 1, first - 1, -1):
        row = live[place]
        if rate[row] == OPEN:
            for step in range(path_start[path[row]], path_start[path[row] + 1]):
                link = path_links[step]
                members["row"][num_members] = row
                members["next_member"][num_members] = first_member[link]
                first_member[link] = num_members
                num_members += 1


@inlined_rule
def _fix(
    row: int,
    rate_of_row: float,
    weight: FloatArray,
    path: IntArray,
    path_start: IntArray,
    path_links: IntArray,
    rate: FloatArray,
    residual: FloatArray,
    links: Records,
) -> None:
    """Fixes the rate of a flow, and takes it from the links of its path."""
    load, open_flows = links["load"], links["open_flows"]
    rate[row] = rate_of_row
    for step in range(path_start[path[row]], path_start[path[row] + 1]):
        link = path_links[step]
        residual[link] = max(residual[link] - rate_of_row, 0.0)
        open_flows[link] -= 1
        load[link] = load[link] - weight[row] if open_flows[link] > 0 else 0.0
        if open_flows[link] > 0 and residual[link] / load[link] < links["share"][link]:
            links["share"][link] = residual[link] / load[link]
            _move_up(links, links["spot"][links["place"][link]])


@inlined_rule
def _tightest_link(residual: FloatArray, links: Records, num_links: int) -> int:
    """Returns the link with open flows of the least share, the first in ``used`` of such; its share is up to date.

    A share in the heap may be less than what the link could give by now, never more.
    """
    heap, used, share = links["heap"], links["used"], links["share"]
    while True:
        link = used[heap[0]]
        now = residual[link] / links["load"][link] if links["open_flows"][link] > 0 else np.inf
        if now == share[link]:
            # Signed, as a link is elsewhere.
            return np.int64(link)  # type: ignore[return-value]
        share[link] = now
        _move_down(links, 0, num_links)


@inlined_rule
def _heapify(links: Records, num_links: int) -> None:
    """Makes a heap of the used links."""
    for place in range(num_links):
        links["heap"][place] = place
        links["spot"][place] = place
    for spot in range(num_links // 2 - 1, -1, -1):
        _move_down(links, spot, num_links)


@inlined_rule
def _is_before(links: Records, place: int, other: int) -> bool:
    """Compares two places by (share, place)."""
    mine, theirs = links["share"][links["used"][place]], links["share"][links["used"][other]]
    return bool(mine < theirs or (mine == theirs and place < other))


@inlined_rule
def _move_down(links: Records, spot: int, num_links: int) -> None:
    """Moves a place down to where it belongs in the heap."""
    heap, spot_of = links["heap"], links["spot"]
    place = heap[spot]
    child = 2 * spot + 1
    while child < num_links:
        if child + 1 < num_links and _is_before(links, heap[child + 1], heap[child]):
            child += 1
        if not _is_before(links, heap[child], place):
            break
        heap[spot] = heap[child]
        spot_of[heap[spot]] = spot
        spot = child
        child = 2 * spot + 1
    heap[spot] = place
    spot_of[place] = spot


@inlined_rule
def _move_up(links: Records, spot: int) -> None:
    """Moves a place up to where it belongs in the heap."""
    heap, spot_of = links["heap"], links["spot"]
    place = heap[spot]
    while spot > 0 and _is_before(links, place, heap[(spot - 1) // 2]):
        heap[spot] = heap[(spot - 1) // 2]
        spot_of[heap[spot]] = spot
        spot = (spot - 1) // 2
    heap[spot] = place
    spot_of[place] = spot
