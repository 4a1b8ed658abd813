"""Holds the transport ``tcp`` to a packet simulator: deadlines, quartiles, flows that start together."""

import numpy as np
import pytest

from benchmarks.paper.run import POINTS_ALLOWED, SHARE_ALLOWED, compare_isolated, compare_policies


@pytest.fixture(scope="module")
def policies():
    return compare_policies()


@pytest.fixture(scope="module")
def isolated():
    return compare_isolated()


def test_all_policies_and_all_numbers_of_flows_are_compared(policies, isolated):
    assert [row.policy for row in policies] == ["fifo", "edf", "ssdf", "lsdf"]
    assert {row.flows for row in isolated} == {1, 2, 3, 5, 7, 10}
    assert {row.kind for row in isolated} == {"same", "mix"}


def test_deadlines_are_met_within_three_points_and_quartiles_of_completion_times_are_within_ten_percent(policies):
    for row in policies:
        assert abs(row.points) <= POINTS_ALLOWED, row.policy
        assert np.abs(row.quartile_shares).max() <= SHARE_ALLOWED, row.policy


def test_one_to_ten_flows_that_start_together_complete_within_ten_percent(isolated):
    assert [row for row in isolated if abs(row.share) > SHARE_ALLOWED] == []
