"""Tunes the numbers of a rule: to a setting, by CMA-ES on training episodes, or to decisions that somebody made."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.checks import check_choice, check_integer
from flowsched_gym.core.errors import ConfigError, FlowSchedError, MissingDependencyError, listed
from flowsched_gym.core.files import Progress
from flowsched_gym.core.seeding import FIRST_TRAINING_SEED, SeedStreams
from flowsched_gym.envs.policies import Policy, is_pure
from flowsched_gym.evaluation.runner import evaluate
from flowsched_gym.flows.metrics import METRIC_NAMES, SMALLER_IS_BETTER
from flowsched_gym.players import find_player
from flowsched_gym.registration import find_environment
from flowsched_gym.systems import OPTIONS, PolicySpec

LAST_MEANS: Final = 4
"""Means of the last generations among which, and the rule as it was given, one is kept."""
FINAL_EPISODES: Final = 4
"""Times as many episodes, none of them seen before, decide which one is kept."""
SIGMA: Final = 0.25
"""Standard deviation of the first generation, in ranges."""
DIGITS: Final = 3
TRIALS, STEPS = 200, (0.5, 0.02)
"""Steps of a fit for each number, and standard deviation of the first and of the last one, in ranges."""


class TunedRule(NamedTuple):
    """What a search has found.

    Attributes:
        policy: The rule with its options, as ``find_player`` reads it; that which was given where none was better.
        value: Its mean metric in episodes that no other choice was made by, and that of the given rule.
        given: The same of the rule as it was given.
        metric: The metric.
    """

    policy: str
    value: float
    given: float
    metric: str


def tune_rule(
    environment: str,
    policy: str,
    *,
    kwargs: Mapping[str, Any] | None = None,
    metric: str | None = None,
    trials: int = 200,
    episodes: int = 32,
    seed: int = 0,
    progress: Progress | None = None,
) -> TunedRule:
    """Finds numbers for a rule of an environment with which a metric is best in training episodes.

    All options of the rule that have a range (``PolicySpec.ranges``) are searched; those given in ``policy`` as numbers
    are where the search begins, and the others stay as they are given. Each generation plays episodes of its own. At
    the end the rule as it was given and the last means play ``FINAL_EPISODES`` times as many further episodes, and the
    best is kept; the values are those of a last set of as many.

    Args:
        environment: Id.
        policy: Name of a rule, with options or without.
        kwargs: Arguments of the environment.
        metric: What is to be best. Default: the environment's metric.
        trials: Rules that are tried at least, >= 1.
        episodes: Episodes that each of them plays, >= 1.
        seed: Seed of the search and of the episodes.
        progress: Called with the trials that have been made and all of them.

    Raises:
        ConfigError: The policy is no rule of the environment, or has no number to tune, or there is no such metric.
        MissingDependencyError: ``cma`` is not installed.
    """
    check_integer("trials", trials, at_least=1)
    check_integer("episodes", episodes, at_least=1)
    spec = find_environment(environment)
    metric = check_choice("metric", spec.metric if metric is None else metric, METRIC_NAMES)
    player = find_player(policy, spec, kwargs or {})
    name = policy.partition(OPTIONS)[0]
    ranges = spec.named_policies[name].ranges if player.is_heuristic else {}
    if not ranges:
        tuned = listed(name, [each.name for each in spec.policies if each.ranges])
        raise ConfigError(f"policy is {policy!r}: it has no numbers to tune; {spec.id} has {tuned}")
    try:
        import cma  # noqa: PLC0415 - an optional part, slow to import
    except ImportError:
        raise MissingDependencyError("cma", extra="train", purpose="tune rules") from None
    low, usual, high = np.array(list(ranges.values()), dtype=np.float64).T
    streams = SeedStreams(seed)
    # Options that are no numbers stay, such as a base.
    fixed = {key: value for key, value in player.options.items() if key not in ranges}

    def named(point: FloatArray) -> str:
        return _named(spec.named_policies[name], point[: len(low)], fixed)

    def value_of(text: str, purpose: str, count: int) -> float:
        rng = streams[purpose]
        seeds = [FIRST_TRAINING_SEED + int(each) for each in rng.integers(2**62, size=count)]
        arguments = {**find_player(text, spec).arguments(kwargs or {}), "engine": "compiled"}
        result = evaluate(spec, text, episodes=count, seed=seeds, kwargs=arguments)
        return result.interval(metric).mean

    sign = 1.0 if metric in SMALLER_IS_BETTER else -1.0
    rng = streams["weights"]
    begin = [float(player.options.get(key, number)) for key, number in zip(ranges, usual, strict=True)]
    start = np.full(max(2, len(low)), 0.5)  # CMA-ES needs two numbers: a second one changes nothing
    start[: len(low)] = np.clip((begin - low) / (high - low), 0.0, 1.0)
    how = {"bounds": [0.0, 1.0], "seed": np.nan, "randn": lambda *shape: rng.standard_normal(shape), "verbose": -9}
    search = cma.CMAEvolutionStrategy(start, SIGMA, how)
    generations = math.ceil(trials / search.popsize)
    means: list[str] = []
    for generation in range(generations):
        points = search.ask()
        costs = []
        for point in points:
            costs.append(sign * value_of(named(point), f"generation {generation}", episodes))
            if progress is not None:
                progress(generation * search.popsize + len(costs), generations * search.popsize)
        search.tell(points, costs)
        means.append(named(np.asarray(search.mean)))
    tried = [policy, *dict.fromkeys(means[-LAST_MEANS:])]
    best = min(tried, key=lambda text: sign * value_of(text, "choice", FINAL_EPISODES * episodes))
    value, given = (value_of(text, "result", FINAL_EPISODES * episodes) for text in (best, policy))
    return TunedRule(best, value, given, metric)


def fit_rule(
    env: Any,
    rule: PolicySpec,
    observations: npt.NDArray[Any],
    actions: npt.NDArray[Any],
    *,
    fixed: Mapping[str, object] = MappingProxyType({}),
) -> list[tuple[float, str]]:
    """Finds numbers of a rule with which it chooses most often as somebody did.

    Steps from the best numbers so far become smaller.

    Args:
        env: The environment.
        rule: A rule with ranges.
        observations: What was seen, (n, size).
        actions: What was chosen, (n, ...).
        fixed: Options that stay.

    Returns:
        The rule with its usual numbers and with those found, each after the share of decisions in which it chooses the
        same; nothing where it cannot play.
    """
    low, usual, high = np.array(list(rule.ranges.values()), dtype=np.float64).T
    rng, trials = SeedStreams(0)["trials"], TRIALS * len(low)

    def tried(point: FloatArray) -> tuple[float, str]:
        policy = rule_in(env, text := _named(rule, point, fixed))
        return (agreement(policy, observations, actions) if is_pure(policy) else 0.0), text

    point = (usual - low) / (high - low)
    begun = best = tried(point)
    for trial in range(trials if best[0] else 0):
        step = STEPS[0] * (STEPS[1] / STEPS[0]) ** (trial / trials)
        other = np.clip(point + step * rng.standard_normal(len(low)), 0.0, 1.0)
        if (found := tried(other))[0] >= best[0]:
            point, best = other, found
    return [begun, best] if best[0] else []


def rule_in(env: Any, text: str) -> Any:
    """Makes a rule to play in an environment; ``None`` where it cannot."""
    try:
        return find_player(text, env).make(env)
    except FlowSchedError:
        return None


def agreement(rule: Policy, observations: npt.NDArray[Any], actions: npt.NDArray[Any]) -> float:
    """Returns the share of decisions, (n, size) and (n, ...), in which a pure rule chooses the same."""
    return float(np.mean(rule.predict(observations, deterministic=True)[0] == actions))


def _named(rule: PolicySpec, point: FloatArray, fixed: Mapping[str, object]) -> str:
    """Writes a rule with fixed options, and numbers at a point of their ranges."""
    options = {key: _text(value) for key, value in fixed.items()}
    for share, (key, (low, _, high)) in zip(np.clip(point, 0.0, 1.0).tolist(), rule.ranges.items(), strict=True):
        number = low + share * (high - low)
        is_whole = all(isinstance(bound, int) for bound in rule.ranges[key])
        options[key] = f"{round(number)}" if is_whole else f"{number:.{DIGITS}g}"
    return f"{rule.name}{OPTIONS}{','.join(f'{key}={value}' for key, value in options.items())}"


def _text(value: object) -> str:
    """Writes an option as it is read."""
    return str(value).lower() if isinstance(value, bool) else str(value)
