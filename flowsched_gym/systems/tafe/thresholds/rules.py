"""What becomes of tasks in a period, as pure functions of arrays."""

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.machine_code.decorators import allocating_rule


@allocating_rule
def finish_times(task: IntArray, completion_time: FloatArray) -> FloatArray:
    """Returns when the last flow of each task finished in s, (num_flows,): inf before, -inf where there is no task."""
    ends = np.full(len(task), -np.inf)
    for row in range(len(task)):
        time = completion_time[row]
        ends[task[row]] = max(ends[task[row]], time if time == time else np.inf)
    return ends


@allocating_rule
def task_sizes(task: IntArray, size: FloatArray) -> FloatArray:
    """Returns the bytes of each task, (num_flows,)."""
    sizes = np.zeros(len(task))
    for row in range(len(task)):
        sizes[task[row]] += size[row]
    return sizes


@allocating_rule
def sum_task_times(came: FloatArray, ends: FloatArray, finished: IntArray, begun_at: float, now: float) -> FloatArray:
    """Sums times of tasks in s.

    Args:
        came: When the first flow of each task was ready, (count,), inf before.
        ends: When each task finished, (count,), inf before.
        finished: Tasks that finished in the period.
        begun_at: When the period began.
        now: When it ended.

    Returns:
        The integral of the number of unfinished tasks over the period, and the completion times of those that finished
        in it, (2,).
    """
    sums = np.zeros(2)
    for task in range(len(came)):
        if came[task] < now:
            sums[0] += max(min(ends[task], now) - max(came[task], begun_at), 0.0)
    for task in finished:
        sums[1] += ends[task] - came[task]
    return sums
