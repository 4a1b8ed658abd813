"""Lays rows of text out as a Markdown table, or as columns that fit the terminal."""

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from flowsched_gym.core.errors import ConfigError

MARKUP: Final = re.compile(r"[\\`*<>&|~@]|\[(?![-+\d., ]*\])|\](?=[(\[:])|(?<!\w)_|_(?!\w)|:(?=//)|(?<=\bwww)\.")
"""What Markdown reads as more than itself; intervals in brackets and underscores in names it does not."""
DEFAULT_WIDTH: Final = 80
"""Characters of a line on a terminal that does not tell its width."""
GAP: Final = "  "
"""What stands between two columns."""
WIDEST: Final = 30
"""Characters from which on cells are folded where a table is too wide."""

Column = list[list[str]]
"""The lines of each cell, that of the heading first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of text, with as many cells in each row as headings; all columns but the first are set flush right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ConfigError(f"row {number} has {len(row)} cells: the table has {len(self.columns)} columns")

    def markdown(self, *, numbers: bool = True) -> str:
        """Returns the table in Markdown, ending with a line break; ``numbers`` in all columns but the first or not."""
        marks = ("---", *("---:" if numbers else "---" for _ in self.columns[1:]))
        lines = ((cell.replace("|", "\\|") for cell in cells) for cells in (self.columns, marks, *self.rows))
        return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)

    def text(self, width: int | None = None) -> str:
        """Returns the table in aligned columns, ending with a line break.

        Where it is wider than ``width``, by default that of the terminal (`terminal_width`), headings and long cells
        are folded. If that is not enough, the columns stand below each other in parts, the first column in each part.
        What Markdown prints in bold is plain.
        """
        width = terminal_width() if width is None else width
        cells = list(zip(self.columns, *self.rows, strict=True))
        columns: list[Column] = [[[cell.replace("**", "")] for cell in column] for column in cells]
        if _width(columns) > width:
            first = _folded(columns[0], width // 2)
            room = width - _width([first]) - len(GAP)
            columns = [first, *(_folded(column, min(WIDEST, room)) for column in columns[1:])]
        return "\n".join(_lines(part) for part in _parts(columns, width))


def terminal_width() -> int:
    """Returns the width that text may have: ``COLUMNS``, else that of the terminal; without both, there is no limit."""
    known = os.environ.get("COLUMNS") or sys.stdout.isatty()
    return shutil.get_terminal_size((DEFAULT_WIDTH, 0)).columns if known else sys.maxsize


def escaped(text: str) -> str:
    """Returns a text that Markdown shows as it is."""
    return MARKUP.sub(r"\\\g<0>", text)


def code_span(text: str) -> str:
    """Returns a text as code in Markdown, between as many backticks as it takes."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}" if longest else f"`{text}`"


def _folded(cells: Column, most: int) -> Column:
    """Folds cells of one line at spaces, and the heading to the width of the cells or of its longest word."""
    (heading,), *others = cells
    column = [textwrap.wrap(cell, most) or [""] for (cell,) in others]
    words = textwrap.wrap(heading, 1, break_long_words=False)
    least = max(map(len, [*words, *(line for lines in column for line in lines)]), default=1)
    return [textwrap.wrap(heading, min(least, most)) or [""], *column]


def _width(columns: Sequence[Column]) -> int:
    """Returns how many characters columns beside each other take."""
    return sum(max(len(line) for cell in column for line in cell) for column in columns) + len(GAP) * (len(columns) - 1)


def _parts(columns: Sequence[Column], width: int) -> Iterator[list[Column]]:
    """Yields as many columns at a time as fit beside the first one."""
    part = [columns[0]]
    for column in columns[1:]:
        if len(part) > 1 and _width([*part, column]) > width:
            yield part
            part = [columns[0]]
        part.append(column)
    yield part


def _lines(columns: Sequence[Column]) -> str:
    """Writes columns beside each other, the first set flush left."""
    widths = [_width([column]) for column in columns]
    lines = []
    for row in zip(*columns, strict=True):
        for first, *others in zip_longest(*row, fillvalue=""):
            padded = (cell.rjust(wide) for cell, wide in zip(others, widths[1:], strict=True))
            lines.append(GAP.join([first.ljust(widths[0]), *padded]).rstrip() + "\n")
    return "".join(lines)
