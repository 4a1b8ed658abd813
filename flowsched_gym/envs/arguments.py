"""Arguments of environments, each declared once: a field of a frozen dataclass, an ``EnvConfig``, set by ``argument``.

From the field follow the checks, the signature of the environment and the tables in its docstring (``configured``), the
help of the command line and the schemas of configuration files.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, InitVar, dataclass, field, fields
from enum import StrEnum
from functools import reduce
from operator import or_
from types import NoneType, UnionType
from typing import (
    Any,
    Final,
    Generic,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from flowsched_gym.core.checks import COUNT_END, check_choice, check_integer, check_number
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.units import SECONDS_PER_MICROSECOND, gbps_to_capacity
from flowsched_gym.packets.parameters import NetworkParameters, preset_or_parameters
from flowsched_gym.workload import ReadWorkload, WorkloadSource, read_workload
from flowsched_gym.workload.source import MOST_FLOWS

Name = TypeVar("Name", bound=StrEnum)
Given = TypeVar("Given")
Kept = TypeVar("Kept")
Range = tuple[float, float]
Packets = str | Mapping[str, Any] | None
"""An argument: a preset, or parameters of packets; ``None`` for a fluid."""

MOST_SLOTS: Final = 10_000
"""Rows of an observation at most: with so many it has up to 100,000 numbers, and takes a millisecond."""

# Smallest and largest values of rates and times; beyond, times lose their digits.
LINK_GBPS: Final[Range] = (1e-9, 1e6)  # 1 bit/s to 1 Pbit/s
LINK_DELAYS_US: Final[Range] = (0.0, 1e9)  # up to 17 minutes
LOADS: Final[Range] = (1e-6, 1e6)
BURST_RATES: Final[Range] = (1e-6, 1e9)
DURATIONS: Final[Range] = (1e-9, 1e9)
PERIODS_MS: Final[Range] = (1e-6, 1e9)

OWN: Final = "the workload's own"
"""What ``None`` stands for in arguments that change a workload."""
ABOUT: Final = "argument"
"""Key of the metadata of a field."""


class Converted(Generic[Given, Kept]):
    """The type of a field that may be given in other forms than the one that is kept: for checkers, a descriptor."""

    def __get__(self, config: object, owner: type) -> Kept:
        raise NotImplementedError

    def __set__(self, config: object, value: Given) -> None: ...


Choice = Converted[Name | str, Name]
"""The type of a field that is kept as a member of an enumeration."""


class Argument(NamedTuple):
    """What is known of an argument besides its name, type and default.

    Attributes:
        above: Exclusive lower bound of a number.
        at_least: Inclusive lower bound.
        at_most: Inclusive upper bound of a count.
        between: Smallest and largest value of a number.
        choices: What a text must be one of.
        convert: Checks a value and turns it into what is stored; takes the name of the argument, and the value.
        none: What ``None`` stands for, where it is allowed.
    """

    meaning: str
    unit: str = ""
    above: float | None = None
    at_least: float | None = None
    at_most: int | None = None
    between: Range | None = None
    choices: tuple[str, ...] = ()
    convert: Callable[[str, Any], Any] | None = None
    none: str = ""


def argument(
    default: object,
    *,
    meaning: str,
    unit: str = "",
    above: float | None = None,
    at_least: float | None = None,
    at_most: int | None = None,
    between: Range | None = None,
    choices: Iterable[str] = (),
    convert: Callable[[str, Any], Any] | None = None,
    none: str = "",
) -> Any:
    """Declares an argument of an environment, a field of its config.

    The annotation of the field is its type: an ``int``, a ``float``, the ``Choice`` of a ``StrEnum``, and ``None``
    where it is a member of the union. Fields of other types are checked by ``choices`` or ``convert`` alone.
    """
    about = Argument(meaning, unit, above, at_least, at_most, between, tuple(choices), convert, none)
    return field(default=default, metadata={ABOUT: about})


def about_workload(none: str = "") -> Mapping[str, Argument]:
    """Describes the workload, a field that may be given by position; the config keeps its name."""
    meaning = (
        "a name (``flowsched list``), a mapping or a file (``docs/workloads.md``), a ``Workload`` or anything with "
        '``draw(seed)``; ``{"one_of": [...], "weights": [...]}`` has one of several in each episode'
    )
    return {ABOUT: Argument(meaning, none=none, convert=lambda _, given: read_workload(given).label)}


def load_argument(what: str) -> Any:
    """Declares the load that a workload offers, over the capacity of something."""
    return argument(None, none=OWN, between=LOADS, meaning=f"offered bytes per s over the capacity of {what}")


def flows_argument(what: str = "flows") -> Any:
    """Declares how many flows an episode has."""
    return argument(None, none=OWN, at_least=1, at_most=MOST_FLOWS, meaning=f"{what} of an episode")


def packets_argument() -> Any:
    """Declares packets, in place of a fluid."""
    return argument(
        None,
        convert=_check_packets,
        meaning='packets in place of a fluid: ``"dctcp"``, ``"cubic"``, ``"newreno"``, ``"reno"``, or parameters of '
        "``NetworkParameters`` (``docs/packets.md``)",
        none="a fluid",
    )


def _check_packets(name: str, given: Packets) -> Packets:
    preset_or_parameters(name, given)
    return given


def link_argument(default: float, note: str = "") -> Any:
    """Declares the capacity of links, with a note on it."""
    return argument(default, between=LINK_GBPS, unit="Gbps", meaning=f"capacity of each link{note and f' ({note})'}")


def delay_argument(default: float, note: str = "") -> Any:
    """Declares the propagation delay of links, with a note on it."""
    meaning = f"propagation delay of each link{note and f' ({note})'}"
    return argument(default, between=LINK_DELAYS_US, unit="us", meaning=meaning)


def limit_argument() -> Any:
    """Declares the limit of decisions."""
    return argument(None, at_least=1, none="no limit", meaning="decisions after which an episode is truncated")


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvConfig:
    """The arguments of an environment, checked: names become members, and numbers Python's own.

    Raises:
        ConfigError: An argument has another type or is out of its range, or arguments do not fit each other.
    """

    render_mode: InitVar[str | None] = None  # every environment takes these two, and no config keeps them
    engine: InitVar[str] = "simpy"

    def __init_subclass__(cls) -> None:
        """Lists the fields of the class in its docstring; there are none when ``slots`` makes the class anew."""
        if any(isinstance(each, Field) for each in vars(cls).values()):
            described = _described(vars(cls), types_kept(cls))
            entries = [f"    {each.name}: {each.text[0].upper()}{each.text[1:]}." for each in described]
            cls.__doc__ = "\n".join([inspect.cleandoc(cls.__doc__ or ""), "", "Attributes:", *entries])

    def __post_init__(self, render_mode: str | None, engine: str) -> None:
        hints = types_kept(type(self))
        for each in fields(self):
            if ABOUT in each.metadata:
                value = _checked(each.name, getattr(self, each.name), hints[each.name], each.metadata[ABOUT])
                object.__setattr__(self, each.name, value)
        self.check()

    def check(self) -> None:
        """Refuses arguments that do not fit each other."""

    def workload_changes(self) -> dict[str, Any]:
        """Returns the arguments that are given and change a workload, by their names."""
        known = (each.name for each in fields(self) if ABOUT in each.metadata and each.metadata[ABOUT].none == OWN)
        return {name: value for name in known if (value := getattr(self, name)) is not None}

    def source_of(self, workload: ReadWorkload) -> WorkloadSource:
        """Finds where flows are drawn from; ``fit_workload`` changes a workload by arguments and the network."""
        return workload.source


class LinkConfig(EnvConfig):
    """The arguments of an environment, among them those of equal links, as the network takes them."""

    __slots__ = ()
    link_gbps: float
    link_delay_us: float
    packets: Packets

    @property
    def senders(self) -> NetworkParameters | None:
        """Parameters of packets; ``None`` for a fluid."""
        return None if self.packets is None else preset_or_parameters("packets", self.packets)

    @property
    def capacity(self) -> float:
        """Capacity of each link in B/s."""
        return gbps_to_capacity(self.link_gbps)

    @property
    def delay(self) -> float:
        """Propagation delay of each link in s."""
        return self.link_delay_us * SECONDS_PER_MICROSECOND


class Described(NamedTuple):
    """An argument in words: its default as Python code, and what is allowed where the meaning does not say it."""

    name: str
    default: str
    unit: str
    allowed: str
    meaning: str

    @property
    def text(self) -> str:
        """All but its name."""
        unit = f" ({self.unit})" if self.unit else ""
        allowed = f": {self.allowed}" if self.allowed else ""
        return f"{self.meaning}{unit}{allowed}; default: {self.default}"


def describe(config: type[EnvConfig]) -> list[Described]:
    """Describes the arguments of an environment."""
    return _described(config.__dataclass_fields__, types_kept(config))


def types_kept(config: type[EnvConfig]) -> dict[str, Any]:
    """Returns the types in which a config keeps the arguments, by their names."""
    return {name: _type_kept(hint) for name, hint in get_type_hints(config).items()}


def _type_kept(hint: Any) -> Any:
    if get_origin(hint) is Converted:
        return get_args(hint)[1]
    if isinstance(hint, UnionType) or get_origin(hint) is Union:
        return reduce(or_, map(_type_kept, get_args(hint)))
    return hint


def kind_of(hint: Any) -> tuple[Any, bool]:
    """Returns the type of an argument without ``None``, and whether it may be ``None``."""
    kinds = [each for each in get_args(hint) if each is not NoneType] if NoneType in get_args(hint) else [hint]
    return kinds[0] if len(kinds) == 1 else Any, NoneType in get_args(hint)


def is_choice(kind: Any) -> bool:
    """Returns whether the type of an argument is an enumeration, whose members are given by their names."""
    return isinstance(kind, type) and issubclass(kind, StrEnum)


def _checked(name: str, value: Any, hint: Any, about: Argument) -> object:
    kind, is_optional = kind_of(hint)
    if value is None and is_optional:
        return None
    if about.convert is not None:
        return about.convert(name, value)
    if about.choices or is_choice(kind):
        check_choice(name, value, about.choices or tuple(kind))
        return kind(value) if is_choice(kind) else str(value)
    if kind is int:
        least = about.at_least if about.between is None else about.between[0]
        below = COUNT_END if about.at_most is None else about.at_most + 1
        check_integer(name, value, at_least=int(least or 0), below=below)
    elif kind is float:
        above, least = about.above, about.at_least
        if about.between is not None:  # what has the wrong sign is told so
            above, least = (0.0, None) if about.between[0] > 0 else (None, 0.0)
        check_number(name, value, above=above, at_least=least)
    else:
        return value
    number = kind(value)
    if about.between is not None and not about.between[0] <= number <= about.between[1]:
        raise ConfigError(f"{name} is {number!r}: it must be from {about.between[0]:g} to {about.between[1]:g}")
    return number


def _described(declared: Mapping[str, Any], hints: Mapping[str, Any]) -> list[Described]:
    found = []
    for name, each in declared.items():
        if isinstance(each, Field) and isinstance(about := each.metadata.get(ABOUT), Argument):
            default = f'"{each.default}"' if isinstance(each.default, str) else repr(each.default)
            found.append(Described(name, default, about.unit, _allowed(hints[name], about), about.meaning))
    return found


def _allowed(hint: Any, about: Argument) -> str:
    """Returns what an argument may be, in words; nothing where its type is none of those that are checked here."""
    kind, is_optional = kind_of(hint)
    text = ""
    if about.choices or is_choice(kind):
        text = ", ".join(f'"{name}"' for name in about.choices or tuple(kind))
    elif about.convert is None and kind in (int, float):
        text = "integer" if kind is int else "number"
        least, most = about.between or (about.at_least, about.at_most)
        if most is not None:
            text += f" from {least:g} to {most:,}" if kind is int else f" from {least:g} to {most:g}"
        elif least is not None or about.above is not None:
            text += f" > {about.above:g}" if least is None else f" >= {least:g}"
    nothing = (f"None: {about.none}" if about.none else "None") if is_optional else ""
    return "; ".join(filter(None, (text, nothing)))
