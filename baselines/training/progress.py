"""Progress on standard error: a bar that is redrawn in place on a terminal, a line now and then elsewhere; the log."""

import logging
import sys
import time
from collections.abc import Callable
from typing import Any, Final

from tqdm import tqdm

from flowsched_gym.core.units import time_left

SECONDS_BEFORE_SHOWING: Final = 2.0
SECONDS_BEFORE_FIRST_LINE: Final = 5.0
SECONDS_BETWEEN_LINES: Final = 30.0


class LogFile(logging.FileHandler):
    """A log file, of which a full disk may keep lines: they are on standard output too."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is logging's
        """Reports what is no error about the file."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)


class ProgressLines:
    """Progress in lines, in the place of a bar of tqdm where there is no terminal; ``n`` is what is done."""

    def __init__(self, *, total: int, unit: str, initial: int = 0, say: Callable[[str], object]) -> None:
        self.n = initial
        self._total = total
        self._unit = unit
        self._say = say
        self._begun_at, self._begun_with = time.monotonic(), initial
        self._due_at = self._begun_at + SECONDS_BEFORE_FIRST_LINE
        self._description, self._postfix = "", ""

    def set_description_str(self, text: str, *, refresh: bool = True) -> None:
        """Sets what follows the total."""
        self._description = f", {text}"

    def set_postfix_str(self, text: str, *, refresh: bool = True) -> None:
        """Sets what ends a line."""
        self._postfix = f"; {text}" if text else ""

    def update(self, n: int) -> None:
        """Counts on, and tells of it after the first seconds and when the last line is old."""
        self.n += n
        now, done = time.monotonic(), self.n - self._begun_with
        if now >= self._due_at and done > 0:
            self._due_at = now + SECONDS_BETWEEN_LINES
            elapsed = now - self._begun_at
            left = time_left(done / (self._total - self._begun_with), elapsed)
            self._say(
                f"{self.n:,} of {self._total:,} {self._unit}{self._description}: {self.n / self._total:.0%}, "
                f"{done / elapsed:,.1f} a second, {left}{self._postfix}"
            )

    def close(self) -> None:
        """Does nothing: lines stay."""


def progress_bar(
    *,
    total: int,
    unit: str,
    shown: bool,
    initial: int = 0,
    unit_scale: bool = False,
    say: Callable[[str], object] | None = None,
) -> Any:
    """Makes a bar of tqdm, which wipes itself away when it is closed, or lines where there is no terminal.

    Args:
        total: What 100 % are.
        unit: What is counted.
        shown: Whether it is seen at all.
        initial: What is done already.
        unit_scale: Whether thousands are written as k.
        say: Takes a line where there is no terminal. Default: it is printed.
    """
    if shown and not sys.stderr.isatty():
        return ProgressLines(total=total, unit=unit, initial=initial, say=say or _print)
    return tqdm(
        total=total,
        unit=f" {unit}",
        disable=not shown,
        initial=initial,
        unit_scale=unit_scale,
        delay=SECONDS_BEFORE_SHOWING,
        leave=False,
        dynamic_ncols=True,
    )


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
