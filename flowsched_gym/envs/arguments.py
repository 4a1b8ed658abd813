"""Checks the arguments of environments, and turns names into members and numbers into Python's own.

The functions ``settle_*`` take a frozen dataclass whose fields are being set (``__post_init__``). ``None`` is allowed
where the type of a field allows it.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from types import NoneType
from typing import Any, ParamSpec, get_args

import numpy as np

from flowsched_gym.errors import ConfigError, UnknownArgumentError, shown
from flowsched_gym.suggestions import listed
from flowsched_gym.workload.checks import check_choice, check_integer, check_number

__all__ = ["check_seed", "check_seeds", "refusing_unknown", "settle_integers", "settle_members", "settle_numbers"]


Arguments = ParamSpec("Arguments")


def refusing_unknown(initialise: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Has an ``__init__`` refuse keywords that it does not know by a message that lists those it has.

    Args:
        initialise: The ``__init__`` of an environment; every keyword that it takes is in its signature.
    """
    allowed = [name for name in inspect.signature(initialise).parameters if name != "self"]

    @functools.wraps(initialise)
    def checked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        for name in kwargs:
            if name not in allowed:
                owner = type(args[0]).__name__
                raise UnknownArgumentError(f"{owner} has no argument {name!r}: it has {listed(name, allowed)}")
        initialise(*args, **kwargs)

    return checked


def settle_members(config: Any, members: Mapping[str, type[StrEnum]]) -> None:
    """Turns names into members.

    Args:
        config: The arguments.
        members: What each field must be one of.

    Raises:
        ConfigError: A field is none of its members.
    """
    for name, allowed in members.items():
        value = getattr(config, name)
        check_choice(name, value, tuple(allowed))
        object.__setattr__(config, name, allowed(value))


def settle_integers(config: Any, at_least: Mapping[str, int]) -> None:
    """Turns whole numbers into ``int``.

    Args:
        config: The arguments.
        at_least: Inclusive lower bound of each field.

    Raises:
        ConfigError: A field is not an integer, or too small.
    """
    for name, value in _given(config, at_least):
        check_integer(name, value, at_least=at_least[name])
        object.__setattr__(config, name, int(value))


def settle_numbers(config: Any, *, positive: Iterable[str] = (), at_least_0: Iterable[str] = ()) -> None:
    """Turns numbers into ``float``.

    Args:
        config: The arguments.
        positive: Fields that must be > 0.
        at_least_0: Fields that must be >= 0.

    Raises:
        ConfigError: A field is not a finite number, or too small.
    """
    for name, value in _given(config, positive):
        check_number(name, value, above=0)
        object.__setattr__(config, name, float(value))
    for name, value in _given(config, at_least_0):
        check_number(name, value, at_least=0)
        object.__setattr__(config, name, float(value))


def check_seed(seed: object, name: str = "seed") -> int | None:
    """Makes a Python integer of a seed that may be left out.

    Raises:
        ConfigError: The seed is neither None nor an integer >= 0.
    """
    if seed is None:
        return None
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ConfigError(f"{name} is {shown(seed)}: it must be an integer >= 0")
    return int(seed)


def check_seeds(seed: object, count: int) -> list[int | None]:
    """Makes a seed for each of several environments: ``seed + i``, or the entries of a sequence.

    Raises:
        ConfigError: A seed is neither None nor an integer >= 0, or there is not one for each environment.
    """
    many = isinstance(seed, Sequence) or (isinstance(seed, np.ndarray) and seed.ndim > 0)
    if isinstance(seed, (str, bytes)) or not many:
        first = check_seed(seed)
        return [None if first is None else first + number for number in range(count)]
    entries = list(seed)  # type: ignore[call-overload]  # it is a sequence
    if len(entries) != count:
        raise ConfigError(f"seed has {len(entries)} entries: it must have one for each of {count} environments")
    return [check_seed(each, f"seed of environment {number}") for number, each in enumerate(entries)]


def _given(config: Any, names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Goes through fields and their values, past those that are left out."""
    optional = {field.name for field in fields(config) if NoneType in get_args(field.type)}
    for name in names:
        value = getattr(config, name)
        if value is not None or name not in optional:
            yield name, value
