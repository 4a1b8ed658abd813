"""Holds what is read of thresholds to plain lists."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flowsched_gym.fluid.rules.ordering.feedback import are_limits, are_within

NUMBERS = st.sampled_from([-np.inf, -1.0, 0.0, 1e-300, 1.0, 2.0, np.nextafter(2.0, 3.0), 1e300, np.inf, np.nan])


@given(row=st.lists(NUMBERS, min_size=1, max_size=3))
def test_limits_are_positive_finite_and_increasing(row: list[float]) -> None:
    expected = all(np.isfinite(row)) and row[0] > 0 and all(row[k] < row[k + 1] for k in range(len(row) - 1))
    fine = np.arange(1.0, 1.0 + len(row))
    assert are_limits(np.array([row])) == expected
    assert are_limits(np.array([fine, row])) == are_limits(np.array([row, fine])) == expected


@given(values=st.lists(st.sampled_from([-np.inf, -1.5, -1.0, 0.0, 1.0, np.nextafter(1.0, 2.0), np.nan]), max_size=3))
def test_values_are_within_a_bound_if_each_is(values: list[float]) -> None:
    assert are_within(np.array(values), 1.0) == all(-1.0 <= value <= 1.0 for value in values)
