"""Tells absolute due times from the time allowed after arrival, in files and in mappings."""

import itertools
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
