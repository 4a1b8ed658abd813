"""Lays rows of text out as a Markdown table or as plain columns."""

import re
from dataclasses import dataclass
from typing import Final

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation import Interval

MARKUP: Final = re.compile(r"[\\`*<>&|~@]|\[(?![-+\d., ]*\])|\](?=[(\[:])|(?<!\w)_|_(?!\w)|:(?=//)|(?<=\bwww)\.")
"""What Markdown reads as more than itself; intervals in brackets and underscores in names it does not."""


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

    def text(self) -> str:
        """Returns the table in aligned columns for a terminal, ending with a line break."""
        widths = [max(map(len, column)) for column in zip(self.columns, *self.rows, strict=True)]
        lines = []
        for first, *others in (self.columns, *self.rows):
            padded = [first.ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(others, widths[1:], strict=True))]
            lines.append("  ".join(padded).rstrip() + "\n")
        return "".join(lines)


def format_interval(interval: Interval | None, *, scale: float = 1.0, digits: int = 1, signed: bool = False) -> str:
    """Writes an estimate, times ``scale``, with its interval: ``63.5 [61.0, 66.1]``; ``None`` is an empty cell."""
    if interval is None or interval.mean != interval.mean:
        return ""
    numbers = (interval.mean, interval.low, interval.high) if interval.known else (interval.mean,)
    # Adding zero after rounding turns -0.0 into 0.0.
    mean, *ends = (f"{round(number * scale, digits) + 0.0:{'+' if signed else ''}.{digits}f}" for number in numbers)
    return f"{mean} [{', '.join(ends)}]" if ends else mean


def escaped(text: str) -> str:
    """Returns a text that Markdown shows as it is."""
    return MARKUP.sub(r"\\\g<0>", text)


def code_span(text: str) -> str:
    """Returns a text as code in Markdown, between as many backticks as it takes."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}" if longest else f"`{text}`"
