"""Simulates what intervals contain: of 2,000 experiments whose truth is known, at least 94 % in theirs."""

import numpy as np
import pytest
from scipy import stats

from flowsched_gym.evaluation import statistics
from flowsched_gym.evaluation.statistics import bootstrap_interval, interquartile_mean, paired_difference

NUM_EXPERIMENTS, NUM_TRAININGS, NUM_EPISODES = 2_000, 10, 30
HOW = {"num_resamples": 400}


def experiments(*, training: float, episode: float) -> np.ndarray:
    """Draws experiments around 0, (NUM_EXPERIMENTS, NUM_TRAININGS, NUM_EPISODES).

    Trainings and episodes have these standard deviations, and each training in each episode differs by 1 besides.
    """
    generator, count = np.random.default_rng(7), NUM_EXPERIMENTS
    return (
        training * generator.normal(size=(count, NUM_TRAININGS, 1))
        + episode * generator.normal(size=(count, 1, NUM_EPISODES))
        + generator.normal(size=(count, NUM_TRAININGS, NUM_EPISODES))
    )


def covered(intervals: list[statistics.Interval]) -> float:
    """Returns the share of intervals that contain 0."""
    return float(np.mean([each.low <= 0 <= each.high for each in intervals]))


@pytest.mark.parametrize(("training", "episode"), [(1.0, 0.5), pytest.param(1.0, 2.0, marks=pytest.mark.exhaustive)])
def test_at_least_94_of_100_intervals_of_ten_trainings_contain_the_truth(training, episode):
    drawn = experiments(training=training, episode=episode)
    assert covered([bootstrap_interval(each, **HOW) for each in drawn]) >= 0.94


@pytest.mark.exhaustive
def test_so_do_those_of_interquartile_means():
    drawn = experiments(training=1.0, episode=1.0)
    assert covered([bootstrap_interval(each, statistic=interquartile_mean, **HOW) for each in drawn]) >= 0.94


@pytest.mark.exhaustive
def test_so_do_those_of_episodes_with_a_long_tail():
    tails = np.exp(0.5 * np.random.default_rng(11).normal(size=(NUM_EXPERIMENTS, 1, NUM_EPISODES))) - np.exp(0.125)
    drawn = experiments(training=0.3, episode=0.0) + tails
    assert covered([bootstrap_interval(each, **HOW) for each in drawn]) >= 0.94


@pytest.mark.exhaustive
def test_so_do_those_of_differences_and_at_most_one_p_value_in_twenty_is_below_a_twentieth():
    rules = 2.0 * np.random.default_rng(12).normal(size=(NUM_EXPERIMENTS, NUM_EPISODES))
    agents = experiments(training=0.3, episode=0.0) + rules[:, None]
    found = [paired_difference(agent, rule, **HOW) for agent, rule in zip(agents, rules, strict=True)]
    assert covered(found) >= 0.94
    assert np.mean([each.p_value < 0.05 for each in found]) <= 0.05


def test_those_of_five_trainings_would_be_too_narrow_if_they_were_not_widened(monkeypatch):
    drawn = experiments(training=1.0, episode=0.5)[:400, :5]
    assert covered([bootstrap_interval(each, **HOW) for each in drawn]) > 0.92
    monkeypatch.setattr(statistics.StandardError, "ends", lambda _, __, drawn, ___: np.quantile(drawn, [0.025, 0.975]))
    assert covered([bootstrap_interval(each, **HOW) for each in drawn]) < 0.90


@pytest.mark.parametrize("freedom", [3, 5, 9, 29, 1e6])
def test_quantiles_and_p_values_are_students(freedom):
    error = statistics.StandardError(deviation=2.0, freedom=freedom)
    for confidence in (0.9, 0.95, 0.99):
        assert error.quantile(confidence) == pytest.approx(stats.t.ppf(0.5 + confidence / 2, freedom), rel=0.03)
    for estimate in (0.0, 1.0, -5.0):
        assert error.p_value(estimate) == pytest.approx(2 * stats.t.sf(abs(estimate) / 2, freedom), abs=3e-3)
