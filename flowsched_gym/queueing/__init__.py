"""Computes what queueing theory says about one link, thresholds of multi-level queues, and windows of senders.

Thresholds are in B, (num_queues - 1,) float64, increasing. The arguments ``kind``, ``distribution`` and ``load`` are
everywhere those of ``multilevel_fct``; there are 2 to 8 queues. What is not allowed is a ``ConfigError``.
"""

from functools import partial

from flowsched_gym.queueing.moments import SizeMoments, size_moments
from flowsched_gym.queueing.one_link import MultilevelFct, mean_fct, multilevel_fct
from flowsched_gym.queueing.thresholds import (
    cluster_thresholds,
    optimal_thresholds,
    pias_thresholds,
    pias_worst_thresholds,
    published_thresholds,
)
from flowsched_gym.queueing.windows import WindowKind, window_after_round

__all__ = [
    "MultilevelFct",
    "SizeMoments",
    "WindowKind",
    "cluster_thresholds",
    "mean_fct",
    "multilevel_fct",
    "optimal_thresholds",
    "pias_thresholds",
    "pias_worst_thresholds",
    "published_thresholds",
    "size_moments",
    "window_after_round",
]
__dir__ = partial(sorted, __all__)
