"""Shows how far a long task is, on standard error, once it has taken two seconds.

On a terminal it is a bar that is redrawn in place; elsewhere (a log file) a plain line every ten per cent. While rules
are being compiled, which happens at their first use and is then kept on disk, nothing gets done; it says so.
"""

import sys
import time
from typing import Final, TextIO

from numba.core import event

__all__ = ["ProgressBar"]

SECONDS_BEFORE_SHOWING: Final = 2.0
SECONDS_BETWEEN_FRAMES: Final = 0.1
BAR_WIDTH: Final = 30
PERCENT_BETWEEN_LINES: Final = 10
SECONDS_PER_MINUTE: Final = 60
COMPILER_PASS: Final = "numba:run_pass"
"""Numba's event for each of the many steps of a compilation; there is none when compiled code is read from disk."""
COMPILING: Final = "compiling, for the first run only"


class ProgressBar:
    """Is called with (done, total) and shows it; leaves the terminal clean at the end of its ``with`` block.

    Args:
        task: What is going on, such as "reading flows".
        stream: Where to show it. Default: standard error.
    """

    def __init__(self, task: str, stream: TextIO | None = None) -> None:
        """Starts the clock."""
        self._task = task
        self._stream = sys.stderr if stream is None else stream
        self._terminal = self._stream.isatty()
        self._start = time.monotonic()
        self._last_frame = self._start
        self._next_percent = 0
        self._shown = 0
        self._said_compiling = False
        self._listener = _Listener(self)

    def __enter__(self) -> "ProgressBar":
        """Listens to the compiler, and returns itself."""
        event.register(COMPILER_PASS, self._listener)  # type: ignore[no-untyped-call]  # Numba's, as below
        return self

    def __exit__(self, *_: object) -> None:
        """Wipes the bar."""
        event.unregister(COMPILER_PASS, self._listener)  # type: ignore[no-untyped-call]
        if self._terminal and self._shown:
            self._stream.write("\r" + " " * self._shown + "\r")
            self._stream.flush()

    def __call__(self, done: int, total: int) -> None:
        """Takes note of the progress, and shows it when it is time."""
        now = time.monotonic()
        if now - self._start < SECONDS_BEFORE_SHOWING or total <= 0:
            return
        if self._terminal:
            if now - self._last_frame >= SECONDS_BETWEEN_FRAMES:
                self._last_frame = now
                self._draw(done / total, now - self._start)
            return
        percent = 100 * done // total
        if percent >= self._next_percent:
            self._next_percent = percent - percent % PERCENT_BETWEEN_LINES + PERCENT_BETWEEN_LINES
            self._stream.write(f"{self._task}: {percent}%\n")
            self._stream.flush()

    def compiling(self) -> None:
        """Takes note that rules are being compiled, and shows it when it is time."""
        now = time.monotonic()
        if now - self._start < SECONDS_BEFORE_SHOWING or self._said_compiling:
            return
        self._said_compiling = True
        if self._terminal:
            self._write(f"{self._task} ({COMPILING})")
        else:
            self._stream.write(f"{self._task}: {COMPILING}\n")
            self._stream.flush()

    def _draw(self, share: float, elapsed: float) -> None:
        """Draws the bar in place, with the time that it may still take."""
        filled = int(share * BAR_WIDTH)
        bar = "#" * filled + "-" * (BAR_WIDTH - filled)
        left = f", {_format_time(elapsed * (1 - share) / share)} left" if share > 0 else ""
        self._write(f"{self._task} [{bar}] {share:4.0%}{left}")

    def _write(self, line: str) -> None:
        """Writes a line in place of the one before."""
        self._stream.write("\r" + line.ljust(self._shown))
        self._stream.flush()
        self._shown = max(self._shown, len(line))


class _Listener(event.Listener):
    """Hands the steps of the compiler on to a progress bar."""

    def __init__(self, bar: ProgressBar) -> None:
        """Keeps the bar."""
        self._bar = bar

    def on_start(self, step: object) -> None:
        """Tells the bar at the beginning of a step."""
        self._bar.compiling()

    def on_end(self, step: object) -> None:
        """Does nothing at its end."""


def _format_time(seconds: float) -> str:
    """Formats a time as minutes and seconds."""
    minutes, rest = divmod(round(seconds), SECONDS_PER_MINUTE)
    return f"{minutes}:{rest:02d}"
