"""Packs the arrays of a record into one, so that all of them are copied at once."""

from collections.abc import Iterator
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

Record = TypeVar("Record", bound=tuple[Any, ...])

ALIGNMENT: Final = 16
"""Bytes at whose multiples arrays begin."""


def pack(record: Record) -> tuple[Record, npt.NDArray[np.uint8]]:
    """Moves the arrays of a NamedTuple, and of those in it, into one array of bytes.

    Returns:
        The same record with views in place of arrays, and the bytes, (length,).
    """
    ends = np.cumsum([0, *(-(-array.nbytes // ALIGNMENT) * ALIGNMENT for array in _arrays(record))])
    packed = np.zeros(int(ends[-1]), dtype=np.uint8)
    begins = iter(ends.tolist())
    return _moved(record, begins, packed), packed


def _arrays(value: object) -> Iterator[npt.NDArray[Any]]:
    """Lists the arrays of a record, in the order of its fields."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _arrays(each)


def _moved(value: Any, begins: Iterator[int], packed: npt.NDArray[np.uint8]) -> Any:
    """Returns the same with its arrays moved."""
    if isinstance(value, np.ndarray):
        begin = next(begins)
        view = packed[begin : begin + value.nbytes].view(value.dtype).reshape(value.shape)
        view[...] = value
        return view
    if isinstance(value, tuple):
        return type(value)(*(_moved(each, begins, packed) for each in value))
    return value
