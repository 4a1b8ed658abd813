"""What environments draw their flows from, what all sources check, and drawn flows cut or joined to others."""

import contextlib
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from flowsched_gym.core.arrays import BoolArray, IntArray
from flowsched_gym.core.checks import as_tuple, check_integer, check_number, check_numbers, check_one_of_two
from flowsched_gym.core.errors import ConfigError, FlowSchedWarning, WorkloadError, shown
from flowsched_gym.flows.link_changes import LinkChanges
from flowsched_gym.flows.precedence import Precedence
from flowsched_gym.flows.workload import COLUMNS, Workload
from flowsched_gym.machine_code.drawing import FlowStreams
from flowsched_gym.workload.distributions import cumulative_weights

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Config = TypeVar("Config", bound="DataclassInstance")
MOST_FLOWS: Final = 10_000_000
"""Flows of an episode at most: to draw so many takes seconds, to simulate them 3 GB."""
ONE_OF: Final = "one_of"
"""Key of a mapping that has several workloads."""


class UnstableLoadWarning(FlowSchedWarning):
    """A link is offered at least as many bytes as it can carry, so that its queue grows without bound."""


@runtime_checkable
class WorkloadSource(Protocol):
    """A source of workloads: the flows of an episode, drawn from a seed."""

    @property
    def num_hosts(self) -> int:
        """Number of hosts that the flows run between, numbered from 0."""

    def draw(self, seed: int) -> Workload:
        """Draws the flows of one episode: the same seed, an integer >= 0, gives the same flows, bit by bit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedWorkload:
    """The same flows in every episode, at least one, with times on its clock (``Workload.on_clock``)."""

    workload: Workload

    def __post_init__(self) -> None:
        if not self.workload.num_flows:
            raise ConfigError("workload has no flow: at least one is needed")
        object.__setattr__(self, "workload", self.workload.on_clock()[0])

    @property
    def num_hosts(self) -> int:
        """Smallest number of hosts that holds every source and destination."""
        return self.workload.num_hosts

    def draw(self, seed: int) -> Workload:
        """Returns the flows, whatever the seed."""
        return self.workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Several(ABC):
    """Several sources that make one; classes derived from it say how.

    Attributes:
        sources: The sources, at least one.
    """

    sources: tuple[WorkloadSource, ...]
    offered_load: ClassVar[None] = None
    """Nothing: the sources have loads of their own."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sources", as_tuple("sources", self.sources))
        for each in self.sources:
            if not isinstance(each, WorkloadSource):
                raise ConfigError(f"sources has the entry {shown(each)}: it must be a source of workloads")
        if not self.sources:
            raise ConfigError("sources is (): it must have an entry at least")

    @property
    def num_hosts(self) -> int:
        """Number of hosts that holds those of each source."""
        return max(each.num_hosts for each in self.sources)

    @abstractmethod
    def draw(self, seed: int) -> Workload:
        """Draws the flows of one episode."""

    def with_num_flows(self, num_flows: int) -> Self:
        """Changes the number of flows of each source; a ``ConfigError`` says that one has flows that are given."""
        changeable: Any = self.sources
        for each in changeable:
            if not hasattr(each, "with_num_flows"):
                raise ConfigError(f"num_flows is {num_flows}: {type(each).__name__} cannot draw so many")
        return replace(self, sources=tuple(each.with_num_flows(num_flows) for each in changeable))


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf(Several):
    """One of several sources, chosen anew for each episode, from the seed of the episode.

    Attributes:
        sources: The sources, at least one.
        weights: How often each is chosen, relative to the others, >= 0, not all 0; None: all alike.
    """

    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        Several.__post_init__(self)
        if self.weights is not None:
            weights = check_numbers("weights", self.weights, count=len(self.sources), at_least=0)
            if not weights.any():
                raise ConfigError(f"weights is {shown(self.weights)}: one of them must be > 0")
            object.__setattr__(self, "weights", tuple(weights.tolist()))

    def chosen(self, seed: int) -> WorkloadSource:
        """Returns the source of the episode of a seed."""
        cumulative = cumulative_weights(self.weights or (1.0,) * len(self.sources))
        drawn = FlowStreams(seed)["source"].random()
        return self.sources[int(np.searchsorted(cumulative, drawn, side="right"))]

    def draw(self, seed: int) -> Workload:
        """Draws the flows of one episode."""
        return self.chosen(seed).draw(seed)


def members_of(source: WorkloadSource) -> tuple[WorkloadSource, ...]:
    """Lists all of which a source draws one, at any depth; a source of another kind is its only one."""
    if not isinstance(source, OneOf):
        return (source,)
    return tuple(member for each in source.sources for member in members_of(each))


def first_flows(workload: Workload, num_flows: int) -> Workload:
    """Cuts a workload to its first flows, by id, which wait for each other alone; link changes stay as they are.

    Raises:
        WorkloadError: The workload has fewer flows.
    """
    if not 0 <= num_flows <= workload.num_flows:
        raise WorkloadError(f"{num_flows} flows are wanted of a workload that has {workload.num_flows}")
    after = None if workload.after is None else workload.after.among(workload.flow_id[:num_flows])
    return replace(workload, after=after, **{name: getattr(workload, name)[:num_flows] for name in COLUMNS})


def check_flow_count(what: str, expected: float) -> None:
    """Refuses an episode with more flows, or hosts to choose theirs from, than memory is there for."""
    if not expected <= MOST_FLOWS:
        raise ConfigError(f"{what} would draw {expected:.3g} flows: at most {MOST_FLOWS} are allowed")


def check_busiest_share(share: float | None) -> None:
    """Refuses what is neither None nor a share of all bytes, above 0 and at most 1."""
    if share is not None and check_number("busiest_share", share, above=0) > 1:
        raise ConfigError(f"busiest_share is {shown(share)}: it must be at most 1")


def warn_if_unstable(load: float) -> None:
    """Warns of a load from 1 on, on behalf of the caller of a configuration's constructor."""
    if load >= 1:
        message = f"load is {load:.4g}: from 1 on it is unstable, queues and completion times grow without bound"
        # The levels between: this function, __post_init__, the generated __init__.
        warnings.warn(message, UnstableLoadWarning, stacklevel=4)


@contextlib.contextmanager
def without_load_warning() -> Iterator[None]:
    """Suppresses warnings of a load that has been warned of before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnstableLoadWarning)
        yield


def resized(config: Config, num_flows: int, /, **changes: Any) -> Config:
    """Changes the length of episodes, so that they have this many flows, and warns of the load no more."""
    check_integer("num_flows", num_flows, at_least=1)
    with without_load_warning():
        return replace(config, **changes)


def check_given(config: Any, check: Callable[..., object], *names: str, **bounds: float) -> None:
    """Checks those of some fields that are not None."""
    for name in names:
        if (value := getattr(config, name)) is not None:
            check(name, value, **bounds)


def check_length(config: Any, count: str) -> None:
    """Checks the capacity that loads refer to, and that exactly one of a count and a duration is given."""
    check_number("capacity", config.capacity, above=0)
    check_one_of_two(count, getattr(config, count), "duration", config.duration)
    if config.duration is None:
        check_integer(count, getattr(config, count), at_least=1)
    else:
        check_number("duration", config.duration, above=0)


def with_future(past: Workload, future: Workload, now: float) -> Workload:
    """Joins the flows of an episode that have arrived by a time in s with those of another one that arrive later.

    The later ones and their tasks get ids after those of the past. Links change likewise. Flows of the past that wait
    for others keep these, whenever they arrive.
    """
    kept, new = _kept(past, now), future.arrival_time > now
    if not new.any() and kept.all():
        return past
    num_kept, num_new = np.count_nonzero(kept), np.count_nonzero(new)
    columns = {}
    for name in COLUMNS[1:]:
        columns[name] = np.concatenate([getattr(past, name)[kept], getattr(future, name)[new]])
    columns["flow_id"] = np.concatenate(
        [past.flow_id[kept], int(past.flow_id.max(initial=-1)) + 1 + np.arange(num_new)]
    )
    assert past.task_id is not None
    tasks = columns["task_id"][num_kept:]
    numbers = np.unique(tasks[tasks >= 0], return_inverse=True)[1]
    tasks[tasks >= 0] = int(past.task_id.max(initial=-1)) + 1 + numbers
    new_id = np.zeros(future.num_flows, dtype=np.int64)
    new_id[new] = columns["flow_id"][num_kept:]
    after, link_changes = _pairs(past, future, kept, new, new_id), _changes(past, future, now)
    return replace(past, after=after, link_changes=link_changes, **columns)


def _kept(past: Workload, now: float) -> BoolArray:
    """Marks the flows that have arrived, and those for which these wait."""
    kept: BoolArray = past.arrival_time <= now
    if past.after is not None:
        earlier, later = past.after.rows(past.flow_id)
        while (missing := kept[later] & ~kept[earlier]).any():
            kept[earlier[missing]] = True
    return kept


def _pairs(past: Workload, future: Workload, kept: BoolArray, new: BoolArray, new_id: IntArray) -> Precedence | None:
    """Joins the pairs of flows that wait for each other: of kept flows, and of new ones with their new ids."""
    pairs = []
    for flows, chosen, ids in ((past, kept, past.flow_id), (future, new, new_id)):
        if flows.after is not None:
            earlier, later = flows.after.rows(flows.flow_id)
            both = chosen[earlier] & chosen[later]
            pairs.append((ids[earlier[both]], ids[later[both]]))
    if not pairs:
        return None
    earlier, later = (np.concatenate(column) for column in zip(*pairs, strict=True))
    return Precedence(earlier=earlier, later=later)


def _changes(past: Workload, future: Workload, now: float) -> LinkChanges | None:
    """Joins the changes of links up to now with those to come; a link that is down comes up when it would have."""
    rows = {
        each: list(zip(changes.time.tolist(), changes.link.tolist(), changes.up.tolist(), strict=True))
        for each in (past, future)
        if (changes := each.link_changes) is not None
    }
    if not rows:
        return None
    before = [row for row in rows.get(past, ()) if row[0] <= now]
    is_up = {link: up for _, link, up in before}
    after = [row for row in rows.get(past, ()) if row[0] > now and row[2] and not is_up.get(row[1], True)]
    after += [row for row in rows.get(future, ()) if row[0] > now]
    return LinkChanges.of(before + sorted(after, key=lambda row: row[0]))
