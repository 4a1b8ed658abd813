"""Chooses the path that minimises the expansion ratio and maximises the tail rate (MEMR; MERP, Algorithms 4 to 6).

On each link that the flow could cross, with the flows there as MERP's flow table: the expansion ratio of the flow is
what MERP's order would give it (GPE, Algorithm 5), and the expected rate is that of the flow that would go last, or
less where a larger flow to the same destination expects less (GMER, Algorithm 6). A whole path has the largest ratio
and the least rate of its links. The path with the least ratio is taken, among equals the one with the largest rate,
among these the lowest. Hop by hop, each switch compares only the links that leave it, and knows which lead to a path
that is up.

Readings. A new flow has waited for no time and has all of its bytes left, as printed; one whose path has failed brings
its waiting time and what is left. The expected rate of a flow is its size over the time from its arrival to the latest
of its virtual deadlines, found anew from the flows as they are, and 0 where a link of its path has failed.
"""

from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.fluid.rules.ordering.virtual_deadlines import goes_later, virtual_deadlines
from flowsched_gym.machine_code.decorators import allocating_rule, rule
from flowsched_gym.topology.network import Network
from flowsched_gym.topology.routes import NetworkState, nth_path_up, path_is_up

NO_ENTRY: Final = -1
UNKNOWN: Final = -1.0
"""Stands for an expected rate that has not been needed yet."""


@rule
def expansion_ratio(
    now: float, capacity: float, row: int, rows: IntArray, size: FloatArray, arrival: FloatArray, remaining: FloatArray
) -> float:
    """Returns the expansion ratio that a flow would have on a link (GPE, Algorithm 5).

    As in ``virtual_deadlines``, the flow that would have the smallest ratio if it were served last goes last, and so
    on, until it is the flow that asks; that one goes later than others of its ratio, as printed. ``rows`` are those of
    the other flows on the link, and written over; ``capacity`` is that of the link in B/s.
    """
    left = len(rows)
    while True:
        # Added up anew, as taking away would leave roundings by which equal ratios differ.
        total = remaining[row]
        for index in range(left):
            total += remaining[rows[index]]
        least = ((now - arrival[row]) * capacity + total) / size[row]
        last = -1
        for index in range(left):
            other = rows[index]
            ratio = ((now - arrival[other]) * capacity + total) / size[other]
            if ratio < least or (
                ratio == least and last >= 0 and goes_later(other, rows[last], size, arrival, remaining)
            ):
                last, least = index, ratio
        if last < 0:
            return float(least)
        left -= 1
        for index in range(last, left):
            rows[index] = rows[index + 1]


@rule
def least_expected_rate(
    now: float,
    capacity: float,
    row: int,
    rows: IntArray,
    size: FloatArray,
    arrival: FloatArray,
    remaining: FloatArray,
    destination: IntArray,
    expected_rate: FloatArray,
) -> float:
    """Returns the least rate in B/s to expect on a link if a flow joins these (GMER, Algorithm 6).

    Of the expected rates, in B/s, only those of larger flows to the same host are read.
    """
    total = remaining[row]
    for index in range(len(rows)):
        total += remaining[rows[index]]
    ratio = ((now - arrival[row]) * capacity + total) / size[row]
    for index in range(len(rows)):
        other = rows[index]
        ratio = min(ratio, ((now - arrival[other]) * capacity + total) / size[other])
    rate = capacity / ratio
    for index in range(len(rows)):
        if _is_rival(rows[index], row, size, destination):
            rate = min(rate, expected_rate[rows[index]])
    return float(rate)


@rule
def _is_rival(other: int, row: int, size: FloatArray, destination: IntArray) -> bool:
    return bool(size[other] > size[row] and destination[other] == destination[row])


@rule
def expect_on_path(path: int, network: Network, ratio: FloatArray, rate: FloatArray) -> tuple[float, float]:
    """Returns the largest expansion ratio and the least expected rate in B/s of the links of a path."""
    largest, slowest = 0.0, np.inf
    for step in range(network.path_start[path], network.path_start[path + 1]):
        largest = max(largest, ratio[network.path_links[step]])
        slowest = min(slowest, rate[network.path_links[step]])
    return largest, slowest


@rule
def pick_whole_path(first: int, last: int, network: Network, ratio: FloatArray, rate: FloatArray) -> int:
    """Returns the path with the least of the largest ratios, then the largest of the least rates, of its links."""
    chosen, least, most = first, np.inf, 0.0
    for path in range(first, last):
        if not path_is_up(path, network):
            continue
        largest, slowest = expect_on_path(path, network, ratio, rate)
        if largest < least or (largest == least and slowest > most):
            chosen, least, most = path, largest, slowest
    return chosen


@rule
def pick_hop_by_hop(first: int, last: int, network: Network, ratio: FloatArray, rate: FloatArray) -> int:
    """Returns the path that takes at each switch the link of the least ratio, then of the largest rate."""
    path_start, path_links = network.path_start, network.path_links
    chosen = nth_path_up(0, first, last, network)
    hop = 0
    while hop < path_start[chosen + 1] - path_start[chosen]:
        following, least, most = chosen, np.inf, 0.0
        for path in range(first, last):
            if path_is_up(path, network) and _begins_alike(path, chosen, hop, network):
                link = path_links[path_start[path] + hop]
                if ratio[link] < least or (ratio[link] == least and rate[link] > most):
                    following, least, most = path, ratio[link], rate[link]
        chosen = following
        hop += 1
    return int(chosen)


@rule
def _begins_alike(path: int, other: int, num_links: int, network: Network) -> bool:
    same = True
    for step in range(num_links):
        link = network.path_links[network.path_start[path] + step]
        same = same and link == network.path_links[network.path_start[other] + step]
    return same


@allocating_rule
def choose_by_expansion(hop_by_hop: bool, row: int, scene: NetworkState) -> int:
    """Chooses the path of a flow, hop by hop or whole."""
    network, first, last = scene.network, scene.routes.first[row], scene.routes.last[row]
    ratio, rate = np.zeros(len(network.capacity)), np.zeros(len(network.capacity))
    expect_on_links(row, scene, ratio, rate)
    if hop_by_hop:
        return int(pick_hop_by_hop(first, last, network, ratio, rate))
    return int(pick_whole_path(first, last, network, ratio, rate))


@allocating_rule
def expect_on_links(row: int, scene: NetworkState, ratio: FloatArray, rate: FloatArray) -> None:
    """Finds what a flow may expect on each link of its paths.

    After one look at all active flows, only those are weighed that are on these links, or on the links of its rivals.
    ``ratio`` receives its expansion ratios, ``rate`` the least expected rates in B/s, (num_links,) each, all 0 before;
    0 stays where a link has failed. The flow may be among the active ones.
    """
    now, active, count, state, controls, network, routes = scene
    capacity, path_start, path_links = network.capacity, network.path_start, network.path_links
    low = high = int(row)
    num_entries = 0
    for index in range(count):
        low, high = min(low, int(active[index])), max(high, int(active[index]))
        path = controls.path[active[index]]
        num_entries += path_start[path + 1] - path_start[path]
    # From here on rows count from the smallest: what is made anew for each flow has few entries.
    size, arrival, remaining = state.size[low : high + 1], state.arrival_time[low:], state.remaining[low:]
    destination, path_of = routes.destination[low:], controls.path[low:]
    asking = row - low
    tables = _Tables(
        newest=np.full(len(capacity), NO_ENTRY),
        older=np.empty(num_entries, dtype=np.int64),
        row=np.empty(num_entries, dtype=np.int64),
        rivals=np.empty(count, dtype=np.int64),
        deadline=np.empty(len(size)),
    )
    expected_rate, rows = np.empty(len(size)), np.empty(count, dtype=np.int64)
    _enter_flows(asking, active, count, low, path_of, network, tables, expected_rate)
    for path in range(routes.first[row], routes.last[row]):
        for step in range(path_start[path], path_start[path + 1]):
            link = path_links[step]
            if ratio[link] > 0.0 or capacity[link] == 0.0:
                continue
            found = _find_flows(link, tables, rows)
            for index in range(found):
                other = rows[index]
                if expected_rate[other] == UNKNOWN and _is_rival(other, asking, size, destination):
                    expected_rate[other] = _expected_rate(
                        now, other, size, arrival, remaining, path_of[other], network, tables
                    )
            rate[link] = least_expected_rate(
                now, capacity[link], asking, rows[:found], size, arrival, remaining, destination, expected_rate
            )
            ratio[link] = expansion_ratio(now, capacity[link], asking, rows[:found], size, arrival, remaining)


class _Tables(NamedTuple):
    """The flows on every link, as entries that lead from the ``newest`` of each link, or ``NO_ENTRY``, to older ones.

    ``row`` is that of the flow of each entry; rivals and deadlines are scratch.
    """

    newest: IntArray
    older: IntArray
    row: IntArray
    rivals: IntArray
    deadline: FloatArray


@rule
def _enter_flows(
    left_out: int,
    active: IntArray,
    count: int,
    low: int,
    path_of: IntArray,
    network: Network,
    tables: _Tables,
    expected_rate: FloatArray,
) -> None:
    """Enters all active flows but one with their links, in rows from ``low`` on; expected rates become ``UNKNOWN``."""
    entry = 0
    for index in range(count):
        row = active[index] - low
        if row == left_out:
            continue
        expected_rate[row] = UNKNOWN
        for step in range(network.path_start[path_of[row]], network.path_start[path_of[row] + 1]):
            link = network.path_links[step]
            tables.row[entry] = row
            tables.older[entry] = tables.newest[link]
            tables.newest[link] = entry
            entry += 1


@rule
def _find_flows(link: int, tables: _Tables, rows: IntArray) -> int:
    """Writes the rows of the flows on a link in their order, and returns how many there are."""
    found = 0
    entry = tables.newest[link]
    while entry != NO_ENTRY:
        hole = found
        while hole > 0 and rows[hole - 1] > tables.row[entry]:
            rows[hole] = rows[hole - 1]
            hole -= 1
        rows[hole] = tables.row[entry]
        found += 1
        entry = tables.older[entry]
    return found


@rule
def _expected_rate(
    now: float,
    row: int,
    size: FloatArray,
    arrival: FloatArray,
    remaining: FloatArray,
    path: int,
    network: Network,
    tables: _Tables,
) -> float:
    """Returns the expected rate in B/s of a flow on a path, the least over its links."""
    least, rows, deadline = np.inf, tables.rivals, tables.deadline
    for step in range(network.path_start[path], network.path_start[path + 1]):
        link = network.path_links[step]
        capacity = network.capacity[link]
        if capacity == 0.0:
            return 0.0
        found = _find_flows(link, tables, rows)
        virtual_deadlines(now, capacity, rows[:found], size, arrival, remaining, deadline)
        least = min(least, size[row] / (deadline[row] - arrival[row]))
    return least
