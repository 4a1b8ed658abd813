"""Serves flows by size, without preemption."""

from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.disciplines.base import BaseDiscipline, Rules
from flowsched_gym.fluid.rules.ordering.keys import order_without_preemption
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.topology.network import Network


class _Keys(NamedTuple):
    """Keys of the order.

    Attributes:
        first: Scratch, (num_flows,).
        second: Scratch, (num_flows,).
    """

    first: FloatArray
    second: FloatArray


def _begun_first(
    now: float, n: int, active: IntArray, count: int, state: FlowState, controls: Controls, network: Network, own: _Keys
) -> None:
    order_without_preemption(
        active, count, state.size, state.attained, state.arrival_time, controls.priority, own.first, own.second
    )


class Sjf(BaseDiscipline):
    """Smallest flow (job) first, without preemption."""

    rules = Rules(record=_Keys, kept=("first", "second"), control=_begun_first)

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> _Keys:
        """Makes room for the keys."""
        return _Keys(np.zeros(num_flows), np.zeros(num_flows))
