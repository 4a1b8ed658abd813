"""Checks the arguments of environments, and turns names into members and numbers into Python's own.

The functions ``convert_*`` take a frozen dataclass whose fields are being set (``__post_init__``). ``None`` is allowed
where the type of a field allows it.
"""

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from types import MappingProxyType, NoneType
from typing import Any, Final, ParamSpec, get_args

import numpy as np

from flowsched_gym.core.arrays import is_whole
from flowsched_gym.core.checks import COUNT_END, check_choice, check_integer, check_number
from flowsched_gym.core.errors import ConfigError, UnknownArgumentError, shown
from flowsched_gym.core.suggestions import listed
from flowsched_gym.topology.fabrics import MOST_ARITY, MOST_PLANES, MOST_SWITCH_HOSTS
from flowsched_gym.workload.source import MOST_FLOWS

Arguments = ParamSpec("Arguments")

MOST_SLOTS: Final = 10_000
"""Rows of an observation at most: with so many it has up to 100,000 numbers, and takes a millisecond."""
MOST: Final[Mapping[str, int]] = MappingProxyType(
    {
        "f": MOST_SLOTS,
        "n_l": MOST_SLOTS,
        "m_l": MOST_SLOTS,
        "m_s": MOST_SLOTS,
        "flows": MOST_FLOWS,
        "bursts": MOST_FLOWS,
        "arity": MOST_ARITY,
        "destinations": MOST_SWITCH_HOSTS,
        "paths": MOST_PLANES,
        "hosts": MOST_SWITCH_HOSTS,
        "clusters": MOST_SWITCH_HOSTS,
    }
)
"""Largest value of arguments that are counts, by name."""
MOST_ROWS: Final = 2**25
"""Flows of all episodes that vector environments make room for: 34 million of about 300 B, in two episodes for each."""
MOST_NUMBERS: Final = 2**28
"""Numbers in the observations of one step: 1 GB."""
RANGES: Final[Mapping[str, tuple[float, float]]] = MappingProxyType(
    {
        "link_gbps": (1e-9, 1e6),  # 1 bit/s to 1 Pbit/s
        "link_delay_us": (0.0, 1e9),  # up to 17 minutes
        "load": (1e-6, 1e6),
        "burst_rate": (1e-6, 1e9),
        "seconds": (1e-9, 1e9),
        "period_ms": (1e-6, 1e9),
    }
)
"""Smallest and largest value of arguments that are rates or times, by name; beyond, times lose their digits."""


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


def convert_members(config: Any, members: Mapping[str, type[StrEnum]]) -> None:
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


def convert_integers(config: Any, at_least: Mapping[str, int]) -> None:
    """Turns whole numbers into ``int``; those of which many cost time or memory are bounded by ``MOST``.

    Args:
        config: The arguments.
        at_least: Inclusive lower bound of each field.

    Raises:
        ConfigError: A field is not an integer, or too small or too large.
    """
    for name, value in _given(config, at_least):
        check_integer(name, value, at_least=at_least[name], below=MOST.get(name, COUNT_END - 1) + 1)
        object.__setattr__(config, name, int(value))


def convert_numbers(config: Any, *, positive: Iterable[str] = (), at_least_0: Iterable[str] = ()) -> None:
    """Turns numbers into ``float``; those with which times lose their digits are bounded by ``RANGES``.

    Args:
        config: The arguments.
        positive: Fields that must be > 0.
        at_least_0: Fields that must be >= 0.

    Raises:
        ConfigError: A field is not a finite number, or too small or too large.
    """
    for name, value in _given(config, positive):
        check_number(name, value, above=0)
        _settle_number(config, name, float(value))
    for name, value in _given(config, at_least_0):
        check_number(name, value, at_least=0)
        _settle_number(config, name, float(value))


def check_room(num_envs: int, num_rows: int, content: str, observation_size: int) -> None:
    """Refuses vector environments for which there is no memory.

    Args:
        num_envs: Environments.
        num_rows: Flows of an episode, or what takes as much memory.
        content: What they are, in words.
        observation_size: Numbers of an observation.

    Raises:
        ConfigError: They are too many.
    """
    most = min(MOST_ROWS // (2 * num_rows), MOST_NUMBERS // observation_size)
    if num_envs > max(most, 1):
        raise ConfigError(
            f"num_envs is {num_envs}: with {content} and observations of {observation_size} numbers it must be "
            f"an integer from 1 to {max(most, 1)}"
        )


def check_seed(seed: object, name: str = "seed") -> int | None:
    """Makes a Python integer of a seed that may be left out.

    Raises:
        ConfigError: The seed is neither None nor an integer >= 0.
    """
    if seed is None:
        return None
    if not is_whole(seed) or seed < 0:
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


def _settle_number(config: Any, name: str, value: float) -> None:
    """Sets a number that is in its range."""
    least, most = RANGES.get(name, (0.0, math.inf))
    if not least <= value <= most:
        raise ConfigError(f"{name} is {value!r}: it must be from {least:g} to {most:g}")
    object.__setattr__(config, name, value)


def _given(config: Any, names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Goes through fields and their values, past those that are left out."""
    optional = {field.name for field in fields(config) if NoneType in get_args(field.type)}
    for name in names:
        value = getattr(config, name)
        if value is not None or name not in optional:
            yield name, value
