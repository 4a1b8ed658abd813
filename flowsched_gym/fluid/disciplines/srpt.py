"""Serves flows by what is left of them."""

from typing import NamedTuple

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.disciplines.base import BaseDiscipline, Rules
from flowsched_gym.fluid.rules.ordering.keys import order_by
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.topology.network import Network


class _RemainingSizes(NamedTuple):
    """A record without fields: the rule reads the state of the flows alone."""


def _by_remaining(
    now: float,
    n: int,
    active: IntArray,
    count: int,
    state: FlowState,
    controls: Controls,
    network: Network,
    own: _RemainingSizes,
) -> None:
    order_by(active, count, state.remaining, state.arrival_time, controls.priority)


class Srpt(BaseDiscipline):
    """Shortest remaining processing time first."""

    rules = Rules(record=_RemainingSizes, control=_by_remaining)
