"""Reads and writes the flow file: one row per flow, SI units in the column names.

CSV with the columns of ``workload_from_columns`` in any order, or Parquet where the extension says so.
"""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray
from flowsched_gym.core.errors import FlowFileError, MissingDependencyError, WorkloadError
from flowsched_gym.core.files import Progress, open_to_read, replace_when_written
from flowsched_gym.flows.precedence import AFTER, after_cells
from flowsched_gym.flows.workload import NO_TASK, Workload
from flowsched_gym.workload.columns import ColumnLike, check_names, workload_from_columns_at
from flowsched_gym.workload.flow_csv import read_flow_csv

TableColumn = tuple[npt.NDArray[np.generic], BoolArray | None]
"""Values of a column, and which of its cells are filled (None: all)."""
PARQUET_SUFFIXES: Final = (".parquet", ".pq")
ROWS_AT_ONCE: Final = 65_536
"""Rows that are formatted as one piece of text."""


def read_flows(path: str | PathLike[str], *, progress: Progress | None = None) -> Workload:
    """Reads a flow file; of CSV, progress is called with (bytes done, all bytes) from time to time.

    Raises:
        FlowFileError: The file cannot be read, or something in it is not allowed; the message names file, line (of a
            Parquet file: row, from 0), column, value and what is allowed.
        MissingDependencyError: The file is Parquet and pyarrow is not installed.

    Warns:
        DeadlineWarning: ``deadline_s`` looks as if it held absolute times.
    """
    with open_to_read(path, "flows", "a flow file", FlowFileError) as file:
        try:
            return _read_parquet(file) if is_parquet(file) else read_flow_csv(file, progress)
        except WorkloadError as error:
            raise FlowFileError(str(error)) from None


def write_flows(workload: Workload, path: str | PathLike[str], *, progress: Progress | None = None) -> None:
    """Writes a flow file that ``read_flows`` turns into the same workload, bit by bit; link changes are left out.

    Raises:
        MissingDependencyError: Parquet is wanted and pyarrow is not installed.
        OSError: The file cannot be written.
        WorkloadError: The workload has no flows.
    """
    if not workload.num_flows:
        raise WorkloadError(f"{path} is not written: the workload has no flows")
    write_table(path, flow_columns(workload), progress=progress)


def flow_columns(workload: Workload) -> dict[str, TableColumn]:
    """Lays out a workload as the columns of a flow file, (num_flows,) each."""
    assert workload.task_id is not None
    assert workload.deadline_span is not None
    assert workload.cpu_time is not None
    columns: dict[str, TableColumn] = {
        "flow_id": (workload.flow_id, None),
        "task_id": (workload.task_id, workload.task_id != NO_TASK),
        "source": (workload.source, None),
        "destination": (workload.destination, None),
        "size_bytes": (workload.size, None),
        "arrival_s": (workload.arrival_time, None),
        "deadline_s": (workload.deadline_span, np.isfinite(workload.deadline_span)),
    }
    if workload.has_cpu_work:
        columns["cpu_s"] = (workload.cpu_time, None)
    if workload.after is not None:
        cells = np.array(after_cells(workload.after, workload.flow_id), dtype=object)
        columns[AFTER] = (cells, cells != "")
    return columns


def plain_columns(workload: Workload) -> dict[str, list[Any]]:
    """Returns the columns of a flow file as lists, which can be written as JSON: None where a cell is empty."""
    none = np.array(None)
    return {
        name: np.where(there is None or there, cells, none).tolist()
        for name, (cells, there) in flow_columns(workload).items()
    }


def is_parquet(path: str | PathLike[str]) -> bool:
    """Returns by the extension whether a file is Parquet; all others are CSV."""
    return Path(path).suffix.lower() in PARQUET_SUFFIXES


def write_table(
    path: str | PathLike[str], columns: Mapping[str, TableColumn], *, progress: Progress | None = None
) -> None:
    """Writes columns of equal length as CSV, or as Parquet if the extension says so; whole or not at all.

    Floats are written with as many digits as bring back the same float64. Booleans are ``true`` and ``false``.
    ``progress`` is called with (rows done, all rows) from time to time.
    """
    if is_parquet(path):
        _write_parquet(path, columns)
        return
    num_rows = len(next(iter(columns.values()))[0])
    with replace_when_written(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(columns) + "\n")
        for start in range(0, num_rows, ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            cells = [
                _format_cells(values[rows], filled if filled is None else filled[rows])
                for values, filled in columns.values()
            ]
            file.write("".join(",".join(row) + "\n" for row in zip(*cells, strict=True)))
            if progress is not None:
                progress(min(rows.stop, num_rows), num_rows)


def _read_parquet(path: Path) -> Workload:
    pa, parquet = _pyarrow("read")
    try:
        # Names first: to a reader of tables, two columns of one name are no table.
        check_names(parquet.read_schema(path).names, str(path))
        table = parquet.read_table(path)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise FlowFileError(f"{path} is not a Parquet file: {error}") from None
    columns: dict[str, ColumnLike] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        # A mask keeps whole numbers whole, where pyarrow would make floats of a column with empty cells.
        masked = column.null_count and pa.types.is_integer(column.type)
        filled = column.fill_null(0) if masked else column
        try:
            values = filled.to_numpy()
        except (pa.ArrowException, UnicodeDecodeError):
            raise FlowFileError(
                f"{path}, column {name}: its type is {column.type}, which cannot be read: it must be numbers"
            ) from None
        columns[name] = np.ma.masked_array(values, mask=column.is_null().to_numpy() if masked else False)
    return workload_from_columns_at(columns, str(path))


def _pyarrow(what: str) -> tuple[Any, Any]:
    try:
        import pyarrow  # noqa: PLC0415 - optional
        from pyarrow import parquet  # noqa: PLC0415 - optional
    except ImportError:
        raise MissingDependencyError("pyarrow", extra="parquet", purpose=f"{what} Parquet files") from None
    return pyarrow, parquet


def _format_cells(values: npt.NDArray[np.generic], filled: BoolArray | None) -> Sequence[str]:
    # repr gives the shortest decimal that reads back as the same float64.
    formats: dict[str, Callable[[object], str]] = {"b": lambda value: "true" if value else "false", "O": str}
    cells = list(map(formats.get(values.dtype.kind, repr), values.tolist()))
    if filled is None or filled.all():
        return cells
    return [cell if there else "" for cell, there in zip(cells, filled.tolist(), strict=True)]


def _write_parquet(path: str | PathLike[str], columns: Mapping[str, TableColumn]) -> None:
    pa, parquet = _pyarrow("write")
    table = pa.table(
        {name: pa.array(values, mask=None if filled is None else ~filled) for name, (values, filled) in columns.items()}
    )
    with replace_when_written(path) as temporary:
        parquet.write_table(table, temporary)
