"""Holds scores over a suite against rliable and against what is known."""

import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation.statistics import interquartile_mean
from flowsched_gym.leaderboard import scores
from flowsched_gym.leaderboard.scores import Compared

NUM_SETTINGS, NUM_TRAININGS, NUM_EPISODES = 6, 10, 12


def agent(seed: int, level: float) -> list[Compared]:
    """Draws an agent in six settings, of which every other has a metric that is better when smaller."""
    generator, found = np.random.default_rng(seed), []
    for number in range(NUM_SETTINGS):
        sign = (-1.0) ** number
        reached = level + 0.3 * generator.normal(size=(NUM_TRAININGS, NUM_EPISODES))
        found.append(
            Compared(10 + sign * 4 * reached, np.full(NUM_EPISODES, 10.0), np.full(NUM_EPISODES, 10 + sign * 4))
        )
    return found


def matrix(settings: list[Compared]) -> np.ndarray:
    """Returns scores as rliable takes them, (num_runs, num_settings)."""
    return np.column_stack([scores.training_scores(each) for each in settings])


def test_a_score_is_0_at_random_and_1_at_the_reference_in_either_direction():
    means = np.linspace(0.0, 10.0, NUM_EPISODES)
    for sign in (1.0, -1.0):
        random, reference = sign * means, sign * (means + 5.0)
        rows = np.stack([random, reference, sign * (means + 7.5), sign * (means - 5.0)])
        assert scores.training_scores(Compared(rows, random, reference)) == pytest.approx([0.0, 1.0, 1.5, -1.0])
    with pytest.raises(ConfigError, match="both ends of the scale have the mean 5"):
        scores.training_scores(Compared(means[None], means, means))


def test_of_nothing_there_is_no_score():
    nothing = np.empty(0)
    for call, message in (
        (lambda: scores.suite_score([]), "settings is empty"),
        (lambda: scores.performance_profile([], np.array([0.5])), "settings is empty"),
        (lambda: scores.suite_score([Compared(np.empty((2, 0)), nothing, nothing)]), r"the shape \(2, 0\)"),
        (lambda: scores.training_scores(Compared(np.empty((0, 2)), np.zeros(2), np.ones(2))), r"the shape \(0, 2\)"),
    ):
        with pytest.raises(ConfigError, match=message):
            call()


def test_a_training_that_collapsed_is_counted_though_the_others_are_good():
    assert scores.num_collapsed(np.array([0.9, 0.95, 0.92, 0.2, 0.93])) == 1
    assert scores.num_collapsed(np.array([0.9, 0.95, 0.92, 0.8, 0.93])) == 0
    assert scores.num_collapsed(np.array([-0.1, -0.2, 0.0])) == 3


def test_estimates_and_intervals_are_those_of_rliable():
    # Its other modules import absl, whose log handler breaks what pytest captures. It does not install on Python 3.14.
    metrics = pytest.importorskip("rliable.metrics")
    ours = agent(1, 0.8)
    assert scores.suite_score(ours).mean == pytest.approx(metrics.aggregate_iqm(matrix(ours)), abs=1e-12)
    assert scores.suite_score(ours, lambda drawn: drawn.mean(-1)).mean == pytest.approx(
        metrics.aggregate_mean(matrix(ours)), abs=1e-12
    )
    thresholds = np.array([0.5, 0.75, 0.8, 0.9])
    profile = [each.mean for each in scores.performance_profile(ours, thresholds, num_resamples=50)]
    assert profile == pytest.approx([(matrix(ours) > least).mean() for least in thresholds], abs=1e-12)


def test_with_episodes_that_are_all_alike_intervals_are_those_of_rliable_but_for_the_widening():
    # Drawn as rliable's StratifiedBootstrap draws, which itself does not run with arch 7.
    ours, generator = matrix(agent(1, 0.8)), np.random.default_rng(5)
    rows = generator.integers(NUM_TRAININGS, size=(4000, *ours.shape))
    drawn = interquartile_mean(ours[rows, np.arange(NUM_SETTINGS)].reshape(4000, -1))
    low, high = np.quantile(drawn, [0.025, 0.975])
    still = np.ones(NUM_EPISODES)
    alike = [Compared(column[:, None] * still, 0 * still, still) for column in ours.T]
    found = scores.suite_score(alike)
    widening = np.sqrt(NUM_TRAININGS / (NUM_TRAININGS - 1)) * 1.02
    assert found.high - found.low == pytest.approx(widening * (high - low), rel=0.06)


def test_intervals_of_a_suites_score_contain_the_truth_of_at_least_94_in_100():
    generator, hits = np.random.default_rng(3), 0
    for _ in range(500):
        random = np.zeros((4, NUM_EPISODES))
        reached = (
            1.0 + 0.2 * generator.normal(size=(4, NUM_TRAININGS, 1)) + 0.3 * generator.normal(size=(4, 1, NUM_EPISODES))
        )
        settings = [Compared(*each) for each in zip(reached, random, random + 1.0, strict=True)]
        interval = scores.suite_score(settings, interquartile_mean, num_resamples=300)
        hits += interval.low <= 1.0 <= interval.high
    assert hits / 500 >= 0.94


def test_holm_adjusts_a_family_of_claims():
    assert scores.holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert scores.holm(np.array([0.9, 0.8])) == pytest.approx([1.0, 1.0])
