"""Serves flows in queues: by what they have attained, by their size, or by weights."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple, cast

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.checks import check_choice, check_numbers, check_whole_numbers
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.flows.workload import Workload
from flowsched_gym.fluid.contract import Discipline
from flowsched_gym.fluid.rules.ordering.feedback import (
    FeedbackQueues,
    WeightedQueues,
    are_limits,
    head_of_each_level,
    level_by_attained,
    weigh_queues,
)
from flowsched_gym.topology.network import Network

Thresholds = Sequence[float] | Sequence[Sequence[float]] | FloatArray

SMALLEST_WEIGHT: Final = 1e-100
LARGEST_WEIGHT: Final = 1e100
"""Between these a rate over a weight is neither 0 nor infinite."""


class Within(StrEnum):
    """Ways to serve the flows of one queue."""

    PS = "ps"
    FIFO = "fifo"


class _Grouped(Discipline):
    """Queues with thresholds that may differ by the group of a flow's source; the arguments are those of ``Mlfq``."""

    record: Any

    def __init__(
        self, thresholds: Thresholds, within: str = Within.PS, groups: Sequence[int] | IntArray | None = None
    ) -> None:
        self._thresholds = _rows(thresholds)
        self._share = check_choice("within", within, Within) is Within.PS
        # Another ``control`` may set other priorities, or weights.
        if self._share and type(self).control in (Mlfq.control, Qsjf.control):
            self.num_priorities = self.num_queues
        self._groups = None if groups is None else check_whole_numbers("groups", groups)
        if self._groups is not None and len(self._groups):
            least, most = int(self._groups.min()), int(self._groups.max())
            if least < 0 or most >= self.num_groups:
                raise ConfigError(
                    f"groups has {least if least < 0 else most}: thresholds has the groups 0 to {self.num_groups - 1}"
                )

    @property
    def num_groups(self) -> int:
        """Groups of hosts that have thresholds of their own."""
        return len(self._thresholds)

    @property
    def num_queues(self) -> int:
        """Queues (K)."""
        return int(self._thresholds.shape[1]) + 1

    def begin_network(self, n: int, first_row: int, flows: Workload) -> None:
        """Finds the group of each flow; refuses a host without one."""
        if self._groups is None:
            return
        source = flows.source
        if len(source) and source.max() >= len(self._groups):
            raise ConfigError(f"groups has {len(self._groups)} hosts: host {source.max()} sends")
        self.record.group[first_row : first_row + len(source)] = self._groups[source]


class Mlfq(_Grouped):
    """Multi-level feedback queues: a flow is demoted when it has attained a threshold; queue 0 is the highest.

    Seconds on a CPU count there as bytes do on links: no work but that of as many seconds as a threshold has bytes is
    demoted.

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
        return bool(record.changed[n] > 0)

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> FeedbackQueues:
        """Makes room for the queues."""
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
        """Sets the first thresholds, and finds the group of each flow; refuses a host without one."""
        super().begin_network(n, first_row, flows)
        self.record.thresholds[n * self.num_groups : (n + 1) * self.num_groups] = self._thresholds

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


class _SizeClasses(NamedTuple):
    """Queues of flows, ``level``, by their sizes in B and ``group``; the flows of a queue share or not."""

    share: bool
    thresholds: FloatArray
    level: IntArray
    group: IntArray


class Qsjf(_Grouped):
    """Queues by original size, strict priority to the smaller: size <= thresholds[0] is queue 0, and so on.

    Args:
        thresholds: Largest size of each queue but the last in B, increasing, (num_queues - 1,), or such a row for each
            group of hosts.
        within: ``ps`` to share inside a queue, ``fifo`` to serve in the order of arrival.
        groups: As for ``Mlfq``.

    Raises as ``Mlfq`` does.
    """

    record_type = _SizeClasses
    kept = ("level", "group")

    @staticmethod
    def begin_flow(now: float, n: int, row: int, state: FlowState, controls: Controls, record: _SizeClasses) -> None:
        """Finds the queue of a flow."""
        level, limits = 0, record.thresholds[record.group[row]]
        while level < len(limits) and state.size[row] > limits[level]:
            level += 1
        record.level[row] = level

    @staticmethod
    def control(
        now: float,
        n: int,
        active: IntArray,
        count: int,
        state: FlowState,
        controls: Controls,
        network: Network,
        record: _SizeClasses,
    ) -> None:
        """Orders flows by their queue."""
        head_of_each_level(active, count, record.level, state.arrival_time, controls.priority, record.share)

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> _SizeClasses:
        """Makes room for the queues."""
        level, group = (np.zeros(num_flows, dtype=np.int64) for _ in range(2))
        return _SizeClasses(self._share, self._thresholds, level, group)


class Wfq(Discipline):
    """Weighted fair queueing among the queues that hold flows, as a fluid.

    Args:
        queue: Queue of each flow, (num_flows,) integers from 0, in the order of the workload; the same in each network.
        weights: Weight of each queue, (num_queues,), > 0.
        within: ``ps`` to share inside a queue, ``fifo`` to serve in the order of arrival.

    Raises:
        ConfigError: A queue does not exist, or a weight is not finite and > 0.
    """

    record_type = WeightedQueues
    kept = ("queue",)

    def __init__(self, queue: Sequence[int], weights: Sequence[float], within: str = Within.PS) -> None:
        self._queue = check_whole_numbers("queue", queue)
        self._weights = check_numbers("weights", weights)
        allowed = (self._weights >= SMALLEST_WEIGHT) & (self._weights <= LARGEST_WEIGHT)
        if not len(self._weights) or not allowed.all():
            raise ConfigError(
                f"weights is {self._weights.tolist()}: each must be finite and > 0, at least one "
                f"(from {SMALLEST_WEIGHT:g} to {LARGEST_WEIGHT:g})"
            )
        wrong = (self._queue < 0) | (self._queue >= len(self._weights))
        if wrong.any():
            raise ConfigError(f"queue holds {self._queue[wrong][0]}: each must be 0 to {len(self._weights) - 1}")
        self._share = check_choice("within", within, Within) is Within.PS
        self.stops_flows = not self._share

    @staticmethod
    def control(
        now: float,
        n: int,
        active: IntArray,
        count: int,
        state: FlowState,
        controls: Controls,
        network: Network,
        record: WeightedQueues,
    ) -> None:
        """Gives the flows of each queue its weight."""
        weigh_queues(active, count, state.arrival_time, controls, record)

    def check_flows(self, num_flows: int) -> None:
        """Checks that each flow has a queue."""
        if len(self._queue) != num_flows:
            raise ConfigError(f"queue has {len(self._queue)} entries: it must have one for each of {num_flows} flows")

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> WeightedQueues:
        """Returns a record with the queues of each network's flows."""
        num_rows = num_flows // num_networks
        queue = np.zeros((num_networks, num_rows), dtype=np.int64)
        queue[:, : len(self._queue)] = self._queue[:num_rows]
        return WeightedQueues(self._share, self._weights, queue.ravel(), np.zeros(len(self._weights), dtype=np.int64))


def check_limits(thresholds: object, *, may_be_empty: bool = False) -> FloatArray:
    """Checks thresholds, of which there must be one unless one queue is allowed."""
    limits = check_numbers("thresholds", thresholds)
    if not len(limits) and not may_be_empty:
        raise ConfigError("thresholds is []: there must be at least one, between two queues")
    if not are_limits(limits[np.newaxis]):
        raise ConfigError(f"thresholds is {limits.tolist()}: they must be finite, > 0 B and increasing")
    return limits


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
