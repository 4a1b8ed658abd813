"""Shares the links among the admitted flows: strict priority, and weighted max-min fairness inside one priority.

With distinct priorities this is the greedy rule: each flow in its turn takes the least residual capacity of its path.
Flows of one priority are filled progressively: the link that would give its flows least per unit of weight fixes their
rates, is taken out with them, and so on (Bertsekas and Gallager, Data Networks, section 6.5.2).
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.flows.state import Controls
from flowsched_gym.machine_code.decorators import inlined_part, inlined_rule
from flowsched_gym.topology.network import Network, longest_path

StructuredArray = npt.NDArray[Any]

LINK: Final = np.dtype(
    [
        ("load", "f8"),  # weight of the flows whose rates are not fixed yet
        ("open_flows", "i4"),  # flows whose rates are not fixed yet
        ("first_crossing", "u4"),
        ("last_crossing", "u4"),
        ("used", "u4"),  # links that flows cross, in the order in which flows touch them first
        ("rival", "i4"),  # index of a link among the rivals, or ``NOBODY``
        ("share", "f8"),  # by index: rate per unit of weight that a rival could give
        ("link", "u4"),  # by index: the rivals, links that may be the tightest
    ],
    align=True,
)
"""Scratch for a link; ``load`` and ``open_flows`` are 0 before and after."""
SHARER: Final = np.dtype(
    [
        ("weight", "f8"),
        ("row", "u4"),
        ("first", "u4"),  # index of its first link among the crossings
        ("end", "u4"),  # index behind its last link
        ("is_open", "?"),  # whether its rate is not fixed yet
    ],
    align=True,
)
"""Scratch: a flow of the priority that is being filled."""
CROSSING: Final = np.dtype([("link", "u4"), ("sharer", "u4"), ("next", "u4")])
"""Scratch: the links of all sharers, one after the other; and the index of the next crossing of the same link."""
BLOCK: Final = np.dtype([("next_path", "u4"), ("full_link", "u4")])
"""A path, plus 1, and a link on it that was full when its flow was last looked at: it is looked at first next time."""
NOBODY: Final = -1
CANCELLED: Final = 2.0**-20
"""What is left of a sum of weights, as a part of one that was taken away, if it may be rounding to 10 digits."""


class Filling(NamedTuple):
    """Scratch of link sharing; ``blocks``, where flows were blocked, (num_flows,), is kept from call to call."""

    residual: FloatArray
    links: StructuredArray
    sharers: StructuredArray
    crossings: StructuredArray
    blocks: StructuredArray


def new_filling(network: Network, num_flows: int) -> Filling:
    """Makes scratch for so many flows."""
    num_links = len(network.capacity)
    return Filling(
        residual=np.zeros(num_links),
        links=np.zeros(num_links, dtype=LINK),
        sharers=np.zeros(num_flows, dtype=SHARER),
        crossings=np.zeros(num_flows * longest_path(network), dtype=CROSSING),
        blocks=np.zeros(num_flows, dtype=BLOCK),
    )


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
    """Sets the rates of at least one active flow, and lists in ``served`` those that have one; returns how many do.

    The active flows are reordered by (priority, row). Only those listed before, ``num_served``, have had a rate.
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
            num_served = _fill_class(
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
    if not controls.admitted[row] or _is_still_blocked(row, path, filling):
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


@inlined_part
def _is_still_blocked(row: int, path: int, filling: Filling) -> bool:
    """Returns whether the link that was full when the flow was last looked at is full now."""
    blocks = filling.blocks
    return bool(blocks["next_path"][row] == path + 1 and filling.residual[blocks["full_link"][row]] == 0.0)


@inlined_part
def _fill_class(
    active: IntArray,
    first: int,
    last: int,
    is_last: bool,
    controls: Controls,
    network: Network,
    rate: FloatArray,
    filling: Filling,
    served: IntArray,
    num_served: int,
) -> int:
    """Fills the flows of one priority, ``active[first:last]``, progressively; returns how many in all have a rate now.

    Where ``is_last``, nobody asks what is left: the residual capacities may stay behind.
    """
    residual, links, sharers, crossings, blocks = filling
    load, open_flows, used = links["load"], links["open_flows"], links["used"]
    num_used = 0
    num_sharers = 0
    num_crossings = 0
    for i in range(first, last):
        row = active[i]
        path = controls.path[row]
        if not controls.admitted[row] or _is_still_blocked(row, path, filling):
            continue
        least = np.inf
        full_link = network.path_links[network.path_start[path]]
        end = num_crossings
        for step in range(network.path_start[path], network.path_start[path + 1]):
            link = network.path_links[step]
            crossings["link"][end] = link
            end += 1
            if residual[link] < least:
                least, full_link = residual[link], link
        if least == 0.0:
            blocks["next_path"][row] = path + 1
            blocks["full_link"][row] = full_link
            continue
        sharers["weight"][num_sharers] = controls.weight[row]
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
            else:
                crossings["next"][links["last_crossing"][link]] = step
            links["last_crossing"][link] = step
            open_flows[link] += 1
            load[link] += controls.weight[row]
            crossings["sharer"][step] = num_sharers
        num_sharers += 1
        num_crossings = end
    num_rivals = 0
    for i in range(num_used):
        if open_flows[used[i]] > 1:
            num_rivals = _add_rival(used[i], num_rivals, filling)
    num_open = 0
    any_cap = False
    for sharer in range(num_sharers):
        least_shared = np.inf
        least, tightest = np.inf, used[0]
        for step in range(sharers["first"][sharer], sharers["end"][sharer]):
            link = crossings["link"][step]
            if open_flows[link] > 1:
                least_shared = min(least_shared, residual[link])
            elif residual[link] < least:
                least, tightest = residual[link], link
        cap = controls.rate_cap[sharers["row"][sharer]]
        if least_shared == np.inf:
            num_rivals = _fix(sharer, min(least, cap), rate, filling, num_rivals)
            continue
        num_open += 1
        any_cap = any_cap or cap < min(least, least_shared)
        if least < least_shared:
            num_rivals = _add_rival(tightest, num_rivals, filling)
    if num_rivals == 1 and is_last and any_cap:  # perhaps none of the largest rates is reached
        any_cap = False
        for sharer in range(num_sharers):
            cap = controls.rate_cap[sharers["row"][sharer]]
            any_cap = any_cap or (sharers["is_open"][sharer] and cap <= links["share"][0] * sharers["weight"][sharer])
    if num_rivals == 1 and is_last and not any_cap:
        for sharer in range(num_sharers):
            if sharers["is_open"][sharer]:
                rate[sharers["row"][sharer]] = links["share"][0] * sharers["weight"][sharer]
        num_open = 0
    while num_open > 0:
        rival = find_tightest(links["share"], links["link"], num_rivals)
        link = links["link"][rival]
        level = links["share"][rival]
        before = num_open
        for sharer in range(num_sharers if any_cap else 0):
            cap = controls.rate_cap[sharers["row"][sharer]]
            if sharers["is_open"][sharer] and cap <= level * sharers["weight"][sharer]:
                num_rivals = _fix(sharer, cap, rate, filling, num_rivals)
                num_open -= 1
        if num_open < before:
            continue
        crossing = links["first_crossing"][link]
        while open_flows[link] > 0:
            sharer = crossings["sharer"][crossing]
            crossing = crossings["next"][crossing]
            if sharers["is_open"][sharer]:
                num_rivals = _fix(sharer, level * sharers["weight"][sharer], rate, filling, num_rivals)
                num_open -= 1
        residual[link] = 0.0
    for i in range(num_used):
        open_flows[used[i]] = 0
        load[used[i]] = 0.0
    for sharer in range(num_sharers):
        row = sharers["row"][sharer]
        if rate[row] > 0.0:
            served[num_served] = row
            num_served += 1
    return num_served


@inlined_part
def _add_rival(link: int, num_rivals: int, filling: Filling) -> int:
    """Adds a link to the rivals; returns how many there are now."""
    links = filling.links
    links["rival"][link] = num_rivals
    links["link"][num_rivals] = link
    links["share"][num_rivals] = filling.residual[link] / links["load"][link]
    return num_rivals + 1


@inlined_part
def _fix(sharer: int, rate_of_flow: float, rate: FloatArray, filling: Filling, num_rivals: int) -> int:
    """Fixes the rate of a flow, and takes it from the links of its path; returns how many rivals are left."""
    residual, links, sharers, crossings, _ = filling
    rate[sharers["row"][sharer]] = rate_of_flow
    sharers["is_open"][sharer] = False
    for step in range(sharers["first"][sharer], sharers["end"][sharer]):
        link = crossings["link"][step]
        residual[link] = max(residual[link] - rate_of_flow, 0.0)
        rival = links["rival"][link]
        if rival == NOBODY:
            continue
        links["open_flows"][link] -= 1
        if links["open_flows"][link] > 0:
            links["load"][link] -= sharers["weight"][sharer]
            if links["load"][link] < CANCELLED * sharers["weight"][sharer]:
                links["load"][link] = _open_weight(link, filling)
            links["share"][rival] = residual[link] / links["load"][link]
        else:
            num_rivals -= 1
            moved = links["link"][num_rivals]
            links["link"][rival] = moved
            links["share"][rival] = links["share"][num_rivals]
            links["rival"][moved] = rival
            links["rival"][link] = NOBODY
    return num_rivals


@inlined_part
def _open_weight(link: int, filling: Filling) -> float:
    """Adds up the weights of the flows on a link whose rates are not fixed yet."""
    sharers, crossings = filling.sharers, filling.crossings
    total = 0.0
    crossing = filling.links["first_crossing"][link]
    while True:
        sharer = crossings["sharer"][crossing]
        if sharers["is_open"][sharer]:
            total += sharers["weight"][sharer]
        if crossing == filling.links["last_crossing"][link]:
            return total
        crossing = crossings["next"][crossing]


@inlined_rule
def find_tightest(share: FloatArray, number: IntArray, count: int) -> int:
    """Returns the index of the least share of the first ``count`` >= 1; among equals, the one of the least number."""
    one = other = np.inf
    i = 0
    while i + 1 < count:
        one = min(one, share[i])
        other = min(other, share[i + 1])
        i += 2
    if i < count:
        one = min(one, share[i])
    least = min(one, other)
    tightest = 0
    for i in range(1, count):
        if share[i] == least and (share[tightest] != least or number[i] < number[tightest]):
            tightest = i
    return tightest
