"""Serves flows by virtual deadlines, so that the largest expansion ratio (slowdown) is smallest (MERP).

``virtual_deadlines`` orders the flows of one link (Algorithm 2). On many links a flow's effective virtual deadline is
the latest over its path: that of its smallest expected service rate.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.fluid.rules.ordering.keys import order_by
from flowsched_gym.fluid.rules.ordering.virtual_deadlines import virtual_deadlines, virtual_deadlines_of_many
from flowsched_gym.machine_code.decorators import rule
from flowsched_gym.topology.network import Network

Records = npt.NDArray[Any]

UNKNOWN: Final = -1.0
"""Stands for an effective virtual deadline that has not been found yet."""
NEW, WAITING, HEAD = 0, 1, 2
"""Standings of a flow: never ordered, ordered, ordered and the first of its network."""
IN_ORDER, NOBODY = -2, -1
"""In place of the first flow of a stale link: the link is not stale, or has no flow yet."""
MANY: Final = 128
"""Flows of a link from which on a tournament finds their order sooner than comparing all."""
MARKS: Final = 62
"""Bits of each of two words by which links are told apart at a glance."""
STALE_LINK: Final = np.dtype([("first", "i8"), ("stale", "i8")])
"""First of the members of a link that is ordered anew, ``IN_ORDER`` before and after; and the links that are."""
STALE_MEMBER: Final = np.dtype([("row", "i8"), ("step", "i8"), ("next", "i8"), ("ordered", "i8")])
"""A flow that crosses a stale link, as which step of its path, and the next member; and rows in their order."""


class ExpansionRatios(NamedTuple):
    """Virtual deadlines of flows, kept from event to event, and scratch: ``links``, ``members`` and ``matches``.

    Attributes:
        settings: Gap in s when the next flow takes over from one that has finished; gap in s when a new order brings
            forward a flow that waited; 1 to order anew at every event, (3,).
        virtual_deadline: Effective virtual deadline of each flow in s, ``UNKNOWN`` for one that is new or has a new
            path, (num_flows,).
        on_link: Virtual deadlines in s on each link of a flow's path, (num_flows, longest path).
        mark: Links of each flow's path in bits, told apart by 2 ``MARKS`` bits, (num_flows, 2).
        standing: ``NEW``, ``WAITING`` or ``HEAD``, where there is a gap, (num_flows,).
        held: Time in s until which nobody sends, (num_networks,); the first flow of an episode sets it.
    """

    strict: bool
    settings: FloatArray
    virtual_deadline: FloatArray
    on_link: FloatArray
    mark: IntArray
    standing: IntArray
    unknown: IntArray
    held: FloatArray
    links: Records
    members: Records
    matches: Records


@rule
def serve_by_virtual_deadline(
    now: float,
    n: int,
    active: IntArray,
    count: int,
    state: FlowState,
    controls: Controls,
    network: Network,
    record: ExpansionRatios,
) -> None:
    """Serves the earliest effective virtual deadline first: the latest over the links of a flow's path.

    A link is ordered anew when a flow arrives that crosses it, and at every event where ``settings`` ask for it. Nobody
    is admitted during a detection gap, in strict mode only flows that are first on every link of their path.
    """
    path, path_start, path_links = controls.path, network.path_start, network.path_links
    virtual_deadline, mark, links, settings = record.virtual_deadline, record.mark, record.links, record.settings
    always = settings[2] > 0.0
    num_stale = 0
    low, high = 0, 0
    index = count
    while index > 0 and (always or record.unknown[n] > 0):
        index -= 1
        row = active[index]
        is_unknown = virtual_deadline[row] == UNKNOWN
        if is_unknown:
            record.unknown[n] -= 1
            _mark(mark[row], path[row], path_start, path_links)
        if is_unknown or always:
            low, high = low | mark[row, 0], high | mark[row, 1]
            for step in range(path_start[path[row]], path_start[path[row] + 1]):
                link = path_links[step]
                if links["first"][link] == IN_ORDER:
                    links["first"][link] = NOBODY
                    links["stale"][num_stale] = link
                    num_stale += 1
    if num_stale > 0:
        _order_links(now, active, count, state, path, network, low, high, num_stale, record)
        order_by(active, count, virtual_deadline, state.arrival_time, controls.priority)
    if settings[0] > 0.0 or settings[1] > 0.0:
        _wait_for_detection(now, n, active, count, controls.admitted, record)
    if record.strict:
        _admit_the_first(active, count, path, network, controls.admitted, links["first"])


@rule
def _mark(mark: IntArray, path: int, path_start: IntArray, path_links: IntArray) -> None:
    """Marks the links of a path in the bits of two words: paths without a common bit have no common link."""
    mark[0] = mark[1] = 0
    for step in range(path_start[path], path_start[path + 1]):
        bit = np.int64(path_links[step] % (2 * MARKS))
        mark[bit // MARKS] |= np.int64(1) << bit % MARKS


@rule
def _wait_for_detection(
    now: float, n: int, active: IntArray, count: int, admitted: BoolArray, record: ExpansionRatios
) -> None:
    """Admits nobody for a while after a flow that waited has become the first."""
    standing, settings, held = record.standing, record.settings, record.held
    first = standing[active[0]]
    if first != HEAD:
        gap = settings[0]
        for index in range(1, count):
            if standing[active[index]] == HEAD:
                gap = settings[1]
        held[n] = now + gap if first == WAITING else now
    for index in range(count):
        row = active[index]
        standing[row] = HEAD if index == 0 else WAITING
        admitted[row] = held[n] <= now


@rule
def _admit_the_first(
    active: IntArray, count: int, path: IntArray, network: Network, admitted: BoolArray, taken: IntArray
) -> None:
    """Admits no flow that is not the first on every link of its path."""
    path_start, path_links = network.path_start, network.path_links
    for index in range(count):
        row = active[index]
        admitted[row] = True
        for step in range(path_start[path[row]], path_start[path[row] + 1]):
            admitted[row] = admitted[row] and taken[path_links[step]] == IN_ORDER
        for step in range(path_start[path[row]], path_start[path[row] + 1]):
            taken[path_links[step]] = NOBODY
    for index in range(count):
        row = active[index]
        for step in range(path_start[path[row]], path_start[path[row] + 1]):
            taken[path_links[step]] = IN_ORDER


@rule
def _order_links(
    now: float,
    active: IntArray,
    count: int,
    state: FlowState,
    path: IntArray,
    network: Network,
    low: int,
    high: int,
    num_stale: int,
    record: ExpansionRatios,
) -> None:
    """Orders the flows on stale links, made so by flows with these marks, and finds their virtual deadlines."""
    size, arrival, remaining = state.size, state.arrival_time, state.remaining
    capacity, path_start, path_links, _ = network
    virtual_deadline, on_link, mark = record.virtual_deadline, record.on_link, record.mark
    links, members = record.links, record.members
    first, stale = links["first"], links["stale"]
    num_members = 0
    for index in range(count - 1, -1, -1):
        row = active[index]
        if ((mark[row, 0] & low) | (mark[row, 1] & high)) == 0:
            continue
        begin = path_start[path[row]]
        for step in range(begin, path_start[path[row] + 1]):
            link = path_links[step]
            if first[link] != IN_ORDER:
                members["row"][num_members] = row
                members["step"][num_members] = step - begin
                members["next"][num_members] = first[link]
                first[link] = num_members
                num_members += 1
    for index in range(num_stale):
        link = stale[index]
        rows = members["ordered"]
        count_on_link = 0
        member = first[link]
        while member != NOBODY:
            rows[count_on_link] = members["row"][member]
            count_on_link += 1
            member = members["next"][member]
        if count_on_link < MANY:
            virtual_deadlines(
                now, network.capacity[link], rows[:count_on_link], size, arrival, remaining, virtual_deadline
            )
        else:
            virtual_deadlines_of_many(
                now, capacity[link], rows[:count_on_link], size, arrival, remaining, virtual_deadline, record.matches
            )
        member = first[link]
        while member != NOBODY:
            row = members["row"][member]
            on_link[row, members["step"][member]] = virtual_deadline[row]
            member = members["next"][member]
        first[link] = IN_ORDER
    for member in range(num_members):
        row = members["row"][member]
        virtual_deadline[row] = 0.0
        for step in range(path_start[path[row] + 1] - path_start[path[row]]):
            virtual_deadline[row] = max(virtual_deadline[row], on_link[row, step])
