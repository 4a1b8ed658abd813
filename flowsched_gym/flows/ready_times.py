"""Flows that come after others: when they are ready."""

from typing import Protocol

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray


class Pairs(Protocol):
    """Which flows begin only when others have finished, as ``workload.Precedence``."""

    def rows(self, flow_id: IntArray) -> tuple[IntArray, IntArray]:
        """Finds the rows of the earlier and of the later flows, (num_pairs,) each."""

    def depth(self, flow_id: IntArray) -> IntArray:
        """Counts the flows of the longest chain before each flow, (num_flows,)."""


class _Flows(Protocol):
    """Flows, as a workload has them."""

    @property
    def flow_id(self) -> IntArray: ...
    @property
    def arrival_time(self) -> FloatArray: ...
    @property
    def after(self) -> Pairs | None: ...


def ready_times(flows: _Flows, completion_time: FloatArray) -> FloatArray:
    """Returns when flows had arrived and all that they come after had finished.

    Args:
        flows: The flows.
        completion_time: Absolute times in s, (num_flows,), NaN where a flow has not finished.

    Returns:
        Absolute times in s, (num_flows,); NaN where that has not happened.
    """
    ready = flows.arrival_time.copy()
    if flows.after is not None:
        earlier, later = flows.after.rows(flows.flow_id)
        with np.errstate(invalid="ignore"):
            np.maximum.at(ready, later, completion_time[earlier])
    return ready
