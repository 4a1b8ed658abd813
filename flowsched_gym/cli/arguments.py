"""Converts command line arguments, with messages that say what is allowed."""

import argparse
import contextlib
import json
import math
import re
from typing import Final, NoReturn

from flowsched_gym.core.errors import ConfigError

PYTHON_WORDS: Final = {"True": True, "False": False, "None": None}

SHOWN: Final = 20
"""Characters that a message shows of a value that is too long for it."""
LARGEST_COUNT: Final = 2**63 - 1
"""Largest number of anything that can be counted."""
NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def positive_integer(text: str) -> int:
    """Converts to a count >= 1."""
    return _count(text, at_least=1)


def natural_number(text: str) -> int:
    """Converts to a count >= 0."""
    return _count(text, at_least=0)


def seed(text: str) -> int:
    """Converts to an integer >= 0, however large."""
    return _integer(text, at_least=0)


def positive_number(text: str) -> float:
    """Converts to a finite number > 0."""
    with contextlib.suppress(ValueError):
        if 0 < float(text) < math.inf:
            return float(text)
    raise argparse.ArgumentTypeError(f"{text!r}: it must be a finite number > 0")


def key_values(option: str, entries: list[str]) -> dict[str, object]:
    """Converts the ``key=value`` arguments of an option to a mapping; refuses other forms, and keys that come twice."""
    parsed: dict[str, object] = {}
    for entry in entries:
        key, sign, value = entry.partition("=")
        if not sign or not key.isidentifier():
            raise ConfigError(f"{option} is {entry!r}: it must be key=value")
        if key in parsed:
            raise ConfigError(f"{option} gives {key} twice")
        try:
            parsed[key] = parse_value(value)
        except ConfigError as error:
            raise ConfigError(f"{option} {key} is {error}") from None
    return parsed


def parse_value(text: str) -> object:
    """Converts the value of a ``key=value`` argument.

    JSON is taken as such: numbers, ``true``, ``[1e5, 1e6]``, ``{"kind": "exponential", "mean": 1e5}``, ``"text"``. So
    are other notations of numbers, Python's True, False and None, and numbers with commas between (``1e5,1e6``, a
    list). All else is text, such as ``none``, which some arguments have as a value.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ConfigError(f"{text[:SHOWN]!r}...: it is nested too deeply") from None
    except ValueError:
        pass
    if NUMBER.fullmatch(text):
        return float(text)
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 1 and all(map(NUMBER.fullmatch, parts)):
        return [parse_value(part) for part in parts]
    return PYTHON_WORDS.get(text, text)


def repeated(option: str, entries: list[str]) -> list[str]:
    """Lays the entries of an option that was repeated out as words of a command line."""
    return [word for entry in entries for word in (option, entry)]


def _count(text: str, *, at_least: int) -> int:
    number = _integer(text, at_least=at_least)
    if number > LARGEST_COUNT:
        raise argparse.ArgumentTypeError(f"{text!r}: it must be an integer from {at_least} to {LARGEST_COUNT}")
    return number


def _integer(text: str, *, at_least: int) -> int:
    with contextlib.suppress(ValueError):
        if int(text) >= at_least:
            return int(text)
    raise argparse.ArgumentTypeError(f"{text!r}: it must be an integer >= {at_least}")


def _refuse_constant(name: str) -> NoReturn:
    """Refuses NaN and Infinity, which are not JSON."""
    raise ValueError(name)
