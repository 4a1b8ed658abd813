"""Evaluates policies and disciplines: rollouts, reference runs, bounds, statistics, result files."""

from functools import partial

from flowsched_gym.core.files import Progress
from flowsched_gym.evaluation.bounds import (
    BoundMethod,
    DeadlineBound,
    EnvironmentFlows,
    bound_of_simulation,
    deadline_bound,
    evaluate_bound,
)
from flowsched_gym.evaluation.engines import make_environment
from flowsched_gym.evaluation.packets import replay_packets, serve_packets
from flowsched_gym.evaluation.replay import replay
from flowsched_gym.evaluation.result_files import (
    read_result,
    result_content,
    result_name,
    result_paths,
    write_json,
    write_result,
)
from flowsched_gym.evaluation.results import EvaluationResult, ModelFile, Provenance, Run, SuiteReference
from flowsched_gym.evaluation.rollout import EpisodeResult, repeat_actions, rollout
from flowsched_gym.evaluation.runner import EpisodeRunner, SameEpisodesWarning, evaluate, plays_the_same
from flowsched_gym.evaluation.statistics import (
    MIN_EPISODES,
    Interval,
    bootstrap_interval,
    bootstrap_intervals,
    interquartile_mean,
    paired_difference,
    paired_ratio,
    probability_of_improvement,
)
from flowsched_gym.players import BOUND_POLICY

__all__ = [
    "BOUND_POLICY",
    "MIN_EPISODES",
    "BoundMethod",
    "DeadlineBound",
    "EnvironmentFlows",
    "EpisodeResult",
    "EpisodeRunner",
    "EvaluationResult",
    "Interval",
    "ModelFile",
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
    "interquartile_mean",
    "make_environment",
    "paired_difference",
    "paired_ratio",
    "plays_the_same",
    "probability_of_improvement",
    "read_result",
    "repeat_actions",
    "replay",
    "replay_packets",
    "result_content",
    "result_name",
    "result_paths",
    "rollout",
    "serve_packets",
    "write_json",
    "write_result",
]
__dir__ = partial(sorted, __all__)
