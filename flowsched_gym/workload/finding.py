"""Finds where flows are drawn from, in each form that a user may give: a name, a file, a mapping, flows, a source.

A mapping, in ``gym.make`` or in a workload file (YAML or JSON), either changes a workload of the package (``base``) or
is new (``kind``); all other keys are fields of the workload, with plain values, units and short names as in
``specs.py``::

    name: twice-as-heavy                 # its name in titles and tables
    base: gather-heavy
    mix: [{size_kb: 700, deadline_ms: 40, count: 5}, {size_kb: 250, deadline_ms: 50, count: 5}]

A mapping with the name of a workload of the package, and neither base nor kind, changes that workload. Arguments such
as ``load`` are short for keys of the mapping; hosts and capacities that it leaves open are the network's.

Several workloads, each in any of these forms, make one: of ``{"one_of": [...], "weights": [...]}`` an episode has one,
of ``{"overlay": [...]}`` it has all at once, of ``{"in_turn": [...], "each_for": 0.5, "phases": 6}`` one after another.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from functools import cached_property
from os import PathLike, fsdecode
from pathlib import Path
from typing import Any, Final, TypeGuard

from flowsched_gym.core.arrays import is_sequence
from flowsched_gym.core.checks import check_choice
from flowsched_gym.core.errors import ConfigError, naming, shown
from flowsched_gym.core.files import open_to_read, read_json, read_yaml
from flowsched_gym.flows.workload import Workload
from flowsched_gym.workload.clusters import ClusterWorkload
from flowsched_gym.workload.columns import Frame, are_flow_columns, workload_from_columns
from flowsched_gym.workload.flow_file import is_parquet, plain_columns, read_flows
from flowsched_gym.workload.gather import GatherWorkload
from flowsched_gym.workload.joined import InTurn, Overlay
from flowsched_gym.workload.named import KINDS, WORKLOADS, NamedConfig, NamedWorkload, find_named
from flowsched_gym.workload.source import ONE_OF, FixedWorkload, OneOf, Several, WorkloadSource, without_load_warning
from flowsched_gym.workload.specs import as_plain, read_changes, read_entries, read_number, with_values

HEAD: Final = ("name", "base", "kind")
"""Keys of a mapping that are no fields of the workload."""
SEVERAL: Final[Mapping[str, tuple[type[Several], tuple[str, ...]]]] = {
    ONE_OF: (OneOf, ("weights",)),
    "overlay": (Overlay, ()),
    "in_turn": (InTurn, ("each_for", "num_phases", "num_flows")),
}
"""Key of a mapping that has several workloads: what it makes of them, and which fields may stand beside it."""
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._+,-]{0,79}")
SUFFIXES: Final = (".json", ".yaml", ".yml")
"""Extensions of workload files."""

WorkloadLike = str | PathLike[str] | Mapping[str, object] | Frame | Workload | WorkloadSource
"""Forms in which a workload may be given."""
Fit = Callable[["ReadWorkload", Any], WorkloadSource]
"""Changes the source of a workload; of several, that of each."""


@dataclass(frozen=True)
class ReadWorkload:
    """A workload as it was given, read once: by itself flows, a flow file or a source, which have no keys."""

    given: Any

    @property
    def label(self) -> str:
        """Its name in titles and tables: the file, or the class where it was made in Python."""
        return os.fspath(self.given) if isinstance(self.given, (str, PathLike)) else type(self.given).__name__

    def plain(self) -> Any:
        """Writes it in the form that result files keep: SI units, full names, points of CDF files, columns of flows.

        Raises:
            ConfigError: As in ``source``, or it has link changes, a distribution or a source of a user's own class.
        """
        if isinstance(self.given, (str, PathLike)):
            return os.fspath(self.given)
        if isinstance(self.given, Workload) and self.given.link_changes is None:
            return plain_columns(self.given)
        raise ConfigError(f"{shown(self.given)} cannot be written down: it must be a name, a mapping or a file")

    def leaves_open(self, field: str) -> bool:
        """Returns whether it takes a field from the network of its environment, such as ``num_hosts``.

        One of a name does, and a mapping or workload file that does not give the field; failures without cables of
        their own do not count.
        """
        return False

    @cached_property
    def source(self) -> WorkloadSource:
        """What flows are drawn from, made when it is first asked for.

        Raises:
            ConfigError: A value is missing or not allowed; the message names the workload.
            FlowFileError: The flow file has a fault.
        """
        found = read_flows(self.given) if isinstance(self.given, (str, PathLike)) else self.given
        return FixedWorkload(workload=found) if isinstance(found, Workload) else found

    def fitted(self, fit: Fit) -> WorkloadSource:
        """Returns what flows are drawn from, changed by a function; where it has several sources, each of them."""
        if isinstance(self.source, Several):
            sources = tuple(ReadWorkload(each).fitted(fit) for each in self.source.sources)
            return replace(self.source, sources=sources)
        return fit(self, self.source)


@dataclass(frozen=True)
class _Described(ReadWorkload):
    """One of a name, or of a mapping: name, base and kind as far as they are given, and the fields that it gives."""

    head: Mapping[str, str]
    base: NamedWorkload | None
    values: Mapping[str, Any]
    place: str = ""

    @property
    def label(self) -> str:
        """Its name; without one of its own, what it changes or its kind."""
        name = self.head.get("name")
        if name is not None and name not in WORKLOADS:
            return name
        if self.base is None:
            return f"unnamed {self.head['kind']}"
        return f"{self.base.name} with {', '.join(sorted(self.values))}" if self.values else self.base.name

    def plain(self) -> Any:
        if isinstance(self.given, str):
            return self.given
        with without_load_warning():
            _ = self.source  # which refuses
        plain = {name: as_plain(value) for name, value in self.values.items()}
        failures = plain.get("failures")
        if isinstance(failures, dict) and not self._gives_cables():
            del failures["cables"]
        return {**self.head, **plain}

    def leaves_open(self, field: str) -> bool:
        return self.values.get(field) is None or (field == "failures" and not self._gives_cables())

    @cached_property
    def source(self) -> NamedConfig:
        with naming(self.place), naming(f"workload {self.label!r}"):
            if self.base is None:
                return self._new()
            return with_values(self.base.config, self.values) if self.values else self.base.config

    def _new(self) -> NamedConfig:
        kind, values = self.head["kind"], dict(self.values)
        _check_needed(f"kind {kind}", KINDS[kind], values)
        if KINDS[kind] is GatherWorkload and values.setdefault("pattern", kind) != kind:
            raise ConfigError(f"pattern is {shown(values['pattern'])}: kind {kind} makes it {kind}, leave it out")
        return KINDS[kind](**values)

    def _gives_cables(self) -> bool:
        """Returns whether failures are those of cables that the mapping names."""
        failures = self.given.get("failures")
        return not isinstance(failures, Mapping) or failures.get("cables") is not None


@dataclass(frozen=True)
class _Joined(ReadWorkload):
    """Several workloads that make one: its name, if any, the key that says how, these, and fields beside them."""

    head: Mapping[str, str]
    key: str
    members: tuple[ReadWorkload, ...]
    values: Mapping[str, object]
    place: str = ""

    @property
    def label(self) -> str:
        """Its name; without one, the names of its members."""
        of_members = ", ".join(each.label for each in self.members)
        return self.head.get("name") or f"{self.key.replace('_', ' ')} {of_members}"

    def plain(self) -> Any:
        with without_load_warning():
            _ = self.source  # which refuses
        values = {name: as_plain(each) for name, each in self.values.items()}
        return {**self.head, self.key: [each.plain() for each in self.members], **values}

    @cached_property
    def source(self) -> WorkloadSource:
        return self.fitted(lambda _, source: source)

    def fitted(self, fit: Fit) -> WorkloadSource:
        kind: Any = SEVERAL[self.key][0]
        sources: list[WorkloadSource] = []
        with naming(self.place):
            for index, each in enumerate(self.members):
                with naming(f"{self.key}[{index}]"):
                    sources.append(each.fitted(fit))
            values = {"sources": tuple(sources), **self.values}
            _check_needed(self.key, kind, values)
            made: WorkloadSource = kind(**values)
        return made


def read_workload(workload: object, folder: Path | None = None) -> ReadWorkload:
    """Reads what a user gave for a workload, a ``WorkloadLike``; paths start from the folder, or the working folder.

    A workload file names the workload where its content does not, and paths in it start from its folder.

    Raises:
        ConfigError: It is none of the forms, there is no workload of that name, a key is unknown, or a value cannot be
            read; the message names the workload, and the file.
        MissingDependencyError: It is a YAML file and omegaconf is not installed.
    """
    if isinstance(workload, ReadWorkload):
        return workload
    if are_flow_columns(workload):
        return ReadWorkload(workload_from_columns(workload))
    if isinstance(workload, Mapping):
        return _read_mapping(workload, folder)
    if is_workload_name(workload):
        return _Described(workload, {}, find_named(workload), {})
    if isinstance(workload, (str, PathLike)):
        path = workload if folder is None else folder / workload
        return _read_file(path) if is_workload_file(path) else ReadWorkload(path)
    if not isinstance(workload, (Workload, WorkloadSource)):
        raise ConfigError(
            f"workload is {shown(workload)}: it must be a name, a file, a mapping, a Workload or frame, or a source"
        )
    return ReadWorkload(workload)


def find_source(workload: WorkloadLike) -> WorkloadSource:
    """Finds where flows are drawn from; times of given ones count from the first arrival where all are far from 0.

    Args:
        workload: Name of a workload, path of a workload file (``.yaml``, ``.yml``, ``.json``) or of a flow file
            (``.csv``, ``.parquet``, ``.pq``), a mapping that describes a workload or has several, flows, or anything
            that draws flows.

    Raises:
        ConfigError: It is none of these, or there is no workload of that name.
        FlowFileError: The flow file has a fault.
    """
    return read_workload(workload).source


def fit_workload(
    workload: ReadWorkload,
    arguments: Mapping[str, object],
    *,
    kinds: tuple[type, ...],
    what: str,
    capacity: float,
    network: Callable[[ReadWorkload, Any], Mapping[str, object]] = lambda workload, source: {},
    room: tuple[int, str] | None = None,
) -> WorkloadSource:
    """Finds where an environment draws its flows from: a workload, with what arguments say, and the network.

    Arguments replace what the workload has, those of the network what it leaves open; of several workloads, in each.

    Args:
        workload: What was given.
        arguments: Fields, by their short names, that the environment has as arguments.
        kinds: Kinds of sources that can be changed.
        what: What arguments change, in messages.
        capacity: Capacity in B/s that a load among the arguments refers to, unless the network says another one.
        network: Returns, of one of these kinds, the fields that follow from the network; None: it stays.
        room: Hosts that there are, and of what, in messages; None where there are as many as flows need.

    Raises:
        ConfigError: The workload has nothing that an argument changes, or more hosts than there are.
    """

    def fit(one: ReadWorkload, source: Any) -> Any:
        label, own = shown(one.label), network(one, source) if isinstance(source, kinds) else {}
        for name, value in arguments.items():
            if not isinstance(source, kinds):
                raise ConfigError(f"argument {name} changes {what}: workload {label} has none")
            if name == "load" and isinstance(source, ClusterWorkload):
                raise ConfigError(f"load is {shown(value)}: workload {label} has a load for each cluster")
        changes = {name: value for name, value in own.items() if value is not None and one.leaves_open(name)}
        if not {"load", "burst_rate"}.isdisjoint(arguments):
            changes["capacity"] = own.get("capacity", capacity)
        if changes := {**changes, **arguments}:
            source = with_values(source, read_changes(f"workload {label}", type(source), changes))
        if room is not None and source.num_hosts > room[0]:
            raise ConfigError(f"workload {label} has {source.num_hosts} hosts: {room[1]} has {room[0]}")
        return source

    return workload.fitted(fit)


def make_workload(workload: WorkloadLike, /, **overrides: object) -> NamedConfig:
    """Returns a workload that is drawn, by its name, mapping or file, with some fields changed.

    A field that excludes another takes its place: ``make_workload("gather-a1", load=0.9)`` has no burst rate of its own
    any more; None leaves a field as it is. Values may be plain and keys may end in a unit (``specs.py``). Fields of the
    distribution of sizes stand beside the others: ``make_workload("poisson-tree", shape=1.05, maximum=1.5e9)``.

    Raises:
        ConfigError: The workload or a field does not exist, a value is not allowed, or flows are given, not drawn.
    """
    read = read_workload(workload)
    config = read.source
    if not isinstance(config, NamedConfig):
        raise ConfigError(f"workload is {shown(workload)}: it must be a name, a mapping or a workload file")
    changes = read_changes(f"workload {read.label!r}", type(config), overrides, size=getattr(config, "size", None))
    return with_values(config, {field: value for field, value in changes.items() if value is not None})


def several_key(workload: object) -> str | None:
    """Returns the key under which a mapping has several workloads; None for anything else."""
    return next((key for key in SEVERAL if key in workload), None) if isinstance(workload, Mapping) else None


def is_workload_file(workload: object) -> TypeGuard[str | PathLike[str]]:
    """Returns whether a path is one of a workload file, by its extension."""
    return isinstance(workload, (str, PathLike)) and fsdecode(workload).lower().endswith(SUFFIXES)


def is_workload_name(workload: object) -> TypeGuard[str]:
    """Returns whether text is the name of a workload, rather than a file by its extension."""
    return isinstance(workload, str) and not (workload.lower().endswith((*SUFFIXES, ".csv")) or is_parquet(workload))


def with_workload_read(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns arguments of an environment, a workload file or a frame of flows as a mapping: results keep that."""
    workload = kwargs.get("workload")
    replaced = is_workload_file(workload) or are_flow_columns(workload)
    return {**kwargs, "workload": read_workload(workload).plain()} if replaced else dict(kwargs)


def _read_file(path: str | PathLike[str]) -> ReadWorkload:
    with open_to_read(path, "workload", "a workload file") as file:
        content = read_json(file) if file.suffix.lower() == SUFFIXES[0] else read_yaml(file, extra="train")
    if not isinstance(content, dict):
        raise ConfigError(f"{file}: it must be a mapping with a base or a kind, and fields of the workload")
    with naming(str(file)):
        return _read_mapping({"name": file.stem, **content}, file.parent, str(file))


def _read_mapping(mapping: Mapping[Any, Any], folder: Path | None, place: str = "") -> ReadWorkload:
    """Reads a mapping; messages begin with the place where it stands, such as a file."""
    if (several := several_key(mapping)) is not None:
        return _read_several(several, mapping, folder, place)
    head = _read_head(mapping)
    name, base, kind = (head.get(key) for key in HEAD)
    rest = {key: value for key, value in mapping.items() if key not in HEAD}
    if kind is not None:
        values = read_changes(f"workload {name or kind!r}", KINDS[kind], rest, folder=folder)
        return _Described(mapping, head, None, values, place)
    if base is None and name is None:
        raise ConfigError(
            f"workload is {shown(dict(mapping))}: it must have a kind ({', '.join(KINDS)}), or as its base or "
            "name a workload of the package"
        )
    named = find_named(name if base is None else base)
    size, where = getattr(named.config, "size", None), f"workload {name or named.name!r}"
    values = read_changes(where, type(named.config), rest, size=size, folder=folder)
    return _Described(mapping, head, named, values, place)


def _read_several(key: str, mapping: Mapping[Any, Any], folder: Path | None, place: str) -> ReadWorkload:
    """Reads a mapping that has several workloads; a message tells which one is not allowed."""
    known = ("name", key, *SEVERAL[key][1])
    entries = read_entries(f"workload with {key}", mapping, known)
    head, given, members = _read_head(mapping), mapping[key], []
    if not is_sequence(given) or not len(given):
        raise ConfigError(f"{key} is {shown(given)}: it must be a list of workloads, at least one")
    for index, each in enumerate(given):
        with naming(f"{key}[{index}]"):
            members.append(read_workload(each, folder))
    values = {name: read_number(each) for name, each in entries.items() if name in known[2:] and each.value is not None}
    return _Joined(mapping, head, key, tuple(members), values, place)


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


def _check_needed(what: str, kind: type[Any], values: Mapping[str, object]) -> None:
    """Refuses fields that are missing."""
    for field in fields(kind):
        if field.default is MISSING and field.name not in values:
            raise ConfigError(f"{field.name} is missing: {what} needs it")
