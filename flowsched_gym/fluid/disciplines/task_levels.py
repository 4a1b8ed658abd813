"""Finds the priority levels that TAFE's Algorithm 1 gives to the flows of tasks."""

from collections.abc import Sequence

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.fluid.disciplines.parameters import check_limits, check_numbers, check_whole_numbers
from flowsched_gym.fluid.rules.tasks.queues import levels_on_arrival


def task_levels(
    task_id: Sequence[int] | IntArray,
    size: Sequence[float] | FloatArray,
    thresholds: Sequence[float] | FloatArray,
) -> IntArray:
    """Finds the level of each flow by TAFE's Algorithm 1, taken literally.

    A flow gets the level that its task has when it arrives. Then its bytes are added to its task's, and the task is
    demoted by one level if they exceed the threshold of its present level, which only later flows notice. A flow
    without a task (-1) is a task of its own.

    Args:
        task_id: Task of each flow, in the order of arrival, (num_flows,), >= 0, or -1 for none.
        size: Bytes of each flow, (num_flows,), > 0.
        thresholds: Bytes above which a task leaves each level but the lowest, increasing, (num_levels - 1,); may be
            empty.

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
    known, task = np.unique(tasks, return_inverse=True)
    level = np.zeros(len(tasks), dtype=np.int64)
    levels_on_arrival(
        np.where(tasks < 0, -1, task), sizes, limits, np.zeros(len(known), dtype=np.int64), np.zeros(len(known)), level
    )
    return level


def _check_flows(name: str, values: FloatArray | IntArray, allowed: BoolArray, what: str) -> None:
    """Refuses the first flow whose value is not allowed."""
    if not allowed.all():
        row = int(np.argmin(allowed))
        raise ConfigError(f"{name} of flow {row} is {values[row]}: it must be {what}")
