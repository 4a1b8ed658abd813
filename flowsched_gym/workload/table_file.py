"""Writes tables of flows as CSV or Parquet."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray
from flowsched_gym.core.errors import MissingDependencyError
from flowsched_gym.core.files import replace_when_written

Progress = Callable[[int, int], None]
"""Called with how much is done, and of how much."""

TableColumn = tuple[npt.NDArray[np.generic], BoolArray | None]
"""Values of a column, and which of its cells are filled (None: all)."""

PARQUET_SUFFIXES: Final = (".parquet", ".pq")

ROWS_AT_ONCE: Final = 65_536
"""Rows that are formatted as one piece of text."""


def is_parquet(path: str | PathLike[str]) -> bool:
    """Returns by the extension whether a file is Parquet; all others are CSV."""
    return Path(path).suffix.lower() in PARQUET_SUFFIXES


def write_table(
    path: str | PathLike[str], columns: Mapping[str, TableColumn], *, progress: Progress | None = None
) -> None:
    """Writes a table as CSV, or as Parquet if the extension says so.

    Floats are written with as many digits as bring back the same float64. Booleans are ``true`` and ``false``.

    Args:
        path: The file; an existing one is replaced.
        columns: Columns by name, each of the same length.
        progress: Called with (rows done, all rows) from time to time.

    Raises:
        MissingDependencyError: Parquet is wanted and pyarrow is not installed.
        OSError: The file cannot be written.
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


def _format_cells(values: npt.NDArray[np.generic], filled: BoolArray | None) -> Sequence[str]:
    # repr gives the shortest decimal that reads back as the same float64.
    formats: dict[str, Callable[[object], str]] = {"b": _format_bool, "O": str}
    to_text = formats.get(values.dtype.kind, repr)
    cells = list(map(to_text, values.tolist()))
    if filled is None or filled.all():
        return cells
    return [cell if there else "" for cell, there in zip(cells, filled.tolist(), strict=True)]


def _format_bool(value: object) -> str:
    return "true" if value else "false"


def _write_parquet(path: str | PathLike[str], columns: Mapping[str, TableColumn]) -> None:
    try:
        import pyarrow as pa  # noqa: PLC0415 - optional
        from pyarrow import parquet  # noqa: PLC0415 - optional
    except ImportError:
        raise MissingDependencyError("pyarrow", extra="parquet", purpose="write Parquet files") from None
    table = pa.table(
        {name: pa.array(values, mask=None if filled is None else ~filled) for name, (values, filled) in columns.items()}
    )
    with replace_when_written(path) as temporary:
        parquet.write_table(table, temporary)
