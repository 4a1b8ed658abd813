"""Serves flows in the order of their arrival."""

from typing import NamedTuple

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.disciplines.base import BaseDiscipline, Rules
from flowsched_gym.fluid.rules.ordering.keys import order_by
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.topology.network import Network


class _Arrivals(NamedTuple):
    """A record without fields: the rule reads the state of the flows alone."""


def _by_arrival(
    now: float,
    n: int,
    active: IntArray,
    count: int,
    state: FlowState,
    controls: Controls,
    network: Network,
    own: _Arrivals,
) -> None:
    order_by(active, count, state.arrival_time, state.arrival_time, controls.priority)


class Fifo(BaseDiscipline):
    """First in, first out."""

    rules = Rules(record=_Arrivals, control=_by_arrival)
