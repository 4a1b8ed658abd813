"""Shares links among flows of one priority: weighted max-min fairness, by progressive filling.

The link that would give its flows least per unit of weight fixes their rates, is taken out with them, and so on
(Bertsekas and Gallager, Data Networks, section 6.5.2).
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.compile import inlined_rule

__all__ = ["BLOCK", "CROSSING", "LINK", "SHARER", "fill_class", "find_tightest", "is_still_blocked"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Records = npt.NDArray[Any]

LINK: Final = np.dtype(
    [
        ("load", "f8"),  # weight of the flows whose rates are not fixed yet
        ("open_flows", "i4"),  # flows whose rates are not fixed yet
        ("first_crossing", "u4"),  # place of its first crossing
        ("last_crossing", "u4"),  # place of its last crossing
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

CROSSING: Final = np.dtype([("link", "u4"), ("sharer", "u4"), ("next", "u4")])
"""Scratch: the links of all sharers, one after the other; and the place of the next crossing of the same link."""

BLOCK: Final = np.dtype([("next_path", "u4"), ("full_link", "u4")])
"""A path, plus 1, and a link on it that was full when its flow was last looked at: it is looked at first next time."""

NOBODY: Final = -1
CANCELLED: Final = 2.0**-20
"""What is left of a sum of weights, as a part of one that was taken away, if it may be rounding to 10 digits."""


@inlined_rule
def is_still_blocked(row: int, path: IntArray, residual: FloatArray, blocks: Records) -> bool:
    """Tells whether the link that was full when the flow was last looked at is full now."""
    blocked: bool = blocks["next_path"][row] == path[row] + 1 and residual[blocks["full_link"][row]] == 0.0
    return blocked


@inlined_rule
def fill_class(
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

    Args:
        live: Rows of the live flows by priority; those of this one in the places first to last - 1.
        first: First place.
        last: Place behind the last.
        admitted: Whether a flow may send.
        weight: Share inside one priority, > 0.
        rate_cap: Largest rate in B/s.
        path: Path of each flow.
        capacity: Capacities in B/s, (num_links,).
        path_start: Where each path begins in ``path_links``.
        path_links: Links of all paths.
        rate: Rates in B/s, 0 for the flows of this priority; updated.
        residual: Capacities in B/s that higher priorities leave, (num_links,); updated.
        links: Scratch, (num_links,) LINK.
        sharers: Scratch, (largest count,) SHARER.
        crossings: Scratch, (largest count * longest path,) CROSSING.
        blocks: Where flows were blocked, (num_flows,) with the fields of BLOCK; updated.
        is_first: Whether nothing has been taken from the links: ``residual`` is not read then.
        is_last: Whether nobody asks what is left: ``residual`` may stay behind then.
        served: Rows of the flows of higher priorities that have a rate; those of this one are added.
        num_served: Number of the former.
    """
    load, open_flows, used = links["load"], links["open_flows"], links["used"]
    num_used = 0
    num_sharers = 0
    num_crossings = 0
    for place in range(first, last):
        row = live[place]
        if not admitted[row]:
            continue
        if not is_first and is_still_blocked(row, path, residual, blocks):
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
        for step in range(num_crossings, end):
            link = crossings["link"][step]
            if open_flows[link] == 0:
                used[num_used] = link
                num_used += 1
                links["rival"][link] = NOBODY
                links["first_crossing"][link] = step
                if is_first:
                    residual[link] = capacity[link]
            else:
                crossings["next"][links["last_crossing"][link]] = step
            links["last_crossing"][link] = step
            open_flows[link] += 1
            load[link] += weight[row]
            crossings["sharer"][step] = num_sharers
        num_sharers += 1
        num_crossings = end
    num_rivals = 0
    for place in range(num_used):
        if open_flows[used[place]] > 1:
            num_rivals = _add_rival(used[place], num_rivals, residual, links)
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
            num_rivals = _add_rival(tightest, num_rivals, residual, links)
    if num_rivals == 1 and is_last and not any_cap:
        for place in range(num_sharers):
            if sharers["is_open"][place]:
                rate[sharers["row"][place]] = links["share"][0] * sharers["weight"][place]
        num_open = 0
    while num_open > 0:
        rival = find_tightest(links["share"], links["link"], num_rivals)
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
        crossing = links["first_crossing"][link]
        while open_flows[link] > 0:
            place = crossings["sharer"][crossing]
            crossing = crossings["next"][crossing]
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
def _add_rival(link: int, num_rivals: int, residual: FloatArray, links: Records) -> int:
    """Adds a link to the rivals; returns how many there are now."""
    links["rival"][link] = num_rivals
    links["link"][num_rivals] = link
    links["share"][num_rivals] = residual[link] / links["load"][link]
    return num_rivals + 1


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
            if links["load"][link] < CANCELLED * sharers["weight"][place]:
                links["load"][link] = _open_weight(link, links, sharers, crossings)
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
def _open_weight(link: int, links: Records, sharers: Records, crossings: Records) -> float:
    """Adds up the weights of the flows on a link whose rates are not fixed yet."""
    total = 0.0
    crossing = links["first_crossing"][link]
    while True:
        place = crossings["sharer"][crossing]
        if sharers["is_open"][place]:
            total += sharers["weight"][place]
        if crossing == links["last_crossing"][link]:
            return total
        crossing = crossings["next"][crossing]


@inlined_rule
def find_tightest(share: FloatArray, number: IntArray, count: int) -> int:
    """Returns the place of the least share of the first ``count`` >= 1; among equals, the one of the least number."""
    one = other = np.inf
    place = 0
    while place + 1 < count:
        one = min(one, share[place])
        other = min(other, share[place + 1])
        place += 2
    if place < count:
        one = min(one, share[place])
    least = min(one, other)
    tightest = 0
    for place in range(1, count):
        if share[place] == least and (share[tightest] != least or number[place] < number[tightest]):
            tightest = place
    return tightest
