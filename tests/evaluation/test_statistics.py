"""Holds the bootstrap intervals to what is known of means, and to their own coverage."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation import statistics


def test_the_interval_encloses_the_mean_and_is_the_same_for_the_same_seed():
    values = np.random.default_rng(1).normal(5.0, 1.0, 30)
    interval = statistics.bootstrap_interval(values, seed=4)
    assert interval.mean == pytest.approx(values.mean())
    assert interval.low < interval.mean < interval.high
    assert interval == statistics.bootstrap_interval(values, seed=4)
    assert interval != statistics.bootstrap_interval(values, seed=5)


def test_for_many_samples_the_interval_is_that_of_the_normal_distribution():
    values = np.random.default_rng(2).normal(0.0, 1.0, 400)
    interval = statistics.bootstrap_interval(values)
    half = 1.96 * values.std() / np.sqrt(400)
    # 10 000 resamples know a 2.5 % quantile to about 2 % of the half width.
    assert interval.high - interval.mean == pytest.approx(half, rel=0.08)
    assert interval.mean - interval.low == pytest.approx(half, rel=0.08)


def test_nineteen_in_twenty_intervals_contain_the_truth():
    samples = np.random.default_rng(3).normal(0.0, 1.0, (400, 30))
    intervals = [statistics.bootstrap_interval(row, num_resamples=500) for row in samples]
    covered = np.mean([interval.low <= 0 <= interval.high for interval in intervals])
    # Percentile intervals of 30 samples cover a little less than 95 %; 400 trials know it to 2 points.
    assert 0.90 < covered < 0.97


def test_fewer_than_ten_episodes_give_a_mean_but_no_interval():
    interval = statistics.bootstrap_interval(np.arange(statistics.MIN_EPISODES - 1.0))
    assert (interval.mean, interval.known) == (4.0, False)
    assert np.isnan([interval.low, interval.high]).all()
    assert statistics.bootstrap_interval(np.arange(statistics.MIN_EPISODES * 1.0)).known


def test_many_intervals_at_once_are_those_of_each_column():
    generator = np.random.default_rng(8)
    columns = {
        "first": generator.normal(3.0, 1.0, 40),
        "gaps": np.where(np.arange(40) % 3, generator.random(40), np.nan),
        "few": np.where(np.arange(40) < 5, 1.0, np.nan),
        "second": generator.random(40),
        "none": np.full(40, np.nan),
    }
    how = {"seed": 2, "num_resamples": 300, "confidence": 0.9}
    alone = {name: statistics.bootstrap_interval(values, **how) for name, values in columns.items()}
    assert repr(statistics.bootstrap_intervals(columns, **how)) == repr(alone)
    assert statistics.bootstrap_intervals({}) == {}


def test_pairs_are_resampled_together_so_that_their_intervals_are_far_narrower_than_the_values_are_spread():
    generator = np.random.default_rng(6)
    episode = generator.normal(0.0, 10.0, 20)
    ours, theirs = episode + 1.0 + generator.normal(0, 0.1, 20), episode
    difference = statistics.paired_difference(ours, theirs)
    assert difference.low < 1.0 < difference.high
    assert difference.high - difference.low < 0.2
    single = statistics.bootstrap_interval(ours)
    assert single.high - single.low > 5.0
    theirs = generator.uniform(1.0, 100.0, 20)
    ratio = statistics.paired_ratio(1.25 * theirs, theirs)
    assert (ratio.mean, ratio.low, ratio.high) == pytest.approx((1.25, 1.25, 1.25))


def test_the_interquartile_mean_leaves_a_quarter_out_at_each_end_and_what_has_no_value_counts_nowhere():
    assert statistics.interquartile_mean(np.array([100.0, 1.0, 2.0, 3.0, 4.0, -50.0, 2.0, 3.0])) == 2.5
    assert statistics.bootstrap_interval([0.0] * 11 + [1e9], statistic=statistics.interquartile_mean).mean == 0.0
    interval = statistics.bootstrap_interval([1.0, np.nan] * 10)
    assert (interval.mean, interval.low, interval.high, interval.num_samples) == (1.0, 1.0, 1.0, 10)


@settings(max_examples=20)
@given(st.lists(st.floats(-1e3, 1e3), min_size=10, max_size=40), st.integers(1, 50))
def test_drawing_in_blocks_gives_the_same_interval(values, block):
    whole = statistics.bootstrap_interval(values, num_resamples=50)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics, "BLOCK_SIZE", block * len(values))
        assert statistics.bootstrap_interval(values, num_resamples=50) == whole


def test_an_argument_that_is_not_allowed_is_named():
    for call, message in (
        (lambda: statistics.bootstrap_interval(np.zeros((2, 2, 2))), r"values has shape \(2, 2, 2\)"),
        (lambda: statistics.bootstrap_interval([1.0], confidence=1.0), "confidence is 1.0"),
        (lambda: statistics.bootstrap_interval([1.0], num_resamples=0), "num_resamples is 0"),
        (lambda: statistics.bootstrap_interval([1.0], seed=-1), "seed is -1"),
        (lambda: statistics.paired_difference([1.0], [1.0, 2.0]), "values has 1 episodes, baseline 2"),
        (lambda: statistics.paired_ratio([1.0, 1.0], [1.0, 0.0]), "baseline is 0 in row 1"),
        (lambda: statistics.Interval(mean=0.0, low=0.0, high=0.0, num_samples=-1), "num_samples is -1"),
    ):
        with pytest.raises(ConfigError, match=message):
            call()
