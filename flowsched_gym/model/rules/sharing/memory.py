"""Keeps what ``refilling`` remembers of the sharing of links: which flows each link has, and how it was filled."""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.compile import inlined_rule, rule
from flowsched_gym.model.rules.sharing.members import BLOCK, NO_LINK, Members, new_members

__all__ = [
    "ANOTHER_CAPACITY",
    "OTHER_FLOWS",
    "Memory",
    "MemoryOfFewLinks",
    "alter",
    "change",
    "forget_links",
    "new_memory",
    "set_rate",
    "shut_out",
    "take_in",
    "take_out",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Records = npt.NDArray[Any]

REMEMBERED: Final = np.dtype(
    [
        ("known", "?"),  # whether anything is remembered
        ("is_tightest", "?"),  # whether ``tightest`` is known
        ("filling", "u4"),  # number of the last filling
        ("num_altered", "i8"),  # flows that may have changed since
        ("highest", "i8"),  # priority that has changed since, where links are few; num_classes for none
        ("num_open", "i4"),  # active links with flows whose rates are not fixed yet
        ("num_active", "i4"),  # links that are filled anew
        ("tightest", "i4"),  # the active link that could give least, or ``NOBODY``
    ],
    align=True,
)
"""What is remembered of a network, and the course of a filling."""

CLASS: Final = np.dtype([("num_changed", "i4"), ("num_rounds", "i4")])
"""What is remembered of a priority."""

SHARED_LINK: Final = np.dtype(
    [
        ("given", "f8"),  # capacity in B/s that higher priorities leave
        ("num_flows", "i4"),  # flows that are not shut out
        ("first", "u4"),  # one of its flows, as a crossing, plus 1; 0 for none
        ("changed", "u1"),  # whether it is not as it was: 0, ``ANOTHER_CAPACITY`` or ``OTHER_FLOWS``
        # and in a filling
        ("stage", "u1"),  # how far it is: 0, or some of ``WATCHED``, ``ACTIVE`` and ``DONE``
        ("filling", "u4"),  # for which this holds
        ("at", "u4"),  # its place among the open links, or, when it is done, among the rounds
        ("open_flows", "i4"),  # flows whose rates are not fixed yet, if it is active
        ("left", "f8"),  # capacity in B/s that is left
    ],
    align=True,
)
"""A link, as the flows of one priority see it."""

SHARING_FLOW: Final = np.dtype(
    [
        ("level", "i4"),  # priority, plus 1; 0 for a flow that does not send
        ("path", "u4"),
        ("first", "u4"),  # its first crossing
        ("end", "u4"),  # the crossing behind its last
        ("fixed_by", "u4"),  # link that has fixed its rate, plus 1; 0 for none
        ("place", "u4"),  # among the flows that have a rate, plus 1; 0 for one that has none. Or among the members
        ("shut_out", "?"),  # whether a link of its path is full of higher priorities
    ],
    align=True,
)
"""A flow that sends."""

CROSSED: Final = np.dtype([("link", "u4"), ("row", "u4"), ("before", "u4"), ("behind", "u4")])
"""A flow on a link, and its neighbours there, plus 1."""

ROUND: Final = np.dtype([("level", "f8"), ("link", "u4"), ("num_flows", "u4")], align=True)
"""A link that has fixed the rate of each of so many flows, in B/s."""

FIXED: Final = np.dtype([("round", "u4"), ("row", "u4")])
"""A flow whose rate is fixed, and the round in which it was."""

FEW_LINKS: Final = 100
"""Links up to which they are shared anew (``resharing``), and not gone through again (``refilling``)."""
ANOTHER_CAPACITY: Final = 1
OTHER_FLOWS: Final = 2
"""Other flows may be shut out too."""


class Memory(NamedTuple):
    """Holds what is remembered of the sharing of links; places of links count through networks and priorities.

    There is room for what ``resharing`` needs, or for what ``refilling`` does; both need what comes first here.

    Attributes:
        networks: (num_networks,) REMEMBERED.
        flows: (num_flows,) SHARING_FLOW.
        altered: Rows of flows that may have changed since the last filling, by network, (num_flows,).
        open: Scratch, links that are filled, with flows whose rates are not fixed yet.
        share: Scratch, rates in B/s that these could give each of these flows.
        members: The flows by priority.
        classes: (num_networks * num_classes,) CLASS.
        links: (num_networks * num_classes * num_links,) SHARED_LINK.
        rounds: Of the last filling of each priority, in their order; as many as links.
        changed: Links that have changed, by priority; as many as links.
        crossings: (num_flows * longest path,) CROSSED.
        active: Scratch, (num_links,): links that are filled anew.
        fresh: Scratch, (num_links,) ROUND: the rounds of this filling.
        fixed: Scratch, (num_flows of a network,) FIXED.
        num_classes: Priorities; they are 0 to num_classes - 1.
        num_links: Links of a network.
        longest: Links of the longest path.
    """

    networks: Records
    flows: Records
    altered: IntArray
    open: IntArray
    share: FloatArray
    members: Members
    classes: Records
    links: Records
    rounds: Records
    changed: IntArray
    crossings: Records
    active: IntArray
    fresh: Records
    fixed: Records
    num_classes: int
    num_links: int
    longest: int


class MemoryOfFewLinks(Memory):
    """What is remembered where links are few, a type of its own: compiled code has one of both ways to share alone."""


def new_memory(
    num_networks: int, num_classes: int, num_links: int, num_flows: int, longest: int, few_links: int = FEW_LINKS
) -> Memory:
    """Makes room for networks of which nothing is remembered.

    Args:
        num_networks: Networks, >= 1.
        num_classes: Priorities in which flows share, >= 1.
        num_links: Links of a network.
        num_flows: Flows of all networks.
        longest: Links of the longest path.
        few_links: Links up to which they are few.
    """
    has_few_links = num_links <= few_links
    room = (num_networks, num_classes, num_links, num_flows)
    few, many = (room, (0, 0, 0, 0)) if has_few_links else ((0, 0, 0, 0), room)
    places = many[0] * many[1] * many[2]
    kind = MemoryOfFewLinks if has_few_links else Memory
    return kind(
        networks=np.zeros(num_networks, dtype=REMEMBERED),
        flows=np.zeros(num_flows, dtype=SHARING_FLOW),
        altered=np.zeros(num_flows, dtype=np.uint32),
        open=np.zeros(num_links + NO_LINK, dtype=np.uint32),
        share=np.zeros(num_links + BLOCK),
        members=new_members(*few, longest),
        classes=np.zeros(many[0] * many[1], dtype=CLASS),
        links=np.zeros(places, dtype=SHARED_LINK),
        rounds=np.zeros(places, dtype=ROUND),
        changed=np.zeros(places, dtype=np.uint32),
        crossings=np.zeros(many[3] * longest, dtype=CROSSED),
        active=np.zeros(many[2], dtype=np.uint32),
        fresh=np.zeros(many[2], dtype=ROUND),
        fixed=np.zeros(many[3] // max(many[0], 1), dtype=FIXED),
        num_classes=num_classes,
        num_links=num_links,
        longest=longest,
    )


@rule
def forget_links(n: int, capacity: FloatArray, memory: Memory) -> None:
    """Begins with links without flows."""
    for number in range(n * memory.num_classes, (n + 1) * memory.num_classes):
        memory.classes[number].num_changed = 0
        memory.classes[number].num_rounds = 0
        for link in range(memory.num_links):
            place = number * memory.num_links + link
            memory.links[place].given = capacity[link]
            memory.links[place].num_flows = 0
            memory.links[place].first = 0
            memory.links[place].changed = 0
            memory.links[place].filling = 0
    memory.networks[n].filling = 0


@inlined_rule
def take_in(
    n: int, row: int, level: int, path: int, path_start: IntArray, path_links: IntArray, memory: Memory
) -> None:
    """Puts a flow on its links, shut out for now."""
    number = n * memory.num_classes + level
    flow = memory.flows[row]
    flow.level = level + 1
    flow.path = path
    flow.fixed_by = 0
    flow.shut_out = True
    flow.first = row * memory.longest
    flow.end = flow.first + (path_start[path + 1] - path_start[path])
    for crossing in range(flow.first, flow.end):
        place = number * memory.num_links + path_links[path_start[path] + (crossing - flow.first)]
        link = memory.links[place]
        crossed = memory.crossings[crossing]
        crossed.link = place
        crossed.row = row
        crossed.before = 0
        crossed.behind = link.first
        if link.first > 0:
            memory.crossings[link.first - 1].before = crossing + 1
        link.first = crossing + 1
        change(OTHER_FLOWS, number, place, memory)


@inlined_rule
def take_out(row: int, rate: FloatArray, memory: Memory, served: IntArray, num_served: int) -> int:
    """Takes a flow from its links; returns how many flows have a rate."""
    flow = memory.flows[row]
    for crossing in range(flow.first, flow.end):
        crossed = memory.crossings[crossing]
        link = memory.links[crossed.link]
        if crossed.before > 0:
            memory.crossings[crossed.before - 1].behind = crossed.behind
        else:
            link.first = crossed.behind
        if crossed.behind > 0:
            memory.crossings[crossed.behind - 1].before = crossed.before
        change(OTHER_FLOWS, crossed.link // memory.num_links, crossed.link, memory)
    flow.level = 0
    return set_rate(row, 0.0, rate, memory, served, num_served)


@inlined_rule
def alter(n: int, row: int, memory: Memory) -> None:
    """Notes that a flow of network ``n`` may not be as it was; where there are too many, all is forgotten."""
    net = memory.networks[n]
    room = len(memory.altered) // len(memory.networks)
    if net.num_altered < room:
        memory.altered[n * room + net.num_altered] = row
        net.num_altered += 1
    else:
        net.known = False


@inlined_rule
def change(what: int, number: int, place: int, memory: Memory) -> None:
    """Notes that a link is not as it was."""
    link = memory.links[place]
    if link.changed == 0:
        changes = memory.classes[number]
        memory.changed[number * memory.num_links + changes.num_changed] = place
        changes.num_changed += 1
    link.changed = max(link.changed, what)


@inlined_rule
def set_rate(row: int, value: float, rate: FloatArray, memory: Memory, served: IntArray, num_served: int) -> int:
    """Sets the rate of a flow, and keeps the list of those that have one; returns how many there are."""
    rate[row] = value
    place = memory.flows[row].place
    if value > 0.0 and place == 0:
        served[num_served] = row
        num_served += 1
        memory.flows[row].place = num_served
    elif value == 0.0 and place > 0:
        num_served -= 1
        last = served[num_served]
        served[place - 1] = last
        memory.flows[last].place = place
        memory.flows[row].place = 0
    return num_served


@inlined_rule
def shut_out(number: int, rate: FloatArray, memory: Memory, served: IntArray, num_served: int) -> int:
    """Finds who is shut out on links with other flows, and counts the rest there; returns how many have a rate."""
    changes = memory.classes[number]
    first_place = number * memory.num_links
    looks = memory.open  # nothing is open yet
    num_looks = 0
    for at in range(first_place, first_place + changes.num_changed):
        if memory.links[memory.changed[at]].changed == OTHER_FLOWS:
            looks[num_looks] = memory.changed[at]
            num_looks += 1
    looked_at = 0
    while looked_at < num_looks:
        link = memory.links[looks[looked_at]]
        looked_at += 1
        link.num_flows = 0
        next_one = link.first
        while next_one > 0:
            row = memory.crossings[next_one - 1].row
            next_one = memory.crossings[next_one - 1].behind
            flow = memory.flows[row]
            shut_out = False
            for crossing in range(flow.first, flow.end):
                shut_out = shut_out or memory.links[memory.crossings[crossing].link].given == 0.0
            if shut_out != flow.shut_out:
                flow.shut_out = shut_out
                if shut_out:
                    num_served = set_rate(row, 0.0, rate, memory, served, num_served)
                    flow.fixed_by = 0
                for crossing in range(flow.first, flow.end):
                    other = memory.crossings[crossing].link
                    if memory.links[other].changed != OTHER_FLOWS:
                        change(OTHER_FLOWS, number, other, memory)
                        looks[num_looks] = other
                        num_looks += 1
            if not shut_out:
                link.num_flows += 1
    return num_served
