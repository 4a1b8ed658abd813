"""What a picture of an Artemis episode shows: the queue, the tokens and the link of a destination, and its results.

A flow's way leads from left to right: it waits in the queue, it holds a token and sends, it has finished. Colours say
whether it can meet its deadline (`Outlook`); words and stripes say the same.
"""

import math
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.envs.drawing import Scene, View, formats
from flowsched_gym.envs.drawing.panels import (
    Bar,
    Column,
    Key,
    Link,
    Pair,
    Part,
    Row,
    Rows,
    Slot,
    Stack,
    Table,
    Text,
    Tile,
    Tiles,
    Tone,
)
from flowsched_gym.flows.tokens import Destination, Requests
from flowsched_gym.fluid.compiled import CompiledSimulation
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.packets.compiled import CompiledPackets
from flowsched_gym.packets.simpy import TokenSimulation
from flowsched_gym.systems.artemis.config import ArtemisConfig, Defer

Episode = Simulation | CompiledSimulation | TokenSimulation | CompiledPackets
AnyDestination = Destination | Requests

LINKS_OF_PATH: Final = 2
"""Links between a source and its destination."""
LONG_NUMBER: Final = 1000
"""First number of a host that has no room beside the word."""


class Outlook(StrEnum):
    """Whether a flow can still meet its deadline."""

    SAFE = "safe"
    """It does even at 1/k of the destination's link, its share when all tokens are held."""
    TIGHT = "tight"
    """It needs a larger share than that."""
    LOST = "lost"
    """It comes too late even if it has the link to itself from now on."""
    UNBOUND = "no deadline"


TONES: Final = {
    Outlook.SAFE: Tone.GOOD,
    Outlook.TIGHT: Tone.WARNING,
    Outlook.LOST: Tone.BAD,
    Outlook.UNBOUND: Tone.FAINT,
}


def artemis_panels(config: ArtemisConfig, scene: Scene, simulation: Episode, masks: npt.NDArray[np.bool_]) -> View:
    """Lists what a picture shows; ``masks`` tells which actions do what they say, (num_actions,)."""
    shown = shown_destination(simulation)
    tiles = tuple(_destination(config, one, shown) for one in simulation.destinations.values())
    meanings = {
        Outlook.SAFE: f"in time even at 1/{config.k} of the link",
        Outlook.TIGHT: "in time only with more than that",
        Outlook.LOST: "too late even alone on the link",
    }
    if config.k == 1:
        meanings = {Outlook.SAFE: "still in time", Outlook.LOST: "too late already"}
    sending = f"{config.transport} transport, " if config.packets is None else ""
    return View(
        banner=scene.banner(
            "Artemis",
            f"{formats.shortened(config.workload, 40)}, {sending}k = {config.k}, f = {config.f}",
            f"Host {shown.host} has {formats.count_text(shown.tokens, 'free token')}: which request gets one?",
            headline=scene.deadlines_met if scene.has_deadlines else scene.mean_completion_time,
        ),
        stacks=(
            Stack(376, (_queue(config, scene, shown, masks),)),
            Stack(336, (_tokens(config, scene, simulation, shown), _link(config, scene, shown))),
            Stack(232, (*([scene.timeline()] if scene.has_deadlines else []), scene.finished(with_ids=False))),
        ),
        bottom=Tiles(title=f"{len(tiles)} destinations (* shown above)", tiles=tiles) if len(tiles) > 1 else None,
        legend=tuple(Key(TONES[outlook], meaning, outlook.value) for outlook, meaning in meanings.items()),
    )


def shown_destination(simulation: Episode) -> AnyDestination:
    """Finds the destination to show: the one that asks, at the end the one that finished last."""
    if simulation.asking is not None:
        return simulation.asking
    return simulation.destinations[int(simulation.workload.destination[simulation.delivered[-1]])]


class Due(NamedTuple):
    """The time left to a flow: in s, as a part of what it was allowed, and whether it is enough."""

    left: float
    share: float
    outlook: Outlook

    @property
    def tone(self) -> Tone:
        """Colour of the flow."""
        return TONES[self.outlook]

    @property
    def text(self) -> str:
        """The time in words."""
        return formats.duration_text(self.left) if self.outlook is not Outlook.UNBOUND else ""

    @property
    def word(self) -> Text:
        """Whether it is enough."""
        bound = self.outlook is not Outlook.UNBOUND
        return Text(self.outlook.value, self.tone if bound else Tone.MUTED, bold=bound)

    def bar(self, tone: Tone) -> Bar | str:
        """Shows the part that is left in a colour."""
        return Bar(self.share, tone, thin=True) if self.outlook is not Outlook.UNBOUND else ""


def time_left(config: ArtemisConfig, scene: Scene, row: int) -> Due:
    """Looks at how much time a flow has left, one that waits as if it were granted now."""
    records, now, delay, line_rate = scene.records, scene.now, LINKS_OF_PATH * config.delay, config.capacity
    span = float(records.deadline_span[row])
    due = float(records.arrival_time[row]) + span
    if span == math.inf:
        return Due(math.inf, 1.0, Outlook.UNBOUND)
    remaining, granted = float(scene.remaining[row]), float(records.grant_time[row])
    if scene.sent[row] > 0.0:
        alone = now + remaining / line_rate + delay
    else:
        # A flow that has not begun needs all of its ideal time but the way of its request.
        alone = (now if math.isnan(granted) else granted) + float(records.ideal_fct[row]) - delay
    pace = max(float(scene.rate[row]), line_rate / config.k)
    shared = alone + remaining * (1.0 / pace - 1.0 / line_rate)
    # A last byte that is on its way arrives at an instant between now and a delay from now.
    lost = (alone if remaining > 0.0 else now) > due
    outlook = Outlook.LOST if lost else Outlook.SAFE if shared <= due else Outlook.TIGHT
    return Due(due - now, min(max((due - now) / span, 0.0), 1.0), outlook)


def _host(scene: Scene, row: int) -> str:
    """Names the source of a flow, briefly where its number is long."""
    source = int(scene.records.source[row])
    return f"host {source}" if source < LONG_NUMBER else str(source)


def _queue(config: ArtemisConfig, scene: Scene, shown: AnyDestination, masks: npt.NDArray[np.bool_]) -> Table:
    """Lists the requests that wait, oldest first: those that the agent may choose, and some behind them."""
    f, to_back = config.f, config.defer is Defer.TO_BACK
    smallest, largest = scene.size_range

    def request(slot: int, row: int) -> Row:
        size, due = float(scene.records.size[row]), time_left(config, scene, row)
        return (
            Slot(f + slot) if to_back and slot < f and masks[f + slot] else "",
            scene.flow(row),
            _host(scene, row),
            Bar(formats.size_share(size, scene.size_range), due.tone),
            formats.size_text(size),
            due.bar(due.tone),
            due.text,
            due.word,
        )

    return Table(
        title=f"Queue of host {shown.host}",
        note=f"{shown.num_waiting} waiting, oldest first" if shown.num_waiting else "nobody waits",
        columns=(
            Column("back", 32, "left") if to_back else Column(),
            Column("flow", 0, "left"),
            Column("from", 60, "left"),
            Column(
                "size (log)" if largest > formats.LOGARITHMIC_FROM * smallest else "size", 40 if to_back else 62, "left"
            ),
            Column("", 56),
            Column("", 44 if to_back else 54, "left", in_text=False),
            Column("time to deadline", 58),
            Column("", 38),
        ),
        rows=Rows(shown.requests[shown.head : shown.tail], request),
        slots=f,
        shows_hidden=True,
        actions=((f, "wait for the next request or token", bool(masks[f])),) if config.defer is Defer.WAIT else (),
    )


def _tokens(config: ArtemisConfig, scene: Scene, simulation: Episode, shown: AnyDestination) -> Table:

    def holder(_: int, row: int) -> Row:
        size, sent, due = float(scene.records.size[row]), float(scene.sent[row]), time_left(config, scene, row)
        return (
            scene.flow(row),
            Pair(Text(_host(scene, row), bold=True), Text(_stage(config, scene, simulation, row), Tone.MUTED)),
            Pair(Bar(sent, due.tone), due.bar(Tone.FAINT)),
            Pair(
                f"{formats.size_text(sent * size)} of {formats.size_text(size)}",
                due.word._replace(text=f"{due.text} {due.word.text}".lstrip()),
                keep_lower=True,
            ),
        )

    return Table(
        title=f"Tokens of host {shown.host}",
        note=f"{shown.num_active} held, {shown.tokens} free",
        columns=(
            Column("flow", 0, "left"),
            Column("from", 104, "left"),
            Column("sent", 84, "left"),
            Column("time to deadline", 132),
        ),
        rows=Rows(shown.active[: shown.num_active], holder),
        slots=config.k,
        numbered=False,
        most_height=108,
        vacant="free token",
        empty="Nobody holds one.",
    )


def _stage(config: ArtemisConfig, scene: Scene, simulation: Episode, row: int) -> str:
    """Describes what a flow that holds a token is doing, with its rate when it sends."""
    if scene.remaining[row] == 0.0:
        return "last byte sent"
    if scene.rate[row] > 0.0:
        return formats.rate_text(float(scene.rate[row]))
    if scene.sent[row] > 0.0:
        return "waits for ACKs"
    if scene.now < float(scene.records.grant_time[row]) + LINKS_OF_PATH * config.delay:
        return "token on its way"
    if isinstance(simulation, (TokenSimulation, CompiledPackets)):
        assert config.senders is not None
        connects = config.senders.handshake
    else:
        connects = simulation.transport.handshake_round_trips > 0
    return "connects" if connects else "begins to send"


def _link(config: ArtemisConfig, scene: Scene, shown: AnyDestination) -> Link:
    rows = shown.active[: shown.num_active]
    share = scene.rate[rows] / config.capacity
    sending = int(np.count_nonzero(share))
    return Link(
        title=f"Link into host {shown.host}",
        note=f"{100 * min(float(share.sum()), 1.0):.0f} % busy",
        parts=tuple(
            Part(part, time_left(config, scene, row).tone)
            for row, part in zip(rows.tolist(), share.tolist(), strict=True)
            if part > 0.0
        ),
        left=f"{sending} {'flow sends' if sending == 1 else 'flows send'}",
        right=f"{formats.size_text(float(scene.remaining[rows].sum()))} granted, not yet sent",
    )


def _destination(config: ArtemisConfig, one: AnyDestination, shown: AnyDestination) -> Tile:
    held, waiting = one.num_active, one.num_waiting
    return Tile(f"host {one.host}", f"{held}/{config.k}", f"{waiting} waiting", held / config.k, one.host == shown.host)
