"""Reads distributions from plain values, as they stand in YAML and in ``gym.make`` calls.

A distribution is a number (constant), the name of a packaged size distribution (``"web_search"``), the path of a CDF
file (``"mine.csv"``), or a mapping with a ``kind`` and its fields: ``{"kind": "exponential", "mean": 1e5}``.
"""

from collections.abc import Callable, Mapping
from numbers import Real
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from flowsched_gym.core.checks import check_choice
from flowsched_gym.core.errors import ConfigError, shown
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
from flowsched_gym.workload.empirical import CDF_NAMES, Empirical, load_cdf, read_cdf

CDF_SUFFIX: Final = ".csv"

DISTRIBUTION_KINDS: Final[Mapping[str, Callable[..., Distribution]]] = MappingProxyType(
    {
        "constant": Constant,
        "discrete": Discrete,
        "uniform": Uniform,
        "exponential": Exponential,
        "lognormal": LogNormal,
        "loguniform": LogUniform,
        "pareto": Pareto,
        "empirical": Empirical,
        "cdf": load_cdf,
        "cdf-file": read_cdf,
    }
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
    """Makes a distribution of a plain value, named in messages; a distribution passes unchanged.

    Raises:
        ConfigError: The value is none of those that the module describes.
    """
    return read_distribution(Entry(name, value), None)


def read_distribution(entry: Entry, folder: Path | None) -> Distribution:
    """Makes a distribution of an entry of a mapping; paths of CDF files start from the folder."""
    key, value, factor = entry
    if isinstance(value, Distribution) and factor == 1:
        return value
    try:
        if _is_number(value):
            return Constant(value=_times(value, factor))
        if isinstance(value, str) and factor == 1:
            return read_cdf(Path(folder or "", value)) if value.endswith(CDF_SUFFIX) else load_cdf(value)
        if isinstance(value, Mapping):
            return _distribution_of(value, factor, folder)
    except ConfigError as error:
        raise ConfigError(f"{key}: {error}") from None
    if factor != 1:
        raise ConfigError(
            f"{key} is {shown(value)}: with a unit it must be a number, or a mapping with a kind of numbers"
        )
    raise ConfigError(
        f"{key} is {shown(value)}: it must be a distribution, a number, the name of a packaged size distribution "
        f"({', '.join(CDF_NAMES)}), a CDF file *{CDF_SUFFIX}, or a mapping with a kind and its fields"
    )


def read_number(entry: Entry) -> object:
    """Converts a number to B, s or B/s; leaves everything else to be refused by the class of the field."""
    return _times(entry.value, entry.factor) if _is_number(entry.value) and entry.factor != 1 else entry.value


def _distribution_of(value: Mapping[Any, object], factor: float, folder: Path | None) -> Distribution:
    """Reads a distribution from a mapping with a kind."""
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
    """Multiplies a number."""
    try:
        return float(value) * factor  # type: ignore[arg-type]
    except OverflowError:
        raise ConfigError(f"{shown(value)} is too large: numbers must be below 1.8e308") from None
