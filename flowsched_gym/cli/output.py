"""Prints results, columns for people and one JSON document for programs, and shows how far a long task is.

The progress stands on standard error, once a task has taken two seconds. On a terminal it is a bar that is redrawn in
place; elsewhere (a log file) a plain line every ten per cent. Both tell how long it will still take. Messages of the
compiler meanwhile (see `flowsched_gym.machine_code.messages`) stand above the bar.
"""

import contextlib
import json
import math
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Final, TextIO

from flowsched_gym.core.tables import terminal_width
from flowsched_gym.core.units import time_left
from flowsched_gym.machine_code.messages import announced_by

LEAST_ROOM: Final = 30
"""Characters that a meaning gets at least, however narrow the terminal."""
SECONDS_BEFORE_SHOWING: Final = 2.0
SECONDS_BETWEEN_FRAMES: Final = 0.1
BAR_WIDTH: Final = 30
PERCENT_BETWEEN_LINES: Final = 10


def print_json(content: object) -> None:
    """Prints one JSON document on standard output, with null for NaN."""
    print(json.dumps(without_nan(content), indent=2, allow_nan=False))


def without_nan(content: object) -> object:
    """Replaces what JSON cannot hold, NaN and infinities, by None."""
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, Mapping):
        return {key: without_nan(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [without_nan(value) for value in content]
    return content


def print_definitions(definitions: Mapping[str, str], *, width: int, indent: str = "") -> None:
    """Prints terms and what they are, in two columns; long lines are folded to the width of the terminal."""
    columns = terminal_width()
    for term, meaning in definitions.items():
        head = f"{indent}{term.ljust(width)}  "
        room = max(columns - len(head) - 1, LEAST_ROOM)
        lines = f"\n{' ' * len(head)}".join(textwrap.wrap(meaning, room))
        print(f"{head}{lines}".rstrip())


@contextlib.contextmanager
def standard_output_kept_clean() -> Iterator[None]:
    """Sends to standard error what other code, such as a user's policy, prints meanwhile."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


class ProgressBar:
    """A progress bar called with (done, total); it leaves the terminal clean at the end of its ``with`` block."""

    def __init__(self, task: str, stream: TextIO | None = None) -> None:
        self._task = task
        self._stream = sys.stderr if stream is None else stream
        self._terminal = self._stream.isatty()
        self._start = time.monotonic()
        self._last_frame = self._start
        self._next_percent = 0
        self._shown = 0
        self._announcing = ExitStack()

    def __enter__(self) -> "ProgressBar":
        """Prints lines about the compiler above the bar from now on."""
        self._announcing.enter_context(announced_by(self._print_above))
        return self

    def __exit__(self, *_: object) -> None:
        self._announcing.close()
        self._wipe()

    def __call__(self, done: int, total: int) -> None:
        """Records the progress, and shows it when it is time."""
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
            left = f", {time_left(done / total, now - self._start)}" if 0 < done < total else ""
            self._write(f"{self._task}: {percent}%{left}\n")

    def _draw(self, share: float, elapsed: float) -> None:
        """Draws the bar in place, with the time that it may still take."""
        bar = ("#" * int(share * BAR_WIDTH)).ljust(BAR_WIDTH, "-")
        left = f", {time_left(share, elapsed)}" if share > 0 else ""
        line = f"{self._task} [{bar}] {share:4.0%}{left}"
        self._write("\r" + line.ljust(self._shown))
        self._shown = max(self._shown, len(line))

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()

    def _wipe(self) -> None:
        """Leaves the line of the bar empty."""
        if self._terminal and self._shown:
            self._write("\r" + " " * self._shown + "\r")
            self._shown = 0

    def _print_above(self, line: str) -> None:
        """Prints a line; the bar is drawn anew below it."""
        self._wipe()
        self._write(f"{line}\n")
