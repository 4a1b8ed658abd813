"""Checks what users give, and says by name what is wrong with it: one function for each kind of value.

All raise ``ConfigError``, save those of whole columns, which raise ``WorkloadError``. Those that return something
return it as Python's own: an ``int`` that does not overflow, a ``float``, a member of an enumeration, a tuple or an
array. ``name`` is what the message calls the value, ``what`` how it calls what is allowed.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray, as_numbers, is_sequence, is_whole, to_float
from flowsched_gym.core.errors import ConfigError, WorkloadError, listed, shown

Item = TypeVar("Item")
Choice = TypeVar("Choice", bound=str)

COUNT_END: Final = 2**48
"""No count is as large: an array of so many numbers fits into no memory, though its size still fits into 64 bits."""
EXACT_END: Final = 2.0**53
"""Below it every float64 that is whole stands for one whole number."""
INT64_END: Final = 2.0**63
"""The first whole number that int64 cannot hold."""


def check_number(name: str, value: object, *, above: float | None = None, at_least: float | None = None) -> float:
    """Refuses what is not a finite number, > ``above`` and >= ``at_least`` where these are given."""
    bound = "" if above is None else f" > {above:g}"
    bound += "" if at_least is None else f" >= {at_least:g}"
    number = to_float(value)
    inside = (above is None or number > above) and (at_least is None or number >= at_least)
    if not (math.isfinite(number) and inside):
        raise ConfigError(f"{name} is {shown(value)}: it must be a finite number{bound}")
    return number


def check_integer(name: str, value: object, *, at_least: int, below: float = COUNT_END) -> int:
    """Refuses what is not an integer >= ``at_least`` and < ``below``."""
    if not is_whole(value) or value < at_least:
        raise ConfigError(f"{name} is {shown(value)}: it must be an integer >= {at_least}")
    if value >= below:
        raise ConfigError(f"{name} is {shown(value)}: it must be an integer below {below}")
    return int(value)


def check_between(name: str, value: object, least: int, most: int, *, what: str = "an integer") -> int:
    """Refuses what is not an integer from ``least`` to ``most``."""
    if not is_whole(value) or not least <= value <= most:
        raise ConfigError(f"{name} is {shown(value)}: it must be {what} from {least} to {most}")
    return int(value)


def check_flag(name: str, value: object) -> bool:
    """Refuses what is neither true nor false."""
    if not isinstance(value, (bool, np.bool_)):
        raise ConfigError(f"{name} is {shown(value)}: it must be true or false")
    return bool(value)


def check_choice(name: str, value: object, allowed: Iterable[Choice]) -> Choice:
    """Finds one of the allowed names, or the member of an enumeration of them."""
    names = tuple(allowed)
    if not isinstance(value, str) or value not in names:
        raise ConfigError(f"{name} is {shown(value)}: it must be one of {listed(value, names)}")
    return names[names.index(value)]


def check_one_of_two(first: str, first_value: object, second: str, second_value: object) -> None:
    """Refuses two fields of which not exactly one is given."""
    if (first_value is None) == (second_value is None):
        state = "neither is" if first_value is None else f"both are ({shown(first_value)} and {shown(second_value)})"
        raise ConfigError(f"exactly one of {first} and {second} must be given: {state}")


def check_numbers(name: str, values: object, *, count: int | None = None, at_least: float | None = None) -> FloatArray:
    """Makes an array of a list of numbers: ``count`` of them, finite and >= ``at_least``, where these are given."""
    numbers = as_numbers(values)
    if numbers is None:
        raise ConfigError(f"{name} is {shown(values)}: it must be a list of numbers, such as [1, 2.5]")
    if at_least is not None and not (np.isfinite(numbers) & (numbers >= at_least)).all():
        raise ConfigError(f"{name} is {shown(values)}: each must be finite and >= {at_least:g}")
    if count is not None and len(numbers) != count:
        raise ConfigError(f"{name} has {len(numbers)} numbers: it must have {count}")
    return numbers


def check_whole_numbers(name: str, values: object) -> IntArray:
    """Makes an array of a list of whole numbers."""
    numbers = check_numbers(name, values)
    if not ((np.floor(numbers) == numbers) & (np.abs(numbers) < EXACT_END)).all():
        raise ConfigError(f"{name} is {shown(values)}: it must be a list of whole numbers")
    return numbers.astype(np.int64)


def as_tuple(name: str, values: Iterable[Item]) -> tuple[Item, ...]:
    """Makes a tuple of a list or another sequence."""
    if not is_sequence(values):
        raise ConfigError(f"{name} is {shown(values)}: it must be a sequence")
    return tuple(values)


def settle_numbers(config: Any) -> None:
    """Turns NumPy's numbers among the fields of a frozen dataclass into Python's, which neither overflow nor round."""
    for field in fields(config):
        value = getattr(config, field.name) if field.init else None
        if isinstance(value, np.number) and not isinstance(value, np.timedelta64):
            object.__setattr__(config, field.name, value.item())


def as_column(values: Sequence[float] | FloatArray | IntArray, name: str, *, integral: bool) -> FloatArray | IntArray:
    """Copies values to an array, (num_rows,) float64, or int64 where they are to be ``integral``."""
    if type(values) is np.ndarray and values.ndim == 1 and values.dtype == (np.int64 if integral else np.float64):
        return values.copy()
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
    """Refuses the first of the values, (num_rows,), that is not ``allowed``, (num_rows,) bool."""
    if not allowed.all():
        row = int(np.argmin(allowed))
        raise WorkloadError(f"{name} is {values[row]} in row {row}: it must be {what}")
