"""Checks the fields of workload configurations, and says by name what is wrong with them."""

import contextlib
import math
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any, Final, TypeVar

import numpy as np

from flowsched_gym.core.arrays import FloatArray, as_numbers, is_sequence, is_whole, to_float
from flowsched_gym.core.errors import ConfigError, FlowSchedWarning, shown
from flowsched_gym.core.suggestions import listed

Item = TypeVar("Item")

COUNT_END: Final = 2**48
"""No count is as large: an array of so many numbers fits into no memory, though its size still fits into 64 bits."""
MOST_FLOWS: Final = 10_000_000
"""Flows of an episode at most: to draw so many takes seconds, to simulate them 3 GB."""


class UnstableLoadWarning(FlowSchedWarning):
    """A link is offered at least as many bytes as it can carry, so that its queue grows without bound."""


def as_tuple(name: str, values: Iterable[Item]) -> tuple[Item, ...]:
    """Makes a tuple of a list or another sequence.

    Raises:
        ConfigError: The values are not a sequence.
    """
    if not is_sequence(values):
        raise ConfigError(f"{name} is {shown(values)}: it must be a sequence")
    return tuple(values)


def settle_numbers(config: Any) -> None:
    """Turns NumPy's numbers among the fields of a frozen dataclass into Python's, which neither overflow nor round."""
    for field in fields(config):
        value = getattr(config, field.name) if field.init else None
        if isinstance(value, np.number) and not isinstance(value, np.timedelta64):
            object.__setattr__(config, field.name, value.item())


def check_number(name: str, value: object, *, above: float | None = None, at_least: float | None = None) -> None:
    """Refuses what is not a finite number inside its bounds.

    Args:
        name: Name of the field, for the message.
        value: Value to check.
        above: Exclusive lower bound.
        at_least: Inclusive lower bound.

    Raises:
        ConfigError: The value is of another type, NaN, infinite or out of bounds.
    """
    bound = "" if above is None else f" > {above:g}"
    bound += "" if at_least is None else f" >= {at_least:g}"
    number = to_float(value)
    inside = (above is None or number > above) and (at_least is None or number >= at_least)
    if not (math.isfinite(number) and inside):
        raise ConfigError(f"{name} is {shown(value)}: it must be a finite number{bound}")


def check_numbers(name: str, values: object, *, count: int | None = None, at_least: float = 0.0) -> FloatArray:
    """Makes an array of a list of finite numbers.

    Args:
        name: Name of the field, for the message.
        values: Values to check.
        count: How many there must be; ``None`` for any.
        at_least: Inclusive lower bound.

    Raises:
        ConfigError: The values are of another type, NaN, infinite or out of bounds, or not so many.
    """
    numbers = as_numbers(values)
    if numbers is None:
        raise ConfigError(f"{name} is {shown(values)}: it must be a list of numbers, such as [1, 2.5]")
    if not (np.isfinite(numbers) & (numbers >= at_least)).all():
        raise ConfigError(f"{name} is {shown(values)}: each must be finite and >= {at_least:g}")
    if count is not None and len(numbers) != count:
        raise ConfigError(f"{name} has {len(numbers)} numbers: it must have {count}")
    return numbers


def check_integer(name: str, value: object, *, at_least: int, below: int = COUNT_END) -> None:
    """Refuses what is not an integer in its bounds.

    Args:
        name: Name of the field, for the message.
        value: Value to check.
        at_least: Inclusive lower bound.
        below: Exclusive upper bound.

    Raises:
        ConfigError: The value is of another type, too small or too large.
    """
    if not is_whole(value) or value < at_least:
        raise ConfigError(f"{name} is {shown(value)}: it must be an integer >= {at_least}")
    if value >= below:
        raise ConfigError(f"{name} is {shown(value)}: it must be an integer below {below}")


def check_flow_count(what: str, expected: float) -> None:
    """Refuses an episode that would have more flows than memory is there for.

    Args:
        what: The fields that ask for so many, for the message.
        expected: Flows that are expected, or the hosts from which theirs are chosen, where these are more.

    Raises:
        ConfigError: They are too many.
    """
    if not expected <= MOST_FLOWS:
        raise ConfigError(f"{what} would draw {expected:.3g} flows: at most {MOST_FLOWS} are allowed")


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuses what is not one of the allowed names.

    Raises:
        ConfigError: The value is not among the allowed ones.
    """
    if not isinstance(value, str) or value not in allowed:
        raise ConfigError(f"{name} is {shown(value)}: it must be one of {listed(value, allowed)}")


def check_one_of_two(first: str, first_value: object, second: str, second_value: object) -> None:
    """Refuses two fields of which not exactly one is given.

    Raises:
        ConfigError: Both or none of the two is given.
    """
    if (first_value is None) == (second_value is None):
        state = "neither is" if first_value is None else f"both are ({shown(first_value)} and {shown(second_value)})"
        raise ConfigError(f"exactly one of {first} and {second} must be given: {state}")


def check_busiest_share(share: float | None) -> None:
    """Refuses what is no share of all bytes.

    Raises:
        ConfigError: The share is neither None nor a number above 0 and at most 1.
    """
    if share is not None:
        check_number("busiest_share", share, above=0)
        if share > 1:
            raise ConfigError(f"busiest_share is {shown(share)}: it must be at most 1")


def warn_if_unstable(load: float) -> None:
    """Warns of a load from 1 on, on behalf of the caller of a configuration's constructor."""
    if load >= 1:
        message = f"load is {load:.4g}: from 1 on it is unstable, queues and completion times grow without bound"
        # The levels between: this function, __post_init__, the generated __init__.
        warnings.warn(message, UnstableLoadWarning, stacklevel=4)


@contextlib.contextmanager
def without_load_warning() -> Iterator[None]:
    """Suppresses warnings of a load that has been warned of before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnstableLoadWarning)
        yield
