"""Draws the panels of a view, each on its card."""

import functools
from typing import Final

from flowsched_gym.envs.drawing import panels
from flowsched_gym.envs.drawing.canvas import Box, Canvas, Colour, Colours
from flowsched_gym.envs.drawing.formats import size_text
from flowsched_gym.envs.drawing.panels import Tone
from flowsched_gym.envs.drawing.tables import PAD, TONES, draw_table

LINK_COLUMNS: Final = 3
LINK_HEIGHT: Final = 15
TILE_WIDTH: Final = 112
HEAT: Final[tuple[Colour, ...]] = (Colours.TRACK, Colours.BLUE, Colours.ACCENT, Colours.ORANGE, Colours.RED)
"""Colours of none, one, two, three, and more."""
MOST_CELLS: Final = 64
"""Cells of a row of a grid that are drawn."""
GRID_HEIGHTS: Final = (16, 30)
"""Smallest and largest height of such a row."""
GUTTER: Final = 84
"""Columns that names of tiers and of charts take."""
ROOM_FOR_NUMBER: Final = 18
"""Columns that a number takes in a host or switch."""
ROOM_FOR_LINES: Final = 20
"""Columns between two hosts from which idle cables are drawn dark."""
CROWD: Final = 3
"""Flows on a cable from which its line is widest."""


def draw_panel(canvas: Canvas, panel: panels.Panel, box: Box) -> None:
    """Draws a panel on its card."""
    if panel.title and not isinstance(panel, panels.Tiles):
        canvas.text(box.left + PAD, box.top + 18, panel.title, size=15, bold=True)
        style = {"size": 15, "bold": True} if isinstance(panel, panels.Link) else {"colour": Colours.MUTED}
        canvas.text(box.right - PAD, box.top + 18, panel.note, align="right", **style)
    _draw(panel, canvas, box)


def draw_parts(canvas: Canvas, box: Box, parts: tuple[panels.Part, ...]) -> None:
    """Draws a bar of several colours."""
    canvas.rectangle(box, Colours.TRACK)
    x = float(box.left)
    for part in parts:
        width = box.width * part.share
        if width > 0.0:
            end = max(min(round(x + width) - (width > CROWD), box.right), min(round(x) + 2, box.right))
            canvas.bar(Box(round(x), box.top, end, box.bottom), 1.0, TONES[part.tone], hatched=part.tone is Tone.BAD)
        x += width


@functools.singledispatch
def _draw(panel: panels.Panel, canvas: Canvas, box: Box) -> None:
    """Draws what is particular to a kind of panel."""
    raise NotImplementedError(f"{type(panel).__name__} has no picture")


_draw.register(draw_table)


@_draw.register
def _link(panel: panels.Link, canvas: Canvas, box: Box) -> None:
    left, right = box.left + PAD, box.right - PAD
    draw_parts(canvas, Box(left, box.top + 36, right, box.top + 52), panel.parts)
    canvas.text(left, box.top + 72, panel.left, size=12, colour=Colours.MUTED)
    canvas.text(right, box.top + 72, panel.right, size=12, colour=Colours.MUTED, align="right")


@_draw.register
def _links(panel: panels.Links, canvas: Canvas, box: Box) -> None:
    left, right, top = box.left + PAD, box.right - PAD, box.top + 42
    most = max(link.backlog for link in panel.links)
    canvas.text(right, box.top + 18, f"{size_text(most)} at most", size=12, colour=Colours.MUTED, align="right")
    rows = max((box.bottom - 2 - top) // LINK_HEIGHT, 1)
    shown, room = panel.links, rows * LINK_COLUMNS
    if len(shown) > room:
        shown = tuple(sorted(shown, key=lambda link: -link.backlog)[:room])
    rows = min(rows, -(-len(shown) // LINK_COLUMNS))
    width = (right - left + PAD) // LINK_COLUMNS
    for number, link in enumerate(shown):
        column, row = divmod(number, rows)
        x, y = left + column * width, top + row * LINK_HEIGHT
        canvas.text(x, y, link.name, size=11, colour=Colours.MUTED)
        canvas.bar(Box(x + 74, y - 4, x + width - PAD, y + 4), link.backlog / most if most else 0.0, Colours.ACCENT)


@_draw.register
def _timeline(panel: panels.Timeline, canvas: Canvas, box: Box) -> None:
    """Draws the moving mean as a line, and the single outcomes below."""
    left, right = box.left + PAD, box.right - PAD
    area = Box(left, box.top + 58, right - 34, box.top + 138)
    canvas.text(left, box.top + 40, panel.caption, size=12, colour=Colours.MUTED)
    for percent in (0, 50, 100):
        y = area.bottom - 1 - percent * (area.height - 1) // 100
        canvas.rectangle(Box(area.left, y, area.right, y + 1), Colours.LINE)
        canvas.text(right, y, f"{percent} %", size=11, colour=Colours.MUTED, align="right")
    canvas.curve(area, panel.means, panel.most, Colours.ACCENT)
    step, middle = area.width / panel.most, box.top + 157
    first = area.right - step * len(panel.outcomes)
    for number, good in enumerate(panel.outcomes):
        x, end = round(first + number * step), round(first + (number + 1) * step)
        strip = Box(x, middle - 8, end, middle) if good else Box(x, middle, end, middle + 8)
        canvas.rectangle(strip, Colours.BLUE if good else Colours.RED)
    canvas.text(right, box.top + 150, panel.words[0], size=11, colour=Colours.BLUE, align="right")
    canvas.text(right, box.top + 163, panel.words[1], size=11, colour=Colours.RED, align="right")


@_draw.register
def _charts(panel: panels.Charts, canvas: Canvas, box: Box) -> None:
    left, right, top, foot = box.left + 90, box.right - 24, box.top + 34, box.bottom - 24
    height = (foot - top) // len(panel.charts)
    for number, chart in enumerate(panel.charts):
        y = top + number * height
        canvas.text(box.left + PAD, y + height // 2 + 7, chart.name, size=12, colour=Colours.MUTED)
        _draw_chart(canvas, chart, Box(left, y + 16, right, y + height - 2))
    for share, name in panel.ticks:
        x = left + round(share * (right - left))
        canvas.text(x, box.bottom - 12, name, size=12, colour=Colours.MUTED, align="center")


def _draw_chart(canvas: Canvas, chart: panels.Chart, area: Box) -> None:
    canvas.rectangle(area, Colours.WINDOW)
    canvas.text(area.left, area.top - 8, chart.caption, size=12)
    canvas.text(area.right, area.top - 8, chart.note, size=12, colour=Colours.MUTED, align="right")
    most, bins = max(*chart.counts, 1), len(chart.counts)
    for number, count in enumerate(chart.counts):
        if count:
            x, end = (area.left + area.width * at // bins for at in (number, number + 1))
            height = max(round((area.height - 4) * count / most), 2)
            canvas.rectangle(Box(x + 1, area.bottom - height, end - 1, area.bottom), Colours.GREY)
    for border in chart.borders:
        x = area.left + round(border * area.width)
        canvas.rectangle(Box(x - 1, area.top, x + 2, area.bottom), Colours.RED)


@_draw.register
def _grid(panel: panels.Grid, canvas: Canvas, box: Box) -> None:
    left, right, top, foot = box.left + 92, box.right - PAD, box.top + 36, box.bottom - 8
    rows = panel.rows[: (foot - top) // GRID_HEIGHTS[0]]
    height = min((foot - top) // len(rows), GRID_HEIGHTS[1])
    num_cells = min(len(rows[0][1]), MOST_CELLS)
    ends = [round(left + (right - left) * index / num_cells) for index in range(num_cells + 1)]
    for number, (name, counts) in enumerate(rows):
        y = top + number * height
        canvas.text(box.left + PAD, y + height // 2, name, size=12, colour=Colours.MUTED)
        canvas.rectangle(Box(left, y + 2, right, y + height - 2), HEAT[0])
        for index, count in enumerate(counts[:num_cells]):
            if count:
                cell = Box(ends[index], y + 2, ends[index + 1], y + height - 2)
                canvas.rectangle(cell, HEAT[min(count, len(HEAT) - 1)])
    for end in ends[1:]:
        canvas.rectangle(Box(end - 1, top, end, top + len(rows) * height), Colours.CARD)


@_draw.register
def _fabric(panel: panels.Fabric, canvas: Canvas, box: Box) -> None:
    """Draws cables first, then the paths in question, then hosts and switches."""
    nodes = _nodes(panel.tiers, box)
    sparse = (box.width - GUTTER - 14) / panel.tiers[-1].num_nodes >= ROOM_FOR_LINES
    ends = []
    for (at, upper, lower), flows in zip(panel.cables, panel.flows, strict=True):
        above, below = nodes[at][upper], nodes[at + 1][lower]
        begin, end = (below.center, below.top), (above.center, above.bottom)
        ends.append((begin, end))
        if flows < 0:
            canvas.line(begin, end, Colours.RED, width=2, dashed=True)
        else:
            width = 2 * min(flows, 1) + 2 * (flows >= CROWD)
            idle = Colours.GREY if sparse else Colours.LINE
            canvas.line(begin, end, Colours.BLUE if flows else idle, width=max(width if sparse else width // 2, 1))
    for cable in panel.paths:
        canvas.line(*ends[cable], Colours.ORANGE, width=3)
    styles = {
        Tone.STRONG: (Colours.ACCENT, Colours.WHITE),
        Tone.BAD: (Colours.WHITE, Colours.RED),
        Tone.WARNING: (Colours.ORANGE, Colours.INK),
    }
    for number, tier in enumerate(panel.tiers):
        for index, node in enumerate(nodes[number]):
            word, tone = panel.marks.get((number, index), (str(index) if tier.numbered else "", Tone.MUTED))
            fill, ink = styles.get(tone, (Colours.WINDOW, Colours.MUTED))
            canvas.rectangle(node, fill, outline=Colours.RED if tone is Tone.BAD else Colours.ACCENT)
            if word and node.width >= ROOM_FOR_NUMBER:
                bold = tone in (Tone.STRONG, Tone.BAD)
                size = 12 if bold else 11
                canvas.text(node.center, node.middle, word, size=size, colour=ink, bold=bold, align="center")
        canvas.text(box.left + PAD, nodes[number][0].middle, tier.name, size=12, colour=Colours.MUTED)


@functools.lru_cache(maxsize=8)
def _nodes(tiers: tuple[panels.Tier, ...], box: Box) -> tuple[tuple[Box, ...], ...]:
    left, right = box.left + GUTTER, box.right - 14
    nodes = []
    for number, tier in enumerate(tiers):
        y = box.top + 56 + (box.height - 82) * number // (len(tiers) - 1)
        step = (right - left) / tier.num_nodes
        is_host = number == len(tiers) - 1
        width, half = max(min(int(step) - 4, 26 if is_host else 46), 3), 10 if is_host else 12
        lefts = [round(left + (index + 0.5) * step) - width // 2 for index in range(tier.num_nodes)]
        nodes.append(tuple(Box(x, y - half, x + width, y + half) for x in lefts))
    return tuple(nodes)


@_draw.register
def _tiles(panel: panels.Tiles, canvas: Canvas, box: Box) -> None:
    shown = panel.some((box.width + 8) // (TILE_WIDTH + 8))
    for number, tile in enumerate(shown):
        left, top = box.left + number * (TILE_WIDTH + 8), box.top
        card = Box(left, top, left + TILE_WIDTH, box.bottom)
        fill, edge = (Colours.WINDOW, Colours.ACCENT) if tile.shown else (Colours.WHITE, Colours.LINE)
        canvas.rectangle(card, fill, outline=edge)
        canvas.text(left + 8, top + 13, tile.name, size=12, bold=tile.shown)
        canvas.text(left + 8, top + 30, tile.text, size=12, colour=Colours.MUTED)
        canvas.text(card.right - 8, top + 13, tile.note, size=12, colour=Colours.MUTED, align="right")
        canvas.bar(Box(left + 8, top + 42, card.right - 8, top + 49), tile.share, Colours.ACCENT)
    if more := len(panel.tiles) - len(shown):
        x = box.left + len(shown) * (TILE_WIDTH + 8) + 8
        canvas.text(x, box.middle, f"+ {more} more", colour=Colours.MUTED)
