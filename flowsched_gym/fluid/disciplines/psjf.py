"""Serves flows by original size, preemptively."""

from typing import NamedTuple

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.disciplines.base import BaseDiscipline, Rules
from flowsched_gym.fluid.rules.ordering.keys import order_by
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.topology.network import Network


class _Sizes(NamedTuple):
    """A record without fields: the rule reads the state of the flows alone."""


def _by_size(
    now: float,
    n: int,
    active: IntArray,
    count: int,
    state: FlowState,
    controls: Controls,
    network: Network,
    own: _Sizes,
) -> None:
    order_by(active, count, state.size, state.arrival_time, controls.priority)


class Psjf(BaseDiscipline):
    """Smallest original size first, preemptively."""

    rules = Rules(record=_Sizes, control=_by_size)
