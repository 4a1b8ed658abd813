"""Serves tasks by what they have attained, as Aalo does."""

from collections.abc import Sequence
from typing import Final

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.fluid.disciplines.task_queues import QueuedTasks, check_thresholds
from flowsched_gym.fluid.rules.tasks.queues import WithinTask

AALO_THRESHOLDS: Final = tuple(2**20 * part for part in (1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9))
"""Aalo's thresholds in B: ten queues, the first of 10 MiB, each ten times as long (Chowdhury, Stoica, SIGCOMM 2015)."""


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
        super().__init__(check_thresholds(thresholds), WithinTask.FAIR)
