"""Tells what a mapping of sequences must look like to become a workload, and absolute due times from spans."""

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from flowsched_gym.core.errors import FlowFileError, WorkloadError
from flowsched_gym.workload import (
    WORKLOADS,
    DeadlineWarning,
    draw_flows,
    make_workload,
    read_flows,
    workload_from_columns,
    write_flows,
)
from tests.workload.drawn import rows_of

COLUMNS = {
    "flow_id": [0, 1, 5],
    "task_id": [0, None, 7],
    "source": [1, 2, 3],
    "destination": [0, 0, 0],
    "size_bytes": [350_000.0, 250_000, 1e3],
    "arrival_s": [0.0, 0.1, 0.025],
    "deadline_s": [0.04, None, 50],
}

EXPECTED = rows_of(workload_from_columns(COLUMNS))


def test_a_mapping_gives_what_the_same_file_gives(tmp_path) -> None:
    path = tmp_path / "flows.csv"
    path.write_text(",".join(COLUMNS) + "\n0,0,1,0,350000,0,0.04\n1,,2,0,250000,0.1,\n5,7,3,0,1000,0.025,50\n")
    assert rows_of(read_flows(path)) == EXPECTED


@pytest.mark.parametrize(
    "changes",
    [
        {name: np.array(values) for name, values in COLUMNS.items()},
        {name: tuple(values) for name, values in COLUMNS.items()},
        {"deadline_s": [0.04, math.nan, 50.0], "task_id": np.array([0, np.nan, 7])},
        {"deadline_s": np.ma.masked_array([0.04, 9.9, 50.0], mask=[False, True, False])},
        {"task_id": np.ma.masked_array([0, 9, 7], mask=[False, True, False])},
        {"deadline_s": [0.04, "", 50.0], "task_id": [0.0, "", 7.0]},
        {"flow_id": np.array([0, 1, 5], dtype=np.uint64), "source": np.array([1, 2, 3], dtype=np.int8)},
        {"flow_id": np.array([0.0, 1.0, 5.0]), "destination": np.zeros(3)},
        {"size_bytes": np.array([350_000, 250_000, 1000]), "arrival_s": [np.float64(0.0), 0.1, 0.025]},
    ],
)
def test_common_kinds_of_sequences_are_read_alike(changes: dict) -> None:
    assert rows_of(workload_from_columns(COLUMNS | changes)) == EXPECTED


def test_bad_columns_are_refused_by_row_column_value_and_what_is_allowed() -> None:
    for changes, message in (
        ({"color": [1, 2, 3]}, "mapping: unknown column 'color': the columns are flow_id, task_id"),
        ({"size_bytes": [1.0, 2.0]}, "mapping: size_bytes has 2 rows, flow_id has 3: lengths must agree"),
        ({"size_bytes": [1.0, -2.0, 3.0]}, "mapping, row 1, column size_bytes: -2.0: it must be a finite number of"),
        ({"size_bytes": [1.0, "large", 3.0]}, "mapping, row 1, column size_bytes: 'large'"),
        ({"size_bytes": [1.0, [5], 3.0]}, "size_bytes is nested: it must be a sequence of numbers"),
        ({"size_bytes": [1.0, 10**400, 3.0]}, f"mapping, row 1, column size_bytes: {10**100}"),
        ({"size_bytes": np.array([1, 2, 3], dtype="m8[s]")}, "mapping, row 0, column size_bytes: "),
        ({"size_bytes": 5.0}, "size_bytes is 5.0: it must be a sequence of numbers"),
        ({"size_bytes": [True, False, True]}, "mapping, row 0, column size_bytes: True"),
        ({"flow_id": [0, 5, 5]}, "mapping, row 2, column flow_id: 5: it must be a whole number >= 0, larger than"),
        ({"flow_id": [0, 1.5, 2]}, "mapping, row 1, column flow_id: 1.5: it must be a whole number"),
        ({"flow_id": [0, 1, 10**30]}, f"mapping, row 2, column flow_id: {10**30}"),
        ({"task_id": [0, -1, 1]}, "mapping, row 1, column task_id: -1: it must be a whole number >= 0, or empty"),
        ({"source": [1, 0, 2]}, "mapping, row 1, column destination: 0: it must be a host number >= 0, other than"),
        (
            {"arrival_s": np.ma.masked_array([0.0, 0.5, 1.0], mask=[False, True, False])},
            "mapping, row 1, column arrival_s: None",
        ),
        ({"deadline_s": [0.0, 1.0, 1.0]}, "mapping, row 0, column deadline_s: 0.0"),
        ({"deadline_s": [1.0, math.inf, 1.0]}, "mapping, row 1, column deadline_s: inf"),
    ):
        with pytest.raises(WorkloadError, match=re.escape(message)):
            workload_from_columns(COLUMNS | changes)


def test_missing_columns_and_rows_are_named() -> None:
    with pytest.raises(WorkloadError, match="mapping: missing columns flow_id, source, destination, arrival_s: only"):
        workload_from_columns({"size_bytes": [1.0]})
    with pytest.raises(WorkloadError, match="mapping: no flows: at least one row is needed"):
        workload_from_columns({name: [] for name in COLUMNS})


FLOWS = {
    "flow_id": [0, 1, 2, 3],
    "source": [1, 2, 3, 1],
    "destination": [0, 0, 0, 0],
    "size_bytes": [1e5, 1e5, 1e5, 1e5],
    "arrival_s": [10.0, 20.0, 35.0, 40.0],
}
DUE = [10.5, 20.25, 36.0, 40.5]
SPANS = [0.5, 0.25, 1.0, 0.5]


def write(path: Path, columns: dict[str, list[float | None]]) -> Path:
    rows = ["" if value is None else str(value) for row in zip(*columns.values(), strict=True) for value in row]
    width = len(columns)
    lines = [",".join(columns), *(",".join(rows[at : at + width]) for at in range(0, len(rows), width))]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.usefixtures("either_parser")
def test_due_times_may_stand_in_place_of_spans(tmp_path: Path) -> None:
    columns = FLOWS | {"due_s": [10.5, None, 36.0, 40.5]}
    write(tmp_path / "flows.csv", columns)
    parquet.write_table(pa.table(columns), tmp_path / "flows.parquet")
    for workload in (workload_from_columns(columns), *(read_flows(path) for path in tmp_path.iterdir())):
        assert workload.deadline_span.tolist() == [0.5, np.inf, 1.0, 0.5]


def test_spans_and_due_times_together_are_refused(tmp_path: Path) -> None:
    both = FLOWS | {"deadline_s": SPANS, "due_s": DUE}
    with pytest.raises(WorkloadError, match=r"mapping: columns deadline_s \(time allowed after arrival\) and due_s"):
        workload_from_columns(both)
    with pytest.raises(FlowFileError, match=r"flows\.csv, line 1: columns deadline_s"):
        read_flows(write(tmp_path / "flows.csv", both))


@pytest.mark.usefixtures("either_parser")
@pytest.mark.parametrize("due", [20.0, 19.5])
def test_a_flow_that_is_due_before_it_arrives_is_refused(tmp_path: Path, due: float) -> None:
    columns, message = FLOWS | {"due_s": [10.5, due, 36.0, 40.5]}, f"column due_s: {due}: it must be a finite time in s"
    with pytest.raises(WorkloadError, match=f"row 1, {message}, later than"):
        workload_from_columns(columns)
    with pytest.raises(FlowFileError, match=f"line 3, {message}"):
        read_flows(write(tmp_path / "flows.csv", columns))


@pytest.mark.parametrize("shift", [0.0, 1.79e9], ids=["from 10 s on", "Unix time"])
def test_spans_that_look_like_times_are_warned_of(tmp_path: Path, shift: float) -> None:
    columns = FLOWS | {
        "arrival_s": [time + shift for time in FLOWS["arrival_s"]],  # type: ignore[attr-defined]
        "deadline_s": [time + shift for time in DUE],
    }
    with pytest.warns(DeadlineWarning, match="mapping: deadline_s grows with arrival_s .* belong in a column due_s"):
        workload_from_columns(columns)
    with pytest.warns(DeadlineWarning, match="flows.csv: deadline_s grows with arrival_s"):
        read_flows(write(tmp_path / "flows.csv", columns))


def test_spans_that_are_constant_in_no_order_too_few_or_huge_are_not_warned_of() -> None:
    huge = [1.7e308, 1.6e308, 1.7e308, 1.2e308]
    for spans in ([50.0] * 4, [90.0, 45.0, 60.0, 50.0], [10.5, 20.25, None, None], huge):
        workload_from_columns(FLOWS | {"deadline_s": spans})


@pytest.mark.parametrize("name", WORKLOADS)
def test_no_workload_of_the_package_is_warned_of(name: str, tmp_path: Path) -> None:
    for num_flows, seed in itertools.product((3, 10, 100), range(2)):
        write_flows(draw_flows(make_workload(name), num_flows=num_flows, seed=seed), tmp_path / "flows.csv")
        read_flows(tmp_path / "flows.csv")
