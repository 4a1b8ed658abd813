"""Tells which arrays make a workload, which failures and repairs it may have, and how others are refused."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from flowsched_gym import Workload
from flowsched_gym.core.errors import WorkloadError
from flowsched_gym.envs.state import fingerprint
from flowsched_gym.workload import LinkChanges, first_flows
from tests.simulate import make_flows

CHANGES = [(0.0, 64, False), (0.0, 80, False), (1.5, 64, True)]


def workload_with(link_changes: Any) -> Workload:
    return replace(make_flows([0.0, 0.1], [1e5, 2e5], source=[0, 1], destination=[1, 2]), link_changes=link_changes)


def test_rows_become_columns_that_cannot_be_written_to() -> None:
    changes, none = LinkChanges.of(CHANGES), LinkChanges.of([])

    assert (changes.num_changes, none.num_changes) == (3, 0)
    assert [array.dtype.name for array in (changes.time, changes.link, changes.up)] == ["float64", "int64", "bool"]
    assert none.up.dtype == np.bool_
    assert list(zip(changes.time, changes.link, changes.up, strict=True)) == CHANGES
    for array in (changes.time, changes.link, changes.up):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_a_row_that_is_not_allowed_is_refused() -> None:
    for rows, message in (
        ([(0.0, 1)], r"link changes have the row \(0\.0, 1\): it must be \(time, link, up\)"),
        ([(-1.0, 1, False)], r"time of link changes is -1\.0 in row 0: it must be finite and >= 0 s"),
        ([(0.0, 1, False), (float("inf"), 1, True)], "time of link changes is inf in row 1: it must be finite"),
        ([(2.0, 1, False), (1.0, 1, True)], r"time of link changes is 1\.0 in row 1: it must be no earlier than"),
        ([(0.0, 0.5, False)], r"link of link changes is 0\.5 in row 0: it must be a whole number"),
        (
            [(0.0, 1, True), (0.0, 1, [])],
            r"up of link changes is \(True, \[\]\): it must be a sequence of truth values",
        ),
        ([(0.0, 1, 1)], r"up of link changes is \(1,\): it must be a sequence of truth values"),
    ):
        with pytest.raises(WorkloadError, match=message):
            LinkChanges.of(rows)


def test_columns_of_different_lengths_and_what_are_no_link_changes_are_refused() -> None:
    with pytest.raises(WorkloadError, match="link changes have 1 times, 2 links and 1 values of up"):
        LinkChanges(time=np.array([0.0]), link=np.array([0, 1]), up=np.array([False]))
    with pytest.raises(WorkloadError, match=r"link_changes is \[\(0\.0, 64, False\)"):
        workload_with(CHANGES)


def test_a_workload_has_the_arrays_of_its_flows_and_of_its_link_changes() -> None:
    changes = LinkChanges.of(CHANGES)
    arrays = workload_with(changes).arrays
    assert len(workload_with(None).arrays) == 7
    assert list(map(id, arrays[7:])) == [id(changes.time), id(changes.link), id(changes.up)]
    assert first_flows(workload_with(changes), 1).link_changes is changes


def test_episodes_that_differ_in_link_changes_alone_are_told_apart() -> None:
    digests = {
        fingerprint(workload_with(changes), 3)
        for changes in (None, LinkChanges.of(CHANGES), LinkChanges.of(CHANGES[:2]), LinkChanges.of(CHANGES))
    }
    assert len(digests) == 3


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


def test_an_array_that_is_not_allowed_is_refused_by_name_row_and_value() -> None:
    for name, values, message in (
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
    ):
        with pytest.raises(WorkloadError, match=message):
            Workload(**{**ARRAYS, name: values})
