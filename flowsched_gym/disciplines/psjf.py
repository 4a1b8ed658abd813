"""Serves flows by original size, preemptively."""

from typing import NamedTuple

from flowsched_gym.arrays import IntArray
from flowsched_gym.disciplines.base import BaseDiscipline, Rules
from flowsched_gym.model.controls import Controls
from flowsched_gym.model.rules.ordering.keys import order_by
from flowsched_gym.model.state import FlowState, Network

__all__ = ["Psjf"]


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
