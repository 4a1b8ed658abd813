"""Serves flows by their deadlines, or by the ratio of their size and the time allowed for them."""

from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.fluid.contract import Discipline
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.rules.ordering.keys import order_by_finite, size_deadline_ratio
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.topology.network import Network


class _Key(NamedTuple):
    """A key of the order of flows without a deadline.

    Attributes:
        second: Scratch, (num_flows,).
    """

    second: FloatArray


class Edf(Discipline):
    """Earliest absolute deadline first, preemptively; flows without one come last, shortest remaining first."""

    record_type = _Key
    kept = ("second",)

    @staticmethod
    def control(
        now: float,
        n: int,
        active: IntArray,
        count: int,
        state: FlowState,
        controls: Controls,
        network: Network,
        record: _Key,
    ) -> None:
        """Orders flows by their deadline."""
        second = record.second
        order_by_finite(active, count, state.deadline, state.remaining, state.arrival_time, controls.priority, second)

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> _Key:
        """Makes room for the key."""
        return _Key(np.zeros(num_flows))


class _Ratios(NamedTuple):
    """Ratios of size and time allowed after arrival.

    Attributes:
        sign: 1 for the smallest first, -1 for the largest.
        ratio: Ratio times the sign, which never changes, (num_flows,).
        second: Scratch, (num_flows,).
    """

    sign: float
    ratio: FloatArray
    second: FloatArray


class _SizeDeadlineRatio(Discipline):
    """An order by the ratio (Artemis, section 4.2), preemptive; flows without a deadline come last."""

    record_type = _Ratios
    kept = ("ratio", "second")
    _sign: float

    @staticmethod
    def begin_flow(now: float, n: int, row: int, state: FlowState, controls: Controls, record: _Ratios) -> None:
        """Finds the ratio of a flow."""
        record.ratio[row] = size_deadline_ratio(row, state.size, state.arrival_time, state.deadline, record.sign)

    @staticmethod
    def control(
        now: float,
        n: int,
        active: IntArray,
        count: int,
        state: FlowState,
        controls: Controls,
        network: Network,
        record: _Ratios,
    ) -> None:
        """Orders flows by their ratio."""
        ratio, second = record.ratio, record.second
        order_by_finite(active, count, ratio, state.remaining, state.arrival_time, controls.priority, second)

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> _Ratios:
        """Makes room for the ratios and the key."""
        return _Ratios(self._sign, np.zeros(num_flows), np.zeros(num_flows))


class Ssdf(_SizeDeadlineRatio):
    """Smallest size-deadline ratio first (Artemis, section 4.2), preemptively."""

    _sign = 1.0


class Lsdf(_SizeDeadlineRatio):
    """Largest size-deadline ratio first (Artemis, section 4.2), preemptively."""

    _sign = -1.0
