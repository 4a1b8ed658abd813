"""Computes what queueing theory says about one link, and finds thresholds of multi-level queues by it."""

from flowsched_gym.queueing.cluster import cluster_thresholds
from flowsched_gym.queueing.moments import SizeMoments, size_moments
from flowsched_gym.queueing.multilevel import MultilevelFct, multilevel_fct
from flowsched_gym.queueing.published import published_thresholds
from flowsched_gym.queueing.single_queue import mean_fct
from flowsched_gym.queueing.thresholds import optimal_thresholds, pias_thresholds, pias_worst_thresholds

__all__ = [
    "MultilevelFct",
    "SizeMoments",
    "cluster_thresholds",
    "mean_fct",
    "multilevel_fct",
    "optimal_thresholds",
    "pias_thresholds",
    "pias_worst_thresholds",
    "published_thresholds",
    "size_moments",
]
