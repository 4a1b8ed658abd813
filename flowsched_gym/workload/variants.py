"""Reads workloads that users write themselves: as a YAML or JSON file, or as a mapping in ``gym.make``.

A variant either changes a workload of the package (``base``) or is new (``kind``); all other keys are fields of the
workload, with plain values, units and short names as in ``specs.py``::

    name: twice-as-heavy                 # its name in titles and tables
    base: gather-heavy
    mix: [{size_kb: 700, deadline_ms: 40, count: 5}, {size_kb: 250, deadline_ms: 50, count: 5}]

A mapping with the name of a workload of the package, and neither base nor kind, changes that workload. A workload of an
environment whose network has a number of hosts and capacities of its own takes those where the variant gives none.
"""

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.suggestions import listed
from flowsched_gym.workload.clusters import ClusterWorkload
from flowsched_gym.workload.gather import GatherWorkload
from flowsched_gym.workload.jobs import JobWorkload
from flowsched_gym.workload.named import WORKLOADS, NamedConfig, changed, find_named, read_changes
from flowsched_gym.workload.poisson import PoissonWorkload
from flowsched_gym.workload.source import without_load_warning
from flowsched_gym.workload.specs import as_plain
from flowsched_gym.workload.tasks import TaskWorkload

KINDS: Final[Mapping[str, type[NamedConfig]]] = MappingProxyType(
    {
        "gather": GatherWorkload,
        "scatter": GatherWorkload,
        "poisson": PoissonWorkload,
        "clusters": ClusterWorkload,
        "tasks": TaskWorkload,
        "jobs": JobWorkload,
    }
)
"""Kinds of workloads."""

HEAD: Final = ("name", "base", "kind")
"""Keys that are no fields of the workload."""

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._+,-]{0,79}")


class _Variant(NamedTuple):
    """A variant that was read.

    Attributes:
        head: Its name, base and kind, as far as they are given.
        base: Name of the workload that it changes; None for a new one.
        kind: Class of the workload.
        values: Fields that it gives.
    """

    head: dict[str, str]
    base: str | None
    kind: type[NamedConfig]
    values: dict[str, Any]

    @property
    def label(self) -> str:
        """Its name; without one of its own, what it changes or its kind."""
        name = self.head.get("name")
        if name is not None and name not in WORKLOADS:
            return name
        if self.base is None:
            return f"unnamed {self.head['kind']}"
        return f"{self.base} with {', '.join(sorted(self.values))}" if self.values else self.base


def parse_variant(mapping: Mapping[Any, object], folder: Path | None = None) -> NamedConfig:
    """Makes the workload that a mapping describes.

    Args:
        mapping: ``name``, ``base`` or ``kind``, and fields of the workload.
        folder: Folder that paths of CDF files start from; None for the working folder.

    Raises:
        ConfigError: A key is unknown or missing, or a value is not allowed; the message names the workload.
    """
    variant = _read(mapping, folder)
    try:
        return _made(variant)
    except ConfigError as error:
        raise ConfigError(f"workload {variant.label!r}: {error}") from None


def plain_variant(mapping: Mapping[Any, object], folder: Path | None = None) -> dict[str, object]:
    """Writes a mapping in the form that result files keep: SI units, full names, and points in place of CDF files.

    Args:
        mapping: As in ``parse_variant``.
        folder: As in ``parse_variant``.

    Raises:
        ConfigError: As in ``parse_variant``, or it has a distribution of a user's own class.
    """
    with without_load_warning():
        parse_variant(mapping, folder)
    variant = _read(mapping, folder)
    plain = {name: as_plain(value) for name, value in variant.values.items()}
    failures = plain.get("failures")
    if isinstance(failures, dict) and not _gives_cables(mapping):
        del failures["cables"]
    return {**variant.head, **plain}


def variant_label(mapping: Mapping[Any, object], folder: Path | None = None) -> str:
    """Names a variant for titles and tables.

    Raises:
        ConfigError: The mapping describes no workload.
    """
    return _read(mapping, folder).label


def fields_given(mapping: Mapping[Any, object]) -> frozenset[str]:
    """Returns which fields a variant gives; failures without cables of their own do not count.

    Raises:
        ConfigError: The mapping describes no workload.
    """
    given = frozenset(_read(mapping, None).values)
    return given if _gives_cables(mapping) else given - {"failures"}


def _gives_cables(mapping: Mapping[Any, object]) -> bool:
    """Returns whether failures are those of cables that the variant names."""
    failures = mapping.get("failures")
    return not isinstance(failures, Mapping) or failures.get("cables") is not None


def _made(variant: _Variant) -> NamedConfig:
    if variant.base is not None:
        return changed(WORKLOADS[variant.base].config, variant.values)
    values = dict(variant.values)
    for field in fields(variant.kind):
        if field.default is MISSING and field.name not in values:
            raise ConfigError(f"{field.name} is missing: kind {variant.head['kind']} needs it")
    if variant.kind is GatherWorkload:
        kind = variant.head["kind"]
        if values.setdefault("pattern", kind) != kind:
            raise ConfigError(f"pattern is {shown(values['pattern'])}: kind {kind} makes it {kind}, leave it out")
    return variant.kind(**values)


def _read(mapping: Mapping[Any, object], folder: Path | None) -> _Variant:
    head = _read_head(mapping)
    name, base, kind = (head.get(key) for key in HEAD)
    if base is None and kind is None:
        if name is None:
            raise ConfigError(
                f"workload is {shown(dict(mapping))}: it must have a kind ({', '.join(KINDS)}), or as its base or "
                "name a workload of the package"
            )
        base = find_named(name).name
    rest = {key: value for key, value in mapping.items() if key not in HEAD}
    where = f"workload {name or base or kind!r}"
    if base is not None:
        config = find_named(base).config
        values = read_changes(where, type(config), rest, size=getattr(config, "size", None), folder=folder)
        return _Variant(head, base, type(config), values)
    assert kind is not None
    return _Variant(head, None, KINDS[kind], read_changes(where, KINDS[kind], rest, folder=folder))


def _read_head(mapping: Mapping[Any, object]) -> dict[str, str]:
    """Reads name, base and kind, and checks that they go together."""
    head: dict[str, str] = {}
    for key in HEAD:
        value = mapping.get(key)
        if value is not None:
            if not isinstance(value, str) or not NAME.fullmatch(value):
                raise ConfigError(
                    f"{key} of the workload is {shown(value)}: it must be a text of at most 80 letters, digits, spaces "
                    "and ._+,-, the first a letter or digit"
                )
            head[key] = value
    if "kind" in head and head["kind"] not in KINDS:
        raise ConfigError(f"kind of the workload is {head['kind']!r}: it must be one of {listed(head['kind'], KINDS)}")
    if "kind" in head and "base" in head:
        raise ConfigError(f"the workload has base {head['base']!r} and kind {head['kind']!r}: give one of them")
    if head.get("name") in WORKLOADS and len(head) > 1 and head.get("base") != head["name"]:
        raise ConfigError(f"name of the workload is {head['name']!r}: a workload of the package has it, choose another")
    return head
