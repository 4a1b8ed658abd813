"""Converts command line arguments, with messages that say what is allowed, and adds those of many commands."""

import argparse
import contextlib
import json
import math
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple, NoReturn

from flowsched_gym.core.errors import ConfigError

DEFAULT_SEED: Final = 0
MANY: Final[Mapping[str, Any]] = {"action": "append", "default": []}
"""Of an option that may be repeated."""
FLAG: Final[Mapping[str, Any]] = {"action": "store_true"}
PYTHON_WORDS: Final = {"True": True, "False": False, "None": None}

SHOWN: Final = 20
"""Characters that a message shows of a value that is too long for it."""
LARGEST_COUNT: Final = 2**63 - 1
"""Largest number of anything that can be counted."""
NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


class Command(NamedTuple):
    """A command: what it does, its arguments, and ``module:function`` of this package that runs it."""

    summary: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    target: str


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


def _integer(text: str, *, at_least: int, at_most: float = LARGEST_COUNT) -> int:
    number = at_least - 1
    with contextlib.suppress(ValueError):
        number = int(text)
    if number < at_least:
        raise argparse.ArgumentTypeError(f"{text!r}: it must be an integer >= {at_least}")
    if number > at_most:
        raise argparse.ArgumentTypeError(f"{text!r}: it must be an integer from {at_least} to {at_most}")
    return number


positive_integer: Final = partial(_integer, at_least=1)
natural_number: Final = partial(_integer, at_least=0)
seed: Final = partial(_integer, at_least=0, at_most=math.inf)
"""Convert to counts, and to an integer >= 0, however large."""


def add_capacity(parser: argparse.ArgumentParser) -> None:
    """Adds the options for the capacity of links, in Gbps or B/s."""
    add = parser.add_mutually_exclusive_group().add_argument
    gbps = "capacity of every link in Gbps (1)"
    add("--link-gbps", type=positive_number, metavar="G", help=gbps)
    add("--capacity", type=positive_number, metavar="B_PER_S", help="the same in bytes per second")


def add_plot(parser: argparse.ArgumentParser) -> None:
    """Adds the option for a figure."""
    parser.add_argument(
        "--plot", metavar="FILE", help="file for a figure of completion times and a timeline (.png, .pdf, .svg, ...)"
    )


def add_seed(parser: argparse.ArgumentParser, meaning: str) -> None:
    """Adds the option for a seed."""
    parser.add_argument("--seed", type=seed, default=DEFAULT_SEED, metavar="S", help=f"{meaning} ({DEFAULT_SEED})")


def add_json(parser: argparse.ArgumentParser, what: str) -> None:
    """Adds the option for output as JSON."""
    parser.add_argument("--json", **FLAG, help=f"print {what} as JSON")


def add_trust(parser: argparse.ArgumentParser) -> None:
    """Adds the option for models that can run code."""
    trust = "also load models saved by Stable-Baselines3, which can run any code that they contain"
    parser.add_argument("--trust", **FLAG, help=trust)


def add_pairs(parser: argparse.ArgumentParser, option: str, meaning: str) -> None:
    """Adds an option of the form key=value that may be repeated."""
    parser.add_argument(option, **MANY, metavar="KEY=VALUE", help=f"{meaning}; may be repeated")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)
