"""Writes a view as plain text of at most 100 columns."""

import functools
import math
from collections.abc import Sequence
from typing import Final

from flowsched_gym.envs.drawing import panels
from flowsched_gym.envs.drawing.formats import count_text, duration_text, size_text

COLUMNS: Final = 100
"""Longest line."""
BAR: Final = 16
"""Characters of a bar."""
ROWS: Final = 20
"""Most small cards that are written out."""
LINK_ROWS: Final = 6
CHARTS: Final = 6
OUTCOMES: Final = 46
CELLS: Final = 64
"""Links, histograms, outcomes, and cells of a row of a grid that are written out."""
MARKS: Final = ".123456789+"
"""Counts in a grid: none, some, more than nine."""
SHADES: Final = ".:*#"
"""Marks of few and of many in a histogram."""


def write_text(view: panels.View) -> str:
    """Writes a view as text, a paragraph for each panel."""
    banner = view.banner
    counts = ", ".join(count if isinstance(count, str) else count.text for count in banner.counts)
    label, value = banner.headline
    lines = [f"{banner.title}  t = {banner.now:.4f} s", banner.setting, f"{label}: {value} ({counts})", banner.question]
    for panel in view.panels:
        head = f"{panel.title}: {panel.note}" if panel.title and panel.note else panel.title
        lines += ["", *([head] if head else []), *_lines(panel)]
    return "\n".join(line[:COLUMNS].rstrip() for line in lines)


def text_bar(share: float, width: int = BAR) -> str:
    """Draws a horizontal bar of characters between brackets."""
    filled = round(min(max(share, 0.0), 1.0) * width)
    return f"[{'#' * filled}{'.' * (width - filled)}]"


def aligned(rows: Sequence[Sequence[str]], alignment: str) -> list[str]:
    """Writes a table as lines of text; ``alignment`` has a letter, ``l`` or ``r``, for each column."""
    columns = []
    for cells, side in zip(zip(*rows, strict=True), alignment, strict=False):
        if width := max(map(len, cells)):
            columns.append([cell.rjust(width) if side == "r" else cell.ljust(width) for cell in cells])
    return [f"  {'  '.join(cells)}".rstrip() for cells in zip(*columns, strict=True)]


def _cell(cell: panels.Cell) -> str:
    if isinstance(cell, str):
        return cell
    if isinstance(cell, panels.Text):
        return cell.text
    if isinstance(cell, panels.Bar):
        return text_bar(cell.share)
    if isinstance(cell, panels.Pair):
        lower = "" if isinstance(cell.lower, panels.Bar) else _cell(cell.lower)
        return f"{_cell(cell.upper)}  {lower}".rstrip() if lower else _cell(cell.upper)
    return f"[{cell.number}]" if isinstance(cell, panels.Slot) else "+" if cell.good else "-"


@functools.singledispatch
def _lines(panel: panels.Panel) -> list[str]:
    """Writes what is particular to a kind of panel."""
    raise NotImplementedError(f"{type(panel).__name__} has no text")


@_lines.register
def _table(panel: panels.Table) -> list[str]:
    kept = [number for number, column in enumerate(panel.columns) if column.in_text]
    shown = panel.rows[: min(panel.slots or len(panel.rows), panel.text_rows)]
    has_numbers = panel.slots and panel.numbered
    rows = [[f"[{slot}]" if has_numbers else "", *(_cell(row[at]) for at in kept)] for slot, row in enumerate(shown)]
    head = ["", *(panel.columns[at].heading for at in kept)]
    sides = "".join("r" if side == "right" else "l" for side in ("right", *(panel.columns[at].align for at in kept)))
    lines = aligned([head, *rows] if rows and any(head) else rows, sides)
    if not rows:
        lines.append(f"  {panel.empty}")
    if panel.slots and (more := min(len(panel.rows), panel.slots) - len(shown)) > 0:
        lines.append(f"  + {more} more in slots")
    for number, text, possible in panel.actions:
        lines.append(f"  [{number}]  {text}{'' if possible else ' (not now)'}")
    if panel.shows_hidden:
        lines.append(f"  {max(len(panel.rows) - panel.slots, 0)} more, hidden from the agent")
    return lines


@_lines.register
def _link(panel: panels.Link) -> list[str]:
    words = "; ".join(words for words in (panel.left, panel.right) if words)
    return [f"  {text_bar(min(math.fsum(part.share for part in panel.parts), 1.0))}  {words}"]


@_lines.register
def _links(panel: panels.Links) -> list[str]:
    loaded = sorted((link for link in panel.links if link.num_flows), key=lambda link: -link.backlog)
    rows = []
    for link in loaded[:LINK_ROWS]:
        bar, busy = text_bar(link.backlog / max(loaded[0].backlog, 1.0)), f"busy for {duration_text(link.busy_for)}"
        rows.append((link.name, count_text(link.num_flows), size_text(link.backlog), bar, busy))
    more = [f"  + {len(loaded) - len(rows)} more"] if len(loaded) > len(rows) else []
    return [f"  {len(loaded)} of {len(panel.links)} with flows, the most loaded first", *aligned(rows, "lrrlr"), *more]


@_lines.register
def _timeline(panel: panels.Timeline) -> list[str]:
    marks = "".join("+" if good else "-" for good in panel.outcomes[-OUTCOMES:])
    mean = f"{100 * panel.means[-1]:.0f} %" if panel.means else "none yet"
    return [f"  {panel.caption}: {mean}", f"  + {panel.words[0]}, - {panel.words[1]}: {marks}"]


@_lines.register
def _charts(panel: panels.Charts) -> list[str]:
    lines = [f"  from {panel.ticks[0][1]} to {panel.ticks[-1][1]}; | is a border"]
    for chart in panel.charts[:CHARTS]:
        words = filter(None, (chart.name, chart.caption, chart.note))
        lines += ["  " + "  ".join(words), f"  {_scale(chart)}"]
    return lines


def _scale(chart: panels.Chart) -> str:
    bins = len(chart.counts)
    marks = [" " if not count else SHADES[min(count - 1, len(SHADES) - 1)] for count in chart.counts]
    for border in chart.borders:
        marks[min(int(border * bins), bins - 1)] = "|"
    return f"[{''.join(marks)}]"


@_lines.register
def _grid(panel: panels.Grid) -> list[str]:
    marks = ["".join(MARKS[min(count, len(MARKS) - 1)] for count in counts[:CELLS]) for _, counts in panel.rows]
    return aligned([(name, row) for (name, _), row in zip(panel.rows, marks, strict=True)], "ll")


@_lines.register
def _fabric(panel: panels.Fabric) -> list[str]:
    """Adds nothing: what a fabric shows beyond its note is where its flows are."""
    return []


@_lines.register
def _tiles(panel: panels.Tiles) -> list[str]:
    rows = [("*" if tile.shown else "", tile.name, tile.note, tile.text) for tile in panel.some(ROWS)]
    more = len(panel.tiles) - len(rows)
    return [*aligned(rows, "llrr"), *([f"  + {more} more"] if more else [])]
