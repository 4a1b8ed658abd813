"""Panels: what a picture of an environment shows, without a word on how it is drawn.

A system turns an episode into a `View`; the same view becomes a frame (`draw_frame`) or plain text (`write_text`).
Shares are in [0, 1]; widths and heights are in pixels of the frame.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, overload

from flowsched_gym.core.arrays import IntArray


class Tone(StrEnum):
    """The meaning of a colour; what is bad is hatched too, so that it is told apart without its colour."""

    PLAIN = "plain"
    MUTED = "muted"
    FAINT = "faint"
    STRONG = "strong"
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


class Text(NamedTuple):
    """Words in a colour."""

    text: str
    tone: Tone = Tone.PLAIN
    bold: bool = False


class Bar(NamedTuple):
    """A bar, ``share`` of it filled, that takes the part ``length`` of its column."""

    share: float
    tone: Tone = Tone.STRONG
    length: float = 1.0
    thin: bool = False


class Slot(NamedTuple):
    """The number of an action."""

    number: int


class Mark(NamedTuple):
    """A check mark or a cross."""

    good: bool
    tone: Tone


class Pair(NamedTuple):
    """Two cells one below the other; where a row is low, one of them alone. The text has no second bar."""

    upper: str | Text | Bar
    lower: str | Text | Bar
    keep_lower: bool = False


Cell = str | Text | Bar | Slot | Mark | Pair
Row = tuple[Cell, ...]


class Rows(Sequence[Row]):
    """Rows of a table that are made when a picture has room for them; valid until the episode goes on.

    ``describe`` makes the row of a flow, by its number in the table and its row in the workload.
    """

    def __init__(self, flows: IntArray, describe: Callable[[int, int], Row]) -> None:
        self._flows = flows
        self._describe = describe

    def __len__(self) -> int:
        return len(self._flows)

    @overload
    def __getitem__(self, number: int) -> Row: ...
    @overload
    def __getitem__(self, number: slice) -> list[Row]: ...
    def __getitem__(self, number: int | slice) -> Row | list[Row]:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        return self._describe(number, int(self._flows[number]))


class Column(NamedTuple):
    """A column of a table; one of width 0 is in the text alone, other widths are parts of the table's."""

    heading: str = ""
    width: int = 0
    align: str = "right"
    in_text: bool = True


class Part(NamedTuple):
    """A part of a bar in a colour."""

    share: float
    tone: Tone


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A card of the frame, a paragraph of the text.

    Attributes:
        title, note: Its heading, and text beside it.
        height: Its height; 0 for an equal part of what the others of its stack leave.
        in_frame: Whether the frame has it.
    """

    title: str = ""
    note: str = ""
    height: int = 0
    in_frame: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Panel):
    """Rows of cells, of which the first may be in the slots that the agent chooses from.

    Attributes:
        rows: A cell for each column.
        slots: How many slots there are, taken or not; 0 for a table without.
        numbered: Whether slots have the numbers of actions.
        closed: Slots with a row that cannot be chosen.
        most_height: Largest height of a slot.
        vacant: Text in slots without a row.
        shows_hidden: Whether rows that do not fit the slots are ones that the agent does not see, and are shown so.
        actions: Actions below the slots: number, effect, and whether it can be chosen.
        empty: Text of a table without rows.
        row_height: Height of a row without a slot.
        text_rows: Most rows that the text has.
    """

    columns: tuple[Column, ...]
    rows: Sequence[Row]
    slots: int = 0
    numbered: bool = True
    closed: frozenset[int] = frozenset()
    most_height: int = 42
    vacant: str = ""
    shows_hidden: bool = False
    actions: tuple[tuple[int, str, bool], ...] = ()
    empty: str = "None yet."
    row_height: int = 19
    text_rows: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Link(Panel):
    """One link as a wide bar, with words below it on both sides."""

    parts: tuple[Part, ...]
    left: str = ""
    right: str = ""
    height: int = 92


class LoadedLink(NamedTuple):
    """A link, the flows that cross it, their bytes left, and the seconds that these take."""

    name: str
    num_flows: int
    backlog: float
    busy_for: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Links(Panel):
    """Bytes left on many links."""

    links: tuple[LoadedLink, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline(Panel):
    """Good and bad outcomes, oldest first, what both are called, and their moving mean; ``most`` fill the width."""

    outcomes: tuple[bool, ...]
    means: tuple[float, ...]
    words: tuple[str, str]
    caption: str
    most: int
    height: int = 178


class Chart(NamedTuple):
    """A histogram: name, words above it on both sides, bars, and the shares of the axis at which borders stand."""

    name: str
    caption: str
    note: str
    counts: tuple[int, ...]
    borders: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Charts(Panel):
    """Histograms along one axis, with names at some shares of it."""

    charts: tuple[Chart, ...]
    ticks: tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid(Panel):
    """Named rows of counts, a coloured cell for each."""

    rows: tuple[tuple[str, tuple[int, ...]], ...]


class Tier(NamedTuple):
    """A row of hosts or switches."""

    name: str
    num_nodes: int
    numbered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric(Panel):
    """Hosts and switches in tiers, from top to bottom, and cables between neighbouring tiers.

    Attributes:
        cables: Tier and number of each cable's upper end, and number of its lower end.
        flows: Flows on each cable, -1 where it is down.
        paths: Cables of the paths in question.
        marks: Marked nodes, by tier and number: word and tone.
    """

    tiers: tuple[Tier, ...]
    cables: tuple[tuple[int, int, int], ...]
    flows: tuple[int, ...]
    paths: tuple[int, ...]
    marks: dict[tuple[int, int], tuple[str, Tone]]


class Tile(NamedTuple):
    """A small card: name, a note beside it, words and a bar below, and whether it is the one that is shown."""

    name: str
    note: str
    text: str
    share: float
    shown: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiles(Panel):
    """Small cards side by side."""

    tiles: tuple[Tile, ...]
    height: int = 56

    def some(self, room: int) -> tuple[Tile, ...]:
        """Returns the tiles, or where there are more than ``room`` the first ones and the one that is shown."""
        if len(self.tiles) <= room:
            return self.tiles
        first = self.tiles[: room - 1]
        is_there = any(tile.shown for tile in first)
        return first if is_there else (*first[:-1], *(tile for tile in self.tiles if tile.shown))


class Key(NamedTuple):
    """An entry of the legend: a swatch, or a line where it is thin."""

    tone: Tone
    meaning: str
    name: str = ""
    width: int = 22
    thickness: int = 12
    dashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Banner:
    """The head of a picture.

    Attributes:
        title, setting: Name of the environment, and its workload and network.
        question: What the agent is asked, at the time ``now`` in s.
        headline: What is measured, and its value so far.
        counts: What has become of the flows, with the colours of the bar below, whose parts follow.
    """

    title: str
    setting: str
    now: float
    question: str
    headline: tuple[str, str]
    counts: tuple[str | Text, ...]
    parts: tuple[Part, ...]


class Stack(NamedTuple):
    """Panels one below the other, and their part of the width."""

    width: int
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A whole picture: the head, panels above all others, side by side and below them, and what colours mean."""

    banner: Banner
    stacks: tuple[Stack, ...]
    top: Panel | None = None
    bottom: Panel | None = None
    legend: tuple[Key, ...] = ()

    @property
    def panels(self) -> tuple[Panel, ...]:
        """All panels, in the order in which they are read."""
        inner = (panel for stack in self.stacks for panel in stack.panels)
        return tuple(panel for panel in (self.top, *inner, self.bottom) if panel is not None)
