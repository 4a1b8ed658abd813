"""Serves flows by the ratio of their size and the time allowed for them (Artemis, section 4.2)."""

from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.disciplines.base import BaseDiscipline, Rules
from flowsched_gym.fluid.rules.ordering.keys import order_by_finite, size_deadline_ratio
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.topology.network import Network


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


def _find_ratio(now: float, n: int, row: int, state: FlowState, controls: Controls, own: _Ratios) -> None:
    own.ratio[row] = size_deadline_ratio(row, state.size, state.arrival_time, state.deadline, own.sign)


def _by_ratio(
    now: float,
    n: int,
    active: IntArray,
    count: int,
    state: FlowState,
    controls: Controls,
    network: Network,
    own: _Ratios,
) -> None:
    order_by_finite(active, count, own.ratio, state.remaining, state.arrival_time, controls.priority, own.second)


class _SizeDeadlineRatio(BaseDiscipline):
    """An order by the ratio, preemptive; flows without a deadline come last."""

    rules = Rules(record=_Ratios, kept=("ratio", "second"), begin_flow=_find_ratio, control=_by_ratio)

    _sign: float

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> _Ratios:
        """Makes room for the ratios and the key."""
        return _Ratios(self._sign, np.zeros(num_flows), np.zeros(num_flows))


class Ssdf(_SizeDeadlineRatio):
    """Smallest size-deadline ratio first (Artemis, section 4.2), preemptively."""

    _sign = 1.0


class Lsdf(_SizeDeadlineRatio):
    """Largest size-deadline ratio first (Artemis, section 4.2), preemptively."""

    _sign = -1.0
