"""Reads fields of workloads from plain values, as they stand in YAML and in ``gym.make`` calls, and writes them back.

A distribution is a number (constant), the name of a packaged size distribution (``"web_search"``), the path of a CDF
file (``"mine.csv"``), or a mapping with a ``kind`` and its fields: ``{"kind": "exponential", "mean": 1e5}``. A mix is a
sequence of triples (size in B, allowed time in s, count in each burst) or of mappings with ``size``, ``deadline`` and
``count`` or ``weight``; traffic of clusters, a sequence of pairs (distribution of sizes, load) or of such mappings;
incast and failures of links, mappings of their fields.

Values are in B, s and B/s. A key may end in a unit instead: ``size_kb``, ``deadline_ms``, ``request_jitter_us``,
``capacity_gbps``. What environments call by shorter names (``SHORT_NAMES``) may have these.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from numbers import Real
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import numpy as np

from flowsched_gym.core.checks import check_choice
from flowsched_gym.core.errors import ConfigError, naming, shown, similar
from flowsched_gym.core.units import (
    BYTES_PER_KILOBYTE,
    BYTES_PER_MEGABYTE,
    BYTES_PER_SECOND_PER_GBPS,
    SECONDS_PER_MICROSECOND,
    SECONDS_PER_MILLISECOND,
)
from flowsched_gym.workload.clusters import Incast, Traffic
from flowsched_gym.workload.distributions import (
    Constant,
    Discrete,
    Distribution,
    Exponential,
    LogNormal,
    LogUniform,
    Pareto,
    Uniform,
)
from flowsched_gym.workload.empirical import CDF_NAMES, CDF_SUFFIXES, Empirical, load_cdf, read_cdf
from flowsched_gym.workload.gather import Mix
from flowsched_gym.workload.poisson import RandomFailures
from flowsched_gym.workload.tasks import CLOSED

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Config = TypeVar("Config", bound="DataclassInstance")
DISTRIBUTION_KINDS: Final[Mapping[str, Callable[..., Distribution]]] = MappingProxyType(
    {
        kind.__name__.lower(): kind
        for kind in (Constant, Discrete, Uniform, Exponential, LogNormal, LogUniform, Pareto, Empirical)
    }
    | {"cdf": load_cdf, "cdf-file": read_cdf}
)
"""Constructor of each kind of distribution; the other entries of the mapping are its arguments."""

WITHOUT_UNIT: Final = frozenset({"probabilities", "sigma", "shape"})
"""Arguments of distributions that have no unit."""
WITH_UNIT_OF_THEIR_OWN: Final = ("empirical", "cdf", "cdf-file")
"""Kinds of distributions whose values are in B, whatever the key that they stand under."""


class Entry(NamedTuple):
    """A key of a mapping, with its unit; its plain value; and what numbers are multiplied by to be in B, s or B/s."""

    key: str
    value: object
    factor: float = 1.0


def parse_distribution(name: str, value: object) -> Distribution:
    """Makes a distribution of a plain value, named in messages; a distribution passes unchanged."""
    return read_distribution(Entry(name, value), None)


def read_distribution(entry: Entry, folder: Path | None) -> Distribution:
    """Makes a distribution of an entry of a mapping; paths of CDF files start from the folder."""
    key, value, factor = entry
    if isinstance(value, Distribution) and factor == 1:
        return value
    with naming(key):
        if _is_number(value):
            return Constant(value=_times(value, factor))
        if isinstance(value, str) and factor == 1:
            return read_cdf(Path(folder or "", value)) if value.endswith(CDF_SUFFIXES) else load_cdf(value)
        if isinstance(value, Mapping):
            return _distribution_of(value, factor, folder)
    allowed = "with a unit it must be a number, or a mapping with a kind of numbers"
    if factor == 1:
        allowed = (
            f"it must be a distribution, a number, the name of a packaged size distribution ({', '.join(CDF_NAMES)}), "
            f"a CDF file *.csv or *.txt, or a mapping with a kind and its fields"
        )
    raise ConfigError(f"{key} is {shown(value)}: {allowed}")


def read_number(entry: Entry) -> object:
    """Converts a number to B, s or B/s; leaves everything else to be refused by the class of the field."""
    return _times(entry.value, entry.factor) if _is_number(entry.value) and entry.factor != 1 else entry.value


def _distribution_of(value: Mapping[Any, object], factor: float, folder: Path | None) -> Distribution:
    kind = check_choice("kind", value.get("kind"), DISTRIBUTION_KINDS)
    if factor != 1 and kind in WITH_UNIT_OF_THEIR_OWN:
        raise ConfigError(f"kind {kind!r} has sizes in B: name it under a key without a unit")
    arguments = {
        str(key): entry if factor == 1 or key in WITHOUT_UNIT else _scaled(entry, factor)
        for key, entry in value.items()
        if key != "kind"
    }
    if kind == "cdf-file" and isinstance(arguments.get("path"), str):
        arguments["path"] = Path(folder or "", str(arguments["path"]))
    try:
        return DISTRIBUTION_KINDS[kind](**arguments)
    except TypeError as error:
        raise ConfigError(f"kind {kind!r} does not take {shown(dict(value))}: {error}") from None


def _scaled(value: object, factor: float, depth: int = 2) -> object:
    """Multiplies a number, or each of a sequence, or of one of pairs; what is deeper is left to be refused."""
    if isinstance(value, (list, tuple)) and depth:
        return [_scaled(each, factor, depth - 1) for each in value]
    return _times(value, factor) if _is_number(value) else value


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _times(value: object, factor: float) -> float:
    try:
        return float(value) * factor  # type: ignore[arg-type]
    except OverflowError:
        raise ConfigError(f"{shown(value)} is too large: numbers must be below 1.8e308") from None


ALTERNATIVES: Final = (
    *(("burst_rate", "load"), ("rate", "load"), ("load", "arrivals")),
    *(("num_bursts", "duration"), ("num_flows", "duration"), ("mix", "size"), ("size", "total")),
)
"""Fields of which one takes the place of the other when it is given."""
FAT_TREE_CORE_CABLES: Final = tuple((64 + cable, 80 + cable) for cable in range(16))
"""Links (up, down) between aggregation and core switches of the fat-tree with k = 4, as its topology numbers them."""
SIZES: Final = frozenset({"size", "total", "mean_size", "deadline_below"})
TIMES: Final = frozenset(
    {
        *("deadline", "duration", "request_jitter", "change_every", "each_for"),
        *("at", "repair_after", "mean_time_up", "mean_time_down", "until"),
    }
)
RATES: Final = frozenset({"capacity"})

UNITS: Final[Mapping[str, tuple[float, frozenset[str]]]] = MappingProxyType(
    {
        "_kb": (BYTES_PER_KILOBYTE, SIZES),
        "_mb": (BYTES_PER_MEGABYTE, SIZES),
        "_ms": (SECONDS_PER_MILLISECOND, TIMES),
        "_us": (SECONDS_PER_MICROSECOND, TIMES),
        "_gbps": (BYTES_PER_SECOND_PER_GBPS, RATES),
    }
)
"""What each ending of a key multiplies by, and the fields that it may stand behind."""

_COUNTED: Final = (
    *("bursts", "flows", "hosts", "destinations", "senders", "clusters", "tasks", "clients", "servers", "phases"),
)
SHORT_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {"seconds": "duration", **{name: f"num_{name}" for name in _COUNTED}}
)
"""Names that environments have for fields of workloads."""


def read_entries(where: str, mapping: Mapping[Any, object], known: Iterable[str]) -> dict[str, Entry]:
    """Finds the field that each key of a mapping, with short names and units, means; messages say ``where``."""
    names = list(known)
    entries: dict[str, Entry] = {}
    for key, value in mapping.items():
        field, factor = _field_of(key, names)
        if field is None:
            raise ConfigError(f"{where} has no field {shown(key)}{similar(key, names)}: it has {', '.join(names)}")
        if field in entries:
            raise ConfigError(f"{where} gives {entries[field].key} and {key}: they mean the same, give one")
        entries[field] = Entry(str(key), value, factor)
    return entries


def read_value(field: str, entry: Entry, folder: Path | None) -> object:
    """Makes the value of a field of a workload; the field's class checks None, and what is but a number or a word."""
    if entry.value is not None and field in DISTRIBUTIONS:
        return read_distribution(entry, folder)
    if entry.value is None or field not in READERS:
        return read_number(entry)
    kind, form, reader = READERS[field]
    if isinstance(entry.value, kind):
        return entry.value
    with naming(entry.key):
        made = reader(entry.value, folder)
    if made is None:
        raise ConfigError(f"{entry.key} is {shown(entry.value)}: it must be {form}")
    return made


def read_changes(
    where: str, kind: type, changes: Mapping[Any, object], *, size: object = None, folder: Path | None = None
) -> dict[str, Any]:
    """Reads fields of a workload of a class, and of its sizes, from plain values; messages begin with what it is.

    The distribution of sizes is the one that it has unless the changes give another; paths start from the folder.
    """
    known = [field.name for field in fields(kind)]
    of_sizes = {key: value for key, value in changes.items() if str(key).startswith("size")}
    for field, entry in read_entries(where, of_sizes, known).items():
        size = read_value(field, entry, folder)
    own_of_size = [field.name for field in fields(size) if field.init] if is_dataclass(size) else []
    entries = read_entries(where, changes, [*known, *(name for name in own_of_size if name not in known)])
    values = {name: read_value(name, entry, folder) for name, entry in entries.items() if name != "size"}
    size_changes = {name: values.pop(name) for name in own_of_size if name in values and name not in known}
    if "size" in entries or size_changes:
        # The types of the values are not known here: the classes check each field.
        values["size"] = replace(size, **size_changes) if size_changes else size  # type: ignore[type-var]
    return values


def with_values(config: Config, values: Mapping[str, Any]) -> Config:
    """Changes fields of a workload; fields that they exclude become None."""
    known = [field.name for field in fields(config)]
    excluded: set[str] = set()
    for pair in ALTERNATIVES:
        given = [key for key in pair if values.get(key) is not None]
        if len(given) == 1 and all(key in known for key in pair):
            excluded |= set(pair) - set(given)
    mix = values.get("mix")
    if isinstance(mix, Mix):
        excluded |= {"deadline"} if mix.counts is None else {"deadline", "flows_per_burst"}
    if values.get("arrivals") == CLOSED:
        excluded.add("deadline_factor")
    return replace(config, **{**dict.fromkeys(excluded), **values})


def as_plain(value: object) -> object:
    """Writes a value as JSON and YAML hold it, so that reading it gives an equal one; CDF files become points."""
    if isinstance(value, Mix):
        share = "weight" if value.counts is None else "count"
        rows = [
            {"size": size, "deadline": None if span == math.inf else span, share: number}
            for (size, span), number in zip(value.pairs, value.shares, strict=True)
        ]
        return [{key: each for key, each in row.items() if each is not None} for row in rows]
    if isinstance(value, Constant):
        return value.value
    if isinstance(value, Empirical) and (names := [name for name in CDF_NAMES if load_cdf(name) == value]):
        return names[0]
    if isinstance(value, (Traffic, Incast, RandomFailures)):
        return _plain_fields(value)
    if isinstance(value, Distribution):
        kinds = [kind for kind, constructor in DISTRIBUTION_KINDS.items() if constructor is type(value)]
        if not kinds:
            raise ConfigError(f"{shown(value)} cannot be written down: it is none of {', '.join(DISTRIBUTION_KINDS)}")
        return {"kind": kinds[0], **_plain_fields(value)}
    if isinstance(value, (tuple, list)):
        return [as_plain(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def _plain_fields(value: Any) -> dict[str, object]:
    """Writes the fields of a frozen object that are not None."""
    given = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    return {name: as_plain(each) for name, each in given.items() if each is not None}


def _field_of(key: object, names: Sequence[str]) -> tuple[str | None, float]:
    """Finds the field that a key means and the factor of its unit; None for an unknown key."""
    if not isinstance(key, str):
        return None, 1.0
    if key in names:
        return key, 1.0
    if SHORT_NAMES.get(key) in names:
        return SHORT_NAMES[key], 1.0
    for suffix, (factor, allowed) in UNITS.items():
        field = key.removesuffix(suffix)
        if field != key and field in names and field in allowed:
            return field, factor
    return None, 1.0


def _read_mix(value: object, folder: Path | None) -> Mix | None:
    """Reads a mix of triples or mappings; None for anything else."""
    rows = _rows(value, 3)
    if not rows:
        return None
    each = [_mix_row(row) for row in rows]
    shares = {name for _, name, _ in each}
    if len(shares) > 1:
        raise ConfigError("some entries have count and some weight: give all of them one")
    pairs = tuple(pair for pair, _, _ in each)
    numbers: Any = tuple(number for _, _, number in each)
    return Mix(pairs=pairs, counts=numbers) if shares == {"count"} else Mix(pairs=pairs, weights=numbers)


def _mix_row(row: object) -> tuple[Any, str, object]:
    """Reads an entry of a mix: the pair (size in B, allowed time in s), ``count`` or ``weight``, and that number."""
    if not isinstance(row, Mapping):
        assert isinstance(row, Sequence)
        return (row[0], row[1]), "count", row[2]
    read = read_entries("an entry of the mix", row, ("size", "deadline", "count", "weight"))
    entries = {name: entry for name, entry in read.items() if entry.value is not None}
    shares = [name for name in ("count", "weight") if name in entries]
    if "size" not in entries or len(shares) != 1:
        raise ConfigError(f"an entry is {shown(dict(row))}: it must have a size, and either a count or a weight")
    span = read_number(entries["deadline"]) if "deadline" in entries else math.inf
    return (read_number(entries["size"]), span), shares[0], entries[shares[0]].value


def _read_traffic(value: object, folder: Path | None) -> tuple[Traffic, ...] | None:
    """Reads traffic of pairs or mappings, entries that are Traffic unchanged; None for anything else."""
    if isinstance(value, Sequence) and value and all(isinstance(each, Traffic) for each in value):
        return tuple(value)
    rows = _rows(value, 2)
    entries = (row if isinstance(row, Mapping) else {"size": row[0], "load": row[1]} for row in rows)
    return tuple(Traffic(**_fields("an entry", entry, Traffic, folder)) for entry in entries) or None


def _read_incast(value: object, folder: Path | None) -> Incast | None:
    return Incast(**_fields("it", value, Incast, folder)) if isinstance(value, Mapping) else None


def _read_failures(value: object, folder: Path | None) -> RandomFailures | None:
    if not isinstance(value, Mapping):
        return None
    return RandomFailures(**_fields("it", {"cables": FAT_TREE_CORE_CABLES, **value}, RandomFailures, folder))


def _fields(where: str, mapping: Mapping[Any, object], kind: type[Any], folder: Path | None) -> dict[str, Any]:
    """Reads the fields of an object inside a workload; those without a default are needed."""
    known = [field.name for field in fields(kind)]
    entries = read_entries(where, mapping, known)
    for field in fields(kind):
        if field.default is MISSING and field.name not in entries:
            raise ConfigError(f"{field.name} is missing in {shown(dict(mapping))}: it must have {', '.join(known)}")
    return {name: read_value(name, entry, folder) for name, entry in entries.items()}


def _rows(value: object, length: int) -> list[Any]:
    """Returns a sequence of mappings or of sequences of this length; nothing for anything else."""
    rows = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
    fitting = [
        row
        for row in rows
        if isinstance(row, Mapping) or (isinstance(row, Sequence) and not isinstance(row, str) and len(row) == length)
    ]
    return fitting if len(fitting) == len(rows) else []


DISTRIBUTIONS: Final = frozenset({"size", "total", "deadline", "deadline_factor"})
READERS: Final[Mapping[str, tuple[tuple[type, ...], str, Callable[[object, Path | None], object]]]] = MappingProxyType(
    {
        "mix": (
            (Mix,),
            "a Mix or a sequence of triples (size, deadline, count), or of mappings with size, deadline and count or "
            "weight",
            _read_mix,
        ),
        "traffic": (
            (),
            "a sequence of Traffic or of pairs (sizes, load), or of mappings with size and load",
            _read_traffic,
        ),
        "incast": ((Incast,), "Incast or a mapping with burst_rate, senders and size", _read_incast),
        "failures": ((RandomFailures,), "RandomFailures or None, or a mapping of its fields", _read_failures),
    }
)
"""Other fields whose plain values stand for objects: classes that pass unchanged, what is allowed, what reads them."""
