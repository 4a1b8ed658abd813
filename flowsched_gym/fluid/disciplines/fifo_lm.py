"""Serves tasks in the order of their arrival, and lets heavy ones share."""

import numpy as np

from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.fluid.disciplines.task_queues import QueuedTasks
from flowsched_gym.fluid.rules.tasks.queues import WithinTask


class FifoLm(QueuedTasks):
    """FIFO with limited multiplexing over tasks (Baraat: Dogar et al., SIGCOMM 2014); the flows of a task share.

    A task that has sent ``heavy`` bytes no longer keeps its successors waiting: it shares with them, up to the first
    that is not heavy itself. What earlier tasks leave idle serves later ones.

    Args:
        heavy: Bytes sent from which on a task shares with its successors; inf for never.

    Raises:
        ConfigError: ``heavy`` is not > 0 B.
    """

    def __init__(self, heavy: float = np.inf) -> None:
        if isinstance(heavy, bool) or not isinstance(heavy, (int, float, np.integer, np.floating)) or not heavy > 0:
            raise ConfigError(f"heavy is {shown(heavy)}: it must be > 0 B, or inf for never")
        super().__init__(np.zeros(0), WithinTask.FAIR, heavy=float(heavy))
