"""A running episode as pictures show it, and the panels that all systems share."""

import functools
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.envs.drawing.formats import count_text, duration_text, ratio_text, size_text
from flowsched_gym.envs.drawing.panels import (
    Banner,
    Column,
    Link,
    Links,
    LoadedLink,
    Mark,
    Part,
    Row,
    Rows,
    Table,
    Text,
    Timeline,
    Tone,
)
from flowsched_gym.fluid import Records
from flowsched_gym.fluid.compiled import CompiledSimulation
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.topology.network import Network, first_cpu_path

DEADLINES: Final = "Deadlines met so far"
OUTCOMES_SHOWN: Final = 100
"""Finished flows whose outcomes make the timeline."""
OUTCOMES_AVERAGED: Final = 20
"""Finished flows over which it averages."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Scene:
    """An episode as it stands, brought to the present; nothing in it changes the episode.

    Attributes:
        now: Time in s.
        delivered: Rows of the flows that have been delivered, in that order, (num_delivered,).
        active: Rows of the flows that send, (num_active,).
        remaining: Bytes on the wire left to send, (num_flows,).
        volume: Bytes on the wire, (num_flows,).
        rate: Rates in B/s, (num_flows,).
        path: Rows of the path table, (num_flows,).
        num_hosts: Hosts of the network; 0 where all share one link.
        transport: That of senders of packets that detect losses; empty where there are none.
    """

    now: float
    records: Records
    delivered: IntArray
    active: IntArray
    remaining: FloatArray
    volume: FloatArray
    rate: FloatArray
    path: npt.NDArray[np.integer[Any]]
    network: Network
    link_names: tuple[str, ...]
    num_hosts: int
    transport: str = ""

    @classmethod
    def of(cls, simulation: Simulation | CompiledSimulation) -> "Scene":
        """Views a simulation; link sharing has the bytes of flows as of its last event."""
        state, links = simulation.state, simulation.links
        elapsed = simulation.now - links.advanced_to
        return cls(
            now=simulation.now,
            records=simulation.records(),
            delivered=np.array(simulation.delivered, dtype=np.int64),
            active=links.active[: links.num_active],
            remaining=np.maximum(state.remaining - state.rate * elapsed, 0.0),
            volume=state.volume,
            rate=state.rate,
            path=simulation.controls.path,
            network=simulation.network,
            link_names=simulation.topology.link_names,
            num_hosts=simulation.topology.num_hosts,
        )

    @property
    def num_flows(self) -> int:
        """Flows of the episode."""
        return self.records.num_flows

    @property
    def over(self) -> bool:
        """Whether all flows have been delivered."""
        return len(self.delivered) == self.num_flows

    @functools.cached_property
    def size_range(self) -> tuple[float, float]:
        """Smallest and largest size of the episode in B."""
        return float(self.records.size.min()), float(self.records.size.max())

    @functools.cached_property
    def sent(self) -> FloatArray:
        """Part of each flow that has been sent, in [0, 1], (num_flows,)."""
        return 1.0 - self.remaining / self.volume

    @functools.cached_property
    def has_deadlines(self) -> bool:
        """Whether any flow of the episode has a deadline."""
        return bool((self.records.deadline_span < np.inf).any())

    @functools.cached_property
    def is_gather(self) -> bool:
        """Whether all flows go to one host, by deadlines."""
        destination = self.records.destination
        return self.has_deadlines and bool((destination == destination[0]).all())

    @functools.cached_property
    def loads(self) -> tuple[IntArray, FloatArray]:
        """Active flows on each link, and the bytes that they have left, (num_links,) each."""
        flows, links = self.crossings(self.active)
        count = len(self.network.capacity)
        backlog = np.zeros(count)
        np.add.at(backlog, links, self.remaining[flows])
        return np.bincount(links, minlength=count).astype(np.int64), backlog

    def crossings(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Returns each flow as often as it crosses links, and these links."""
        start, path = self.network.path_start, self.path[rows]
        count = start[path + 1] - start[path]
        first = np.repeat(start[path] - (np.cumsum(count) - count), count)
        return np.repeat(rows, count), self.network.path_links[first + np.arange(len(first))]

    def links_of(self, row: int) -> IntArray:
        """Returns the links of a flow's path."""
        start, path = self.network.path_start, self.path[row]
        return self.network.path_links[start[path] : start[path + 1]]

    def hosts(self, row: int) -> str:
        """Names the hosts of a flow, such as ``3 to 5``, as far as they matter."""
        if not self.num_hosts:
            return ""
        source = int(self.records.source[row])
        return f"host {source}" if self.is_gather else f"{source} to {int(self.records.destination[row])}"

    def flow(self, row: int) -> str:
        """Names a flow."""
        return f"flow {int(self.records.flow_id[row])}"

    def results(self, rows: IntArray) -> tuple[str, str, str]:
        """Writes how many flows have been delivered, and their mean completion time and slowdown."""
        if not len(rows):
            return "0", "-", "-"
        count = len(rows)
        fct, slowdown = (float(values[rows].sum()) / count for values in (self.records.fct, self.records.slowdown))
        return str(count), duration_text(fct), ratio_text(slowdown)

    @property
    def mean_completion_time(self) -> tuple[str, str]:
        """Headline of flows without deadlines."""
        return "Mean completion time", self.results(self.delivered)[1] if len(self.delivered) else "none yet"

    @property
    def mean_slowdown(self) -> tuple[str, str]:
        """Headline of flows that are to finish soon for their size."""
        return "Mean slowdown so far", self.results(self.delivered)[2] if len(self.delivered) else "none yet"

    @property
    def deadlines_met(self) -> tuple[str, str]:
        """Headline of flows with deadlines."""
        met, missed, _ = self.deadlines
        return DEADLINES, f"{100 * met / (met + missed):.1f} %" if met + missed else "none yet"

    @functools.cached_property
    def deadlines(self) -> tuple[int, int, int]:
        """Deadlines met, missed (those that have passed before their flow finished included), and to come."""
        records = self.records
        bound = records.deadline_span < np.inf
        passed = np.isfinite(records.completion_time) | (records.arrival_time + records.deadline_span < self.now)
        met = int(np.count_nonzero(bound & records.deadline_met))
        missed = int(np.count_nonzero(bound & passed & ~records.deadline_met))
        return met, missed, int(np.count_nonzero(bound)) - met - missed

    def banner(self, title: str, setting: str, question: str, *, headline: tuple[str, str] | None = None) -> Banner:
        """Builds the head of a picture, with the headline of slowdowns unless there is another."""
        headline = headline or self.mean_slowdown
        setting += f", packets ({self.transport})" if self.transport else ""
        done, active, flows = len(self.delivered), len(self.active), self.num_flows
        counts: tuple[str | Text, ...] = (f"{done} finished, {active} active, {flows - done - active} to come",)
        parts: tuple[Part, ...] = (Part(done / flows, Tone.STRONG),)
        if headline[0] == DEADLINES:
            tones = Tone.GOOD, Tone.BAD, Tone.MUTED
            words = zip(self.deadlines, ("met", "missed", "to come"), tones, strict=True)
            counts = tuple(Text(f"{count} {word}", tone) for count, word, tone in words)
            met, missed, coming = self.deadlines
            bound = met + missed + coming
            parts = (Part(met / bound, Tone.GOOD), Part(missed / bound, Tone.BAD))
        question = f"The episode is over: all {flows} flows have finished." if self.over else question
        return Banner(
            title=title, setting=setting, now=self.now, question=question, headline=headline, counts=counts, parts=parts
        )

    def timeline(self) -> Timeline:
        """Shows which of the last flows with a deadline met it."""
        records, last = self.records, self.delivered[-OUTCOMES_SHOWN - OUTCOMES_AVERAGED :]
        outcomes = records.deadline_met[last[records.deadline_span[last] < np.inf]]
        total, end = np.concatenate([[0], np.cumsum(outcomes)]), np.arange(1, len(outcomes) + 1)
        first = np.maximum(end - OUTCOMES_AVERAGED, 0)
        means = (total[end] - total[first]) / (end - first)
        return Timeline(
            title="Recent deadlines",
            outcomes=tuple(outcomes[-OUTCOMES_SHOWN:].tolist()),
            means=tuple(means[-OUTCOMES_SHOWN:].tolist()),
            words=("met", "late"),
            caption=f"share met of the last {OUTCOMES_AVERAGED} finished",
            most=OUTCOMES_SHOWN,
        )

    def finished(
        self,
        *,
        title: str = "Just finished",
        note: str | None = None,
        rows: IntArray | None = None,
        with_ids: bool = True,
    ) -> Table:
        """Lists the last finished flows, latest first: whether in time where flows have deadlines, else slowdowns."""
        rows = self.delivered if rows is None else rows
        columns: tuple[Column, ...] = (
            Column("flow", 76 if with_ids else 0, "left"),
            Column("hosts" if self.num_hosts else "", 66 if with_ids else 54, "left"),
            Column("size", 60),
            Column("took", 60),
            Column("slowdown", 70),
        )
        if self.has_deadlines:
            columns = (*(Column("", width, "left") for width in (20, 0, 64)), Column("", 50), Column("", 82))
        if note is None and len(rows) and with_ids and not self.has_deadlines:
            note = f"mean {self.results(rows)[1]}, largest x {ratio_text(float(self.records.slowdown[rows].max()))}"
        shown = Rows(rows[::-1], self._outcome)
        return Table(title=title, note=note or "", columns=columns, rows=shown, text_rows=6)

    def _outcome(self, number: int, row: int) -> Row:
        records = self.records
        fct = float(records.fct[row])
        flow = self.flow(row), self.hosts(row), Text(size_text(float(records.size[row])), Tone.MUTED)
        if not self.has_deadlines:
            slowdown = Text(f"x {ratio_text(float(records.slowdown[row]))}", bold=True)
            return *flow, Text(duration_text(fct), Tone.MUTED), slowdown
        early = float(records.deadline_span[row]) - fct
        if early == np.inf:
            return Mark(True, Tone.FAINT), *flow, Text(f"took {duration_text(fct)}", Tone.MUTED)
        if records.deadline_met[row]:
            return Mark(True, Tone.GOOD), *flow, Text(f"{duration_text(max(early, 0.0))} early", Tone.GOOD)
        return Mark(False, Tone.BAD), *flow, Text(f"{duration_text(-early)} late", Tone.BAD)

    def links(self, *, height: int = 0) -> Link | Links:
        """Shows what is left to send on each link, and on a single one how busy it is; CPUs are left out."""
        num_links = len(self.network.capacity) - self.network.num_cpus
        flows, backlog = self.loads
        busy = backlog / np.where(self.network.capacity > 0.0, self.network.capacity, np.nan)
        columns = self.link_names, flows.tolist(), backlog.tolist(), busy.tolist()
        links = tuple(map(LoadedLink, *columns))[:num_links]
        if len(links) > 1:
            return Links(title="Bytes left on the links", height=height, links=links)
        sending = self.active[self.path[self.active] < first_cpu_path(self.network)]
        shares = self.rate[sending] / self.network.capacity[0]
        return Link(
            title="The link",
            note=f"{100 * min(float(shares.sum()), 1.0):.0f} % busy",
            parts=tuple(Part(share, Tone.GOOD) for share in shares.tolist()),
            left=count_text(len(shares)),
            right=f"{size_text(links[0].backlog)} left: busy for {duration_text(links[0].busy_for)}",
        )

    def fares(self, finished: IntArray, names: tuple[str, ...], kind: IntArray) -> Table:
        """Lists how the flows of each kind, (num_flows,), have fared: those finished since the last action, and all."""
        rows: list[Row] = []
        for name, delivered in (("since the last action", finished), ("in all", self.delivered)):
            rows += [("", "", "", "")] if rows else []
            rows.append((Text(name, bold=True), "", "", ""))
            for at, which in enumerate(names):
                rows.append((Text(f"   {which}", Tone.MUTED), *self.results(delivered[kind[delivered] == at])))
            rows.append((Text("   all", Tone.MUTED), *self.results(delivered)))
        return Table(
            title="Finished flows",
            columns=(Column("", 150, "left"), Column("flows", 90), Column("mean FCT", 110), Column("slowdown", 100)),
            rows=rows,
            row_height=15,
        )
