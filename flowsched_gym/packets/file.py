"""Packets at given times: a CSV file, or a mapping of columns, with ``flow_id,size_bytes,arrival_s``."""

import csv
from collections.abc import Mapping
from os import PathLike
from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import FlowFileError, WorkloadError, shown, similar
from flowsched_gym.core.files import check_path
from flowsched_gym.workload.columns import COLUMNS, ColumnLike, FileColumn, numbers_of

PACKET_COLUMNS: Final = (
    FileColumn(name="flow_id", integral=True, positive=False, required=True, allowed="a whole number >= 0"),
    *(column for column in COLUMNS if column.name in ("size_bytes", "arrival_s")),
)
NAMES: Final = tuple(column.name for column in PACKET_COLUMNS)


class PacketArrivals(NamedTuple):
    """Packets in the order in which they arrive at a port.

    Attributes:
        flow_id: Flow of each packet, (num_packets,) int64, >= 0.
        size: Bytes on the wire, (num_packets,) float64, > 0.
        arrival_time: When it arrives, in s, (num_packets,) float64, >= 0, non-decreasing.
    """

    flow_id: IntArray
    size: FloatArray
    arrival_time: FloatArray


def packets_from_columns(columns: Mapping[str, ColumnLike], source: str = "mapping") -> PacketArrivals:
    """Makes packets of equally long sequences ``flow_id``, ``size_bytes`` and ``arrival_s``.

    Raises:
        WorkloadError: A column is unknown, missing or of another length, or a value is not allowed; the message names
            source, row (from 0), column, value and what is allowed.
    """
    _check_packet_names([str(name) for name in columns], source)
    arrays = {column.name: numbers_of(columns[column.name], column, source)[0] for column in PACKET_COLUMNS}
    count = len(arrays["flow_id"])
    for name, array in arrays.items():
        if len(array) != count:
            raise WorkloadError(f"{source}: {name} has {len(array)} rows, flow_id has {count}: lengths must agree")
    if not count:
        raise WorkloadError(f"{source}: no packets: at least one row is needed")
    for column in PACKET_COLUMNS:
        array = arrays[column.name]
        allowed = column.allows(array)
        if not allowed.all():
            row = int(np.argmin(allowed))
            raise WorkloadError(f"{source}, row {row}, {column.name} is {shown(array[row])}: {column.allowed}")
    times = arrays["arrival_s"].astype(np.float64)
    earlier = np.flatnonzero(np.diff(times) < 0)
    if len(earlier):
        row = int(earlier[0]) + 1
        raise WorkloadError(
            f"{source}, row {row}, arrival_s is {times[row]!r}: it must not be before that of the row before"
        )
    return PacketArrivals(
        arrays["flow_id"].astype(np.int64, copy=False), arrays["size_bytes"].astype(np.float64), times
    )


def read_packets(path: str | PathLike[str]) -> PacketArrivals:
    """Reads a packet file: CSV with the header ``flow_id,size_bytes,arrival_s`` in any order of columns.

    Raises:
        FlowFileError: The file cannot be read, or something in it is not allowed; see ``packets_from_columns``.
    """
    path = check_path("path of the packets", path, FlowFileError)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file)
            names = next(rows, [])
            _check_packet_names(names, f"{path}, line 1")
            cells = _numbers_in(rows, names, str(path))
        return packets_from_columns(cells, str(path))
    except OSError as error:
        raise FlowFileError(f"{path} cannot be read: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise FlowFileError(f"{path} is not a CSV file: {error}") from None
    except WorkloadError as error:
        raise FlowFileError(str(error)) from None


def _check_packet_names(names: list[str], source: str) -> None:
    expected = ", ".join(NAMES)
    for name in names:
        if name not in NAMES:
            raise WorkloadError(
                f"{source}: unknown column {shown(name)}: the columns are {expected}{similar(name, NAMES)}"
            )
        if names.count(name) > 1:
            raise WorkloadError(f"{source}: column {name} appears more than once")
    missing = [name for name in NAMES if name not in names]
    if missing:
        raise WorkloadError(f"{source}: missing column {', '.join(missing)}: the columns are {expected}")


def _numbers_in(rows: "csv._reader", names: list[str], source: str) -> dict[str, list[float]]:  # type: ignore[name-defined]
    columns: dict[str, list[float]] = {name: [] for name in names}
    kinds = [int if name == "flow_id" else float for name in names]
    for cells in rows:
        where = f"{source}, line {rows.line_num}"
        if len(cells) != len(names):
            raise WorkloadError(f"{where}: it has {len(cells)} cells: the header has {len(names)}")
        for name, kind, cell in zip(names, kinds, cells, strict=True):
            try:
                columns[name].append(kind(cell))
            except ValueError:
                allowed = PACKET_COLUMNS[NAMES.index(name)].allowed
                raise WorkloadError(f"{where}, {name} is {shown(cell)}: it must be {allowed}") from None
    return columns
