"""Shares links equally, among the flows that have attained least, or by weights that follow deadlines."""

from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import IntArray, to_float
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.flows.windows import MOST_IMMINENCE, imminence
from flowsched_gym.fluid.contract import Discipline, Nothing
from flowsched_gym.fluid.rules.ordering.feedback import catch_up_time, share_least_attained
from flowsched_gym.fluid.rules.transport.progress import time_after
from flowsched_gym.machine_code.numerics import power
from flowsched_gym.topology.network import Network, first_cpu_path

REFRESH: Final = 0.03125
"""Weights are set anew when so large a part of the time to a deadline has passed."""


class Imminence(NamedTuple):
    """What weights follow from: the share ``alpha`` of marked packets, in (0, 1], and the row of the first CPU's path.

    ``flows`` is scratch: active flows on each link, (num_links,).
    """

    alpha: float
    first_cpu_path: int
    flows: IntArray


class Ps(Discipline):
    """Processor sharing; on a network, max-min fairness."""

    num_priorities = 1
    shares_equally = True


class Las(Discipline):
    """Least attained service first; equals share.

    On a network the levels are found anew at each arrival, completion and catch-up; flows of one level whose paths
    differ may drift apart in between.
    """

    @staticmethod
    def control(
        now: float,
        n: int,
        active: IntArray,
        count: int,
        state: FlowState,
        controls: Controls,
        network: Network,
        record: Nothing,
    ) -> None:
        """Serves the flows that have attained least."""
        share_least_attained(now, active, count, state.attained, state.rate, controls.priority)

    @staticmethod
    def review_time(
        now: float, n: int, active: IntArray, count: int, state: FlowState, controls: Controls, record: Nothing
    ) -> float:
        """Returns when flows catch up with others."""
        return catch_up_time(now, active, count, state.attained, controls.priority, state.rate)


class D2tcp(Discipline):
    """D2TCP as a fluid: flows share links by the weights ``alpha ** (1 - d)``, CPUs equally.

    Vamanan, Hasan and Vijaykumar (SIGCOMM 2012): a window is cut by ``alpha ** d / 2`` in place of DCTCP's
    ``alpha / 2``, and its rate goes with the inverse.

    d is the imminence of a flow's deadline: the time that it needs at its fair share over the time left, from 0.5 to 2;
    1 without a deadline, 2 when it is over. Weights are set anew at every event, and when 1/32 of the time to a
    deadline has passed.

    Args:
        alpha: Share of marked packets, in (0, 1]; 1 is DCTCP. It follows from queues, which a fluid does not have.

    Raises:
        ConfigError: ``alpha`` is not in (0, 1].
    """

    record_type = Imminence
    record: Imminence

    def __init__(self, alpha: float = 0.5) -> None:
        if not 0 < to_float(alpha) <= 1:
            raise ConfigError(f"alpha is {shown(alpha)}: it must be > 0 and at most 1")
        self._alpha = float(alpha)

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> Imminence:
        """Makes room for what is counted."""
        return Imminence(self._alpha, first_cpu_path(network), np.zeros(len(network.capacity), dtype=np.int64))

    @staticmethod
    def control(
        now: float,
        n: int,
        active: IntArray,
        count: int,
        state: FlowState,
        controls: Controls,
        network: Network,
        record: Imminence,
    ) -> None:
        """Sets weights: the time that each flow needs at its fair share, over the time left."""
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

    @staticmethod
    def review_time(
        now: float, n: int, active: IntArray, count: int, state: FlowState, controls: Controls, record: Imminence
    ) -> float:
        """Returns when weights are to be set anew."""
        soonest = np.inf
        most = power(record.alpha, 1.0 - MOST_IMMINENCE)
        for index in range(count):
            row = active[index]
            on_network = controls.path[row] < record.first_cpu_path
            left = state.deadline[row] - now
            if not (on_network and 0.0 < left < np.inf):
                continue
            # The largest weight stays until the next event where the flow would miss its deadline with it.
            if controls.weight[row] < most or state.remaining[row] < state.rate[row] * left:
                soonest = min(soonest, REFRESH * left)
        return time_after(now, soonest)
