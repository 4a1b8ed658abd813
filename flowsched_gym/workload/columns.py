"""Turns columns with the flow file's names into a workload, and says which value of which row is not allowed.

The flow file (CSV or Parquet) and a mapping of sequences are the same contract; its columns are defined here.
"""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Final, Protocol, TypeGuard, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.core.checks import EXACT_END
from flowsched_gym.core.errors import FlowSchedWarning, WorkloadError, shown
from flowsched_gym.flows.precedence import AFTER, parse_after
from flowsched_gym.flows.workload import COLUMNS as FIELDS_OF_WORKLOAD
from flowsched_gym.flows.workload import NO_TASK, Workload

NumberArray = FloatArray | IntArray
ColumnLike = Sequence[object] | npt.NDArray[np.generic]
SHOWN_NAMES: Final = 5
"""Names that a message lists at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileColumn:
    """A column of the flow file: its name in the header, what is allowed in words, and what an empty cell stands for.

    Values below 0 are refused, and 0 where they are to be positive; a required column has one in every row.
    """

    name: str
    integral: bool = False
    positive: bool = False
    required: bool = False
    allowed: str
    missing: float = math.inf

    @property
    def kind(self) -> Any:
        """Type of an array of values."""
        return np.int64 if self.integral else np.float64

    def allows(self, values: Any) -> Any:
        """Returns whether a number is allowed, or which of an array are, (num_rows,) bool."""
        return (values > 0 if self.positive else values >= 0) & (values < math.inf)

    def refusal(self, where: str, value: str) -> str:
        """Describes a value that is not allowed."""
        return f"{where}, column {self.name}: {value}: it must be {self.allowed}"


COLUMNS: Final = (
    FileColumn(
        name="flow_id", integral=True, required=True, allowed="a whole number >= 0, larger than in the row before"
    ),
    FileColumn(name="task_id", integral=True, allowed="a whole number >= 0, or empty", missing=NO_TASK),
    FileColumn(name="source", integral=True, required=True, allowed="a host number >= 0"),
    FileColumn(name="destination", integral=True, required=True, allowed="a host number >= 0, other than the source"),
    FileColumn(name="size_bytes", positive=True, required=True, allowed="a finite number of bytes > 0"),
    FileColumn(name="arrival_s", required=True, allowed="a finite time in s >= 0"),
    FileColumn(name="deadline_s", positive=True, allowed="a finite time in s > 0, or empty"),
    FileColumn(name="due_s", positive=True, allowed="a finite time in s, later than arrival_s, or empty"),
    FileColumn(name="cpu_s", allowed="a finite time in s >= 0, or empty", missing=0.0),
)
"""Columns of numbers in the flow file; ``due_s`` is read alone, for ``deadline_s``."""

FIELDS: Final = ("flow_id", "source", "destination", "task_id", "size_bytes", "arrival_s", "deadline_s", "cpu_s")
"""Columns of the flow file that those of a workload are, in their order."""

COLUMN_NAMES: Final = (*(column.name for column in COLUMNS), AFTER)
HEADER: Final = "flow_id,task_id,source,destination,size_bytes,arrival_s,deadline_s"
"""First line of a flow file as it is written; ``cpu_s`` and ``after`` follow where flows have them."""
LEAST_TELLING_ROWS: Final = 3
"""Flows with deadlines below which nothing can be said about a column."""
TELLING_SHARE: Final = 0.5
"""Share of the spread of deadlines that is left at most when arrivals are subtracted from absolute times."""


class DeadlineWarning(FlowSchedWarning):
    """A column of time spans that looks as if it held absolute times."""


def check_names(names: Sequence[str], source: str) -> None:
    """Refuses unknown, repeated and missing column names."""
    unknown = [shown(name) for name in names if name not in COLUMN_NAMES]
    if unknown:
        listed = ", ".join(unknown[:SHOWN_NAMES])
        listed += f" and {len(unknown) - SHOWN_NAMES} more" if len(unknown) > SHOWN_NAMES else ""
        raise WorkloadError(
            f"{source}: unknown column{'s' * (len(unknown) > 1)} {listed}: the columns are "
            f"{HEADER.replace(',', ', ')} (or due_s in its place), cpu_s, {AFTER}"
        )
    repeated = [name for name in COLUMN_NAMES if list(names).count(name) > 1]
    if repeated:
        raise WorkloadError(f"{source}: column {', '.join(repeated)} appears more than once")
    if "deadline_s" in names and "due_s" in names:
        raise WorkloadError(
            f"{source}: columns deadline_s (time allowed after arrival) and due_s (absolute time): only one is allowed"
        )
    missing = [column.name for column in COLUMNS if column.required and column.name not in names]
    if missing:
        raise WorkloadError(
            f"{source}: missing column{'s' * (len(missing) > 1)} {', '.join(missing)}: only task_id, deadline_s, cpu_s "
            f"and {AFTER} may be left out"
        )


def first_fault(
    values: Mapping[str, NumberArray], present: Mapping[str, BoolArray], previous_id: int
) -> tuple[int, FileColumn] | None:
    """Finds the first row with a value that is not allowed, and the first such column in it.

    ``present`` marks the cells of optional columns that are not empty; the previous id is -1 before the first row.
    """
    faults: list[tuple[int, int]] = []
    for order, column in enumerate(COLUMNS):
        if column.name not in values:
            continue
        array = values[column.name]
        allowed = column.allows(array)
        if column.name in present:
            allowed |= ~present[column.name]
        if column.name == "flow_id":
            allowed &= array > np.concatenate([[previous_id], array[:-1]])
        elif column.name == "destination":
            allowed &= array != values["source"]
        elif column.name == "due_s":
            allowed &= (array > values["arrival_s"]) | ~present[column.name]
        if not allowed.all():
            faults.append((int(np.argmin(allowed)), order))
    if not faults:
        return None
    row, order = min(faults)
    return row, COLUMNS[order]


def make_workload_of(
    values: Mapping[str, NumberArray],
    present: Mapping[str, BoolArray],
    source: str,
    *,
    after: Sequence[object] | None = None,
    where: Callable[[int], str],
) -> Workload:
    """Builds the workload of columns without a ``first_fault``; empty cells become "no task" and the like.

    Warns of time spans that look like absolute times; the source, such as a file name, begins the message. ``after``
    holds the cells of that column, if it is there, and ``where`` names the place of a row in messages.
    """
    filled: dict[str, Any] = dict(values)
    if "deadline_s" in values and _look_absolute(values["deadline_s"], values["arrival_s"], present["deadline_s"]):
        message = (
            f"{source}: deadline_s grows with arrival_s as an absolute time would: it is the time allowed after "
            "arrival; absolute times belong in a column due_s"
        )
        # The levels between: this function, the reader, and the public function that called it.
        warnings.warn(message, DeadlineWarning, stacklevel=4)
    for column in COLUMNS:
        if column.name in present and not present[column.name].all():
            filled[column.name] = np.where(
                present[column.name], values[column.name], np.array(column.missing, dtype=column.kind)
            )
    if "due_s" in filled:
        filled["deadline_s"] = filled["due_s"] - filled["arrival_s"]
    pairs = None if after is None else parse_after(after, filled["flow_id"], where)
    try:
        columns: dict[str, Any] = dict(zip(FIELDS_OF_WORKLOAD, map(filled.get, FIELDS), strict=True))
        return Workload(after=pairs, **columns)
    except WorkloadError as error:  # flows wait for each other: all else has been checked
        raise WorkloadError(f"{source}, column {error}") from None


def _look_absolute(spans: NumberArray, arrivals: NumberArray, present: BoolArray) -> bool:
    """Returns whether spans look like absolute times: after their arrivals, without which they scatter less."""
    spans, arrivals = spans[present], arrivals[present]
    if len(spans) < LEAST_TELLING_ROWS or not (spans > arrivals).all() or np.ptp(arrivals) == 0:
        return False
    scale = spans.max()  # squares of times near the largest number would be infinite
    return bool(np.std((spans - arrivals) / scale) <= TELLING_SHARE * np.std(spans / scale))


@runtime_checkable
class Frame(Protocol):
    """What is read of a frame of pandas or Polars: the names of its columns, and each column by its name."""

    columns: Any
    shape: Any

    def __getitem__(self, name: Any, /) -> Any: ...


FlowColumns = Mapping[str, ColumnLike] | Frame
"""Forms in which columns of flows may be given."""


def are_flow_columns(given: object) -> TypeGuard[FlowColumns]:
    """Returns whether something is a frame, or a mapping with the columns of flows."""
    return isinstance(given, Frame) or (isinstance(given, Mapping) and "flow_id" in given)


def workload_from_columns(columns: FlowColumns) -> Workload:
    """Makes a workload of a mapping of equally long sequences with the flow file's column names, or of a frame.

    Args:
        columns: A mapping, or a frame of pandas or Polars, with ``flow_id``, ``source``, ``destination``,
            ``size_bytes``, ``arrival_s`` and, if wanted, ``task_id`` and ``deadline_s`` (time allowed after arrival) or
            ``due_s`` (absolute time) in its place, ``cpu_s`` (seconds of one whole CPU before sending) and ``after``
            (ids of flows that must have finished, separated by spaces, or sequences of them), in which None, NaN,
            ``""`` and masked entries mean none.

    Raises:
        WorkloadError: A column is unknown, missing or of another length, or a value is not allowed; the message names
            row (from 0), column, value and what is allowed.

    Warns:
        DeadlineWarning: ``deadline_s`` looks as if it held absolute times.
    """
    if isinstance(columns, Frame):
        check_names([str(name) for name in columns.columns], "frame")
        return workload_from_columns_at({str(each): _entries(columns[each]) for each in columns.columns}, "frame")
    return workload_from_columns_at(columns, "mapping")


def _entries(column: Any) -> ColumnLike:
    """Returns the entries of a frame's column, with None for those that are missing."""
    missing = np.asarray(column.isna() if hasattr(column, "isna") else column.is_null(), dtype=np.bool_)
    if not missing.any():
        return np.asarray(column)
    return [None if gone else entry for entry, gone in zip(column.to_list(), missing.tolist(), strict=True)]


def workload_from_columns_at(columns: Mapping[str, ColumnLike], source: str) -> Workload:
    """Implements ``workload_from_columns``; the source, such as a file name, begins each message."""
    check_names([str(name) for name in columns], source)
    values: dict[str, NumberArray] = {}
    present: dict[str, BoolArray] = {}
    for column in COLUMNS:
        if column.name in columns:
            values[column.name], filled = numbers_of(columns[column.name], column, source)
            if not column.required:
                present[column.name] = filled
    num_rows = len(values["flow_id"])
    for name, array in values.items():
        if len(array) != num_rows:
            raise WorkloadError(f"{source}: {name} has {len(array)} rows, flow_id has {num_rows}: lengths must agree")
    if not num_rows:
        raise WorkloadError(f"{source}: no flows: at least one row is needed")
    fault = first_fault(values, present, previous_id=-1)
    if fault is not None:
        row, column = fault
        raise _fault_of(values[column.name][row], column, row, source)
    after = columns.get(AFTER)
    if after is not None and (isinstance(after, (str, bytes)) or len(after) != num_rows):
        raise WorkloadError(f"{source}: {AFTER} is {shown(after)}: it must be a sequence of {num_rows} entries")
    cells = None if after is None else [after[row] for row in range(num_rows)]
    return make_workload_of(values, present, source, after=cells, where=lambda row: f"{source}, row {row}")


def numbers_of(entries: ColumnLike, column: FileColumn, source: str) -> tuple[NumberArray, BoolArray]:
    """Returns an array of a column's entries, and which are filled; required columns are filled throughout."""
    if isinstance(entries, (str, bytes)) or not isinstance(entries, Sized):
        raise WorkloadError(f"{source}: {column.name} is {shown(entries)}: it must be a sequence of numbers")
    try:
        array = np.asarray(entries)
    except ValueError:
        raise WorkloadError(f"{source}: {column.name} is nested: it must be a sequence of numbers") from None
    if array.ndim != 1:
        raise WorkloadError(f"{source}: {column.name} has shape {array.shape}: it must have one dimension")
    if array.dtype.kind not in "iuf":
        return _numbers_of_objects(list(entries), column, source)
    filled = ~np.ma.getmaskarray(entries) if np.ma.isMaskedArray(entries) else np.ones(len(array), dtype=np.bool_)
    if array.dtype.kind == "f" and not column.required:
        filled &= ~np.isnan(array)
    if column.required and not filled.all():
        raise _fault_of(None, column, int(np.argmin(filled)), source)
    return _convert(array, filled, column, source), filled


def _numbers_of_objects(entries: list[object], column: FileColumn, source: str) -> tuple[NumberArray, BoolArray]:
    """Returns an array of entries that are not all numbers: None, text and others."""
    filled = np.ones(len(entries), dtype=np.bool_)
    numbers: list[float] = []
    for row, entry in enumerate(entries):
        empty = entry is None or (isinstance(entry, str) and not entry)
        if isinstance(entry, Real) and not isinstance(entry, (bool, np.bool_, np.timedelta64)):
            # Only NaN differs from itself; asking for it by name would make a float of a whole number of any length.
            empty = bool(entry != entry)
        elif not empty:
            raise _fault_of(entry, column, row, source)
        if empty and column.required:
            raise _fault_of(entry, column, row, source)
        filled[row] = not empty
        numbers.append(0 if empty else cast("float", entry))
    integral = column.integral and all(isinstance(number, Integral) for number in numbers)
    try:
        array = np.array(numbers, dtype=np.int64 if integral else np.float64)
    except OverflowError:
        row = max(range(len(numbers)), key=lambda index: abs(numbers[index]))
        raise _fault_of(entries[row], column, row, source) from None
    return _convert(array, filled, column, source), filled


def _convert(array: npt.NDArray[np.generic], filled: BoolArray, column: FileColumn, source: str) -> NumberArray:
    """Converts numbers to the column's type without changing any of them."""
    if not column.integral:
        return array.astype(np.float64)
    if array.dtype.kind != "f":
        whole = np.where(filled, array, 0)
        fits = whole <= np.iinfo(np.int64).max
    else:  # short floats cannot hold the bounds that they are compared with
        whole = np.where(filled, array.astype(np.float64), 0)
        fits = (np.floor(whole) == whole) & (np.abs(whole) < EXACT_END)
    if not fits.all():
        row = int(np.argmin(fits))
        raise _fault_of(array[row], column, row, source)
    return whole.astype(np.int64)


def _fault_of(value: object, column: FileColumn, row: int, source: str) -> WorkloadError:
    plain = value.item() if isinstance(value, np.generic) else value
    return WorkloadError(column.refusal(f"{source}, row {row}", shown(plain)))
