"""Shares links anew after a change: the last filling is gone through again, and only what the change reaches differs.

Progressive filling (``filling``) goes round by round: the tightest link fixes the rates of its flows. A round happens
as it did before, unless its link has another capacity or other flows now, or one of its flows has been fixed elsewhere.
So the links that an event has changed are filled as ever, in turn with the rounds of the others as they are remembered;
a flow that fares otherwise than before lets all links of its path change. The rates are those of ``share_links``, to
the last bit: what is remembered saves time, and can be forgotten at any moment.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.compile import inlined_rule, rule
from flowsched_gym.model.rules.sharing.filling import find_tightest
from flowsched_gym.model.rules.sharing.memory import (
    ANOTHER_CAPACITY,
    OTHER_FLOWS,
    Memory,
    change,
    set_rate,
    shut_out,
)

__all__ = ["refill"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

NOBODY: Final = -1
WATCHED: Final = 1
"""Its flows cross active links."""
ACTIVE: Final = 2
"""It is filled anew."""
DONE: Final = 4
"""It has fixed rates."""
MOST_FILLINGS: Final = 2**32 - 1 - 2**16
"""Fillings after which their number begins anew; between two looks at it there is one for each priority."""


@rule
def refill(n: int, rate: FloatArray, memory: Memory, served: IntArray, num_served: int) -> int:
    """Sets the rates of the flows of network ``n`` whose links have changed; returns how many flows have one."""
    for number in range(n * memory.num_classes, (n + 1) * memory.num_classes):
        if memory.classes[number].num_changed > 0:
            num_served = shut_out(number, rate, memory, served, num_served)
            num_served = _fill(n, number, rate, memory, served, num_served)
            _hand_on(n, number, memory)
    if memory.networks[n].filling > MOST_FILLINGS:
        memory.networks[n].known = False
    return num_served


@inlined_rule
def _fill(n: int, number: int, rate: FloatArray, memory: Memory, served: IntArray, num_served: int) -> int:
    """Fixes the rates of a priority round by round; returns how many flows have a rate.

    As long as links are not active, their rounds happen in the order in which they are remembered: which of them comes
    first has been found before. So one look at the next of these, and at the tightest of the active links, tells whose
    turn it is.
    """
    net = memory.networks[n]
    net.filling += 1
    net.num_open = 0
    net.num_active = 0
    net.is_tightest = False
    changes = memory.classes[number]
    first_place = number * memory.num_links
    for place in range(first_place, first_place + changes.num_changed):
        _activate(net, memory.changed[place], rate, memory)
    num_fresh = 0
    remembered = first_place
    end = first_place + changes.num_rounds
    while True:
        tightest = _tightest(net, memory)
        if remembered < end and _is(ACTIVE, net, memory.links[memory.rounds[remembered].link]):
            before = memory.rounds[remembered]
            remembered += 1
            if tightest != before.link or not _is_as_before(net, before, memory):
                _let_go(net, before.link, rate, memory)
                continue
            anew = False
            chosen = before.link
            level = before.level
            num_flows = before.num_flows
        elif remembered < end and _comes_first(memory.rounds[remembered], tightest, memory):
            anew = False
            chosen = memory.rounds[remembered].link
            level = memory.rounds[remembered].level
            num_flows = memory.rounds[remembered].num_flows
            remembered += 1
        elif tightest != NOBODY:
            anew = True
            chosen = np.uint32(tightest)
            level = memory.share[memory.links[chosen].at]
            num_flows = np.uint32(memory.links[chosen].open_flows)
        else:
            break
        if anew:
            num_served = _fix_anew(net, chosen, level, rate, memory, served, num_served)
        elif _is(WATCHED | ACTIVE, net, memory.links[chosen]):
            _fix_as_before(net, chosen, rate, memory)
        _finish(net, chosen, num_fresh, memory)
        fresh = memory.fresh[num_fresh]
        fresh.link = chosen
        fresh.level = level
        fresh.num_flows = num_flows
        num_fresh += 1
    for place in range(num_fresh):
        fresh, kept = memory.fresh[place], memory.rounds[first_place + place]
        kept.link = fresh.link
        kept.level = fresh.level
        kept.num_flows = fresh.num_flows
    changes.num_rounds = num_fresh
    return num_served


@inlined_rule
def _is(stage: int, net: Any, link: Any) -> bool:
    """Tells whether a link is at a stage, or at one of several, of this filling."""
    reached: bool = link.filling == net.filling and link.stage & stage != 0
    return reached


@inlined_rule
def _reach(stage: int, net: Any, link: Any) -> None:
    """Notes that a link is at a stage of this filling."""
    if link.filling != net.filling:
        link.filling = net.filling
        link.stage = 0
    link.stage |= stage


@inlined_rule
def _is_fixed(net: Any, flow: Any, memory: Memory) -> bool:
    """Tells whether the rate of a flow is fixed in this filling."""
    return flow.fixed_by > 0 and _is(DONE, net, memory.links[flow.fixed_by - 1])


@inlined_rule
def _activate(net: Any, place: int, rate: FloatArray, memory: Memory) -> None:
    """Lets a link be filled anew, from where the filling is now."""
    link = memory.links[place]
    if _is(ACTIVE, net, link):
        return
    _reach(ACTIVE, net, link)
    memory.active[net.num_active] = place
    net.num_active += 1
    link.open_flows = link.num_flows
    link.left = link.given
    num_fixed = 0
    next_one = link.first
    while next_one > 0:
        row = memory.crossings[next_one - 1].row
        next_one = memory.crossings[next_one - 1].behind
        flow = memory.flows[row]
        if flow.fixed_by > 0:
            tightest = memory.links[flow.fixed_by - 1]
            if _is(DONE, net, tightest):
                _insert(num_fixed, tightest.at, row, memory)
                num_fixed += 1
            else:
                _reach(WATCHED, net, tightest)
    for at in range(num_fixed):
        _take(link, rate[memory.fixed[at].row])
    if link.open_flows > 0:
        link.at = net.num_open
        memory.open[link.at] = place
        net.num_open += 1
        _offer(net, place, memory)


@inlined_rule
def _insert(count: int, number: int, row: int, memory: Memory) -> None:
    """Inserts a flow in the order of the rounds that have fixed rates; in a round all rates are the same."""
    at = count
    while at > 0 and memory.fixed[at - 1].round > number:
        memory.fixed[at].round = memory.fixed[at - 1].round
        memory.fixed[at].row = memory.fixed[at - 1].row
        at -= 1
    memory.fixed[at].round = number
    memory.fixed[at].row = row


@inlined_rule
def _take(link: Any, value: float) -> None:
    """Takes the rate of a flow from a link."""
    link.left = max(link.left - value, 0.0)
    link.open_flows -= 1


@inlined_rule
def _offer(net: Any, place: int, memory: Memory) -> None:
    """Notes what an open link could give."""
    link = memory.links[place]
    share = link.left / link.open_flows
    memory.share[link.at] = share
    if net.is_tightest:
        if net.tightest == NOBODY:
            net.tightest = place
        elif net.tightest == place:
            net.is_tightest = False
        else:
            least = memory.share[memory.links[np.uint32(net.tightest)].at]
            if share < least or (share == least and place < net.tightest):
                net.tightest = place


@inlined_rule
def _close(net: Any, place: int, memory: Memory) -> None:
    """Takes out an open link whose flows all have rates."""
    link = memory.links[place]
    net.num_open -= 1
    moved = memory.open[net.num_open]
    memory.open[link.at] = moved
    memory.share[link.at] = memory.share[net.num_open]
    memory.links[moved].at = link.at
    if net.tightest == place:
        net.is_tightest = False


@inlined_rule
def _tightest(net: Any, memory: Memory) -> int:
    """Returns the open link that could give least, the first of such by its number; or ``NOBODY``."""
    if not net.is_tightest:
        net.tightest = NOBODY
        if net.num_open > 0:
            net.tightest = memory.open[find_tightest(memory.share, memory.open, net.num_open)]
        net.is_tightest = True
    tightest: int = np.int64(net.tightest)  # type: ignore[assignment]
    return tightest


@inlined_rule
def _comes_first(remembered: Any, tightest: int, memory: Memory) -> bool:
    """Tells whether a round happens before that of the tightest open link."""
    if tightest == NOBODY:
        return True
    share = memory.share[memory.links[np.uint32(tightest)].at]
    first: bool = remembered.level < share or (remembered.level == share and remembered.link < tightest)
    return first


@inlined_rule
def _is_as_before(net: Any, before: Any, memory: Memory) -> bool:
    """Tells whether the tightest link gives as much as before, to the same flows."""
    link = memory.links[before.link]
    if memory.share[link.at] != before.level or link.open_flows != before.num_flows:
        return False
    next_one = link.first
    while next_one > 0:
        flow = memory.flows[memory.crossings[next_one - 1].row]
        next_one = memory.crossings[next_one - 1].behind
        if not flow.shut_out and flow.fixed_by != before.link + 1 and not _is_fixed(net, flow, memory):
            return False
    return True


@inlined_rule
def _let_go(net: Any, place: int, rate: FloatArray, memory: Memory) -> None:
    """Lets the links change of flows that a link has fixed before, and does not now."""
    next_one = memory.links[place].first
    while next_one > 0:
        flow = memory.flows[memory.crossings[next_one - 1].row]
        next_one = memory.crossings[next_one - 1].behind
        if flow.fixed_by == place + 1:
            for crossing in range(flow.first, flow.end):
                _activate(net, memory.crossings[crossing].link, rate, memory)


@inlined_rule
def _fix_as_before(net: Any, place: int, rate: FloatArray, memory: Memory) -> None:
    """Takes the rates of the flows that a link has fixed before from the other active links."""
    next_one = memory.links[place].first
    while next_one > 0:
        row = memory.crossings[next_one - 1].row
        next_one = memory.crossings[next_one - 1].behind
        flow = memory.flows[row]
        if flow.fixed_by == place + 1:
            _take_everywhere(net, place, row, rate, memory)


@inlined_rule
def _fix_anew(
    net: Any, place: int, level: float, rate: FloatArray, memory: Memory, served: IntArray, num_served: int
) -> int:
    """Fixes the rates of the open flows on a link; returns how many flows have a rate."""
    link = memory.links[place]
    next_one = link.first
    while next_one > 0:
        row = memory.crossings[next_one - 1].row
        next_one = memory.crossings[next_one - 1].behind
        flow = memory.flows[row]
        if flow.shut_out or _is_fixed(net, flow, memory):
            continue
        for crossing in range(flow.first, flow.end):
            _activate(net, memory.crossings[crossing].link, rate, memory)
        num_served = set_rate(row, level, rate, memory, served, num_served)
        _take_everywhere(net, place, row, rate, memory)
        flow.fixed_by = place + 1
    return num_served


@inlined_rule
def _take_everywhere(net: Any, place: int, row: int, rate: FloatArray, memory: Memory) -> None:
    """Takes the rate of a flow from all active links but the one that fixes it."""
    flow = memory.flows[row]
    for crossing in range(flow.first, flow.end):
        other = memory.crossings[crossing].link
        link = memory.links[other]
        if other != place and _is(ACTIVE, net, link):
            _take(link, rate[row])
            if link.open_flows > 0:
                _offer(net, other, memory)
            else:
                _close(net, other, memory)


@inlined_rule
def _finish(net: Any, place: int, number: int, memory: Memory) -> None:
    """Closes a link that has fixed rates, in the round of this number."""
    link = memory.links[place]
    if _is(ACTIVE, net, link):
        _close(net, place, memory)
        link.left = 0.0
    _reach(DONE, net, link)
    link.at = number


@inlined_rule
def _hand_on(n: int, number: int, memory: Memory) -> None:
    """Tells the next priority what is left of the links, and forgets what had changed."""
    changes = memory.classes[number]
    first_place = number * memory.num_links
    for place in range(first_place, first_place + changes.num_changed):
        memory.links[memory.changed[place]].changed = 0
    changes.num_changed = 0
    if number + 1 == (n + 1) * memory.num_classes:
        return
    for at in range(memory.networks[n].num_active):
        place = memory.active[at]
        below = place + memory.num_links
        before, now = memory.links[below].given, memory.links[place].left
        if before != now:
            memory.links[below].given = now
            opens_or_shuts = (before == 0.0) != (now == 0.0)
            change(OTHER_FLOWS if opens_or_shuts else ANOTHER_CAPACITY, number + 1, below, memory)
