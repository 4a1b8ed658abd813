"""Thresholds by theory, found once for each traffic."""

import functools
from typing import Any, Final

from flowsched_gym.queueing import optimal_thresholds
from flowsched_gym.workload import Distribution

USUAL_LOAD: Final = 0.8
"""Load for which the paper computes thresholds, where nothing else is said (section 6)."""


def qlas_thresholds(size: Distribution | str, load: float, num_queues: int) -> tuple[float, ...]:
    """Returns the best thresholds of queues by attained bytes on one link, in B; see ``optimal_thresholds``.

    Raises:
        ConfigError: There is no such distribution, or no best thresholds at this load.
    """
    hashable: Any = size  # distributions are
    return _best(hashable, load, num_queues)


@functools.lru_cache(maxsize=64)
def _best(size: Any, load: float, num_queues: int) -> tuple[float, ...]:
    """Finds them once; it takes some 40 ms."""
    return tuple(optimal_thresholds("qlas", size, load, num_queues).tolist())
