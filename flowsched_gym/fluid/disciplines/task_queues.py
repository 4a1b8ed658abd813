"""What disciplines that queue tasks have in common: each says which tasks and flows come first."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.flows.fields import index_tasks
from flowsched_gym.flows.records import RecordedFlows
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.disciplines.base import BaseDiscipline, Rules
from flowsched_gym.fluid.disciplines.parameters import check_numbers
from flowsched_gym.fluid.rules.ordering.feedback import are_limits
from flowsched_gym.fluid.rules.tasks.by_remaining import average_by_remaining, foresee_by_remaining
from flowsched_gym.fluid.rules.tasks.queues import (
    TaskQueues,
    WithinTask,
    add_finished,
    begin_task,
    next_demotion,
    order_tasks,
)
from flowsched_gym.fluid.rules.tasks.stages import first_cpu_path
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.topology.network import Network

REMAINING: Final = int(WithinTask.REMAINING)


class Demotion(StrEnum):
    """By what the level of a task is found."""

    SENT = "sent"
    """Bytes that the task has sent (TAFE, section IV-A)."""
    ARRIVED = "arrived"
    """Bytes of its flows that had arrived before a flow, which keeps that level (TAFE, Algorithm 1, literally)."""


def _begin(now: float, n: int, row: int, state: FlowState, controls: Controls, own: TaskQueues) -> None:
    begin_task(now, n, row, state.size, own)


def _order(
    now: float,
    n: int,
    active: IntArray,
    count: int,
    state: FlowState,
    controls: Controls,
    network: Network,
    own: TaskQueues,
) -> None:
    order_tasks(now, n, active, count, state, controls, own)


def _review(
    now: float, n: int, active: IntArray, count: int, state: FlowState, controls: Controls, own: TaskQueues
) -> float:
    if own.within == REMAINING:
        time = foresee_by_remaining(now, n, active, count, state, controls, own)
        if own.single_link:
            return time
        return min(time, next_demotion(now, n, active, count, state, controls, own))
    return next_demotion(now, n, active, count, state, controls, own)


def _average(
    now: float,
    elapsed: float,
    n: int,
    active: IntArray,
    count: int,
    state: FlowState,
    controls: Controls,
    own: TaskQueues,
) -> None:
    if own.within == REMAINING:
        average_by_remaining(now, elapsed, n, active, count, state, controls, own)


def _finish(n: int, row: int, state: FlowState, controls: Controls, own: TaskQueues) -> None:
    add_finished(n, row, state, controls, own)


class QueuedTasks(BaseDiscipline):
    """Tasks in feedback queues.

    Args:
        thresholds: Demotion thresholds in B, increasing, (num_queues - 1,).
        within: How the flows of a task are served.
        demotion: By what the level of a task is found.
        heavy: Bytes sent from which on a task shares with its successors, inf for never.
    """

    rules = Rules(
        record=TaskQueues,
        kept=("task", "flow_level", "came", "arrived", "sent", "sent_now", "rate", "level", "arrived_level", "listed"),
        kept_once=("thresholds", "num_listed", "foreseen", "least"),
        begin_flow=_begin,
        control=_order,
        review_time=_review,
        average=_average,
        finished=_finish,
    )
    own: TaskQueues

    def __init__(
        self,
        thresholds: FloatArray,
        within: WithinTask,
        *,
        demotion: Demotion = Demotion.SENT,
        heavy: float = np.inf,
    ) -> None:
        self._thresholds = thresholds
        self._within = within
        self._demotion = demotion
        self._heavy = heavy

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> TaskQueues:
        """Makes room for the queues."""

        def numbers() -> IntArray:
            return np.zeros(num_flows, dtype=np.int64)

        return TaskQueues(
            within=int(self._within),
            by_arrival=self._demotion is Demotion.ARRIVED,
            heavy=self._heavy,
            first_cpu_path=first_cpu_path(network),
            single_link=len(network.capacity) - network.num_cpus == 1,
            num_rows=num_flows // num_networks,
            thresholds=np.tile(self._thresholds, (num_networks, 1)),
            task=numbers(),
            flow_level=numbers(),
            came=np.full(num_flows, np.inf),
            arrived=np.zeros(num_flows),
            sent=np.zeros(num_flows),
            sent_now=np.zeros(num_flows),
            rate=np.zeros(num_flows),
            level=numbers(),
            arrived_level=numbers(),
            listed=numbers(),
            num_listed=np.zeros(num_networks, dtype=np.int64),
            place=numbers(),
            laid=numbers(),
            foreseen=np.full(num_networks, np.inf),
            least=np.zeros(num_networks),
        )

    def begin_network(self, n: int, first_row: int, flows: RecordedFlows) -> None:
        """Sets the first thresholds, and numbers the tasks."""
        own, rows = self.own, np.s_[first_row : first_row + len(flows.flow_id)]
        own.thresholds[n] = self._thresholds
        own.task[rows] = index_tasks(flows)
        own.came[rows] = np.inf
        for column in (own.flow_level, own.arrived, own.sent, own.level, own.arrived_level):
            column[rows] = 0
        own.num_listed[n] = 0
        own.foreseen[n] = np.inf

    def set_thresholds(self, thresholds: Sequence[float] | FloatArray, n: int = 0) -> None:
        """Sets the thresholds of network ``n``, (num_queues - 1,) or one such row, from the next sharing of links on.

        Raises:
            ConfigError: They are not finite, positive and increasing, or not as many as before.
        """
        rows = np.asarray(thresholds)
        limits = check_thresholds(rows[0] if rows.shape[:1] == (1,) and rows.ndim > 1 else thresholds)
        if len(limits) != len(self._thresholds):
            raise ConfigError(f"thresholds has {len(limits)} entries: there must be {len(self._thresholds)}")
        self.own.thresholds[n] = limits

    def thresholds(self, n: int = 0) -> FloatArray:
        """Returns the thresholds of network ``n`` in B, (1, num_queues - 1)."""
        return self.own.thresholds[n : n + 1].copy()

    def tasks(self, first_row: int, count: int) -> tuple[IntArray, FloatArray]:
        """Returns the number of each flow's task, and when each task began in s, inf before, (count,) each."""
        rows = np.s_[first_row : first_row + count]
        return self.own.task[rows], self.own.came[rows]

    def send(self, path: npt.NDArray[np.integer[Any]]) -> BoolArray:
        """Returns which flows with these paths are on the network, not on a CPU, (count,)."""
        sending: BoolArray = path < self.own.first_cpu_path
        return sending

    def queues_of(self, rows: IntArray) -> IntArray:
        """Returns the queues of the tasks of active flows, (count,), as of the last sharing of the links."""
        own = self.own
        queues: IntArray = own.level[rows - rows % own.num_rows + own.task[rows]] + own.flow_level[rows]
        return queues

    def levels(self, first_row: int, count: int) -> IntArray:
        """Returns the queues of consecutive flows, (count,), as of the last sharing; only of active ones."""
        return self.queues_of(np.arange(first_row, first_row + count))


def check_thresholds(thresholds: object) -> FloatArray:
    """Checks thresholds, of which there may be none.

    Raises:
        ConfigError: They are not finite, positive and increasing.
    """
    limits = check_numbers("thresholds", thresholds)
    if len(limits) and not are_limits(limits[np.newaxis]):
        raise ConfigError(f"thresholds is {limits.tolist()}: they must be finite, > 0 B and increasing")
    return limits
