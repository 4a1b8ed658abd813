"""Serves flows by what they have attained."""

from typing import NamedTuple

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.disciplines.base import BaseDiscipline, Rules
from flowsched_gym.fluid.rules.ordering.feedback import catch_up_time, share_least_attained
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.topology.network import Network


class _Attained(NamedTuple):
    """A record without fields: the rules read the state of the flows alone."""


def _by_attained(
    now: float,
    n: int,
    active: IntArray,
    count: int,
    state: FlowState,
    controls: Controls,
    network: Network,
    own: _Attained,
) -> None:
    share_least_attained(now, active, count, state.attained, state.rate, controls.priority)


def _next_catch_up(
    now: float, n: int, active: IntArray, count: int, state: FlowState, controls: Controls, own: _Attained
) -> float:
    return catch_up_time(now, active, count, state.attained, controls.priority, state.rate)


class Las(BaseDiscipline):
    """Least attained service first; equals share.

    On a network the levels are found anew at each arrival, completion and catch-up; flows of one level whose paths
    differ may drift apart in between.
    """

    rules = Rules(record=_Attained, control=_by_attained, review_time=_next_catch_up)
