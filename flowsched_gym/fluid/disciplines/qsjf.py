"""Serves flows in queues by their original size."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.disciplines.base import BaseDiscipline, Rules
from flowsched_gym.fluid.disciplines.parameters import Within, check_limits, check_within
from flowsched_gym.fluid.rules.ordering.feedback import head_of_each_level, level_of_size
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.topology.network import Network


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


def _find_class(now: float, n: int, row: int, state: FlowState, controls: Controls, own: _SizeClasses) -> None:
    own.level[row] = level_of_size(state.size[row], own.thresholds)


def _by_class(
    now: float,
    n: int,
    active: IntArray,
    count: int,
    state: FlowState,
    controls: Controls,
    network: Network,
    own: _SizeClasses,
) -> None:
    head_of_each_level(active, count, own.level, state.arrival_time, controls.priority, own.share)


class Qsjf(BaseDiscipline):
    """Queues by original size, strict priority to the smaller: size <= thresholds[0] is queue 0, and so on.

    Args:
        thresholds: Largest size of each queue but the last in B, increasing, (num_queues - 1,).
        within: ``ps`` to share inside a queue, ``fifo`` to serve in the order of arrival.

    Raises:
        ConfigError: There is no threshold, or they are not finite, positive and increasing.
    """

    rules = Rules(record=_SizeClasses, kept=("level",), begin_flow=_find_class, control=_by_class)

    def __init__(self, thresholds: Sequence[float], within: str = Within.PS) -> None:
        self._thresholds = check_limits(thresholds)
        self._share = check_within(within) is Within.PS
        self.num_priorities = len(self._thresholds) + 1 if self._share else 0

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> _SizeClasses:
        """Makes room for the queues."""
        return _SizeClasses(self._share, self._thresholds, np.zeros(num_flows, dtype=np.int64))
