"""Serves flows by what they have attained: the least first, or in multi-level feedback queues."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.checks import check_whole_numbers
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.flows.workload import Workload
from flowsched_gym.fluid.contract import Discipline, Nothing
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.disciplines.parameters import Within, check_limits, check_within
from flowsched_gym.fluid.rules.ordering.feedback import (
    FeedbackQueues,
    are_limits,
    catch_up_time,
    head_of_each_level,
    level_by_attained,
    share_least_attained,
)
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.topology.network import Network

Thresholds = Sequence[float] | Sequence[Sequence[float]] | FloatArray


class Las(Discipline):
    """Least attained service first; equals share.

    On a network the levels are found anew at each arrival, completion and catch-up; flows of one level whose paths
    differ may drift apart in between.
    """

    @staticmethod
    def control(
        now: float,
        n: int,
        active: IntArray,
        count: int,
        state: FlowState,
        controls: Controls,
        network: Network,
        record: Nothing,
    ) -> None:
        """Serves the flows that have attained least."""
        share_least_attained(now, active, count, state.attained, state.rate, controls.priority)

    @staticmethod
    def review_time(
        now: float, n: int, active: IntArray, count: int, state: FlowState, controls: Controls, record: Nothing
    ) -> float:
        """Returns when flows catch up with others."""
        return catch_up_time(now, active, count, state.attained, controls.priority, state.rate)


class Mlfq(Discipline):
    """Multi-level feedback queues: a flow is demoted when it has attained a threshold; queue 0 is the highest.

    Args:
        thresholds: Demotion thresholds in B, increasing, (num_queues - 1,), or such a row for each group of hosts.
        within: ``ps`` to share inside a queue, ``fifo`` to serve in the order of entry.
        groups: Group of each host, (num_hosts,) integers from 0: flows obey the thresholds of their source's group.
            Default: one group.

    Raises:
        ConfigError: There is no threshold, or they are not finite, positive and increasing, or a group has none.
    """

    record_type = FeedbackQueues
    kept = ("thresholds", "level", "entered", "group", "pinned")
    kept_once = ("changed",)
    stops_flows = True
    record: FeedbackQueues

    def __init__(
        self, thresholds: Thresholds, within: str = Within.PS, groups: Sequence[int] | IntArray | None = None
    ) -> None:
        self._thresholds = _rows(thresholds)
        self._share = check_within(within) is Within.PS
        self.num_priorities = self.num_queues if self._share else 0
        self._groups = None if groups is None else check_whole_numbers("groups", groups)
        if self._groups is not None and len(self._groups):
            least, most = int(self._groups.min()), int(self._groups.max())
            if least < 0 or most >= self.num_groups:
                raise ConfigError(
                    f"groups has {least if least < 0 else most}: thresholds has the groups 0 to {self.num_groups - 1}"
                )

    @staticmethod
    def begin_flow(now: float, n: int, row: int, state: FlowState, controls: Controls, record: FeedbackQueues) -> None:
        """Lets a flow begin in the highest queue."""
        record.level[row] = 0
        record.entered[row] = state.arrival_time[row]
        record.pinned[row] = -1
        controls.review_at[row] = 0.0

    @staticmethod
    def control(
        now: float,
        n: int,
        active: IntArray,
        count: int,
        state: FlowState,
        controls: Controls,
        network: Network,
        record: FeedbackQueues,
    ) -> None:
        """Demotes flows that have attained a threshold."""
        level_by_attained(now, n, active, count, state.attained, controls, record)
        if not record.share:
            head_of_each_level(active, count, record.level, record.entered, controls.priority, record.share)

    @staticmethod
    def all_may_change(n: int, record: FeedbackQueues) -> bool:
        """Returns whether thresholds have changed, or flows have been pinned or let go."""
        changed: bool = record.changed[n] > 0
        return changed

    @property
    def num_groups(self) -> int:
        """Groups of hosts that have thresholds of their own."""
        return len(self._thresholds)

    @property
    def num_queues(self) -> int:
        """Queues (K)."""
        return int(self._thresholds.shape[1]) + 1

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> FeedbackQueues:
        """Makes room for the queues."""
        self._num_rows = num_flows // num_networks
        return FeedbackQueues(
            share=self._share,
            num_groups=self.num_groups,
            thresholds=np.tile(self._thresholds, (num_networks, 1)),
            level=np.zeros(num_flows, dtype=np.int64),
            entered=np.zeros(num_flows),
            group=np.zeros(num_flows, dtype=np.int64),
            pinned=np.full(num_flows, -1, dtype=np.int64),
            changed=np.zeros(num_networks, dtype=np.int64),
        )

    def begin_network(self, n: int, first_row: int, flows: Workload) -> None:
        """Sets the first thresholds, and finds the group of each flow.

        Raises:
            ConfigError: A host has no group.
        """
        self.record.thresholds[n * self.num_groups : (n + 1) * self.num_groups] = self._thresholds
        if self._groups is None:
            return
        source = flows.source
        if len(source) and source.max() >= len(self._groups):
            raise ConfigError(f"groups has {len(self._groups)} hosts: host {source.max()} sends")
        self.record.group[first_row : first_row + len(source)] = self._groups[source]

    def set_thresholds(self, thresholds: Thresholds, n: int = 0) -> None:
        """Sets the thresholds of network ``n``, from the next sharing of its links on.

        Raises:
            ConfigError: They are not finite, positive and increasing, or not as many as before.
        """
        rows = _rows(thresholds)
        if rows.shape != self._thresholds.shape:
            raise ConfigError(f"thresholds has shape {rows.shape}: it must have {self._thresholds.shape}")
        self.record.thresholds[n * self.num_groups : (n + 1) * self.num_groups] = rows
        self.record.changed[n] = 1

    def thresholds(self, n: int = 0) -> FloatArray:
        """Returns the thresholds of network ``n`` in B, (num_groups, num_queues - 1)."""
        return self.record.thresholds[n * self.num_groups : (n + 1) * self.num_groups].copy()

    def queues_of(self, rows: IntArray) -> IntArray:
        """Returns the queues of active flows, (count,), as of the last sharing of the links."""
        queues: IntArray = self.record.level[rows]
        return queues

    def levels(self, first_row: int, count: int) -> IntArray:
        """Views the queues of consecutive flows, (count,), as of the last sharing of the links; only of active ones."""
        return self.record.level[first_row : first_row + count]

    def pin(self, row: int | IntArray, queue: int | IntArray | None) -> None:
        """Pins flows to queues whatever they attain, from the next sharing of the links on.

        Args:
            row: A flow, or several, (count,).
            queue: A queue for all of them, or one for each, (count,); ``None`` lets them go.

        Raises:
            ConfigError: There is no such queue; no flow is held anew.
        """
        if queue is not None:
            queues = np.atleast_1d(queue)
            wrong = queues[(queues < 0) | (queues >= self.num_queues)]
            if len(wrong):
                raise ConfigError(f"queue is {wrong[0]}: it must be from 0 to {self.num_queues - 1}")
        self.record.pinned[row] = -1 if queue is None else queue
        self.record.changed[row // self._num_rows] = 1


def _rows(thresholds: object) -> FloatArray:
    """Checks thresholds of one group or of several; returns one row for each."""
    if isinstance(thresholds, np.ndarray) and thresholds.ndim == 2 and thresholds.dtype == np.float64:
        given: FloatArray = thresholds
        if len(given) and given.shape[1] and are_limits(given):
            return given.copy()
    nested = isinstance(thresholds, (list, tuple, np.ndarray)) and len(thresholds) > 0
    nested = nested and all(isinstance(row, (list, tuple, np.ndarray)) for row in cast("Sequence[object]", thresholds))
    rows = [check_limits(row) for row in cast("Sequence[object]", thresholds if nested else [thresholds])]
    if len({len(row) for row in rows}) != 1:
        raise ConfigError(f"thresholds is {shown(thresholds)}: there must be a group, and each must have as many")
    return np.array(rows)
