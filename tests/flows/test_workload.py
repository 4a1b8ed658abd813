"""Tells which arrays make a workload, and how others are refused."""

import numpy as np
import pytest

from flowsched_gym import Workload
from flowsched_gym.core.errors import WorkloadError

ARRAYS = {"flow_id": [0, 1], "source": [0, 0], "destination": [1, 2], "size": [1e5, 2e5], "arrival_time": [0.0, 0.1]}


def test_a_workload_keeps_copies_that_cannot_be_written_to() -> None:
    size = np.array([1e5, 2e5])
    workload = Workload(**{**ARRAYS, "size": size})
    size[0] = 7.0
    assert workload.size.tolist() == [1e5, 2e5]
    with pytest.raises(ValueError, match="read-only"):
        workload.size[0] = 7.0


def test_whole_numbers_may_come_as_any_type_of_number_and_keep_their_value() -> None:
    large = 2**53 + 1
    assert Workload(**{**ARRAYS, "flow_id": [3.0, 4.0]}).flow_id.tolist() == [3, 4]
    assert Workload(**{**ARRAYS, "flow_id": np.array([0, large], dtype=np.uint64)}).flow_id.tolist() == [0, large]


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("size", ["1", "2"], "size holds something that is not a number: its type is <U1"),
        ("size", [10**400, 1], "size holds something that is not a number"),
        ("size", [[1.0, 2.0]], r"size has shape \(1, 2\): it must have one dimension"),
        ("size", [1.0], "size has 1 rows, flow_id has 2: lengths must agree"),
        ("size", [1.0, -1.0], r"size is -1\.0 in row 1: it must be finite and > 0 B"),
        ("arrival_time", [0.0, float("nan")], "arrival_time is nan in row 1: it must be finite"),
        ("deadline_span", [0.0, 1.0], r"deadline_span is 0\.0 in row 0: it must be > 0 s, or inf for none"),
        ("flow_id", [1, 1], "flow_id is 1 in row 1: it must be strictly increasing, each id once"),
        ("flow_id", [0, 0.5], r"flow_id is 0\.5 in row 1: it must be a whole number"),
        ("flow_id", [0, 2**63], r"flow_id is 9.2233\S+ in row 1: it must be a whole number below 2\*\*63"),
        ("task_id", [0, -2], "task_id is -2 in row 1: it must be >= 0, or -1 for no task"),
        ("source", [0, -1], "source is -1 in row 1: it must be a host number >= 0"),
        ("destination", [1, 0], "destination is 0 in row 1: it must be another host than the source"),
    ],
)
def test_an_array_that_is_not_allowed_is_refused_by_name_row_and_value(name: str, values: object, message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        Workload(**{**ARRAYS, name: values})
