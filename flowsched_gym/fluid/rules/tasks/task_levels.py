"""Demotes tasks by the bytes of the flows that have arrived (TAFE, Algorithm 1)."""

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.machine_code.decorators import rule


@rule
def level_after(level: int, total: float, thresholds: FloatArray) -> int:
    """Returns the level of a task after a flow has arrived: one lower if the task has outgrown its present level.

    One flow demotes its task by one level at most, whatever its size (Algorithm 1, lines 11 to 13).

    Args:
        level: Level of the task, 0 the highest.
        total: Bytes of all of its flows that have arrived, this one included.
        thresholds: Bytes above which a task leaves each level but the lowest, increasing, (num_levels - 1,).
    """
    if level < len(thresholds) and total > thresholds[level]:
        return level + 1
    return level


@rule
def levels_on_arrival(
    task: IntArray,
    size: FloatArray,
    thresholds: FloatArray,
    task_level: IntArray,
    task_total: FloatArray,
    level: IntArray,
) -> None:
    """Finds the level of each flow, which is that of its task before the flow's own bytes count.

    Args:
        task: Row of each flow's task in the order of arrival, (num_flows,); -1 for a flow without one.
        size: Bytes of each flow.
        thresholds: Bytes above which a task leaves each level but the lowest, increasing, (num_levels - 1,).
        task_level: Level of each task, updated, (num_tasks,).
        task_total: Bytes of each task's flows that have arrived, updated, (num_tasks,).
        level: Receives the levels, (num_flows,), 0 the highest.
    """
    for row in range(len(task)):
        owner = task[row]
        if owner < 0:
            level[row] = 0
        else:
            level[row] = task_level[owner]
            task_total[owner] += size[row]
            task_level[owner] = level_after(task_level[owner], task_total[owner], thresholds)
