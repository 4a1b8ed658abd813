"""Evaluates policies and disciplines: rollouts, reference runs, bounds, statistics, result files."""

from flowsched_gym.evaluation.bounds.bound import BoundMethod, DeadlineBound, deadline_bound
from flowsched_gym.evaluation.environment import make_environment
from flowsched_gym.evaluation.evaluate import SameEpisodesWarning, evaluate, plays_the_same, resolve_policy
from flowsched_gym.evaluation.packets import replay_packets, serve_packets
from flowsched_gym.evaluation.player import Player, Progress
from flowsched_gym.evaluation.reference import (
    BOUND_POLICY,
    EnvironmentFlows,
    bound_of_simulation,
    evaluate_bound,
    evaluate_discipline,
)
from flowsched_gym.evaluation.replay import replay
from flowsched_gym.evaluation.result_files import read_result, result_content, result_name, write_json, write_result
from flowsched_gym.evaluation.results import EvaluationResult, ModelFile, Provenance, Run, SuiteReference
from flowsched_gym.evaluation.rollout import EpisodeResult, repeat_actions, rollout
from flowsched_gym.evaluation.statistics import (
    MIN_EPISODES,
    Interval,
    bootstrap_interval,
    bootstrap_intervals,
    interquartile_mean,
    paired_difference,
    paired_ratio,
    performance_profile,
    probability_of_improvement,
)

__all__ = [
    "BOUND_POLICY",
    "MIN_EPISODES",
    "BoundMethod",
    "DeadlineBound",
    "EnvironmentFlows",
    "EpisodeResult",
    "EvaluationResult",
    "Interval",
    "ModelFile",
    "Player",
    "Progress",
    "Provenance",
    "Run",
    "SameEpisodesWarning",
    "SuiteReference",
    "bootstrap_interval",
    "bootstrap_intervals",
    "bound_of_simulation",
    "deadline_bound",
    "evaluate",
    "evaluate_bound",
    "evaluate_discipline",
    "interquartile_mean",
    "make_environment",
    "paired_difference",
    "paired_ratio",
    "performance_profile",
    "plays_the_same",
    "probability_of_improvement",
    "read_result",
    "repeat_actions",
    "replay",
    "replay_packets",
    "resolve_policy",
    "result_content",
    "result_name",
    "rollout",
    "serve_packets",
    "write_json",
    "write_result",
]
