"""Checks the arguments of environments, and turns names into members and numbers into Python's own.

The functions ``settle_*`` take a frozen dataclass whose fields are being set (``__post_init__``). ``None`` is allowed
where the type of a field allows it.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from enum import StrEnum
from types import NoneType
from typing import Any, ParamSpec, get_args

from flowsched_gym.errors import ConfigError, UnknownArgumentError
from flowsched_gym.suggestions import listed
from flowsched_gym.workload.checks import check_integer, check_number

__all__ = ["refusing_unknown", "settle_integers", "settle_members", "settle_numbers"]


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
        try:
            object.__setattr__(config, name, allowed(value))
        except ValueError:
            raise ConfigError(f"{name} is {value!r}: it must be one of {listed(value, allowed)}") from None


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


def _given(config: Any, names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Goes through fields and their values, past those that are left out."""
    optional = {field.name for field in fields(config) if NoneType in get_args(field.type)}
    for name in names:
        value = getattr(config, name)
        if value is not None or name not in optional:
            yield name, value
