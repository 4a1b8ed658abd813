"""Turns what users give into checked columns of numbers, and says by name, row and value what is not allowed."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.core.errors import WorkloadError

INT64_END: Final = 2.0**63
"""The first whole number that int64 cannot hold."""


def as_column(values: Sequence[float] | FloatArray | IntArray, name: str, *, integral: bool) -> FloatArray | IntArray:
    """Copies values to an array, (num_rows,) float64 or int64.

    Args:
        values: The values.
        name: What they are, for messages.
        integral: Whether they are whole numbers.

    Raises:
        WorkloadError: The values are not numbers, not whole ones, or have not one dimension.
    """
    try:
        given = np.asarray(values)
        if given.size and given.dtype.kind not in "iufO":
            raise TypeError(f"its type is {given.dtype}")
        whole = integral and given.dtype.kind == "i"
        array: FloatArray | IntArray = given.astype(np.int64) if whole else given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise WorkloadError(f"{name} holds something that is not a number: {error}") from None
    if array.ndim != 1:
        raise WorkloadError(f"{name} has shape {array.shape}: it must have one dimension")
    if whole or not integral:
        return array
    require((array == np.floor(array)) & (np.abs(array) < INT64_END), name, given, "a whole number below 2**63")
    return given.astype(np.int64)


def require(allowed: BoolArray, name: str, values: npt.NDArray[np.generic], what: str) -> None:
    """Refuses the first row that is not allowed.

    Args:
        allowed: Which rows are, (num_rows,) bool.
        name: What the values are, for the message.
        values: The values, (num_rows,).
        what: What is allowed, for the message.

    Raises:
        WorkloadError: A row is not allowed.
    """
    if not allowed.all():
        row = int(np.argmin(allowed))
        raise WorkloadError(f"{name} is {values[row]} in row {row}: it must be {what}")
