"""Serves tasks in queues, without knowing how large they are; each discipline says which tasks and flows come first."""

from collections import defaultdict
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray, to_float
from flowsched_gym.core.checks import check_choice, check_numbers, check_whole_numbers
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.flows.fields import index_tasks
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.flows.workload import Workload
from flowsched_gym.fluid.contract import Discipline
from flowsched_gym.fluid.disciplines.queues import check_limits
from flowsched_gym.fluid.rules.tasks.by_remaining import average_by_remaining, foresee_by_remaining
from flowsched_gym.fluid.rules.tasks.queues import (
    TaskQueues,
    WithinTask,
    begin_task,
    level_after,
    next_demotion,
    order_tasks,
)
from flowsched_gym.topology.network import Network, first_cpu_path

REMAINING: Final = int(WithinTask.REMAINING)
WITHIN: Final = {each.name.lower(): each for each in WithinTask}
"""Ways to serve the flows of a task, by name."""
AALO_THRESHOLDS: Final = tuple(2**20 * part for part in (1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9))
"""Aalo's thresholds in B: ten queues, the first of 10 MiB, each ten times as long (Chowdhury, Stoica, SIGCOMM 2015)."""


class Demotion(StrEnum):
    """By what the level of a task is found."""

    SENT = "sent"
    """Bytes that the task has sent (TAFE, section IV-A)."""
    ARRIVED = "arrived"
    """Bytes of its flows that had arrived before a flow, which keeps that level (TAFE, Algorithm 1, literally)."""


class QueuedTasks(Discipline):
    """Tasks in feedback queues; see ``Tafe`` and ``FifoLm`` for the parameters."""

    record_type = TaskQueues
    kept = ("task", "flow_level", "came", "arrived", "sent", "sent_now", "rate", "level", "arrived_level", "listed")
    kept_once = ("thresholds", "num_listed", "foreseen", "least", "capacity")
    record: TaskQueues
    begin_flow = staticmethod(begin_task)
    control = staticmethod(order_tasks)

    def __init__(
        self, thresholds: FloatArray, within: WithinTask, *, demotion: Demotion = Demotion.SENT, heavy: float = np.inf
    ) -> None:
        self._thresholds = thresholds
        self._within = within
        self._demotion = demotion
        self._heavy = heavy

    @staticmethod
    def review_time(
        now: float, n: int, active: IntArray, count: int, state: FlowState, controls: Controls, record: TaskQueues
    ) -> float:
        """Returns when a task is demoted, or weights are set anew."""
        time = np.inf
        if record.within == REMAINING:
            time = foresee_by_remaining(now, n, active, count, state, controls, record)
            if record.single_link:
                return time
        return min(time, next_demotion(now, n, active, count, state, controls, record))

    @staticmethod
    def average(
        now: float,
        elapsed: float,
        n: int,
        active: IntArray,
        count: int,
        state: FlowState,
        controls: Controls,
        record: TaskQueues,
    ) -> None:
        """Sets mean rates where flows share by what is left of them."""
        if record.within == REMAINING:
            average_by_remaining(now, elapsed, n, active, count, state, controls, record)

    @staticmethod
    def finished(n: int, row: int, state: FlowState, controls: Controls, record: TaskQueues) -> None:
        """Adds what a flow has sent to its task's bytes."""
        if controls.path[row] < record.first_cpu_path:
            record.sent[n * record.num_rows + record.task[row]] += state.volume[row]

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> TaskQueues:
        """Makes room for the queues."""
        reals: dict[str, Any] = {name: np.zeros(num_flows) for name in ("arrived", "sent", "sent_now", "rate")}
        whole = ("task", "flow_level", "level", "arrived_level", "listed", "place", "laid")
        numbers: dict[str, Any] = {name: np.zeros(num_flows, dtype=np.int64) for name in whole}
        return TaskQueues(
            within=int(self._within),
            by_arrival=self._demotion is Demotion.ARRIVED,
            heavy=self._heavy,
            first_cpu_path=first_cpu_path(network),
            single_link=len(network.capacity) - network.num_cpus == 1,
            num_rows=num_flows // num_networks,
            thresholds=np.tile(self._thresholds, (num_networks, 1)),
            came=np.full(num_flows, np.inf),
            **reals,
            **numbers,
            num_listed=np.zeros(num_networks, dtype=np.int64),
            foreseen=np.full(num_networks, np.inf),
            least=np.zeros(num_networks),
            capacity=np.zeros(num_networks),
        )

    def begin_network(self, n: int, first_row: int, flows: Workload) -> None:
        """Sets the first thresholds, and numbers the tasks."""
        record, rows = self.record, np.s_[first_row : first_row + len(flows.flow_id)]
        record.thresholds[n] = self._thresholds
        record.task[rows] = index_tasks(flows)
        record.came[rows] = np.inf
        for column in (record.flow_level, record.arrived, record.sent, record.level, record.arrived_level):
            column[rows] = 0
        record.num_listed[n] = 0
        record.foreseen[n] = np.inf


class Tafe(QueuedTasks):
    """TAFE: tasks are demoted by the bytes that they have sent, and their flows are served by an order of their record.

    Tasks of one level are served in the order in which their first flows were ready, then of their ids; a level orders
    CPUs and links. A task that goes down joins those of its new level in this order.

    The paper (section IV) leaves open how its two parts go together: its switches serve the first flow of the highest
    queue (``serial``), its windows share a link by the inverse of what is left of a flow (``remaining``, equations 1
    to 5 in their fluid limit, where the share of marked packets cancels out). Both are here. On one link ``remaining``
    is exact. On a network, weights are set anew when 1/32 of what is left of a flow has been sent: completion
    times of single flows are off by 1 % or so.

    Args:
        thresholds: Demotion thresholds in B, increasing, (num_queues - 1,); none for one level.
        within: ``serial`` (flow by flow, in the order of ids), ``shortest`` (smallest remaining stage first), ``fair``
            (the first task's flows share) or ``remaining`` (all flows of the level share, CPUs equally).
        demotion: ``sent`` (section IV-A) or ``arrived`` (Algorithm 1, literally).

    Raises:
        ConfigError: Thresholds are not finite, positive and increasing, or a name is unknown.
    """

    def __init__(
        self, thresholds: Sequence[float] | FloatArray = (), within: str = "serial", demotion: str = Demotion.SENT
    ) -> None:
        served = WITHIN[check_choice("within", within, WITHIN)]
        demoted = check_choice("demotion", demotion, Demotion)
        super().__init__(check_limits(thresholds, may_be_empty=True), served, demotion=demoted)


class TaskLas(QueuedTasks):
    """Least attained service over tasks, in discrete queues (Aalo): first come, first served in each queue.

    Queues have strict priority, where Aalo weighs them; the flows of a task share. It is ``tafe`` with the flows of a
    task sharing, and other thresholds.

    Args:
        thresholds: Demotion thresholds in B, increasing, (num_queues - 1,).

    Raises:
        ConfigError: Thresholds are not finite, positive and increasing.
    """

    def __init__(self, thresholds: Sequence[float] | FloatArray = AALO_THRESHOLDS) -> None:
        super().__init__(check_limits(thresholds, may_be_empty=True), WithinTask.FAIR)


class FifoLm(QueuedTasks):
    """FIFO with limited multiplexing over tasks (Baraat: Dogar et al., SIGCOMM 2014); the flows of a task share.

    A task that has sent ``heavy`` bytes no longer keeps its successors waiting: it shares with them, up to the first
    that is not heavy itself, be it on a CPU or a link. What earlier tasks leave idle serves later ones.

    Args:
        heavy: Bytes sent from which on a task shares with its successors; inf for never.

    Raises:
        ConfigError: ``heavy`` is not > 0 B.
    """

    def __init__(self, heavy: float = np.inf) -> None:
        if not to_float(heavy) > 0:
            raise ConfigError(f"heavy is {shown(heavy)}: it must be > 0 B, or inf for never")
        super().__init__(np.zeros(0), WithinTask.FAIR, heavy=float(heavy))


def task_levels(
    task_id: Sequence[int] | IntArray, size: Sequence[float] | FloatArray, thresholds: Sequence[float] | FloatArray
) -> IntArray:
    """Finds the level of each flow by TAFE's Algorithm 1, taken literally.

    A flow gets the level that its task has when it arrives. Then its bytes are added to its task's, and the task is
    demoted by one level if they exceed the threshold of its present level, which only later flows notice. A flow
    without a task (-1) is a task of its record.

    Args:
        task_id: Task of each flow, in the order of arrival, (num_flows,), >= 0, or -1 for none.
        size: Bytes of each flow, (num_flows,), > 0.
        thresholds: Bytes above which a task leaves each level but the lowest, increasing, (num_levels - 1,), or empty.

    Returns:
        Levels, (num_flows,) int64, 0 the highest.

    Raises:
        ConfigError: An argument is not allowed.
    """
    tasks, sizes = check_whole_numbers("task_id", task_id), check_numbers("size", size)
    limits = check_limits(thresholds, may_be_empty=True)
    if len(tasks) != len(sizes):
        raise ConfigError(f"size has {len(sizes)} flows, task_id has {len(tasks)}: lengths must agree")
    _check_flows("task_id", tasks, tasks >= -1, ">= 0, or -1 for no task")
    _check_flows("size", sizes, np.isfinite(sizes) & (sizes > 0), "finite and > 0 B")
    level = np.zeros(len(tasks), dtype=np.int64)
    total, level_of_task = defaultdict[int, float](float), defaultdict[int, int](int)
    for row, task in enumerate(tasks.tolist()):
        if task >= 0:
            level[row] = level_of_task[task]
            total[task] += float(sizes[row])
            level_of_task[task] = level_after(level_of_task[task], total[task], limits)
    return level


def _check_flows(name: str, values: FloatArray | IntArray, allowed: BoolArray, what: str) -> None:
    if not allowed.all():
        row = int(np.argmin(allowed))
        raise ConfigError(f"{name} of flow {row} is {values[row]}: it must be {what}")
