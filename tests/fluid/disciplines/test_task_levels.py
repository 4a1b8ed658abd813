"""Holds the levels of TAFE's Algorithm 1 to exact cases, and to what its lines say."""

import math

import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.fluid.disciplines import task_levels
from tests.exact import cases_of


@pytest.mark.parametrize("case", cases_of("tafe_levels"), ids=lambda case: case["id"])
def test_levels_are_those_of_the_exact_cases(case: dict) -> None:
    tasks, sizes = zip(*case["arrivals"], strict=True)
    levels = task_levels(tasks, sizes, case["thresholds"])
    assert levels.dtype == np.int64
    assert (levels + 1).tolist() == case["flow_priority"]


def test_a_flow_demotes_its_task_by_one_level_at_most_and_only_above_the_threshold() -> None:
    # The first flow would do for two levels. Task 8 reaches the first threshold, and stays above it.
    assert task_levels([7, 7, 7, 8, 8, 8], [100, 1, 1, 10, 1, 1], [10, 20]).tolist() == [0, 1, 2, 0, 0, 1]


def test_a_flow_without_a_task_is_a_task_of_its_own_and_without_thresholds_there_is_one_level() -> None:
    assert task_levels([-1, -1, 0, 0], [50.0] * 4, [10.0]).tolist() == [0, 0, 0, 1]
    assert task_levels([0, 0], [50.0, 50.0], []).tolist() == [0, 0]
    assert task_levels([], [], [1.0]).tolist() == []


def test_what_is_not_allowed_is_refused_by_name_and_value() -> None:
    for arguments, words in (
        (([0, -2], [1, 1], [5]), r"task_id of flow 1 is -2: it must be >= 0, or -1 for no task"),
        (([0.5], [1], [5]), r"task_id is \[0.5\]: it must be a list of whole numbers"),
        (([0, 0], [1, math.nan], [5]), r"size of flow 1 is nan: it must be finite and > 0 B"),
        (([0], [1, 2], [5]), r"size has 2 flows, task_id has 1: lengths must agree"),
        (([0], [1], [5, 5]), r"thresholds is \[5.0, 5.0\]: they must be finite, > 0 B and increasing"),
    ):
        with pytest.raises(ConfigError, match=words):
            task_levels(*arguments)
