"""Fills what an agent sees that chooses a path: the flow that waits, each of its paths, and the links of these.

Paths are compared as the rules do that choose them (``routing.py``): bytes, flows and utilisation of a path are those
of its most loaded link, links that all live paths share left out; its expansion ratio and expected rate are those of
MEMR (``memr.py``), over all of its links. A path that is down has the ratio inf, utilisation 1 and nothing to expect.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.controls import Controls
from flowsched_gym.model.routes import Routes
from flowsched_gym.model.rules.compile import allocating_rule, rule
from flowsched_gym.model.rules.observation import squash
from flowsched_gym.model.rules.routing.availability import path_is_up
from flowsched_gym.model.rules.routing.candidates import shared_ends
from flowsched_gym.model.rules.routing.memr import expect_on_links, expect_on_path
from flowsched_gym.model.state import FlowState, Network

__all__ = ["NUM_CONTEXT_COLUMNS", "NUM_SLOT_COLUMNS", "PathScales", "fill_live", "fill_paths", "first_live"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

NUM_CONTEXT_COLUMNS: Final = 4
NUM_PATH_COLUMNS: Final = 7
NUM_ROLES: Final = 4
"""Links of a path between those of the hosts: two on the way up, two on the way down; inside a pod one and one."""
NUM_LINK_COLUMNS: Final = 4
NUM_SLOT_COLUMNS: Final = NUM_PATH_COLUMNS + NUM_ROLES * NUM_LINK_COLUMNS


class PathScales(NamedTuple):
    """Holds what turns values into numbers in [0, 1].

    Attributes:
        line_rate: Capacity of every link in B/s.
        size: Bytes that become one half.
        time: Time in s that becomes one half.
        flows: Flows on a link that become one half.
        live_flows: Flows in the network that become one half.
        ratio: Expansion ratio that becomes one half.
    """

    line_rate: float
    size: float
    time: float
    flows: float
    live_flows: float
    ratio: float


@rule
def first_live(first: int, last: int, network: Network) -> int:
    """Returns the first live path from row ``first`` of the path table to before row ``last``; there must be one."""
    for path in range(first, last):
        if path_is_up(path, network.capacity, network.path_start, network.path_links):
            return path
    return first


@rule
def fill_live(first: int, last: int, network: Network, mask: npt.NDArray[np.bool_]) -> None:
    """Writes which slots hold a live path; the paths are those from row ``first`` to before row ``last``."""
    for slot in range(len(mask)):
        mask[slot] = first + slot < last and path_is_up(
            first + slot, network.capacity, network.path_start, network.path_links
        )


@allocating_rule
def fill_paths(
    observation: npt.NDArray[np.float32],
    num_slots: int,
    now: float,
    row: int,
    ideal_fct: float,
    live: IntArray,
    count: int,
    state: FlowState,
    controls: Controls,
    network: Network,
    routes: Routes,
    scales: PathScales,
) -> None:
    """Fills the observation of a flow that waits for a path; 0 in slots without a path.

    Args:
        observation: Receives the values, (NUM_CONTEXT_COLUMNS + num_slots * NUM_SLOT_COLUMNS,).
        num_slots: Slots.
        now: Time in s.
        row: Row of the flow that waits.
        ideal_fct: Its completion time in s alone on the empty network.
        live: Rows of the live flows in its first ``count`` places.
        count: Number of live flows.
        state: The flows; rates are those before this instant.
        controls: Their controls.
        network: Links and paths; a link that has failed has capacity 0.
        routes: Between which paths each flow may choose.
        scales: What values are divided by.
    """
    num_links = len(network.capacity)
    first, last = routes.first[row], routes.last[row]
    path_start, path_links = network.path_start, network.path_links
    bytes_left, used, num_flows = np.zeros(num_links), np.zeros(num_links), np.zeros(num_links)
    for place in range(count):
        other = live[place]
        path = controls.path[other]
        for step in range(path_start[path], path_start[path + 1]):
            bytes_left[path_links[step]] += state.remaining[other]
            used[path_links[step]] += state.rate[other]
            num_flows[path_links[step]] += 1.0
    ratio, rate = np.zeros(num_links), np.zeros(num_links)
    expect_on_links(now, row, live, count, state, controls, network, routes, ratio, rate)
    head, tail = shared_ends(first, last, network)
    num_own = np.int64(path_start[first + 1]) - np.int64(path_start[first]) - 2
    observation[:] = 0.0
    observation[0] = squash(state.size[row], scales.size)
    observation[1] = squash(ideal_fct, scales.time)
    observation[2] = squash(float(count), scales.live_flows)
    observation[3] = 1.0 if num_own < NUM_ROLES else 0.0
    at = NUM_CONTEXT_COLUMNS
    for path in range(first, last):
        begin, end = path_start[path], path_start[path + 1]
        is_live = path_is_up(path, network.capacity, path_start, path_links)
        most, crowd, busiest = 0.0, 0.0, 0.0 if is_live else 1.0
        for step in range(begin + head, end - tail):
            link = path_links[step]
            if bytes_left[link] > most or (bytes_left[link] == most and num_flows[link] > crowd):
                most, crowd = bytes_left[link], num_flows[link]
            if is_live:
                busiest = max(busiest, used[link] / network.capacity[link])
        largest, slowest = expect_on_path(path, network, ratio, rate)
        observation[at] = 1.0
        observation[at + 1] = 1.0 if is_live else 0.0
        observation[at + 2] = squash(most, scales.size)
        observation[at + 3] = squash(crowd, scales.flows)
        observation[at + 4] = min(busiest, 1.0)
        observation[at + 5] = squash(largest, scales.ratio) if is_live else 1.0
        observation[at + 6] = min(slowest / scales.line_rate, 1.0) if is_live else 0.0
        for own in range(num_own):
            link = path_links[begin + 1 + own]
            role = own if 2 * own < num_own else own + NUM_ROLES - num_own
            to = at + NUM_PATH_COLUMNS + role * NUM_LINK_COLUMNS
            observation[to] = squash(num_flows[link], scales.flows)
            observation[to + 1] = squash(bytes_left[link], scales.size)
            observation[to + 2] = min(rate[link] / scales.line_rate, 1.0)
            observation[to + 3] = 1.0 if network.capacity[link] > 0.0 else 0.0
        at += NUM_SLOT_COLUMNS
