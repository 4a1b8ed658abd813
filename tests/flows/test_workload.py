"""Flows that wait for others, links that fail, and the arrays of a workload: in files, mappings and workloads."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flowsched_gym.core.errors import FlowFileError, WorkloadError
from flowsched_gym.envs.state import fingerprint
from flowsched_gym.workload import (
    LinkChanges,
    Precedence,
    Workload,
    first_flows,
    read_flows,
    with_future,
    workload_from_columns,
    write_flows,
)
from tests.simulate import make_flows


def chain(after: Sequence[object], **columns: Sequence[object]) -> Workload:
    """Makes flows of 1 B from host 0 to host 1 with the ids 0, 1, ..."""
    count = len(after)
    ends: dict[str, Any] = {"flow_id": list(range(count)), "source": [0] * count, "destination": [1] * count}
    rest = {"size_bytes": [1.0] * count, "arrival_s": [0.0] * count, "after": after}
    return workload_from_columns({**ends, **rest, **columns})


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_flow_file_brings_back_who_waits_and_what_a_cpu_does_first(tmp_path: Path, suffix: str) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    workload = chain(["", 0, [0, 1], "2 1", None], cpu_s=[0.5, None, 0.0, 1e-9, 2])
    path = tmp_path / f"flows.{suffix}"
    write_flows(workload, path)
    again = read_flows(path)
    assert again.after.earlier.tolist() == [0, 0, 1, 1, 2]
    assert again.after.later.tolist() == [1, 2, 2, 3, 3]
    assert again.cpu_time.tolist() == [0.5, 0.0, 0.0, 1e-9, 2.0]
    assert again.has_stages


def test_depth_counts_the_longest_chain_before_a_flow() -> None:
    pairs = Precedence.of({1: [0], 2: [0, 1], 3: [2], 5: [0]})
    assert pairs.depth(np.arange(6)).tolist() == [0, 1, 2, 3, 0, 1]


def test_a_flow_that_could_never_begin_and_cpu_work_that_is_no_time_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "flows.csv"
    columns = "flow_id,source,destination,size_bytes,arrival_s"
    for cells, message in (
        (["", "7"], "line 3, column after: 7: it must be ids of other flows"),
        (["", "1"], "line 3, column after: 1: it must be"),
        (["", "0 x"], "line 3, column after: '0 x': it must be"),
        (["", "0.5"], "line 3, column after: '0.5': it must be"),
        (["1", "0"], r"column after: flows wait for each other \(0 after 1 after 0\)"),
    ):
        rows = "".join(f"{row},0,1,5,0,{cell}\n" for row, cell in enumerate(cells))
        path.write_text(f"{columns},after\n{rows}")
        with pytest.raises(FlowFileError, match=message):
            read_flows(path)
    for value in ("-1", "nan", "inf", "x"):
        path.write_text(f"{columns},cpu_s\n0,0,1,5,0,{value}\n")
        with pytest.raises(FlowFileError, match=r"line 2, column cpu_s: .* it must be a finite time in s >= 0, or"):
            read_flows(path)
    with pytest.raises(WorkloadError, match=r"mapping: after is .* it must be a sequence of 1 entries"):
        workload_from_columns({key: [1.0] for key in columns.split(",")} | {"destination": [0], "after": ["", ""]})


def test_another_future_keeps_those_that_are_waited_for() -> None:
    past = chain(["", "2", "", "2"], arrival_s=[0.0, 0.0, 5.0, 6.0])
    future = chain(["", "0", "1"], arrival_s=[0.0, 7.0, 8.0])
    joined = with_future(past, future, now=1.0)
    assert joined.arrival_time.tolist() == [0.0, 0.0, 5.0, 7.0, 8.0]
    assert [*zip(joined.after.earlier.tolist(), joined.after.later.tolist(), strict=True)] == [(2, 1), (4, 5)]


def test_the_first_flows_wait_for_each_other_alone() -> None:
    after = first_flows(chain(["", "0", "1 3", ""]), 3).after
    assert after.later.tolist() == [1, 2]


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
        ([(0.0, 1, True), (0.0, 1, [])], r"up of link changes is \(True, \[\]\): .* a sequence of truth values"),
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
