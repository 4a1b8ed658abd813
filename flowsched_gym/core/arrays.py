"""Types of the arrays that the package computes with, and what counts as a number where users give some."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Final, TypeGuard

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
ObservationArray = npt.NDArray[np.float32]
"""Observations."""


MOST_ENTRIES: Final = 10_000_000
"""Entries of a sequence that is given as an argument; more, such as ``range(10**9)``, would take minutes to read."""


def is_whole(value: object) -> TypeGuard[int]:
    """Tells whether a value is a whole number by its type; truth values and times are none, whatever Python says."""
    return isinstance(value, Integral) and not isinstance(value, (bool, np.timedelta64))


def to_float(value: object) -> float:
    """Returns a number, inf where it is too large for one, and NaN where it is none; see ``is_whole``."""
    if not _is_real(value):
        return float("nan")
    try:
        return float(value)
    except OverflowError:
        return float("-inf") if value < 0 else float("inf")


def is_sequence(value: object) -> TypeGuard[Sequence[Any]]:
    """Tells whether a value has entries in an order, and not too many.

    Sets, mappings, generators, texts and bytes are no sequences.
    """
    if hasattr(value, "__array__"):
        return np.ndim(value) > 0
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes, bytearray, memoryview)):
        return False
    return len(value) <= MOST_ENTRIES


def as_numbers(values: object) -> FloatArray | None:
    """Makes an array of a sequence of numbers, (count,); ``None`` where it is none, or an entry is no number."""
    if not is_sequence(values):
        return None
    if hasattr(values, "__array__"):
        given = np.asarray(values)
        if given.ndim == 1 and given.dtype.kind in "iuf":
            return given.astype(np.float64)
    return np.array([to_float(value) for value in values], dtype=np.float64) if all(map(_is_real, values)) else None


def _is_real(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, (bool, np.timedelta64))
