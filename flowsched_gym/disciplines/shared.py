"""Shares links among flows: equally, by attained service, in queues of sizes, or by queue weight."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.disciplines.base import BaseDiscipline, DisciplineArrays, DisciplineKind
from flowsched_gym.disciplines.parameters import Within, check_limits, check_numbers, check_whole_numbers, check_within
from flowsched_gym.errors import ConfigError
from flowsched_gym.model.controls import Controls
from flowsched_gym.model.rules.feedback import (
    catch_up_time,
    head_of_each_level,
    level_of_size,
    share_least_attained,
    weigh_queues,
)
from flowsched_gym.model.state import FlowState, Network

__all__ = ["Las", "Ps", "Qsjf", "Wfq"]

SMALLEST_WEIGHT: Final = 1e-100
LARGEST_WEIGHT: Final = 1e100
"""Between these a rate over a weight is neither 0 nor infinite."""

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


class Ps(BaseDiscipline):
    """Processor sharing; on a network, max-min fairness."""

    kind = DisciplineKind.PS
    num_priorities = 1

    def control(self, now: float, live: IntArray, count: int) -> None:
        """Changes nothing: all flows are equal from the start."""


class Las(BaseDiscipline):
    """Least attained service first; equals share.

    On a network the levels are found anew at each arrival, completion and catch-up; flows of one level whose paths
    differ may drift apart in between.
    """

    kind = DisciplineKind.LAS

    def control(self, now: float, live: IntArray, count: int) -> None:
        """Makes a level of each group of flows that have attained the same."""
        state = self.state
        share_least_attained(now, live, count, state.attained, state.rate, self.controls.priority)

    def review_time(self, now: float, live: IntArray, count: int) -> float:
        """Returns when one level catches up with the next."""
        return catch_up_time(now, live, count, self.state.attained, self.controls.priority, self.state.rate)


class Qsjf(BaseDiscipline):
    """Queues by original size, strict priority to the smaller: size <= thresholds[0] is queue 0, and so on.

    Args:
        thresholds: Largest size of each queue but the last in B, increasing, (num_queues - 1,).
        within: ``ps`` to share inside a queue, ``fifo`` to serve in the order of arrival.

    Raises:
        ConfigError: There is no threshold, or they are not finite, positive and increasing.
    """

    kind = DisciplineKind.SIZE_CLASSES

    def __init__(self, thresholds: Sequence[float], within: str = Within.PS) -> None:
        """Checks the thresholds."""
        self._thresholds = check_limits(thresholds)
        self._share = check_within(within) is Within.PS
        self.num_priorities = len(self._thresholds) + 1 if self._share else 0

    def make_room(self, state: FlowState, controls: Controls, network: Network, num_networks: int = 1) -> None:
        """Makes room for the queues."""
        super().make_room(state, controls, network, num_networks)
        self._level = np.zeros(len(state.size), dtype=np.int64)

    def begin_flow(self, row: int) -> None:
        """Finds a flow's queue."""
        self._level[row] = level_of_size(self.state.size[row], self._thresholds)

    def control(self, now: float, live: IntArray, count: int) -> None:
        """Ranks by queue."""
        head_of_each_level(live, count, self._level, self.state.arrival_time, self.controls.priority, self._share)

    def arrays(self) -> DisciplineArrays:
        """Hands over the queues."""
        return super().arrays()._replace(share=self._share, limits=self._thresholds, level=self._level)


class Wfq(BaseDiscipline):
    """Weighted fair queueing among the queues that hold flows, as a fluid.

    Args:
        queue: Queue of each flow, (num_flows,) integers from 0, in the order of the workload; the same in each network.
        weights: Weight of each queue, (num_queues,), > 0.
        within: ``ps`` to share inside a queue, ``fifo`` to serve in the order of arrival.

    Raises:
        ConfigError: A queue does not exist, or a weight is not finite and > 0.
    """

    kind = DisciplineKind.WEIGHTED

    def __init__(self, queue: Sequence[int], weights: Sequence[float], within: str = Within.PS) -> None:
        """Checks queues and weights."""
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

    def check_flows(self, num_flows: int) -> None:
        """Checks that each flow has a queue."""
        if len(self._queue) != num_flows:
            raise ConfigError(f"queue has {len(self._queue)} entries: it must have one for each of {num_flows} flows")

    def make_room(self, state: FlowState, controls: Controls, network: Network, num_networks: int = 1) -> None:
        """Gives the flows of each network their queues."""
        super().make_room(state, controls, network, num_networks)
        num_rows = len(state.size) // num_networks
        queue_of = np.zeros((num_networks, num_rows), dtype=np.int64)
        queue_of[:, : len(self._queue)] = self._queue[:num_rows]
        self._queue_of = queue_of.ravel()
        self._occupancy = np.zeros(len(self._weights), dtype=np.int64)

    def control(self, now: float, live: IntArray, count: int) -> None:
        """Weighs the flows."""
        weigh_queues(
            live,
            count,
            self._queue_of,
            self._weights,
            self.state.arrival_time,
            self._share,
            self.controls.admitted,
            self.controls.weight,
            self._occupancy,
        )

    def arrays(self) -> DisciplineArrays:
        """Hands over queues and weights."""
        return (
            super()
            .arrays()
            ._replace(
                share=self._share,
                weights=self._weights,
                level=self._queue_of,
                occupancy=self._occupancy,
            )
        )
