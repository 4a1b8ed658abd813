"""Refuses numbers and names in result files that cannot be, whoever wrote them."""

import math
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

import numpy as np

from flowsched_gym.core.arrays import is_whole, to_float
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.evaluation.results import EvaluationResult, check_own_name, outcome
from flowsched_gym.evaluation.rollout import EpisodeResult
from flowsched_gym.evaluation.statistics import known_mean
from flowsched_gym.flows.metrics import METRIC_NAMES
from flowsched_gym.players import BOUND_POLICY
from flowsched_gym.registration import ENVIRONMENTS
from flowsched_gym.systems import OPTIONS

REACHABLE: Final = "reachable_hit_ratio"  # of the bound alone
RATIOS: Final = ("deadline_hit_ratio", REACHABLE, "slowdown_fairness")
COUNTS: Final = ("num_flows", "num_finished", "deadlines_met", "deadlines_missed", "num_tasks")
ORDERED: Final = (
    *((count, "num_flows") for count in ("num_finished", "num_tasks", "deadlines_met", "deadlines_missed")),
    *pairwise(("median_fct", "p95_fct", "p99_fct", "p999_fct", "max_fct")),
    ("mean_fct", "max_fct"),
    ("p99_slowdown", "max_slowdown"),
    ("mean_slowdown", "max_slowdown"),
)
"""Metrics of which the first is never larger than the second."""
ROUNDING: Final = 1e-9
LARGEST_SEED: Final = (1 << 63) - 1
LARGEST_FIGURE: Final = 1 << 53
"""Of seconds and of hardware; larger ones are no exact floats."""
DIGEST: Final = re.compile(r"[0-9a-f]{32}")
DATE: Final = re.compile(r"(\d{4}-\d{2}-\d{2})?")
INTERVAL_FIELDS: Final = ("mean", "low", "high", "confidence", "num_samples")


def builtin_names() -> set[str]:
    """Lists the names of all policies of the package, and of the bound."""
    return {BOUND_POLICY, *(name for spec in ENVIRONMENTS.values() for name in spec.named_policies)}


def check_result(result: EvaluationResult) -> None:
    """Refuses a result with a number out of its range, numbers that contradict each other, or another's name."""
    _check_name(result)
    models = [run.model for run in result.runs if run.model is not None]
    if 0 < len(models) < len(result.runs):
        raise ConfigError("runs: some have a model and others have none")
    if not models and len(result.runs) > 1:
        raise ConfigError(f"runs: there are {len(result.runs)} without a model, and only one is allowed")
    for model in models:
        if not DIGEST.fullmatch(model.digest):
            raise ConfigError(f"model, digest is {shown(model.digest)}: it must be 32 hexadecimal digits")
        if model.seed is not None and model.seed < 0:
            raise ConfigError(f"model, seed is {shown(model.seed)}: it must be >= 0")
    digests = [model.digest for model in models]
    if len({*digests}) < len(digests) and len({*zip(digests, map(outcome, result.runs), strict=True)}) > len(
        {*digests}
    ):
        raise ConfigError("runs: two have the same model and other episodes")
    for name in result.metric_names:
        if name not in (*METRIC_NAMES, REACHABLE):
            raise ConfigError(f"metrics has {shown(name)}: it must be one of {', '.join(METRIC_NAMES[:3])}, ...")
    acts = result.policy != BOUND_POLICY
    for run in result.runs:
        for episode in run.episodes:
            if (episode.actions is not None) != acts:
                raise ConfigError(f"actions of {result.policy} {'are missing' if acts else 'are given: it takes none'}")
            _check_episode(episode)


def check_made(made: Mapping[str, Any]) -> None:
    """Refuses what cannot be said of how a result was made; types of the values have been checked."""
    if not DATE.fullmatch(made["date"]):
        raise ConfigError(f"made, date is {shown(made['date'])}: it must be year-month-day")
    if not 0 <= made["seconds"] <= LARGEST_FIGURE:
        raise ConfigError(f"made, seconds is {shown(made['seconds'])}: it must be a number from 0 to {LARGEST_FIGURE}")
    for key in ("versions", "hardware"):
        for name, value in made[key].items():
            if not (isinstance(value, str) or (key == "hardware" and is_whole(value))):
                raise ConfigError(f"made, {key}, {shown(name)} is {shown(value)}: it has the wrong type")
            if isinstance(value, int) and not 0 <= value <= LARGEST_FIGURE:
                raise ConfigError(f"made, {key}, {shown(name)} is {shown(value)}: it must be 0 to {LARGEST_FIGURE}")


def check_intervals(found: Mapping[str, Any], result: EvaluationResult) -> None:
    """Refuses intervals of other metrics, or with other keys or types, or that do not belong to the episodes."""
    names = ["reward", *result.metric_names]
    for name in {**found, **dict.fromkeys(names)}:
        entry = found.get(name)
        if name not in names or not isinstance(entry, dict) or set(entry) != set(INTERVAL_FIELDS):
            raise ConfigError(
                f"intervals, {shown(name)} is {shown(entry)}: there must be one of each metric, with "
                f"{', '.join(INTERVAL_FIELDS)}"
            )
        for key, value in entry.items():
            if not math.isfinite(to_float(value)) and not (value is None and key in ("mean", "low", "high")):
                raise ConfigError(f"intervals, {shown(name)}, {key} is {shown(value)}: it must be a finite number")
        given, mean = entry["mean"], known_mean(result.samples(name))
        if not np.isclose(to_float(given), mean, rtol=1e-9, atol=1e-12, equal_nan=True):
            expected = None if math.isnan(mean) else mean
            raise ConfigError(f"intervals, {name} has the mean {shown(given)}: the episodes give {expected!r}")


def _check_name(result: EvaluationResult) -> None:
    """Refuses the name of a policy of the package, or of the bound, for anything else."""
    name = result.policy.partition(OPTIONS)[0]
    source = None if result.source is None else result.source.partition(OPTIONS)[0]
    # In a suite it is a policy that was named; elsewhere somebody may have given the object.
    same = source == name or (source is None and result.reference is None)
    known = builtin_names()
    if name.casefold() in known and (not same or result.learned):
        raise ConfigError(f"policy is {shown(result.policy)}, which is one of the package: what played is another")
    if name not in known and result.reference is not None:
        check_own_name("policy", result.policy, known)
    if BOUND_POLICY in (result.policy, source) and not result.policy == result.source == BOUND_POLICY:
        raise ConfigError(f"policy is {shown(result.policy)}, source {shown(result.source)}: one of them is the bound")


def _check_episode(episode: EpisodeResult) -> None:
    """Refuses an episode whose numbers cannot be."""
    values = episode.metrics

    def refuse(name: str, allowed: str) -> None:
        raise ConfigError(f"episode with seed {shown(episode.seed)}: {name} is {values[name]!r}: it must be {allowed}")

    if episode.seed > LARGEST_SEED:
        raise ConfigError(f"seed is {shown(episode.seed)}: it must be at most {LARGEST_SEED}")
    for name, value in values.items():  # what is not defined is NaN, and passes, save for counts
        if name in COUNTS and not (value >= 0 and value == int(value)):
            refuse(name, "a whole number >= 0")
        if name in RATIOS and (value < 0 or value > 1):
            refuse(name, "from 0 to 1")
        if name.endswith("_slowdown") and value < 1 - ROUNDING:
            refuse(name, ">= 1")
        if value < 0:
            refuse(name, ">= 0")
    for less, more in ORDERED:
        if less in values and more in values and values[less] > values[more] * (1 + ROUNDING):
            refuse(less, f"at most {more}, which is {values[more]!r}")
    met, missed = values.get("deadlines_met"), values.get("deadlines_missed")
    if met is not None and missed is not None and "deadline_hit_ratio" in values:
        ratio = met / (met + missed) if met + missed else math.nan
        if repr(values["deadline_hit_ratio"]) != repr(ratio):
            refuse("deadline_hit_ratio", f"{ratio!r}, by deadlines_met and deadlines_missed")
    finished, mean = values.get("num_finished"), values.get("mean_fct")
    if finished is not None and mean is not None and (finished > 0) == math.isnan(mean):
        refuse("mean_fct", "known if and only if a flow has finished")
