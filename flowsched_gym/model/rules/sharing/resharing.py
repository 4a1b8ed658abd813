"""Shares links anew after a change where they are few: the priorities from the highest one on that has changed.

Between few links nearly all flows of a priority are bound up with each other: to find out what a change does not reach
(``refilling``) takes longer than to fill the links anew. What is kept are the flows of each priority, side by side, and
what higher priorities leave to them. Flows share as equals here, so it does not matter in which order a link fixes
their rates. These are those of ``share_links``, to the last bit.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.compile import inlined_rule, rule
from flowsched_gym.model.rules.sharing.members import BLOCK
from flowsched_gym.model.rules.sharing.memory import Memory

__all__ = ["begin_members", "join_members", "quit_members", "reshare"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

ONE: Final = np.uint32(1)
"""Beside a number without a sign, the literal would make one with a sign, and an index needs a look at that."""


@rule
def reshare(n: int, rate: FloatArray, memory: Memory, served: IntArray) -> int:
    """Sets the rates of the flows of network ``n`` whose priority or a higher one has changed.

    Returns:
        How many flows have a rate.
    """
    priorities = memory.members.priorities
    first = n * (memory.num_classes + 1)
    changed = first + memory.networks[n].highest
    end = first + memory.num_classes
    for at in range(priorities[changed].served, priorities[end].served):
        rate[served[at]] = 0.0
    for number in range(changed, end):
        priorities[number + 1].served = _fill(number, rate, memory, served, priorities[number].served)
    memory.networks[n].highest = memory.num_classes
    num_served: int = np.int64(priorities[end].served)  # type: ignore[assignment]
    return num_served


@inlined_rule
def begin_members(n: int, capacity: FloatArray, memory: Memory) -> None:
    """Begins without flows."""
    members = memory.members
    first = n * (memory.num_classes + 1)
    for number in range(first, first + memory.num_classes + 1):
        members.priorities[number].first = n * (len(members.rows) // len(memory.networks))
        members.priorities[number].served = 0
    for link in range(memory.num_links):
        members.given[first, link] = capacity[link]
    memory.networks[n].highest = 0


@inlined_rule
def join_members(
    n: int, row: int, level: int, path: int, path_start: IntArray, path_links: IntArray, memory: Memory
) -> None:
    """Makes a flow the last member of its priority; the first of each lower one becomes its last."""
    members = memory.members
    first = n * (memory.num_classes + 1)
    hole = members.priorities[first + memory.num_classes].first
    for number in range(first + memory.num_classes, first + level, -1):
        members.priorities[number].first += ONE
        if number - 1 > first + level:
            _move(members.priorities[number - 1].first, hole, memory)
            hole = members.priorities[number - 1].first
    flow = memory.flows[row]
    flow.level = level + 1
    flow.path = path
    flow.place = hole
    members.rows[hole] = row
    start, end = path_start[path], path_start[path + 1]
    for step in range(memory.longest):
        members.paths[step, hole] = path_links[start + step] if step < end - start else np.uint32(memory.num_links)
    memory.networks[n].highest = min(memory.networks[n].highest, level)


@inlined_rule
def quit_members(n: int, row: int, memory: Memory) -> None:
    """Takes out a flow of network ``n``: the last of its priority takes its place, and so on below."""
    members = memory.members
    flow = memory.flows[row]
    first = n * (memory.num_classes + 1)
    hole = flow.place
    for number in range(first + flow.level, first + memory.num_classes + 1):
        members.priorities[number].first -= ONE
        _move(members.priorities[number].first, hole, memory)
        hole = members.priorities[number].first
    memory.networks[n].highest = min(memory.networks[n].highest, flow.level - 1)
    flow.level = 0


@inlined_rule
def _move(place: int, hole: int, memory: Memory) -> None:
    """Moves a member to another place; they are the same where a priority has no members."""
    if place == hole:
        return
    members = memory.members
    for step in range(memory.longest):
        members.paths[step, hole] = members.paths[step, place]
    members.rows[hole] = members.rows[place]
    memory.flows[members.rows[hole]].place = hole


@inlined_rule
def _fill(number: int, rate: FloatArray, memory: Memory, served: IntArray, num_served: int) -> int:
    """Fixes the rates of a priority, and tells the next what is left; returns how many flows have a rate."""
    members = memory.members
    left = members.given[number + 1]
    num_sharers = _gather(number, memory)
    num_fixed = num_served
    for s in range(num_sharers):
        sharer = members.sharers[s]
        if sharer.company == 1:
            num_served = _fix(sharer, sharer.least, rate, memory, served, num_served)
            for step in range(memory.longest):
                link = members.paths[step, sharer.place]
                left[link] -= sharer.least
                members.links[link].open_flows = 0
    num_left = np.uint32(num_sharers - (num_served - num_fixed))
    end = _open_links(left, memory) if num_left > 0 else 0
    while num_left > 0:
        at = _tightest(end, memory)
        tightest = memory.open[at]
        num_open = members.links[tightest].open_flows
        crossing = members.links[tightest].crossing
        num_left = np.uint32(num_left - np.uint32(num_open))
        while num_open > 0:
            sharer = members.sharers[members.crossings[crossing - ONE].sharer]
            crossing = members.crossings[crossing - ONE].next
            if sharer.is_open:
                num_open -= 1
                num_served = _fix(sharer, memory.share[at], rate, memory, served, num_served)
                for step in range(memory.longest):
                    link = members.paths[step, sharer.place]
                    if link != tightest:
                        _take(link, memory.share[at], left, memory)
        left[tightest] = 0.0
        memory.share[at] = np.inf
    return num_served


@inlined_rule
def _gather(number: int, memory: Memory) -> int:
    """Finds the flows of a priority that are not shut out, and lists them for each link; returns how many there are."""
    members = memory.members
    given = members.given[number]
    first = members.priorities[number].first
    count = np.int64(members.priorities[number + 1].first) - np.int64(first)
    for link in range(memory.num_links):
        members.given[number + 1, link] = given[link]
        members.links[link].open_flows = 0
        members.links[link].crossing = 0
    for s in range(count):
        members.sharers[s].least = np.inf
    for step in range(memory.longest):
        links = members.paths[step, first:]
        for s in range(count):
            sharer = members.sharers[s]
            sharer.least = min(sharer.least, given[links[s]])
    num_sharers = np.uint32(0)
    for s in range(count):
        sharer = members.sharers[num_sharers]
        sharer.least = members.sharers[s].least
        sharer.place = first + np.uint32(s)
        sharer.is_open = True
        sharer.company = 0
        num_sharers = np.uint32(num_sharers + np.uint32(sharer.least > 0.0))
    for step in range(memory.longest):
        begin = np.uint32(step * len(members.sharers))
        links = members.paths[step]
        for s in range(num_sharers):
            link = members.links[links[members.sharers[s].place]]
            members.crossings[begin + np.uint32(s)].next = link.crossing
            link.crossing = begin + np.uint32(s) + ONE
            link.open_flows += 1
    members.links[memory.num_links].open_flows = 0
    for step in range(memory.longest):
        links = members.paths[step]
        for s in range(num_sharers):
            sharer = members.sharers[s]
            sharer.company = max(sharer.company, members.links[links[sharer.place]].open_flows)
    return num_sharers  # type: ignore[return-value]  # unsigned


@inlined_rule
def _open_links(left: FloatArray, memory: Memory) -> int:
    """Lists the links with flows whose rates are not fixed, and what these could give; returns the end of the list."""
    links = memory.members.links
    num_open = np.uint32(0)
    for link in range(memory.num_links):
        memory.open[num_open] = link
        links[link].at = num_open
        num_open = np.uint32(num_open + np.uint32(links[link].open_flows > 0))
    for at in range(num_open):
        memory.share[at] = left[memory.open[at]] / links[memory.open[at]].open_flows
    end = (np.int64(num_open) + (BLOCK - 1)) // BLOCK * BLOCK
    for at in range(np.int64(num_open), end):
        memory.share[at] = np.inf
    links[memory.num_links].at = end
    return end  # type: ignore[return-value]


@inlined_rule
def _tightest(end: int, memory: Memory) -> int:
    """Returns the place of the open link that could give least, the first of such.

    Numbers >= 0 are in the order of their bits, and integers are compared several in one instruction.
    """
    bits = memory.share.view(np.int64)
    least = bits[0]
    for first in range(0, end, BLOCK):
        block = bits[first : first + BLOCK]
        for i in range(BLOCK):
            least = min(least, block[i])
    at = np.uint64(0)
    while bits[at] != least:
        at += np.uint64(1)
    return at  # type: ignore[return-value]  # unsigned


@inlined_rule
def _fix(sharer: Any, level: float, rate: FloatArray, memory: Memory, served: IntArray, num_served: int) -> int:
    """Fixes the rate of a flow; returns how many have one."""
    row = memory.members.rows[sharer.place]
    sharer.is_open = False
    rate[row] = level
    served[num_served] = row
    return np.uint32(num_served + np.uint32(level > 0.0))  # type: ignore[return-value]  # unsigned


@inlined_rule
def _take(link: int, level: float, left: FloatArray, memory: Memory) -> None:
    """Takes the rate of a flow from a link."""
    other = memory.members.links[link]
    left[link] = max(left[link] - level, 0.0)
    other.open_flows -= 1
    memory.share[other.at] = left[link] / other.open_flows if other.open_flows > 0 else np.inf
