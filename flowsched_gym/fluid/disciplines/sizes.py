"""Serves flows in the order of their arrival, by what is left of them, or by their original size."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.fluid.contract import Discipline, Nothing
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.disciplines.parameters import Within, check_limits, check_within
from flowsched_gym.fluid.rules.ordering.feedback import head_of_each_level, level_of_size
from flowsched_gym.fluid.rules.ordering.keys import order_by, order_without_preemption
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.topology.network import Network


class Fifo(Discipline):
    """First in, first out."""

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
        """Orders flows by their arrival."""
        order_by(active, count, state.arrival_time, state.arrival_time, controls.priority)


class Srpt(Discipline):
    """Shortest remaining processing time first."""

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
        """Orders flows by what is left of them."""
        order_by(active, count, state.remaining, state.arrival_time, controls.priority)


class Psjf(Discipline):
    """Smallest original size first, preemptively."""

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
        """Orders flows by their size."""
        order_by(active, count, state.size, state.arrival_time, controls.priority)


class _Keys(NamedTuple):
    """Keys of the order.

    Attributes:
        first: Scratch, (num_flows,).
        second: Scratch, (num_flows,).
    """

    first: FloatArray
    second: FloatArray


class Sjf(Discipline):
    """Smallest flow (job) first, without preemption."""

    record_type = _Keys
    kept = ("first", "second")

    @staticmethod
    def control(
        now: float,
        n: int,
        active: IntArray,
        count: int,
        state: FlowState,
        controls: Controls,
        network: Network,
        record: _Keys,
    ) -> None:
        """Puts the flow that has begun first, and orders the others by their size."""
        first, second = record
        order_without_preemption(
            active, count, state.size, state.attained, state.arrival_time, controls.priority, first, second
        )

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> _Keys:
        """Makes room for the keys."""
        return _Keys(np.zeros(num_flows), np.zeros(num_flows))


class _SizeClasses(NamedTuple):
    """Queues of flows.

    Attributes:
        share: Whether the flows of a queue share.
        thresholds: Largest size of each queue but the last in B, (num_queues - 1,).
        level: Queue of each flow, (num_flows,).
    """

    share: bool
    thresholds: FloatArray
    level: IntArray


class Qsjf(Discipline):
    """Queues by original size, strict priority to the smaller: size <= thresholds[0] is queue 0, and so on.

    Args:
        thresholds: Largest size of each queue but the last in B, increasing, (num_queues - 1,).
        within: ``ps`` to share inside a queue, ``fifo`` to serve in the order of arrival.

    Raises:
        ConfigError: There is no threshold, or they are not finite, positive and increasing.
    """

    record_type = _SizeClasses
    kept = ("level",)

    def __init__(self, thresholds: Sequence[float], within: str = Within.PS) -> None:
        self._thresholds = check_limits(thresholds)
        self._share = check_within(within) is Within.PS
        self.num_priorities = len(self._thresholds) + 1 if self._share else 0

    @staticmethod
    def begin_flow(now: float, n: int, row: int, state: FlowState, controls: Controls, record: _SizeClasses) -> None:
        """Finds the queue of a flow."""
        record.level[row] = level_of_size(state.size[row], record.thresholds)

    @staticmethod
    def control(
        now: float,
        n: int,
        active: IntArray,
        count: int,
        state: FlowState,
        controls: Controls,
        network: Network,
        record: _SizeClasses,
    ) -> None:
        """Orders flows by their queue."""
        head_of_each_level(active, count, record.level, state.arrival_time, controls.priority, record.share)

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> _SizeClasses:
        """Makes room for the queues."""
        return _SizeClasses(self._share, self._thresholds, np.zeros(num_flows, dtype=np.int64))
