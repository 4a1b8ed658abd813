"""Shares links by how imminent deadlines are (D2TCP: Vamanan, Hasan, Vijaykumar, SIGCOMM 2012), as a fluid."""

from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.flows.windows import MOST_IMMINENCE, imminence
from flowsched_gym.fluid.rules.transport.progress import time_after
from flowsched_gym.machine_code.decorators import rule
from flowsched_gym.machine_code.numerics import power
from flowsched_gym.topology.network import Network

REFRESH: Final = 0.03125
"""Weights are set anew when so large a part of the time to a deadline has passed."""


class Imminence(NamedTuple):
    """What weights follow from: the share ``alpha`` of marked packets, in (0, 1], and the row of the first CPU's path.

    ``flows`` is scratch: active flows on each link, (num_links,).
    """

    alpha: float
    first_cpu_path: int
    flows: IntArray


@rule
def weigh_by_deadline(
    now: float,
    n: int,
    active: IntArray,
    count: int,
    state: FlowState,
    controls: Controls,
    network: Network,
    record: Imminence,
) -> None:
    """Sets weights ``alpha ** (1 - d)``, where d is the time that a flow needs at its fair share over the time left.

    A window is cut by ``alpha ** d / 2`` in place of DCTCP's ``alpha / 2``, and its rate goes with the inverse.
    """
    for link in range(len(record.flows)):
        record.flows[link] = 0
    for index in range(count):
        path = controls.path[active[index]]
        for step in range(network.path_start[path], network.path_start[path + 1]):
            record.flows[network.path_links[step]] += 1
    for index in range(count):
        row = active[index]
        path = controls.path[row]
        controls.weight[row] = 1.0
        if path >= record.first_cpu_path or state.deadline[row] == np.inf:
            continue
        share = np.inf
        for step in range(network.path_start[path], network.path_start[path + 1]):
            link = network.path_links[step]
            share = min(share, network.capacity[link] / record.flows[link])
        needed = state.remaining[row] / share if share > 0.0 else np.inf
        controls.weight[row] = power(record.alpha, 1.0 - imminence(needed, state.deadline[row] - now))


@rule
def next_refresh(
    now: float, n: int, active: IntArray, count: int, state: FlowState, controls: Controls, record: Imminence
) -> float:
    """Returns the absolute time in s at which weights are set anew; inf where none of them changes."""
    soonest = np.inf
    most = power(record.alpha, 1.0 - MOST_IMMINENCE)
    for index in range(count):
        row = active[index]
        on_network = controls.path[row] < record.first_cpu_path
        # Weights of flows whose deadlines have come too near stay.
        if on_network and now < state.deadline[row] < np.inf and controls.weight[row] < most:
            soonest = min(soonest, REFRESH * (state.deadline[row] - now))
    return time_after(now, soonest)
