"""Shares links equally, by the weights of queues, or by weights that follow deadlines."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.core.checks import check_numbers, check_whole_numbers
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.fluid.contract import Discipline
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.disciplines.parameters import Within, check_within
from flowsched_gym.fluid.rules.ordering.feedback import WeightedQueues, weigh_queues
from flowsched_gym.fluid.rules.tasks.imminence import Imminence, next_refresh, weigh_by_deadline
from flowsched_gym.fluid.rules.tasks.stages import first_cpu_path
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.topology.network import Network

SMALLEST_WEIGHT: Final = 1e-100
LARGEST_WEIGHT: Final = 1e100
"""Between these a rate over a weight is neither 0 nor infinite."""


class Ps(Discipline):
    """Processor sharing; on a network, max-min fairness."""

    num_priorities = 1
    shares_equally = True


class Wfq(Discipline):
    """Weighted fair queueing among the queues that hold flows, as a fluid.

    Args:
        queue: Queue of each flow, (num_flows,) integers from 0, in the order of the workload; the same in each network.
        weights: Weight of each queue, (num_queues,), > 0.
        within: ``ps`` to share inside a queue, ``fifo`` to serve in the order of arrival.

    Raises:
        ConfigError: A queue does not exist, or a weight is not finite and > 0.
    """

    record_type = WeightedQueues
    kept = ("queue",)

    def __init__(self, queue: Sequence[int], weights: Sequence[float], within: str = Within.PS) -> None:
        self._queue = check_whole_numbers("queue", queue)
        self._weights = check_numbers("weights", weights)
        allowed = (self._weights >= SMALLEST_WEIGHT) & (self._weights <= LARGEST_WEIGHT)
        if not len(self._weights) or not allowed.all():
            raise ConfigError(
                f"weights is {self._weights.tolist()}: each must be finite and > 0, at least one "
                f"(from {SMALLEST_WEIGHT:g} to {LARGEST_WEIGHT:g})"
            )
        wrong = (self._queue < 0) | (self._queue >= len(self._weights))
        if wrong.any():
            raise ConfigError(f"queue holds {self._queue[wrong][0]}: each must be 0 to {len(self._weights) - 1}")
        self._share = check_within(within) is Within.PS
        self.stops_flows = not self._share

    @staticmethod
    def control(
        now: float,
        n: int,
        active: IntArray,
        count: int,
        state: FlowState,
        controls: Controls,
        network: Network,
        record: WeightedQueues,
    ) -> None:
        """Gives the flows of each queue its weight."""
        weigh_queues(active, count, state.arrival_time, controls, record)

    def check_flows(self, num_flows: int) -> None:
        """Checks that each flow has a queue."""
        if len(self._queue) != num_flows:
            raise ConfigError(f"queue has {len(self._queue)} entries: it must have one for each of {num_flows} flows")

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> WeightedQueues:
        """Returns a record with the queues of each network's flows."""
        num_rows = num_flows // num_networks
        queue = np.zeros((num_networks, num_rows), dtype=np.int64)
        queue[:, : len(self._queue)] = self._queue[:num_rows]
        return WeightedQueues(self._share, self._weights, queue.ravel(), np.zeros(len(self._weights), dtype=np.int64))


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

    def __init__(self, alpha: float = 0.5) -> None:
        if (
            isinstance(alpha, bool)
            or not isinstance(alpha, (int, float, np.integer, np.floating))
            or not 0 < alpha <= 1
        ):
            raise ConfigError(f"alpha is {shown(alpha)}: it must be > 0 and at most 1")
        self._alpha = float(alpha)

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
        """Gives flows weights by their deadlines."""
        weigh_by_deadline(now, active, count, state, controls, network, record)

    @staticmethod
    def review_time(
        now: float, n: int, active: IntArray, count: int, state: FlowState, controls: Controls, record: Imminence
    ) -> float:
        """Returns when weights are set anew."""
        return next_refresh(now, active, count, state, controls, record)

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> Imminence:
        """Makes room for what is counted."""
        return Imminence(self._alpha, first_cpu_path(network), np.zeros(len(network.capacity), dtype=np.int64))
