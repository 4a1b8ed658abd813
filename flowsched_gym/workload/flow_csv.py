"""Parses the CSV form of the flow file, in pieces.

What is legal is defined by ``_parse_line``. Since that takes microseconds a cell, a piece of the file first goes to
``_parse_fast``, which reads plain numbers column by column and gives up at anything else. Then the lines are gone
through one by one, which either reads them or finds the fault. Both give the same numbers, bit by bit: Python converts.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import BoolArray
from flowsched_gym.core.checks import EXACT_END, INT64_END
from flowsched_gym.core.errors import FlowFileError
from flowsched_gym.core.files import Progress
from flowsched_gym.flows.precedence import AFTER
from flowsched_gym.flows.workload import Workload
from flowsched_gym.workload.columns import (
    COLUMN_NAMES,
    COLUMNS,
    HEADER,
    FileColumn,
    NumberArray,
    check_names,
    first_fault,
    make_workload_of,
)

CHUNK_BYTES: Final = 4_000_000
"""Size of the pieces: long enough that NumPy's share dominates, short enough to fit beside the result."""
MAX_HEADER_BYTES: Final = 4_096
"""A longer first line is no header of a flow file."""
PLAIN_BYTES: Final = b"0123456789+-.eE,\n"
"""All bytes of a file that needs no care."""
COMMA: Final = 44
LINE_FEED: Final = 10
NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
WHOLE_NUMBER: Final = re.compile(r"[+-]?\d+", re.ASCII)
SHOWN_CHARACTERS: Final = 60
"""Characters of a line that a message repeats at most; no whole number that is allowed has more."""


class _Chunk(NamedTuple):
    """The parsed rows of a piece of the file: values and filled cells by column, and ``after``, (num_rows,) each."""

    values: Mapping[str, NumberArray]
    present: Mapping[str, BoolArray]
    after: Sequence[str]


def read_flow_csv(path: Path, progress: Progress | None) -> Workload:
    """Reads the flows of a CSV file; see ``read_flows``."""
    with path.open("rb") as file:
        total = path.stat().st_size
        header = _read_header(file, str(path))
        num_rows = _count_rows(file)
        if not num_rows:
            raise FlowFileError(f"{path}, line 2: no flows: at least one row must follow the header")
        columns = [None if name == AFTER else COLUMNS[COLUMN_NAMES.index(name)] for name in header]
        numbers = [column for column in columns if column is not None]
        values = {column.name: np.empty(num_rows, dtype=column.kind) for column in numbers}
        present = {column.name: np.empty(num_rows, dtype=np.bool_) for column in numbers if not column.required}
        after: list[str] = []
        row, previous_id = 0, -1
        while block := file.read(CHUNK_BYTES):  # made whole lines, with line feeds alone
            chunk_bytes = (block + file.readline()).replace(b"\r\n", b"\n")
            chunk = _parse_fast(chunk_bytes, columns, previous_id)
            if chunk is None:
                chunk = _parse_lines(chunk_bytes, columns, previous_id, str(path), first_line=row + 2)
            ids = chunk.values["flow_id"]
            rows = slice(row, row + len(ids))
            for name, array in chunk.values.items():
                values[name][rows] = array
            for name, filled in chunk.present.items():
                present[name][rows] = filled
            after.extend(chunk.after)
            row, previous_id = rows.stop, int(ids[-1])
            if progress is not None:
                progress(file.tell(), total)
    cells = after if AFTER in header else None
    return make_workload_of(values, present, str(path), after=cells, where=lambda row: f"{path}, line {row + 2}")


def _read_header(file: BinaryIO, source: str) -> list[str]:
    line = file.readline(MAX_HEADER_BYTES)
    if not line:
        raise FlowFileError(f"{source}: the file is empty: its first line must be the header {HEADER}")
    try:
        text = line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise FlowFileError(f"{source}, line 1: not UTF-8 text ({error.reason}): a CSV file is needed") from None
    names = [_unquote(cell) for cell in text.split(",")]
    if not any(name in COLUMN_NAMES for name in names):
        shown = text[:SHOWN_CHARACTERS]
        raise FlowFileError(f"{source}, line 1: {shown!r}: it must be the header, with the columns {HEADER}")
    check_names(names, f"{source}, line 1")
    return names


def _count_rows(file: BinaryIO) -> int:
    """Counts the lines from here to the end, a last one without line break included; stays where it is."""
    start = file.tell()
    count, last = 0, b"\n"
    while block := file.read(CHUNK_BYTES):
        count += block.count(b"\n")
        last = block[-1:]
    file.seek(start)
    return count + (last != b"\n")


def _parse_fast(chunk: bytes, columns: Sequence[FileColumn | None], previous_id: int) -> _Chunk | None:
    """Parses lines of plain numbers, column by column, ``after`` being None; None where that is not enough."""
    if chunk.translate(None, PLAIN_BYTES) or not chunk.endswith(b"\n"):
        return None
    characters = np.frombuffer(chunk, dtype=np.uint8)
    separators = characters[(characters == COMMA) | (characters == LINE_FEED)]
    num_columns = len(columns)
    if len(separators) % num_columns:
        return None
    ends = separators.reshape(-1, num_columns) == LINE_FEED
    if ends[:, :-1].any() or not ends[:, -1].all():
        return None
    cells = chunk.replace(b"\n", b",").split(b",")
    # The last separator leaves an empty cell behind it.
    cells.pop()
    values: dict[str, NumberArray] = {}
    present: dict[str, BoolArray] = {}
    after: list[str] = []
    for position, column in enumerate(columns):
        texts = cells[position::num_columns]
        if column is None:
            after = [text.decode() for text in texts]
            continue
        if not column.required:
            present[column.name] = np.fromiter(map(bool, texts), dtype=np.bool_, count=len(texts))
            texts = [text or b"0" for text in texts]
        number: type[float] = int if column.integral else float
        try:
            values[column.name] = np.fromiter(map(number, texts), dtype=column.kind, count=len(texts))
        except (ValueError, OverflowError):
            return None
    if first_fault(values, present, previous_id) is not None:
        return None
    return _Chunk(values=values, present=present, after=after)


def _parse_lines(
    chunk: bytes, columns: Sequence[FileColumn | None], previous_id: int, source: str, first_line: int
) -> _Chunk:
    """Parses lines one by one, and raises for the first one that is not allowed."""
    *lines, rest = chunk.split(b"\n")
    lines += [rest] if rest else []
    rows: list[list[Any]] = []
    fault: FlowFileError | None = None
    for number, line in enumerate(lines, start=first_line):
        try:
            cut = bool(rest) and number == first_line + len(lines) - 1
            rows.append(_parse_line(line, columns, f"{source}, line {number}", cut=cut))
        except FlowFileError as error:
            fault = error
            break
    values, present, after = {}, {}, []
    for index, column in enumerate(columns):
        cells = [row[index] for row in rows]
        if column is None:
            after = cells
            continue
        values[column.name] = np.array([0 if cell is None else cell for cell in cells], column.kind)
        if not column.required:
            present[column.name] = np.array([cell is not None for cell in cells], dtype=np.bool_)
    wrong = first_fault(values, present, previous_id)
    if wrong is not None:
        row, column = wrong
        value = str(values[column.name][row])
        if column.name == "flow_id":
            value += f" after {values['flow_id'][row - 1] if row else previous_id}"
        raise FlowFileError(column.refusal(f"{source}, line {first_line + row}", value))
    if fault is not None:
        raise fault
    return _Chunk(values=values, present=present, after=after)


def _parse_line(
    line: bytes, columns: Sequence[FileColumn | None], where: str, *, cut: bool
) -> list[float | str | None]:
    """Parses one row, cut where it lacks its line break; None is an empty cell, and that of ``after`` stays text."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FlowFileError(f"{where}: not UTF-8 text ({error.reason})") from None
    cells = [_unquote(cell) for cell in text.split(",")]
    if len(cells) != len(columns):
        hint = "; the file ends here without a line break and seems to be cut short" if cut else ""
        raise FlowFileError(
            f"{where}: {len(cells)} cell{'s' * (len(cells) > 1)} in {shorten(text)!r}: it must be {len(columns)}, as "
            f"in the header{hint}"
        )
    if cut and not cells[-1]:
        name = AFTER if columns[-1] is None else columns[-1].name
        raise FlowFileError(
            f"{where}, column {name}: the file ends after a comma, without a line break: it seems to be "
            "cut short; a last row that is complete must end with a line break"
        )
    return [
        cell if column is None else _parse_cell(cell, column, where)
        for cell, column in zip(cells, columns, strict=True)
    ]


def _parse_cell(cell: str, column: FileColumn, where: str) -> float | None:
    """Converts one cell; None if it is empty and may be so."""
    if not cell and not column.required:
        return None
    value: float | None = None
    if column.integral and WHOLE_NUMBER.fullmatch(cell):
        # Python refuses to convert thousands of digits.
        value = int(cell) if len(cell) <= SHOWN_CHARACTERS and int(cell) < INT64_END else None
    elif NUMBER.fullmatch(cell):
        value = float(cell)
        if column.integral:
            value = int(value) if value.is_integer() and abs(value) < EXACT_END else None
    if value is None or not column.allows(value):
        raise FlowFileError(column.refusal(where, repr(shorten(cell))))
    return value


def shorten(text: str) -> str:
    """Cuts text for a message where it is long."""
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."


def _unquote(cell: str) -> str:
    stripped = cell.strip(" \t")
    if len(stripped) > 1 and stripped[0] == stripped[-1] == '"':
        return stripped[1:-1].strip(" \t")
    return stripped
