"""Scores of trained agents over several settings, on one scale (Agarwal et al., NeurIPS 2021).

The score of a training in a setting is ``(agent - low) / (high - low)``, each the mean of a metric over the same
episodes: low is a random choice and high the reference, or low is the best rule and high what search finds. The latter
is the share of the room that the agent wins, negative where it loses. In statistics of all trainings each setting
weighs the same, however many trainings it has. Intervals are made of draws of the trainings of each setting, and of its
episodes, and widened as those of ``flowsched_gym.evaluation.statistics``.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple, Unpack

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.seeding import SeedStreams
from flowsched_gym.evaluation.statistics import (
    CONFIDENCE,
    NUM_RESAMPLES,
    NUM_VARIANCE_RESAMPLES,
    Interval,
    Resampling,
    StandardError,
    interquartile_mean,
    within,
)

SHARES: Final = np.array([0.0, 1.0])
COLLAPSE: Final = 0.25
"""From random to the reference: a training so far below the median of its agent, or not above random, has collapsed."""


class Compared(NamedTuple):
    """A metric of an agent in a setting, (num_runs, num_episodes), and of both ends of the scale, (num_episodes,)."""

    agent: FloatArray
    low: FloatArray
    high: FloatArray


def training_scores(compared: Compared) -> FloatArray:
    """Returns the score of each training, (num_runs,).

    Raises:
        ConfigError: There is no episode or no training, or both ends have one mean: there is no scale.
    """
    if not compared.agent.size:
        raise ConfigError(f"agent has the shape {compared.agent.shape}: a score needs a training and an episode")
    if compared.high.mean() == compared.low.mean():
        raise ConfigError(f"both ends of the scale have the mean {compared.low.mean():g}: a score needs two")
    count = len(compared.low)
    scores: FloatArray = _scores(compared, np.full((1, count), 1 / count))[0]
    return scores


def num_collapsed(scores: FloatArray) -> int:
    """Counts the trainings of an agent that collapsed, by their scores in a setting."""
    return int(np.sum((scores <= 0) | (scores < np.median(scores) - COLLAPSE)))


def suite_score(
    settings: Sequence[Compared],
    statistic: Callable[[FloatArray], FloatArray] = interquartile_mean,
    **resampling: Unpack[Resampling],
) -> Interval:
    """Estimates the interquartile mean of the scores of all trainings in all settings, or another statistic of them."""
    return _estimate(settings, lambda drawn: statistic(_balanced(drawn)), **resampling)


def performance_profile(
    settings: Sequence[Compared], thresholds: FloatArray, **resampling: Unpack[Resampling]
) -> list[Interval]:
    """Estimates which share of all trainings in all settings has a score above each threshold."""
    shares = (suite_score(settings, partial(_share_above, least), **resampling) for least in thresholds.tolist())
    return [within(each, SHARES) for each in shares]


def mean_score(scores: FloatArray) -> FloatArray:
    """Returns the mean of scores, (..., num_runs) to (...): no setting is left out."""
    mean: FloatArray = scores.mean(axis=-1)
    return mean


def holm(p_values: FloatArray) -> FloatArray:
    """Adjusts the p-values of several claims, so that one in twenty such families has a false claim below 0.05.

    Holm, Scandinavian Journal of Statistics 6, 1979.
    """
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def _balanced(drawn: Sequence[FloatArray]) -> FloatArray:
    """Joins the scores of settings, (..., num_runs) each; those of few trainings are repeated to weigh the same."""
    count = math.lcm(*(scores.shape[-1] for scores in drawn))
    return np.concatenate([scores.repeat(count // scores.shape[-1], axis=-1) for scores in drawn], axis=-1)


def _share_above(least: float, scores: FloatArray) -> FloatArray:
    share: FloatArray = (scores > least).mean(axis=-1)
    return share


def _estimate(
    settings: Sequence[Compared],
    statistic: Callable[[Sequence[FloatArray]], FloatArray],
    *,
    confidence: float = CONFIDENCE,
    num_resamples: int = NUM_RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Estimates a number that is computed of the scores in several settings, (..., num_runs) each, to (...)."""
    if not settings:
        raise ConfigError("settings is empty: a score over a suite needs one")
    streams, few = SeedStreams(seed), min(num_resamples, NUM_VARIANCE_RESAMPLES)
    estimate = float(statistic([training_scores(each)[None] for each in settings])[0])
    counts = [len(each.agent) for each in settings if len(each.agent) > 1] or [2]
    episodes = [len(each.low) for each in settings]
    of_runs = statistic(_draw(settings, few, streams, with_episodes=False)).var()
    of_episodes = statistic(_draw(settings, few, streams, with_runs=False)).var()
    sources = (of_runs, min(counts), len(counts)), (of_episodes, min(episodes), len(episodes))
    resamples = statistic(_draw(settings, num_resamples, streams))
    low, high = StandardError.of_sources(sources).ends(estimate, resamples, confidence)
    return Interval(mean=estimate, low=low, high=high, confidence=confidence, num_samples=sum(episodes))


def _draw(
    settings: Sequence[Compared],
    num_resamples: int,
    streams: SeedStreams,
    *,
    with_runs: bool = True,
    with_episodes: bool = True,
) -> list[FloatArray]:
    """Returns the scores of resampled trainings in resampled episodes, (num_resamples, num_runs) for each setting."""
    of_runs, of_episodes = streams["runs"], streams["episodes"]
    drawn = []
    for each in settings:
        count = len(each.low)
        shares = np.full((1, count), 1 / count)
        if with_episodes:
            shares = of_episodes.multinomial(count, shares[0], size=num_resamples) / count
        scores = np.broadcast_to(_scores(each, shares), (num_resamples, len(each.agent)))
        if with_runs:
            scores = np.take_along_axis(scores, of_runs.integers(len(each.agent), size=scores.shape), axis=1)
        drawn.append(scores)
    return drawn


def _scores(compared: Compared, shares: FloatArray) -> FloatArray:
    """Returns the scores of trainings, (num_draws, num_runs), by shares of episodes, (num_draws, num_episodes)."""
    low, high = shares @ compared.low, shares @ compared.high
    scores: FloatArray = (shares @ compared.agent.T - low[:, None]) / (high - low)[:, None]
    return scores
