"""Reads distributions and mixes from plain values, as they stand in YAML and in ``gym.make`` calls.

A distribution is a number (constant), the name of a packaged size distribution (``"web_search"``), the path of a CDF
file (``"mine.csv"``), or a mapping with a ``kind`` and its fields: ``{"kind": "exponential", "mean": 1e5}``. A mix is a
sequence of triples (size in B, allowed time in s, count in each burst); traffic of clusters, a sequence of pairs
(distribution of sizes, load); incast, a mapping of its fields.
"""

from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from types import MappingProxyType
from typing import Any, Final

from flowsched_gym.errors import ConfigError
from flowsched_gym.suggestions import listed
from flowsched_gym.workload.clusters import Incast, Traffic
from flowsched_gym.workload.distributions import (
    Constant,
    Discrete,
    Distribution,
    Exponential,
    LogNormal,
    Pareto,
    Uniform,
)
from flowsched_gym.workload.empirical import CDF_NAMES, Empirical, load_cdf, read_cdf
from flowsched_gym.workload.mix import Mix

__all__ = ["DISTRIBUTION_KINDS", "parse_distribution", "parse_incast", "parse_mix", "parse_traffic"]

CDF_SUFFIX: Final = ".csv"

PAIR: Final = 2
TRIPLE: Final = 3

DISTRIBUTION_KINDS: Final[Mapping[str, Callable[..., Distribution]]] = MappingProxyType(
    {
        "constant": Constant,
        "discrete": Discrete,
        "uniform": Uniform,
        "exponential": Exponential,
        "lognormal": LogNormal,
        "pareto": Pareto,
        "empirical": Empirical,
        "cdf": load_cdf,
        "cdf-file": read_cdf,
    }
)
"""Constructor of each kind of distribution; the other entries of the mapping are its arguments."""


def parse_distribution(name: str, value: object) -> Distribution:
    """Makes a distribution of a plain value; a distribution passes unchanged.

    Args:
        name: Name of the field, for messages.
        value: A distribution, a number, a name, a path or a mapping, as the module says.

    Raises:
        ConfigError: The value is none of these, or describes no distribution.
    """
    if isinstance(value, Distribution):
        return value
    try:
        if isinstance(value, Real) and not isinstance(value, bool):
            return Constant(value=float(value))
        if isinstance(value, str):
            return read_cdf(value) if value.endswith(CDF_SUFFIX) else load_cdf(value)
        if isinstance(value, Mapping):
            return _from_mapping(value)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None
    raise ConfigError(
        f"{name} is {value!r}: it must be a distribution, a number, the name of a packaged size distribution "
        f"({', '.join(CDF_NAMES)}), a CDF file *{CDF_SUFFIX}, or a mapping with a kind and its fields"
    )


def parse_mix(name: str, value: object) -> Mix:
    """Makes a mix of triples (size in B, allowed time in s, count in each burst); a mix passes unchanged.

    Args:
        name: Name of the field, for messages.
        value: A Mix, or a sequence of triples.

    Raises:
        ConfigError: The value is neither, or describes no mix.
    """
    if isinstance(value, Mix):
        return value
    triples = _rows(value, TRIPLE)
    if triples is None:
        raise ConfigError(f"{name} is {value!r}: it must be a Mix or a sequence of triples (size, deadline, count)")
    try:
        return Mix(
            pairs=tuple((size, span) for size, span, _ in triples), counts=tuple(count for _, _, count in triples)
        )
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def parse_traffic(name: str, value: object) -> tuple[Traffic, ...]:
    """Makes traffic of pairs (distribution of sizes, load); entries that are Traffic pass unchanged.

    Args:
        name: Name of the field, for messages.
        value: A sequence of such entries.

    Raises:
        ConfigError: It is none, or an entry describes no traffic.
    """
    if isinstance(value, Sequence) and value and all(isinstance(entry, Traffic) for entry in value):
        return tuple(value)
    pairs = _rows(value, PAIR)
    if pairs is None:
        raise ConfigError(f"{name} is {value!r}: it must be a sequence of Traffic or of pairs (sizes, load)")
    try:
        return tuple(Traffic(size=parse_distribution("size", size), load=load) for size, load in pairs)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def parse_incast(name: str, value: object) -> Incast:
    """Makes incast of a mapping of its fields; an Incast passes unchanged.

    Args:
        name: Name of the field, for messages.
        value: An Incast, or a mapping with burst_rate, senders and size.

    Raises:
        ConfigError: It is neither, or describes no incast.
    """
    if isinstance(value, Incast):
        return value
    names = {"burst_rate", "senders", "size"}
    if not isinstance(value, Mapping) or set(value) != names:
        raise ConfigError(f"{name} is {value!r}: it must be Incast or a mapping with burst_rate, senders and size")
    try:
        size = parse_distribution("size", value["size"])
        return Incast(burst_rate=value["burst_rate"], senders=value["senders"], size=size)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def _rows(value: object, length: int) -> list[Sequence[Any]] | None:
    """Takes a sequence of sequences of this length; None of anything else."""
    rows = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
    fitting = [row for row in rows if isinstance(row, Sequence) and not isinstance(row, str) and len(row) == length]
    return fitting if fitting and len(fitting) == len(rows) else None


def _from_mapping(value: Mapping[object, object]) -> Distribution:
    """Makes a distribution of a mapping with a kind."""
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in DISTRIBUTION_KINDS:
        raise ConfigError(f"kind is {kind!r}: it must be one of {listed(kind, DISTRIBUTION_KINDS)}")
    arguments = {str(key): entry for key, entry in value.items() if key != "kind"}
    try:
        return DISTRIBUTION_KINDS[kind](**arguments)
    except TypeError as error:
        raise ConfigError(f"kind {kind!r} does not take {value!r}: {error}") from None
