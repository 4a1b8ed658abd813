"""Tells what a mapping of sequences must look like to become a workload."""

import math
import re

import numpy as np
import pytest

from flowsched_gym.core.errors import WorkloadError
from flowsched_gym.workload import read_flows, workload_from_columns

COLUMNS = {
    "flow_id": [0, 1, 5],
    "task_id": [0, None, 7],
    "source": [1, 2, 3],
    "destination": [0, 0, 0],
    "size_bytes": [350_000.0, 250_000, 1e3],
    "arrival_s": [0.0, 0.1, 0.025],
    "deadline_s": [0.04, None, 50],
}

ARRAYS = ("flow_id", "task_id", "source", "destination", "size", "arrival_time", "deadline_span")


def rows_of(columns: dict) -> list[list[float]]:
    workload = workload_from_columns(columns)
    return [getattr(workload, name).tolist() for name in ARRAYS]


EXPECTED = rows_of(COLUMNS)


def test_a_mapping_gives_what_the_same_file_gives(tmp_path) -> None:
    path = tmp_path / "flows.csv"
    path.write_text(",".join(COLUMNS) + "\n0,0,1,0,350000,0,0.04\n1,,2,0,250000,0.1,\n5,7,3,0,1000,0.025,50\n")
    workload = read_flows(path)
    assert [getattr(workload, name).tolist() for name in ARRAYS] == EXPECTED


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
    assert rows_of(COLUMNS | changes) == EXPECTED


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
