"""The allocation cache: which flows each link has and how it was filled, kept from event to event for ``incremental``.

Indices of links count through networks and priorities: each priority has links of its own, with what higher ones leave.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.machine_code.decorators import inlined_part
from flowsched_gym.topology.network import Network, longest_path

Records = npt.NDArray[Any]

CACHED_NETWORK: Final = np.dtype(
    [
        ("known", "?"),  # whether anything is cached
        ("num_stale", "i4"),  # flows that may have changed since the last filling
        ("num_served", "i4"),  # flows that have a rate
        ("is_tightest", "?"),  # whether ``tightest`` is known
        ("tightest", "i4"),  # the dirty link that could give least, or ``NOBODY``
        ("num_open", "i4"),  # dirty links with flows whose rates are not fixed yet
        ("num_dirty", "i4"),  # links that are filled anew
        ("filling", "i8"),  # its number
    ],
    align=True,
)
CACHED_PRIORITY: Final = np.dtype([("num_changed", "i4"), ("num_rounds", "i4")])
CACHED_LINK: Final = np.dtype(
    [
        ("given", "f8"),  # capacity in B/s that higher priorities leave
        ("level", "f8"),  # rate in B/s of each flow that it has fixed
        ("num_flows", "i4"),  # flows that are not blocked
        ("first", "u4"),  # one of its flows, as a crossing, plus 1; 0 for none
        ("changed", "?"),  # whether it has another capacity or other flows than at the last filling
        ("stage", "u1"),  # 0, or some of ``WATCHED``, ``DIRTY`` and ``DONE``
        ("open_flows", "i4"),  # flows whose rates are not fixed yet, if it is dirty
        ("at", "u4"),  # its index among the open links, or, when it is done, among the rounds
        ("filling", "i8"),  # the one for which the stage holds
        ("left", "f8"),  # capacity in B/s that is left, if it is dirty
    ],
    align=True,
)
"""A link, as the flows of one priority see it."""
CACHED_FLOW: Final = np.dtype(
    [
        ("level", "i4"),  # priority, plus 1; 0 for a flow that is not on its links
        ("path", "u4"),
        ("first", "u4"),  # its first crossing
        ("end", "u4"),  # the crossing behind its last
        ("fixed_by", "u4"),  # link that has fixed its rate, plus 1; 0 for none
        ("at", "u4"),  # its index among the flows that have a rate, plus 1; 0 for a flow that has none
        ("blocked", "?"),  # whether higher priorities leave nothing of a link of its path
    ],
    align=True,
)
CACHED_CROSSING: Final = np.dtype([("link", "u4"), ("row", "u4"), ("before", "u4"), ("behind", "u4")])
"""A flow on a link, and its neighbours there, plus 1."""
FIXED: Final = np.dtype([("round", "u4"), ("row", "u4")])
"""A flow whose rate is fixed, and the round in which it was."""


class AllocationCache(NamedTuple):
    """How links have been shared, in records of the types above; of flows, with as many crossings as the longest path.

    Attributes:
        priorities: (num_networks * num_priorities,) CACHED_PRIORITY.
        links: (num_networks * num_priorities * num_links,) CACHED_LINK.
        rounds: Links that have fixed rates, in this order, by priority; as many as links.
        changed: Links that have changed, by priority; as many as links.
        stale: Rows of flows that may have changed since the last filling, by network, (num_flows,).
        dirty: Scratch, (num_links,): links that are filled anew.
        open: Scratch, (num_links,): those of them with flows whose rates are not fixed yet.
        share: Scratch, (num_links,): rates in B/s that these could give each of these flows.
        fresh: Scratch, (num_links,): the rounds of this filling.
        num_priorities: Priorities; they are 0 to num_priorities - 1.
        longest: Links of the longest path.
    """

    networks: Records
    priorities: Records
    links: Records
    rounds: IntArray
    changed: IntArray
    flows: Records
    stale: IntArray
    crossings: Records
    dirty: IntArray
    open: IntArray
    share: FloatArray
    fresh: IntArray
    fixed: Records
    num_priorities: int
    num_links: int
    longest: int


def new_allocation_cache(num_networks: int, num_priorities: int, network: Network, num_flows: int) -> AllocationCache:
    """Makes room for networks like this one of which nothing is known; ``num_flows`` are those of all networks."""
    num_links, longest = len(network.capacity), longest_path(network)
    num_cached = num_networks * num_priorities * num_links
    return AllocationCache(
        networks=np.zeros(num_networks, dtype=CACHED_NETWORK),
        priorities=np.zeros(num_networks * num_priorities, dtype=CACHED_PRIORITY),
        links=np.zeros(num_cached, dtype=CACHED_LINK),
        rounds=np.zeros(num_cached, dtype=np.uint32),
        changed=np.zeros(num_cached, dtype=np.uint32),
        flows=np.zeros(num_flows, dtype=CACHED_FLOW),
        stale=np.zeros(num_flows, dtype=np.uint32),
        crossings=np.zeros(num_flows * longest, dtype=CACHED_CROSSING),
        dirty=np.zeros(num_links, dtype=np.uint32),
        open=np.zeros(num_links, dtype=np.uint32),
        share=np.zeros(num_links),
        fresh=np.zeros(num_links, dtype=np.uint32),
        fixed=np.zeros(num_flows // num_networks, dtype=FIXED),
        num_priorities=num_priorities,
        num_links=num_links,
        longest=longest,
    )


@inlined_part
def forget(n: int, cache: AllocationCache) -> None:
    """Forgets network ``n``."""
    cache.networks[n].known = False
    num_flows = len(cache.stale) // len(cache.networks)
    for row in range(n * num_flows, (n + 1) * num_flows):
        cache.flows[row].level = 0
        cache.flows[row].at = 0


@inlined_part
def mark_stale(n: int, row: int, cache: AllocationCache) -> None:
    """Notes that a flow of network ``n`` may have changed; where there are too many, all is forgotten."""
    net = cache.networks[n]
    room = len(cache.stale) // len(cache.networks)
    if net.num_stale < room:
        cache.stale[n * room + net.num_stale] = row
        net.num_stale += 1
    else:
        forget(n, cache)


@inlined_part
def open_links(n: int, capacity: FloatArray, cache: AllocationCache) -> None:
    """Begins with links without flows."""
    for number in range(n * cache.num_priorities, (n + 1) * cache.num_priorities):
        cache.priorities[number].num_changed = 0
        cache.priorities[number].num_rounds = 0
        for i in range(cache.num_links):
            link = cache.links[number * cache.num_links + i]
            link.given = capacity[i]
            link.num_flows = 0
            link.first = 0
            link.changed = False


@inlined_part
def add_to_links(n: int, row: int, level: int, path: int, network: Network, cache: AllocationCache) -> None:
    """Puts a flow on the links of its path, blocked for now."""
    first_link = (n * cache.num_priorities + level) * cache.num_links
    first_step = network.path_start[path]
    flow = cache.flows[row]
    flow.level = level + 1
    flow.path = path
    flow.fixed_by = 0
    flow.blocked = True
    flow.first = row * cache.longest
    flow.end = flow.first + (network.path_start[path + 1] - first_step)
    for index in range(flow.first, flow.end):
        crossing = cache.crossings[index]
        crossing.link = first_link + network.path_links[first_step + (index - flow.first)]
        link = cache.links[crossing.link]
        crossing.row = row
        crossing.before = 0
        crossing.behind = link.first
        if link.first > 0:
            cache.crossings[link.first - 1].before = index + 1
        link.first = index + 1
        change(crossing.link, cache)


@inlined_part
def take_from_links(row: int, cache: AllocationCache) -> None:
    """Takes a flow from its links."""
    flow = cache.flows[row]
    flow.level = 0
    for index in range(flow.first, flow.end):
        crossing = cache.crossings[index]
        if crossing.before > 0:
            cache.crossings[crossing.before - 1].behind = crossing.behind
        else:
            cache.links[crossing.link].first = crossing.behind
        if crossing.behind > 0:
            cache.crossings[crossing.behind - 1].before = crossing.before
        change(crossing.link, cache)


@inlined_part
def change(index: int, cache: AllocationCache) -> None:
    """Notes that a link has another capacity or other flows."""
    link = cache.links[index]
    if not link.changed:
        link.changed = True
        number = index // cache.num_links
        priority = cache.priorities[number]
        cache.changed[number * cache.num_links + priority.num_changed] = index
        priority.num_changed += 1


@inlined_part
def set_rate(net: Any, row: int, value: float, rate: FloatArray, served: IntArray, cache: AllocationCache) -> None:
    """Sets the rate of a flow, and keeps the list of those that have one."""
    rate[row] = value
    flow = cache.flows[row]
    if value > 0.0 and flow.at == 0:
        served[net.num_served] = row
        net.num_served += 1
        flow.at = net.num_served
    elif value == 0.0 and flow.at > 0:
        net.num_served -= 1
        last = served[net.num_served]
        served[flow.at - 1] = last
        cache.flows[last].at = flow.at
        flow.at = 0
