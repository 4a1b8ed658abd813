"""Shares links equally, among the flows that have attained least, or by weights that follow deadlines."""

import numpy as np

from flowsched_gym.core.arrays import IntArray, to_float
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.fluid.contract import Discipline, Nothing
from flowsched_gym.fluid.rules.ordering.feedback import catch_up_time, share_least_attained
from flowsched_gym.fluid.rules.tasks.imminence import Imminence, next_refresh, weigh_by_deadline
from flowsched_gym.topology.network import Network, first_cpu_path


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
    control = staticmethod(weigh_by_deadline)
    review_time = staticmethod(next_refresh)

    def __init__(self, alpha: float = 0.5) -> None:
        if not 0 < to_float(alpha) <= 1:
            raise ConfigError(f"alpha is {shown(alpha)}: it must be > 0 and at most 1")
        self._alpha = float(alpha)

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> Imminence:
        """Makes room for what is counted."""
        return Imminence(self._alpha, first_cpu_path(network), np.zeros(len(network.capacity), dtype=np.int64))
