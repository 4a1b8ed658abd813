"""Chooses the least congested path: CONGA (Alizadeh et al., SIGCOMM 2014) as a model of flows.

Kept: the congestion of a path is the largest utilisation of its links, rates over capacity; a new flow takes the least
congested path, at random (by its hash) among equals; a flow that has paused for the flowlet gap chooses anew, but
leaves its path only for a less congested one (sections 3.4 and 3.5).

Lost: flowlets inside a flow that sends without a pause; the decay of the estimate and the age of the feedback, as rates
are known at once and exactly; quantisation to three bits. Flows that choose at one instant all see the rates before it.
A flow without a rate pauses, whatever the reason: one that an ordered discipline keeps waiting moves to a path as soon
as one is idle, which serves such disciplines better than packets could that must find the path first.
"""

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.fluid.routes import NetworkState
from flowsched_gym.fluid.rules.routing.candidates import is_candidate, shared_ends
from flowsched_gym.machine_code.decorators import allocating_rule, rule

NOBODY = -1


@allocating_rule
def choose_least_congested(row: int, scene: NetworkState) -> int:
    """Returns the least congested path of a flow; arguments as in ``choose_path``."""
    used = np.zeros(len(scene.network.capacity))
    _add_rates(row, scene, used)
    congestion = np.empty(scene.routes.last[row] - scene.routes.first[row])
    return _least_congested(row, scene, used, congestion)


@allocating_rule
def review_quiet(flowlet_gap: float, scene: NetworkState, moved: IntArray) -> int:
    """Chooses anew for quiet flows, and returns how many change their path; arguments as in ``review_paths``."""
    now, active, count, routes, path_of = scene.now, scene.active, scene.num_active, scene.routes, scene.controls.path
    waits = 0
    while waits < count and routes.quiet_since[active[waits]] + flowlet_gap > now:
        waits += 1
    if waits == count:
        return 0
    used = np.zeros(len(scene.network.capacity))
    # Nobody is left out: who chooses has no rate.
    _add_rates(NOBODY, scene, used)
    num_moved = 0
    for index in range(count):
        row = active[index]
        if routes.quiet_since[row] + flowlet_gap > now:
            continue
        congestion = np.empty(routes.last[row] - routes.first[row])
        path = _least_congested(row, scene, used, congestion)
        if path != path_of[row]:
            path_of[row] = path
            moved[num_moved] = row
            num_moved += 1
    return num_moved


@rule
def _add_rates(left_out: int, scene: NetworkState, used: FloatArray) -> None:
    """Adds the rates in B/s of all flows but one to the links that they cross."""
    network, rate, path_of = scene.network, scene.state.rate, scene.controls.path
    for index in range(scene.num_active):
        row = scene.active[index]
        if row != left_out and rate[row] > 0.0:
            for step in range(network.path_start[path_of[row]], network.path_start[path_of[row] + 1]):
                used[network.path_links[step]] += rate[row]


@rule
def _least_congested(row: int, scene: NetworkState, used: FloatArray, congestion: FloatArray) -> int:
    """Returns the least congested path, the present one where none is up; ``congestion`` is scratch."""
    network, routes = scene.network, scene.routes
    first, last, present = routes.first[row], routes.last[row], scene.controls.path[row]
    head, tail = shared_ends(first, last, network)
    least, num_least = np.inf, 0
    for path in range(first, last):
        congestion[path - first] = np.inf
        if not is_candidate(path, network):
            continue
        largest = 0.0
        for step in range(network.path_start[path] + head, network.path_start[path + 1] - tail):
            link = network.path_links[step]
            largest = max(largest, used[link] / network.capacity[link])
        congestion[path - first] = largest
        if largest < least:
            least, num_least = largest, 0
        if largest == least:
            num_least += 1
    if num_least == 0:
        return int(present)
    if scene.state.attained[row] > 0.0 and first <= present < last and congestion[present - first] == least:
        return int(present)
    index = routes.hash[row] % num_least
    path = first
    while congestion[path - first] != least or index > 0:
        if congestion[path - first] == least:
            index -= 1
        path += 1
    return int(path)
