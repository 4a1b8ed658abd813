"""Holds the metrics to hand-worked examples, to NumPy and to each other."""

import cProfile
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.flows.metrics import (
    METRIC_NAMES,
    SMALLER_IS_BETTER,
    count_deadlines,
    deadline_hit_ratio,
    jain_index,
    merit,
    summary,
    task_completion_times,
)
from flowsched_gym.flows.records import Records


def make_records(completion, **columns):
    """Builds records from completion times; unnamed columns get plain values."""
    completion = np.array(completion, dtype=np.float64)
    count = len(completion)
    plain = {
        "task_id": np.full(count, -1),
        "destination": np.zeros(count, dtype=np.int64),
        "size": np.full(count, 100.0),
        "arrival_time": np.zeros(count),
        "deadline_span": np.full(count, np.inf),
        "ideal_fct": np.ones(count),
    }
    plain |= {name: np.array(column, dtype=plain[name].dtype) for name, column in columns.items()}
    fct = completion - plain["arrival_time"]
    return Records(
        **plain,
        flow_id=np.arange(count),
        source=np.full(count, 99),
        ready_time=plain["arrival_time"].copy(),
        grant_time=plain["arrival_time"].copy(),
        completion_time=completion,
        fct=fct,
        slowdown=fct / plain["ideal_fct"],
        deadline_met=np.isfinite(completion) & (fct <= plain["deadline_span"]),
    )


def test_three_flows_give_the_numbers_worked_by_hand():
    columns = {"size": [10, 20, 60], "deadline_span": [1.0, 3.0, np.inf], "ideal_fct": [1.0, 2.0, 2.0]}
    records = make_records([2.0, 5.0, 10.0], arrival_time=[1.0, 1.0, 4.0], **columns)
    metrics = summary(records, capacity=20.0)
    assert (metrics.num_flows, metrics.num_finished) == (3, 3)
    assert metrics.makespan == 9.0
    assert metrics.goodput == 10.0
    assert metrics.utilisation == 0.5
    assert metrics.mean_fct == pytest.approx(11 / 3)
    assert metrics.median_fct == 4.0
    assert metrics.max_fct == 6.0
    assert metrics.mean_slowdown == 2.0
    assert metrics.max_slowdown == 3.0
    assert metrics.slowdown_fairness == pytest.approx(36 / (3 * 14))
    assert (metrics.deadlines_met, metrics.deadlines_missed) == (1, 1)
    assert metrics.deadline_hit_ratio == 0.5


def test_times_and_slowdowns_are_better_when_small_and_all_else_when_large():
    larger = ["num_flows", "num_finished", "goodput", "utilisation", "slowdown_fairness", "deadlines_met"]
    larger += ["deadline_hit_ratio", "num_tasks"]
    assert [name for name in METRIC_NAMES if name not in SMALLER_IS_BETTER] == larger
    assert merit("mean_fct", 1.0) > merit("mean_fct", 2.0)
    assert merit("deadline_hit_ratio", 0.5) > merit("deadline_hit_ratio", 0.4)


def test_what_the_flows_do_not_define_is_nan():
    metrics = summary(make_records([1.0, 2.0]))
    assert math.isnan(metrics.deadline_hit_ratio)
    assert math.isnan(metrics.mean_tct)
    assert math.isnan(metrics.utilisation)
    assert (metrics.deadlines_met, metrics.deadlines_missed, metrics.num_tasks) == (0, 0, 0)


@pytest.mark.parametrize("completion", [[], [np.nan, np.nan]])
def test_an_episode_in_which_nothing_finished_has_no_times(completion):
    metrics = summary(make_records(completion), capacity=1.0)
    assert metrics.num_finished == 0
    times = (metrics.makespan, metrics.goodput, metrics.utilisation, metrics.mean_fct, metrics.p99_fct)
    assert all(math.isnan(value) for value in (*times, metrics.max_slowdown, metrics.slowdown_fairness))


def test_a_flow_due_after_the_stop_counts_neither_as_met_nor_as_missed():
    records = make_records([1.0, np.nan, 1.0, np.nan], deadline_span=[2.0, 2.0, 9.0, 9.0])
    assert count_deadlines(records, now=3.0) == (1, 1)
    assert count_deadlines(records) == (2, 2)
    assert summary(records, now=3.0).deadline_hit_ratio == 0.5
    assert summary(records).mean_fct == 1.0
    metrics = summary(records).as_dict()
    assert tuple(metrics) == METRIC_NAMES
    assert all(type(value) is float for value in metrics.values())
    assert math.isnan(deadline_hit_ratio(records, now=1.0))


def test_a_task_ends_with_its_last_flow_and_begins_with_its_first():
    records = make_records([4.0, 9.0, 3.0, 7.0], arrival_time=[1.0, 5.0, 0.0, 2.0], task_id=[7, 2, 7, -1])
    tasks = task_completion_times(records)
    assert tasks.task_id.tolist() == [2, 7]
    assert tasks.tct.tolist() == [4.0, 4.0]
    assert summary(records).mean_tct == 4.0


def test_a_task_with_an_unfinished_flow_has_no_completion_time():
    records = make_records([4.0, np.nan, 3.0], task_id=[0, 0, 1])
    assert np.isnan(task_completion_times(records).tct).tolist() == [True, False]
    metrics = summary(records)
    assert (metrics.num_tasks, metrics.mean_tct) == (2, 3.0)


def test_utilisation_is_averaged_over_the_hosts_that_receive_and_needs_a_capacity_that_a_link_can_have():
    records = make_records([10.0, 10.0], size=[100, 50], destination=[0, 10**12])
    assert summary(records, capacity=10.0).utilisation == pytest.approx(0.75)
    for capacity in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ConfigError, match="capacity"):
            summary(records, capacity=capacity)


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30), st.floats(1e-2, 1e2))
def test_jains_index_is_scale_free_and_lies_between_one_over_n_and_one(values, scale):
    array = np.array(values)
    index = jain_index(array)
    assert 1 / len(array) - 1e-9 <= index <= 1 + 1e-9
    assert jain_index(array * scale) == pytest.approx(index)
    assert jain_index(np.full(len(array), scale)) == pytest.approx(1.0)
    assert jain_index(scale * (np.arange(len(array)) == 0)) == pytest.approx(1 / len(array))


@given(st.integers(0, 2**32 - 1))
def test_the_summary_agrees_with_the_single_functions(seed):
    generator = np.random.default_rng(seed)
    count = int(generator.integers(1, 40))
    arrival = generator.random(count)
    completion = arrival + generator.exponential(1.0, count)
    completion[generator.random(count) < 0.2] = np.nan
    records = make_records(
        completion,
        arrival_time=arrival,
        deadline_span=np.where(generator.random(count) < 0.3, np.inf, 1.0),
        task_id=generator.integers(-1, 5, count),
    )
    metrics = summary(records)
    finished = records.fct[np.isfinite(records.fct)]
    tct = task_completion_times(records).tct
    span = np.nanmax(completion, initial=np.nan) - arrival.min() if len(finished) else np.nan
    assert metrics.makespan == pytest.approx(span, nan_ok=True)
    delivered = records.size[np.isfinite(records.fct)].sum()
    assert metrics.goodput == pytest.approx(delivered / span, nan_ok=True)
    np.testing.assert_equal(metrics.deadline_hit_ratio, deadline_hit_ratio(records))
    assert metrics.num_tasks == len(tct)
    if len(finished):
        expected = [np.percentile(finished, percent) for percent in (50, 95, 99, 99.9, 100)]
        found = [metrics.median_fct, metrics.p95_fct, metrics.p99_fct, metrics.p999_fct, metrics.max_fct]
        assert found == pytest.approx(expected)
        assert metrics.mean_fct == pytest.approx(finished.mean())


def test_a_summary_of_more_flows_takes_no_more_calls():
    def calls_for(count):
        """Counts the functions, Python's and C's, that one summary calls."""
        generator = np.random.default_rng(0)
        arrival = np.sort(generator.random(count))
        completion = arrival + generator.exponential(1.0, count)
        records = make_records(
            completion, arrival_time=arrival, deadline_span=np.ones(count), task_id=np.arange(count) // 10
        )
        with cProfile.Profile() as profile:
            summary(records, capacity=1e9)
        return sum(entry.callcount for entry in profile.getstats())

    assert calls_for(10_000) == calls_for(100)
