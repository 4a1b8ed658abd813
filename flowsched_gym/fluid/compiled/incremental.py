"""Incremental max-min: after a change, only the links that it reaches are filled anew.

Progressive filling (``filling``) goes round by round: the tightest link fixes the rates of its flows. A round happens
as it did before, unless its link has another capacity or other flows now, or one of its flows has been fixed elsewhere.
So the links that an event has changed are dirty: they are filled as ever, in turn with the cached rounds of the others;
a flow that a dirty link fixes, or does not fix any more, makes all links of its path dirty. The rates are those of
``share_links``, to the last bit: the cache saves time, and can be forgotten at any moment.
"""

from typing import Any, Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.flows.state import Controls
from flowsched_gym.fluid.compiled.allocation_cache import (
    AllocationCache,
    add_to_links,
    change,
    open_links,
    set_rate,
    take_from_links,
)
from flowsched_gym.fluid.rules.sharing import find_tightest
from flowsched_gym.machine_code.decorators import engine_function, inlined_part
from flowsched_gym.topology.network import Network

NOBODY: Final = -1
WATCHED: Final = 1
"""Its flows cross dirty links."""
DIRTY: Final = 2
"""It is filled anew."""
DONE: Final = 4
"""It has fixed rates."""


@engine_function
def share_incrementally(
    n: int,
    rows: IntArray,
    count: int,
    controls: Controls,
    network: Network,
    rate: FloatArray,
    served: IntArray,
    num_served: int,
    cache: AllocationCache,
) -> int:
    """Sets the rates of the active flows of network ``n`` as ``share_links`` does; returns how many have one.

    Flows of one priority, 0 to num_priorities - 1, share as equals, without a largest rate. A flow that has finished
    has to ``leave`` before. If anything is cached, ``network`` has the capacities of the last call.

    The first ``count`` of ``rows``, in any order, are those of the active flows that may have changed, or of all where
    nothing is cached; the first ``num_served`` of ``served`` those of flows that have had a rate: all others are 0.
    """
    net = cache.networks[n]
    net.num_served = num_served
    if not net.known:
        for i in range(num_served):
            rate[served[i]] = 0.0
        net.num_served = 0
        open_links(n, network.capacity, cache)
        net.known = True
    for i in range(count):
        row = rows[i]
        flow = cache.flows[row]
        admitted, priority, path = controls.admitted[row], controls.priority[row], controls.path[row]
        if admitted and flow.level == priority + 1 and flow.path == path:
            continue
        if flow.level > 0:
            take_from_links(row, cache)
            set_rate(net, row, 0.0, rate, served, cache)
        if admitted:
            add_to_links(n, row, priority, path, network, cache)
    net.num_stale = 0
    for number in range(n * cache.num_priorities, (n + 1) * cache.num_priorities):
        if cache.priorities[number].num_changed > 0:
            _find_blocked(net, number, rate, served, cache)
            _fill(net, number, rate, served, cache)
            _hand_on(net, number, number + 1 < (n + 1) * cache.num_priorities, cache)
    counted: int = np.int64(net.num_served)  # type: ignore[assignment]
    return counted


@inlined_part
def leave(n: int, row: int, rate: FloatArray, served: IntArray, num_served: int, cache: AllocationCache) -> int:
    """Takes out a flow of network ``n`` that has finished; returns how many flows have a rate."""
    net = cache.networks[n]
    if not net.known or cache.flows[row].level == 0:
        return num_served
    net.num_served = num_served
    # Of one type with the other rows here, so that less is compiled.
    unsigned: int = np.uint32(row)  # type: ignore[assignment]
    take_from_links(unsigned, cache)
    set_rate(net, unsigned, 0.0, rate, served, cache)
    counted: int = np.int64(net.num_served)  # type: ignore[assignment]
    return counted


@inlined_part
def _find_blocked(net: Any, number: int, rate: FloatArray, served: IntArray, cache: AllocationCache) -> None:
    """Finds the flows that are blocked on links that have changed, and counts the others there."""
    i = number * cache.num_links
    while i < number * cache.num_links + cache.priorities[number].num_changed:
        link = cache.links[cache.changed[i]]
        i += 1
        link.num_flows = 0
        next_one = link.first
        while next_one > 0:
            row = cache.crossings[next_one - 1].row
            next_one = cache.crossings[next_one - 1].behind
            flow = cache.flows[row]
            blocked = False
            for crossing in range(flow.first, flow.end):
                blocked = blocked or cache.links[cache.crossings[crossing].link].given == 0.0
            if blocked != flow.blocked:
                flow.blocked = blocked
                flow.fixed_by = 0
                set_rate(net, row, 0.0, rate, served, cache)
                for crossing in range(flow.first, flow.end):
                    change(cache.crossings[crossing].link, cache)
            link.num_flows += not blocked


@inlined_part
def _fill(net: Any, number: int, rate: FloatArray, served: IntArray, cache: AllocationCache) -> None:
    """Fixes the rates of a priority round by round.

    As long as links are not dirty, their rounds happen in the order in which they are cached: which of them comes first
    has been found before. So one look at the next of these, and at the tightest dirty link, tells whose turn it is.
    """
    net.filling += 1
    net.num_open = 0
    net.num_dirty = 0
    net.is_tightest = False
    priority = cache.priorities[number]
    cached = first = number * cache.num_links
    for i in range(first, first + priority.num_changed):
        _make_dirty(net, cache.changed[i], rate, cache)
    end = first + priority.num_rounds
    num_rounds = 0
    while True:
        if cached < end and _is(DIRTY, net, cache.links[cache.rounds[cached]]):
            _let_go(net, cache.rounds[cached], rate, cache)
            cached += 1
            continue
        tightest = _tightest(net, cache)
        if cached < end and not _comes_before(tightest, cache.rounds[cached], cache):
            index = cache.rounds[cached]
            cached += 1
        elif tightest != NOBODY:
            index = np.uint32(tightest)
            cache.links[index].level = cache.share[cache.links[index].at]
        else:
            break
        link = cache.links[index]
        if _is(WATCHED | DIRTY, net, link):
            _fix(net, index, rate, served, cache)
        _reach(DONE, net, link)
        link.at = num_rounds
        cache.fresh[num_rounds] = index
        num_rounds += 1
    for i in range(num_rounds):
        cache.rounds[first + i] = cache.fresh[i]
    priority.num_rounds = num_rounds


@inlined_part
def _is(stage: int, net: Any, link: Any) -> bool:
    """Returns whether a link is at a stage, or at one of several, of this filling."""
    return bool(link.filling == net.filling and link.stage & stage != 0)


@inlined_part
def _reach(stage: int, net: Any, link: Any) -> None:
    """Notes that a link is at a stage of this filling."""
    if link.filling != net.filling:
        link.filling = net.filling
        link.stage = 0
    link.stage |= stage


@inlined_part
def _make_dirty(net: Any, index: int, rate: FloatArray, cache: AllocationCache) -> None:
    """Opens a link, to be filled anew from where the filling is now."""
    link = cache.links[index]
    if _is(DIRTY, net, link):
        return
    _reach(DIRTY, net, link)
    cache.dirty[net.num_dirty] = index
    net.num_dirty += 1
    link.open_flows = link.num_flows
    link.left = link.given
    num_fixed = 0
    next_one = link.first
    while next_one > 0:
        row = cache.crossings[next_one - 1].row
        next_one = cache.crossings[next_one - 1].behind
        fixed_by = cache.flows[row].fixed_by
        if fixed_by > 0:
            if _is(DONE, net, cache.links[fixed_by - 1]):
                _insert(num_fixed, cache.links[fixed_by - 1].at, row, cache)
                num_fixed += 1
            else:
                _reach(WATCHED, net, cache.links[fixed_by - 1])
    for i in range(num_fixed):
        _take(link, rate[cache.fixed[i].row])
    if link.open_flows > 0:
        link.at = net.num_open
        cache.open[link.at] = index
        cache.share[link.at] = link.left / link.open_flows
        net.num_open += 1
        net.is_tightest = False


@inlined_part
def _insert(count: int, number: int, row: int, cache: AllocationCache) -> None:
    """Inserts a flow in the order of the rounds that have fixed rates; in a round all rates are the same."""
    i = count
    while i > 0 and cache.fixed[i - 1].round > number:
        cache.fixed[i].round = cache.fixed[i - 1].round
        cache.fixed[i].row = cache.fixed[i - 1].row
        i -= 1
    cache.fixed[i].round = number
    cache.fixed[i].row = row


@inlined_part
def _take(link: Any, value: float) -> None:
    link.left = max(link.left - value, 0.0)
    link.open_flows -= 1


@inlined_part
def _tightest(net: Any, cache: AllocationCache) -> int:
    """Returns the open link that could give least, the first of such by its number; or ``NOBODY``."""
    if not net.is_tightest:
        net.tightest = NOBODY
        if net.num_open > 0:
            net.tightest = cache.open[find_tightest(cache.share, cache.open, net.num_open)]
        net.is_tightest = True
    tightest: int = np.int64(net.tightest)  # type: ignore[assignment]
    return tightest


@inlined_part
def _comes_before(tightest: int, index: int, cache: AllocationCache) -> bool:
    """Returns whether the round of the tightest open link happens before one that is cached."""
    if tightest == NOBODY:
        return False
    share, level = cache.share[cache.links[np.uint32(tightest)].at], cache.links[index].level
    return bool(share < level or (share == level and tightest < index))


@inlined_part
def _let_go(net: Any, index: int, rate: FloatArray, cache: AllocationCache) -> None:
    """Makes the links dirty of the flows that a link has fixed before."""
    next_one = cache.links[index].first
    while next_one > 0:
        flow = cache.flows[cache.crossings[next_one - 1].row]
        next_one = cache.crossings[next_one - 1].behind
        if flow.fixed_by == index + 1:
            for crossing in range(flow.first, flow.end):
                _make_dirty(net, cache.crossings[crossing].link, rate, cache)


@inlined_part
def _fix(net: Any, index: int, rate: FloatArray, served: IntArray, cache: AllocationCache) -> None:
    """Fixes the rates of the open flows on a link, and takes them from the dirty links of their paths."""
    link = cache.links[index]
    is_dirty = _is(DIRTY, net, link)
    next_one = link.first
    while next_one > 0:
        row = cache.crossings[next_one - 1].row
        next_one = cache.crossings[next_one - 1].behind
        flow = cache.flows[row]
        if flow.blocked or (flow.fixed_by > 0 and _is(DONE, net, cache.links[flow.fixed_by - 1])):
            continue
        if is_dirty:
            flow.fixed_by = index + 1
            set_rate(net, row, link.level, rate, served, cache)
            for crossing in range(flow.first, flow.end):
                _make_dirty(net, cache.crossings[crossing].link, rate, cache)
        for crossing in range(flow.first, flow.end):
            other = cache.links[cache.crossings[crossing].link]
            if cache.crossings[crossing].link != index and _is(DIRTY, net, other):
                _take(other, link.level)
                if other.open_flows > 0:
                    cache.share[other.at] = other.left / other.open_flows
                    net.is_tightest = False
                else:
                    _close(net, other, cache)
    if is_dirty:
        _close(net, link, cache)
        link.left = 0.0


@inlined_part
def _close(net: Any, link: Any, cache: AllocationCache) -> None:
    """Takes out an open link whose flows all have rates."""
    net.num_open -= 1
    moved = cache.open[net.num_open]
    cache.open[link.at] = moved
    cache.share[link.at] = cache.share[net.num_open]
    cache.links[moved].at = link.at
    net.is_tightest = False


@inlined_part
def _hand_on(net: Any, number: int, is_next: bool, cache: AllocationCache) -> None:
    """Leaves the rest of the links to the next priority, if there is one, and notes that nothing has changed since."""
    priority = cache.priorities[number]
    first = number * cache.num_links
    for i in range(first, first + priority.num_changed):
        cache.links[cache.changed[i]].changed = False
    priority.num_changed = 0
    if not is_next:
        return
    for i in range(net.num_dirty):
        below: int = np.uint32(cache.dirty[i] + cache.num_links)  # type: ignore[assignment]  # of one type with the others
        if cache.links[below].given != cache.links[cache.dirty[i]].left:
            cache.links[below].given = cache.links[cache.dirty[i]].left
            change(below, cache)
