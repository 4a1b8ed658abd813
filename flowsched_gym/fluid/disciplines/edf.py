"""Serves flows by their deadlines."""

from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.disciplines.base import BaseDiscipline, Rules
from flowsched_gym.fluid.rules.ordering.keys import order_by_finite
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.topology.network import Network


class _Key(NamedTuple):
    """A key of the order of flows without a deadline.

    Attributes:
        second: Scratch, (num_flows,).
    """

    second: FloatArray


def _by_deadline(
    now: float, n: int, active: IntArray, count: int, state: FlowState, controls: Controls, network: Network, own: _Key
) -> None:
    order_by_finite(active, count, state.deadline, state.remaining, state.arrival_time, controls.priority, own.second)


class Edf(BaseDiscipline):
    """Earliest absolute deadline first, preemptively; flows without one come last, shortest remaining first."""

    rules = Rules(record=_Key, kept=("second",), control=_by_deadline)

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> _Key:
        """Makes room for the key."""
        return _Key(np.zeros(num_flows))
