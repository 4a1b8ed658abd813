"""Measures tasks, groups of flows that are of use only together.

The task completion time is the last flow's completion minus the task's arrival, the instant at which the first of its
flows was ready: it had arrived, and the flows that it comes after had finished.
"""

from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.flows.metrics.completion import times_on_clock
from flowsched_gym.flows.records import Records


class TaskTimes(NamedTuple):
    """The tasks with their completion times.

    Attributes:
        task_id: Tasks, (num_tasks,) int64, increasing.
        tct: Task completion times in s, (num_tasks,) float64; NaN where a flow of the task had not finished.
    """

    task_id: IntArray
    tct: FloatArray


def task_completion_times(records: Records) -> TaskTimes:
    """Returns the completion time of every task; flows that belong to none are left out."""
    task_id = records.task_id
    arrival, completion = times_on_clock(records)
    ready = arrival + (records.ready_time - records.arrival_time)
    if task_id.size and task_id.min() < 0:
        inside = task_id >= 0
        task_id, ready, completion = task_id[inside], ready[inside], completion[inside]
    if not len(task_id):
        return TaskTimes(task_id=np.empty(0, dtype=np.int64), tct=np.empty(0))
    if (task_id[1:] < task_id[:-1]).any():
        order = np.argsort(task_id, kind="stable")
        task_id, ready, completion = task_id[order], ready[order], completion[order]
    first = np.concatenate([[0], np.flatnonzero(task_id[1:] != task_id[:-1]) + 1])
    tct = np.maximum.reduceat(completion, first) - np.minimum.reduceat(ready, first)
    return TaskTimes(task_id=task_id[first], tct=tct)
