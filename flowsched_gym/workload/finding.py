"""Finds where flows are drawn from, in each form that a user may give: a name, a file, a mapping, flows, a source.

A mapping, in ``gym.make`` or in a workload file (YAML or JSON), either changes a workload of the package (``base``) or
is new (``kind``); all other keys are fields of the workload, with plain values, units and short names as in
``specs.py``::

    name: twice-as-heavy                 # its name in titles and tables
    base: gather-heavy
    mix: [{size_kb: 700, deadline_ms: 40, count: 5}, {size_kb: 250, deadline_ms: 50, count: 5}]

A mapping with the name of a workload of the package, and neither base nor kind, changes that workload. A workload of an
environment whose network has a number of hosts and capacities of its own takes those where the mapping gives none.

Several workloads, each in any of these forms, make one: of ``{"one_of": [...], "weights": [...]}`` an episode has one,
of ``{"overlay": [...]}`` it has all at once, of ``{"in_turn": [...], "each_for": 0.5, "phases": 6}`` one after another.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from functools import wraps
from os import PathLike, fsdecode
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeGuard, TypeVar, cast

from flowsched_gym.core.arrays import is_sequence
from flowsched_gym.core.checks import check_choice
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.files import open_to_read, read_json, read_yaml
from flowsched_gym.flows.workload import Workload
from flowsched_gym.workload.flow_file import is_parquet, read_flows
from flowsched_gym.workload.gather import GatherWorkload, Mix
from flowsched_gym.workload.joined import InTurn, Overlay
from flowsched_gym.workload.named import KINDS, WORKLOADS, NamedConfig, NamedWorkload, find_named
from flowsched_gym.workload.source import ONE_OF, FixedWorkload, OneOf, Several, WorkloadSource, without_load_warning
from flowsched_gym.workload.specs import as_plain, read_changes, read_entries, read_number
from flowsched_gym.workload.tasks import CLOSED

HEAD: Final = ("name", "base", "kind")
"""Keys of a mapping that are no fields of the workload."""
SEVERAL: Final[Mapping[str, tuple[type[Several], tuple[str, ...]]]] = {
    ONE_OF: (OneOf, ("weights",)),
    "overlay": (Overlay, ()),
    "in_turn": (InTurn, ("each_for", "num_phases", "num_flows")),
}
"""Key of a mapping that has several workloads: what it makes of them, and which fields may stand beside it."""
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._+,-]{0,79}")
JSON_SUFFIX: Final = ".json"
SUFFIXES: Final = (JSON_SUFFIX, ".yaml", ".yml")
"""Extensions of workload files."""

ALTERNATIVES: Final = (
    ("burst_rate", "load"),
    ("rate", "load"),
    ("num_bursts", "duration"),
    ("num_flows", "duration"),
    ("mix", "size"),
    ("size", "total"),
    ("load", "arrivals"),
)
"""Fields of which one takes the place of the other when it is given."""

Function = TypeVar("Function", bound=Callable[..., WorkloadSource])
WorkloadLike = str | PathLike[str] | Mapping[str, object] | Workload | WorkloadSource
"""Forms in which a workload may be given."""


def find_source(workload: WorkloadLike) -> WorkloadSource:
    """Finds where flows are drawn from.

    The times of given flows count from the start of the episode's clock: from the first arrival where all are far from
    0, such as Unix times.

    Args:
        workload: Name of a workload, path of a workload file (``.yaml``, ``.yml``, ``.json``) or of a flow file
            (``.csv``, ``.parquet``, ``.pq``), a mapping that describes a workload or has several, flows, or anything
            that draws flows.

    Raises:
        ConfigError: It is none of these, or there is no workload of that name.
        FlowFileError: The flow file has a fault.
    """
    if is_workload_name(workload):
        return find_named(workload).config
    workload = _read_file(workload)
    if isinstance(workload, Mapping):
        return parse_variant(workload)
    if isinstance(workload, (str, PathLike)):
        workload = read_flows(workload)
    if isinstance(workload, Workload):
        return FixedWorkload(workload=workload)
    if not isinstance(workload, WorkloadSource):
        raise ConfigError(
            f"workload is {shown(workload)}: it must be a name, a file, a mapping, a Workload or a source of them"
        )
    return workload


def make_workload(name: str, /, **overrides: object) -> NamedConfig:
    """Returns a workload of ``WORKLOADS``, with some fields changed; ``find_source`` takes a workload in any form.

    A field that excludes another takes its place: ``make_workload("gather-a1", load=0.9)`` has no burst rate of its own
    any more; None leaves a field as it is. Values may be plain and keys may end in a unit (``specs.py``). Fields of the
    distribution of sizes stand beside the others: ``make_workload("poisson-tree", shape=1.05, maximum=1.5e9)``.

    Raises:
        ConfigError: The name or a field does not exist, or a value is not allowed.
    """
    if not is_workload_name(name):
        raise ConfigError(f"workload is {shown(name)}: it must be a name; find_source takes mappings, files and flows")
    config = find_named(name).config
    changes = read_changes(f"workload {name!r}", type(config), overrides, size=getattr(config, "size", None))
    return _changed(config, {field: value for field, value in changes.items() if value is not None})


def found_for_each(find: Function) -> Function:
    """Decorates a function that finds the source of a workload, its last argument, to find that of each of several."""

    @wraps(find)
    def found(*arguments: Any, **keywords: Any) -> WorkloadSource:
        *before, workload = arguments
        read = _read_file(workload)
        if is_workload_name(read) and isinstance(config := find_named(read).config, Several):
            read = config
        if isinstance(read, Several):
            return replace(read, sources=tuple(found(*before, each, **keywords) for each in read.sources))
        if isinstance(read, Mapping) and several_key(read) is not None:
            return _made_of_several(read, lambda each: found(*before, each, **keywords))
        return find(*arguments, **keywords)

    return cast(Function, found)


def several_key(workload: object) -> str | None:
    """Returns the key under which a mapping has several workloads; None for anything else."""
    return next((key for key in SEVERAL if key in workload), None) if isinstance(workload, Mapping) else None


def parse_variant(mapping: Mapping[Any, object], folder: Path | None = None) -> NamedConfig:
    """Makes the workload that a mapping describes; paths of files start from the folder, or the working folder.

    Raises:
        ConfigError: A key is unknown or missing, or a value is not allowed; the message names the workload.
    """
    if several_key(mapping) is not None:
        return _made_of_several(mapping, lambda each: _find_member(each, folder))
    return _read(mapping, folder).made()


def plain_variant(mapping: Mapping[Any, object], folder: Path | None = None) -> dict[str, object]:
    """Writes a mapping in the form that result files keep: SI units, full names, and points in place of CDF files.

    Raises:
        ConfigError: As in ``parse_variant``, or it has a distribution or source of a user's own class.
    """
    if (several := several_key(mapping)) is not None:
        with without_load_warning():
            parse_variant(mapping, folder)
        _, members, values = _read_several(mapping)
        plain_members = [_plain_member(each, folder) for each in members]
        plain_values = {name: as_plain(each) for name, each in values.items()}
        return {**_read_head(mapping), several: plain_members, **plain_values}
    variant = _read(mapping, folder)
    with without_load_warning():
        variant.made()
    plain = {name: as_plain(value) for name, value in variant.values.items()}
    failures = plain.get("failures")
    if isinstance(failures, dict) and not _gives_cables(mapping):
        del failures["cables"]
    return {**variant.head, **plain}


def read_workload_file(path: str | PathLike[str], changes: Mapping[str, object] | None = None) -> dict[str, object]:
    """Reads a workload file as the mapping that it stands for, which needs no CDF file any more.

    The file names the workload where the content does not, and paths start from its folder. Changes are fields in place
    of those of the file.

    Raises:
        ConfigError: The file cannot be read, or describes no workload; the message names it.
        MissingDependencyError: It is YAML and omegaconf is not installed.
    """
    with open_to_read(path, "workload", "a workload file") as file:
        content = read_json(file) if file.suffix.lower() == JSON_SUFFIX else read_yaml(file, extra="train")
    if not isinstance(content, dict):
        raise ConfigError(f"{file}: it must be a mapping with a base or a kind, and fields of the workload")
    try:
        return plain_variant({"name": file.stem, **content, **(changes or {})}, file.parent)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None


def is_workload_file(workload: object) -> TypeGuard[str | PathLike[str]]:
    """Returns whether a path is one of a workload file, by its extension."""
    return isinstance(workload, (str, PathLike)) and fsdecode(workload).lower().endswith(SUFFIXES)


def is_workload_name(workload: object) -> TypeGuard[str]:
    """Returns whether text is the name of a workload, rather than a file by its extension."""
    if not isinstance(workload, str):
        return False
    return not workload.lower().endswith((*SUFFIXES, ".csv")) and not is_parquet(workload)


def workload_label(workload: object) -> str:
    """Names a workload for titles and tables: its name, its file, or its class where it was made in Python."""
    workload = _read_file(workload)
    if isinstance(workload, Mapping):
        if (several := several_key(workload)) is not None:
            members = ", ".join(map(workload_label, _read_several(workload)[1]))
            return str(workload.get("name") or f"{several.replace('_', ' ')} {members}")
        return _read(workload).label
    return os.fspath(workload) if isinstance(workload, (str, PathLike)) else type(workload).__name__


def leaves_open(workload: object, field: str) -> bool:
    """Returns whether a workload takes a field from the network of its environment.

    One of a name does, and a mapping or workload file that does not give the field, such as ``num_hosts``; failures
    without cables of their own do not count.
    """
    workload = _read_file(workload)
    if not isinstance(workload, Mapping):
        return is_workload_name(workload)
    if several_key(workload) is not None:
        return False  # each of them is asked for itself
    return field not in _read(workload).values or (field == "failures" and not _gives_cables(workload))


def with_workload_read(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns arguments of an environment, with the content of a workload file in its place: results keep that."""
    return {**kwargs, "workload": _read_file(kwargs["workload"])} if "workload" in kwargs else dict(kwargs)


class _Variant(NamedTuple):
    """A mapping that was read: name, base and kind as far as they are given, and the fields that it gives."""

    head: dict[str, str]
    base: NamedWorkload | None
    values: dict[str, Any]

    @property
    def label(self) -> str:
        """Its name; without one of its own, what it changes or its kind."""
        name = self.head.get("name")
        if name is not None and name not in WORKLOADS:
            return name
        if self.base is None:
            return f"unnamed {self.head['kind']}"
        return f"{self.base.name} with {', '.join(sorted(self.values))}" if self.values else self.base.name

    def made(self) -> NamedConfig:
        """Makes the workload; a message names it."""
        try:
            return self._new() if self.base is None else _changed(self.base.config, self.values)
        except ConfigError as error:
            raise ConfigError(f"workload {self.label!r}: {error}") from None

    def _new(self) -> NamedConfig:
        kind, values = self.head["kind"], dict(self.values)
        for field in fields(KINDS[kind]):
            if field.default is MISSING and field.name not in values:
                raise ConfigError(f"{field.name} is missing: kind {kind} needs it")
        if KINDS[kind] is GatherWorkload and values.setdefault("pattern", kind) != kind:
            raise ConfigError(f"pattern is {shown(values['pattern'])}: kind {kind} makes it {kind}, leave it out")
        return KINDS[kind](**values)


def _read(mapping: Mapping[Any, object], folder: Path | None = None) -> _Variant:
    head = _read_head(mapping)
    name, base, kind = (head.get(key) for key in HEAD)
    rest = {key: value for key, value in mapping.items() if key not in HEAD}
    if kind is not None:
        return _Variant(head, None, read_changes(f"workload {name or kind!r}", KINDS[kind], rest, folder=folder))
    if base is None and name is None:
        raise ConfigError(
            f"workload is {shown(dict(mapping))}: it must have a kind ({', '.join(KINDS)}), or as its base or "
            "name a workload of the package"
        )
    named = find_named(name if base is None else base)
    size, where = getattr(named.config, "size", None), f"workload {name or named.name!r}"
    return _Variant(head, named, read_changes(where, type(named.config), rest, size=size, folder=folder))


def _read_several(mapping: Mapping[Any, object]) -> tuple[str, Sequence[Any], dict[str, object]]:
    """Returns the key of several workloads, these, and the fields that stand beside them; checks the keys."""
    several = several_key(mapping)
    assert several is not None
    known = ("name", several, *SEVERAL[several][1])
    entries = read_entries(f"workload with {several}", mapping, known)
    _read_head(mapping)
    members = mapping[several]
    if not is_sequence(members) or not len(members):
        raise ConfigError(f"{several} is {shown(members)}: it must be a list of workloads, at least one")
    given = ((name, entry) for name, entry in entries.items() if name in known[2:] and entry.value is not None)
    return several, members, {name: read_number(entry) for name, entry in given}


def _made_of_several(mapping: Mapping[Any, Any], find: Callable[[Any], WorkloadSource]) -> NamedConfig:
    """Makes the source of several workloads, each found by a function; a message tells which one is not allowed."""
    several, members, values = _read_several(mapping)
    sources = []
    for index, each in enumerate(members):
        try:
            sources.append(find(each))
        except ConfigError as error:
            raise ConfigError(f"{several}[{index}]: {error}") from None
    kind: Any = SEVERAL[several][0]
    for field in fields(kind):
        if field.default is MISSING and field.name not in (*values, "sources"):
            raise ConfigError(f"{field.name} is missing: {several} needs it")
    made: NamedConfig = kind(sources=tuple(sources), **values)
    return made


def _find_member(workload: Any, folder: Path | None) -> WorkloadSource:
    """Finds one of several workloads of a file in a folder."""
    if isinstance(workload, Mapping):
        return parse_variant(workload, folder)
    return find_source(_from_folder(workload, folder))


def _plain_member(workload: Any, folder: Path | None) -> object:
    """Writes one of several workloads in the form that result files keep."""
    workload = _read_file(_from_folder(workload, folder))
    if isinstance(workload, Mapping):
        return plain_variant(workload, folder)
    if isinstance(workload, (str, PathLike)):
        return os.fspath(workload)
    raise ConfigError(f"{shown(workload)} cannot be written down: it must be a name, a mapping or a file")


def _from_folder(workload: Any, folder: Path | None) -> Any:
    """Lets the path of a file start from a folder; all else stays what it is."""
    if folder is None or not isinstance(workload, (str, PathLike)) or is_workload_name(workload):
        return workload
    return folder / workload


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
    if "kind" in head:
        check_choice("kind of the workload", head["kind"], KINDS)
    if "kind" in head and "base" in head:
        raise ConfigError(f"the workload has base {head['base']!r} and kind {head['kind']!r}: give one of them")
    is_new = several_key(mapping) is not None or (len(head) > 1 and head.get("base") != head.get("name"))
    if is_new and head.get("name") in WORKLOADS:
        raise ConfigError(f"name of the workload is {head['name']!r}: a workload of the package has it, choose another")
    return head


def _gives_cables(mapping: Mapping[Any, object]) -> bool:
    """Returns whether failures are those of cables that the mapping names."""
    failures = mapping.get("failures")
    return not isinstance(failures, Mapping) or failures.get("cables") is not None


def _changed(config: NamedConfig, values: Mapping[str, Any]) -> NamedConfig:
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


def _read_file(workload: Any) -> Any:
    """Reads a workload file; all else stays what it is."""
    return read_workload_file(workload) if is_workload_file(workload) else workload
