"""Sources of episodes that have flows of several others: laid one over the other, or one after the other in time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.core.checks import check_integer, check_number, check_one_of_two, settle_numbers
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.seeding import MOST_CHOICES, draw_episode_seed, integers
from flowsched_gym.flows.link_changes import LinkChanges
from flowsched_gym.flows.precedence import Precedence
from flowsched_gym.flows.workload import COLUMNS, NO_TASK, Workload
from flowsched_gym.machine_code.drawing import FlowStreams
from flowsched_gym.workload.source import Several, first_flows

MOST_PHASES: Final = 10_000
"""Phases of an episode at most: each is drawn on its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay(Several):
    """Several sources at once: each episode has the flows of all, merged by their arrival.

    Each source is drawn from a seed of its own. Flows are numbered in the order of arrival, so that the first ones are
    the first ones of all; tasks of different sources are different tasks.

    Attributes:
        sources: The sources, at least one.
    """

    def draw(self, seed: int) -> Workload:
        """Draws the flows of one episode."""
        streams = FlowStreams(seed)
        seeds = [draw_episode_seed(streams[f"source {index}"]) for index in range(len(self.sources))]
        return joined([each.draw(own) for each, own in zip(self.sources, seeds, strict=True)])


@dataclass(frozen=True, slots=True, kw_only=True)
class InTurn(Several):
    """Several sources, one after the other in time: phase i has flows of source i, counted around.

    A phase has the flows that its source draws before ``each_for``, from a seed of its own; a source that ends sooner
    leaves the rest of its phase empty. Flows that are not finished go on in the next phase. Links must stay up.

    Attributes:
        sources: The sources, at least one.
        each_for: Length of a phase in s, > 0.
        num_phases: Phases of an episode, >= 1. Exactly one of num_phases and num_flows is given.
        num_flows: Flows of an episode, >= 1, in as many phases as they need.
    """

    each_for: float
    num_phases: int | None = None
    num_flows: int | None = None

    def __post_init__(self) -> None:
        settle_numbers(self)
        Several.__post_init__(self)
        check_number("each_for", self.each_for, above=0)
        check_one_of_two("num_phases", self.num_phases, "num_flows", self.num_flows)
        if self.num_phases is None:
            check_integer("num_flows", self.num_flows, at_least=1)
        else:
            check_integer("num_phases", self.num_phases, at_least=1, below=MOST_PHASES + 1)

    def with_num_flows(self, num_flows: int) -> "InTurn":
        """Changes the number of flows of an episode, in phases of the same length."""
        return replace(Several.with_num_flows(self, num_flows), num_phases=None, num_flows=num_flows)

    def draw(self, seed: int) -> Workload:
        """Draws the flows of one episode; more phases or flows with the same seed begin with the same flows."""
        parts, drawn = [], 0
        for part in self._phases(seed):
            parts.append(part)
            drawn += part.num_flows
            if self.num_flows is not None and drawn >= self.num_flows:
                break
        flows = joined(parts, [self.each_for * phase for phase in range(len(parts))])
        return flows if self.num_flows is None else first_flows(flows, self.num_flows)

    def _phases(self, seed: int) -> Iterator[Workload]:
        """Draws the flows of each phase, with times from its begin."""
        rng = FlowStreams(seed)["phases"]
        for phase in count() if self.num_phases is None else range(self.num_phases):
            if phase == MOST_PHASES:
                raise ConfigError(f"each_for is {shown(self.each_for)}: more than {MOST_PHASES} phases are not allowed")
            flows = self.sources[phase % len(self.sources)].draw(int(integers(rng, MOST_CHOICES, 1)[0]))
            if flows.link_changes is not None:
                raise ConfigError("in_turn has a workload whose links fail: links of workloads in turn stay up")
            within = flows.arrival_time < self.each_for
            after = None if flows.after is None else flows.after.among(flows.flow_id[within])
            yield replace(flows, after=after, **{name: getattr(flows, name)[within] for name in COLUMNS})


def joined(parts: Sequence[Workload], begin: Sequence[float] | None = None) -> Workload:
    """Merges the flows of several workloads by arrival, and the changes of links by time.

    Flows that arrive at one instant keep the order of the parts. Ids count from 0, and tasks on from part to part.

    Args:
        parts: The workloads, at least one.
        begin: Time in s that is added to the arrivals of each; None for 0.
    """
    starts = [0.0] * len(parts) if begin is None else begin
    columns: dict[str, Any] = {name: [getattr(each, name) for each in parts] for name in COLUMNS[1:]}
    columns["arrival_time"] = [start + each for start, each in zip(starts, columns["arrival_time"], strict=True)]
    first = np.cumsum([0, *(int(each.max(initial=NO_TASK)) + 1 for each in columns["task_id"])])
    tasks = zip(columns["task_id"], first[:-1], strict=True)
    columns["task_id"] = [np.where(each == NO_TASK, NO_TASK, each + offset) for each, offset in tasks]
    columns = {name: np.concatenate(each) for name, each in columns.items()}
    order = np.argsort(columns["arrival_time"], kind="stable")
    new_id = np.empty(len(order), dtype=np.int64)
    new_id[order] = np.arange(len(order))
    pairs: list[list[IntArray]] = []
    rows: list[tuple[float, int, bool]] = []
    num_before = 0
    for each in parts:
        if each.after is not None:
            pairs.append([new_id[num_before + side] for side in each.after.rows(each.flow_id)])
        if (changes := each.link_changes) is not None:
            rows += zip(changes.time.tolist(), changes.link.tolist(), changes.up.tolist(), strict=True)
        num_before += each.num_flows
    return Workload(
        flow_id=np.arange(len(order)),
        after=_precedence(pairs) if pairs else None,
        link_changes=LinkChanges.of(sorted(rows, key=lambda row: row[0])) if rows else None,
        **{name: each[order] for name, each in columns.items()},
    )


def _precedence(pairs: Sequence[Sequence[IntArray]]) -> Precedence:
    earlier, later = (np.concatenate(side) for side in zip(*pairs, strict=True))
    return Precedence(earlier=earlier, later=later)
