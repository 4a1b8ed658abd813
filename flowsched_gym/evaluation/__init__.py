"""Evaluates policies and disciplines: rollouts, reference runs, bounds, statistics, result files."""

from flowsched_gym.evaluation.bounds import BoundMethod, DeadlineBound, deadline_bound

__all__ = ["BoundMethod", "DeadlineBound", "deadline_bound"]
