"""Measures what a schedule achieved: pure functions from records to numbers, named as in the literature."""

from flowsched_gym.flows.metrics.completion import goodput, makespan, percentile, utilisation
from flowsched_gym.flows.metrics.deadlines import DeadlineCount, count_deadlines, deadline_hit_ratio
from flowsched_gym.flows.metrics.fairness import jain_index
from flowsched_gym.flows.metrics.summary import METRIC_NAMES, SMALLER_IS_BETTER, Metrics, merit, summary, unit_of
from flowsched_gym.flows.metrics.tasks import TaskTimes, task_completion_times

__all__ = [
    "METRIC_NAMES",
    "SMALLER_IS_BETTER",
    "DeadlineCount",
    "Metrics",
    "TaskTimes",
    "count_deadlines",
    "deadline_hit_ratio",
    "goodput",
    "jain_index",
    "makespan",
    "merit",
    "percentile",
    "summary",
    "task_completion_times",
    "unit_of",
    "utilisation",
]
