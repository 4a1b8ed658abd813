"""Draws tables: slots that the agent chooses from, entries that it does not see, and plain rows."""

from typing import Final, NamedTuple

from flowsched_gym.envs.drawing.canvas import Box, Canvas, Colour, Colours
from flowsched_gym.envs.drawing.panels import Bar, Cell, Column, Pair, Slot, Table, Text, Tone

TONES: Final[dict[Tone, Colour]] = {
    Tone.PLAIN: Colours.INK,
    Tone.MUTED: Colours.MUTED,
    Tone.FAINT: Colours.GREY,
    Tone.STRONG: Colours.ACCENT,
    Tone.GOOD: Colours.BLUE,
    Tone.WARNING: Colours.ORANGE,
    Tone.BAD: Colours.RED,
}
WORDS: Final = TONES | {Tone.WARNING: Colours.DARK_ORANGE}
"""Colours of words: orange is too light for letters."""
PAD: Final = 12
SLOT_WIDTH: Final = 34
INSET: Final = 4
"""Columns between the edge of a slot without a number and its cells."""
LEAST_HEIGHT: Final = 18
"""Smallest height of a slot."""
HIDDEN_HEIGHT: Final = 17
PAIR_HEIGHT: Final = 30
"""Height from which two cells have room one below the other."""
ROOMY, MOST_APART = 18, 44
"""Rows between two cells, one below the other, from which letters are larger, and at most."""
ACTION_HEIGHT: Final = 26
COLUMN_GAP: Final = 8
THIN: Final = 3
"""Half the height of a thin bar."""


def draw_table(table: Table, canvas: Canvas, box: Box) -> None:
    """Draws the rows of a table for which there is room, and says how many there are more."""
    numbers = SLOT_WIDTH if table.slots and table.numbered else 0
    inset = PAD + (INSET if table.slots and not table.numbered else 0)
    spans = _spans(table.columns, Box(box.left + inset + numbers, box.top, box.right - inset, box.bottom))
    top = box.top + 34
    if (table.slots or table.rows) and any(column.heading for column in table.columns if column.width):
        y = box.top + (40 if table.title else 16)
        if numbers:
            canvas.text(box.left + PAD, y, "slot", size=11, colour=Colours.MUTED)
        for column, span in zip(table.columns, spans, strict=True):
            if column.width:
                span.write(canvas, y, column.heading, size=11, colour=Colours.MUTED)
        top = y + 12
    if table.slots:
        top = _draw_slots(canvas, table, spans, box, top)
    elif not table.rows:
        canvas.text(box.left + PAD, top + 12, table.empty, size=12, colour=Colours.GREY)
    else:
        for row in table.rows[: (box.bottom - 4 - top) // table.row_height]:
            _draw_row(canvas, row, spans, Box(box.left, top, box.right, top + table.row_height), 12)
            top += table.row_height
    if table.shows_hidden:
        _draw_hidden(canvas, table, spans, box, top)


class _Span(NamedTuple):
    """The columns of pixels that a column of cells takes."""

    left: int
    right: int
    align: str

    def write(self, canvas: Canvas, y: int, text: str, *, size: int, colour: Colour, bold: bool = False) -> None:
        x = self.left if self.align == "left" else self.right
        canvas.text(x, y, text, size=size, colour=colour, bold=bold, align=self.align)


def _spans(columns: tuple[Column, ...], box: Box) -> list[_Span]:
    """Divides a width among columns; those that the frame does not show get nothing."""
    whole = max(sum(column.width for column in columns), 1)
    x, left, spans = 0, box.left, []
    for column in columns:
        x += column.width
        right = box.left + (box.width + COLUMN_GAP) * x // whole - COLUMN_GAP if column.width else left
        spans.append(_Span(left, right, column.align))
        left = right + COLUMN_GAP if column.width else left
    return spans


def _draw_slots(canvas: Canvas, table: Table, spans: list[_Span], box: Box, top: int) -> int:
    """Draws the slots and the other actions in a window; returns the row behind it."""
    below = ACTION_HEIGHT * len(table.actions)
    space = box.bottom - 8 - top - below - table.shows_hidden * ACTION_HEIGHT
    height = min(max(space // table.slots, LEAST_HEIGHT), table.most_height)
    rows = min(table.slots, space // height)
    rows_drawn = rows - (rows < table.slots)
    if table.numbered:
        canvas.rectangle(Box(box.left + 6, top - 2, box.right - 6, top + rows * height + below + 2), Colours.WINDOW)
    size = 13 if height >= 26 and table.numbered else 12
    for slot in range(rows_drawn):
        row = Box(box.left, top, box.right, top + height)
        taken = slot < len(table.rows)
        if table.numbered:
            _draw_number(canvas, box.left + PAD, row, slot, taken and slot not in table.closed)
        else:
            card = Box(row.left + 8, row.top + 1, row.right - 8, row.bottom - 1)
            canvas.rectangle(card, Colours.WHITE if taken else Colours.PAPER, outline=Colours.LINE if taken else None)
        if taken:
            _draw_row(canvas, table.rows[slot], spans, row, size)
        else:
            canvas.text(row.center, row.middle, table.vacant, size=12, colour=Colours.GREY, align="center")
        top += height
    if rows_drawn < table.slots:
        what = "slots" if table.numbered else "tokens"
        more = max(min(len(table.rows), table.slots) - rows_drawn, 0)
        text = f"+ {table.slots - rows_drawn} more {what}, {more} of them taken"
        canvas.text(box.left + PAD, top + height // 2, text, size=12, colour=Colours.ACCENT)
        top += height
    for number, text, possible in table.actions:
        row = Box(box.left, top + 2, box.right, top + ACTION_HEIGHT)
        _draw_number(canvas, box.left + PAD, row, number, possible)
        x = box.left + PAD + SLOT_WIDTH
        canvas.text(x, row.middle, text, size=12, colour=Colours.INK if possible else Colours.GREY)
        top += ACTION_HEIGHT
    return top


def _draw_hidden(canvas: Canvas, table: Table, spans: list[_Span], box: Box, top: int) -> None:
    """Draws the entries that the agent does not see, pale and small."""
    left, y, hidden = box.left + PAD, top + 16, max(len(table.rows) - table.slots, 0)
    if not hidden:
        canvas.text(left, y, "None is hidden from the agent.", size=12, colour=Colours.GREY)
        return
    canvas.text(left, y, f"{hidden} more, hidden from the agent", size=12, colour=Colours.ACCENT)
    top += 28
    room = max((box.bottom - 4 - top) // HIDDEN_HEIGHT, 0)
    shown = room if hidden <= room else max(room - 1, 0)
    rows = table.rows[table.slots : table.slots + shown]
    for row in rows:
        _draw_row(canvas, row, spans, Box(box.left, top, box.right, top + HIDDEN_HEIGHT), 11, pale=True)
        top += HIDDEN_HEIGHT
    if hidden > len(rows) and room:
        text = f"+ {hidden - len(rows)} more"
        canvas.text(left + SLOT_WIDTH, top + HIDDEN_HEIGHT // 2, text, size=12, colour=Colours.MUTED)


def _draw_number(canvas: Canvas, x: int, row: Box, number: int, chosen: bool) -> None:
    """Draws the number of an action: filled where it does what stands beside it."""
    half = min(row.height // 2 - 1, 10)
    box = Box(x, row.middle - half, x + 26, row.middle + half)
    fill, edge, ink = (
        (Colours.ACCENT, Colours.ACCENT, Colours.WHITE) if chosen else (Colours.WHITE, Colours.LINE, Colours.GREY)
    )
    canvas.rectangle(box, fill, outline=edge)
    canvas.text(x + 13, row.middle, str(number), size=13 if half >= 9 else 11, colour=ink, align="center")


def _draw_row(
    canvas: Canvas, cells: tuple[Cell, ...], spans: list[_Span], row: Box, size: int, *, pale: bool = False
) -> None:
    y = row.middle
    for cell, span in zip(cells, spans, strict=True):
        if span.right <= span.left or not cell:
            continue
        if isinstance(cell, Pair):
            half = min(row.height // 2, MOST_APART)
            if row.height < PAIR_HEIGHT:
                _draw_row(canvas, (cell.lower if cell.keep_lower else cell.upper,), [span], row, size, pale=pale)
                continue
            for part, top in ((cell.upper, y - half), (cell.lower, y)):
                half_row = row._replace(top=top, bottom=top + half)
                _draw_row(canvas, (part,), [span], half_row, size if half >= ROOMY else 11, pale=pale)
        elif isinstance(cell, str):
            span.write(canvas, y, cell, size=size, colour=Colours.MUTED if pale else Colours.INK)
        elif isinstance(cell, Text):
            colour = WORDS[cell.tone] if not pale or cell.tone is not Tone.PLAIN else Colours.MUTED
            span.write(canvas, y, cell.text, size=size, colour=colour, bold=cell.bold and not pale)
        elif isinstance(cell, Bar):
            _draw_bar(canvas, cell, span, row, pale=pale)
        elif isinstance(cell, Slot):
            _draw_number(canvas, span.left, row, cell.number, False)
        else:
            canvas.mark(span.left + 6, y, WORDS[cell.tone], good=cell.good)


def _draw_bar(canvas: Canvas, bar: Bar, span: _Span, row: Box, *, pale: bool) -> None:
    """Draws a bar in a row; where it does not take the whole column, the rest of its own length is white."""
    half = THIN if bar.thin else min(max(row.height // 5, 4), 8)
    box = Box(span.left, row.middle - half, span.right, row.middle + half)
    colour = TONES[bar.tone]
    if pale:
        red, green, blue = colour
        colour = (red + 255) // 2, (green + 255) // 2, (blue + 255) // 2
    track = Colours.TRACK
    if bar.length < 1.0:
        canvas.rectangle(box, Colours.TRACK)
        box, track = box._replace(right=box.left + max(round(box.width * bar.length), 2)), Colours.WHITE
    canvas.bar(box, bar.share, colour, hatched=bar.tone is Tone.BAD and not bar.thin, track=track)
