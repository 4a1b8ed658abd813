"""When flows would finish if no more of them came, for each path that a new one could take.

All links at once: each orders its flows by virtual deadlines, found anew from the flows as they are, the latest over
its path is the effective one of a flow, and each sends what those with earlier ones leave on its path (MERP, Algorithm
2, as the discipline ``merp`` serves many links). MEMR compares what a path costs the new flow, link by link; this is
also what it costs the others. Flows whose path is down are left out, and so are delays of links.
"""

from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.fluid.rules.ordering.virtual_deadlines import virtual_deadlines
from flowsched_gym.machine_code.decorators import allocating_part
from flowsched_gym.topology.network import Network
from flowsched_gym.topology.routes import NetworkState, path_is_up

DELIVERED: Final = 1e-9
"""Share of a flow's bytes that may be left of it by rounding when it has finished."""
NOBODY: Final = -1


class _Flows(NamedTuple):
    """Flows that send, in the order of their rows, (num_flows,) each, and scratch.

    Attributes:
        left, rate: Bytes left, and bytes per second, on the way to the end.
        deadline, latest: Virtual deadline on one link, and the latest over the path, in s.
        finish: Time at which each would finish in s.
        order: Indices of those that have not finished, first to be served first.
        members: Indices of those on one link.
        older: For each step of each path the entry before it on its link, (num_flows, num_links); an entry counts
            these steps.
        newest: Last entry on each link, (num_links,).
        free: Bytes per second of each link that nobody uses yet, (num_links,).
    """

    size: FloatArray
    arrival: FloatArray
    remaining: FloatArray
    ideal_fct: FloatArray
    left: FloatArray
    rate: FloatArray
    deadline: FloatArray
    latest: FloatArray
    finish: FloatArray
    path: IntArray
    order: IntArray
    members: IntArray
    older: IntArray
    newest: IntArray
    free: FloatArray


@allocating_part
def forecast_slowdowns(
    row: int, scene: NetworkState, ideal_fct: FloatArray, own: FloatArray, total: FloatArray
) -> None:
    """Foretells what each path that is up would cost if flow ``row`` took it.

    ``ideal_fct`` are completion times in s alone on the empty network, (num_flows,). ``own`` receives the slowdown of
    the flow, ``total`` that and what it adds to the slowdowns of all others, (num_paths,) each.
    """
    state, network, routes = scene.state, scene.network, scene.routes
    rows = np.empty(scene.num_active + 1, dtype=np.int64)
    count = 0
    for index in range(scene.num_active):
        other = scene.active[index]
        if other != row and path_is_up(scene.controls.path[other], network):
            at = count
            while at > 0 and rows[at - 1] > other:
                rows[at] = rows[at - 1]
                at -= 1
            rows[at] = other
            count += 1
    rows[count] = row
    reals, wholes, num_links = np.empty((9, count + 1)), np.empty((3, count + 1), dtype=np.int64), len(network.capacity)
    flows = _Flows(
        reals[0],
        reals[1],
        reals[2],
        reals[3],
        reals[4],
        reals[5],
        reals[6],
        reals[7],
        reals[8],
        wholes[0],
        wholes[1],
        wholes[2],
        np.empty((count + 1, num_links), dtype=np.int64),
        np.empty(num_links, dtype=np.int64),
        np.empty(num_links),
    )
    for index in range(count + 1):
        other = rows[index]
        flows.size[index], flows.arrival[index] = state.size[other], state.arrival_time[other]
        flows.remaining[index], flows.ideal_fct[index] = state.remaining[other], ideal_fct[other]
        flows.path[index] = scene.controls.path[other]
    before = _sum_of_slowdowns(count, scene.now, flows, network)
    for path in range(routes.first[row], routes.last[row]):
        if path_is_up(path, network):
            flows.path[count] = path
            after = _sum_of_slowdowns(count + 1, scene.now, flows, network)
            index = path - routes.first[row]
            own[index] = (flows.finish[count] - flows.arrival[count]) / flows.ideal_fct[count]
            total[index] = max(after - before, 0.0)


@allocating_part
def _sum_of_slowdowns(count: int, now: float, flows: _Flows, network: Network) -> float:
    """Serves the first so many flows until the last has finished, and adds up their slowdowns."""
    path_start, path_links, free = network.path_start, network.path_links, flows.free
    _order(count, now, flows, network)
    for index in range(count):
        flows.left[index] = flows.remaining[index]
    num_left, time, total = count, now, 0.0
    while num_left > 0:
        for place in range(num_left):
            path = flows.path[flows.order[place]]
            for step in range(path_start[path], path_start[path + 1]):
                free[path_links[step]] = network.capacity[path_links[step]]
        soonest = np.inf
        for place in range(num_left):
            index = flows.order[place]
            path, rate = flows.path[index], np.inf
            for step in range(path_start[path], path_start[path + 1]):
                rate = min(rate, free[path_links[step]])
            flows.rate[index] = rate
            if rate > 0.0:
                soonest = min(soonest, flows.left[index] / rate)
                for step in range(path_start[path], path_start[path + 1]):
                    free[path_links[step]] -= rate
        time += soonest
        kept = 0
        for place in range(num_left):
            index = flows.order[place]
            flows.left[index] -= flows.rate[index] * soonest
            if flows.left[index] > DELIVERED * flows.size[index]:
                flows.order[kept] = index
                kept += 1
            else:
                flows.finish[index] = time
                total += (time - flows.arrival[index]) / flows.ideal_fct[index]
        num_left = kept
    return total


@allocating_part
def _order(count: int, now: float, flows: _Flows, network: Network) -> None:
    """Sorts flows by the latest virtual deadline over their paths; equal ones by their rows."""
    path_start, path_links, newest, older = network.path_start, network.path_links, flows.newest, flows.older
    newest[:] = NOBODY
    for index in range(count):
        path, flows.latest[index] = flows.path[index], 0.0
        begin = np.int64(path_start[path])
        for step in range(np.int64(path_start[path + 1]) - begin):
            link = path_links[begin + step]
            older[index, step] = newest[link]
            newest[link] = index * older.shape[1] + step
    for link in range(len(newest)):
        entry, found = newest[link], 0
        while entry != NOBODY:
            index = entry // older.shape[1]
            flows.members[found] = index
            found += 1
            entry = older[index, entry % older.shape[1]]
        if found > 0:
            members = flows.members[:found]
            virtual_deadlines(
                now, network.capacity[link], members, flows.size, flows.arrival, flows.remaining, flows.deadline
            )
            for place in range(found):
                index = members[place]
                flows.latest[index] = max(flows.latest[index], flows.deadline[index])
    for index in range(count):
        place = index
        while place > 0 and flows.latest[flows.order[place - 1]] > flows.latest[index]:
            flows.order[place] = flows.order[place - 1]
            place -= 1
        flows.order[place] = index
