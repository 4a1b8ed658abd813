"""Messages for whoever waits for the compiler: what is compiled, once per machine, and for about how long.

Numba signals every compilation, and none where machine code is read from disk. The first one of the engine prints a
line on standard error; those that follow for the same purpose print none. A compilation of the same function again, for
other types, begins another purpose: a second discipline, another environment. Rules of single events take less than a
second each: a line tells of them once they have taken that long together.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from numba.core import event
from numba.core.caching import NullCache

Write = Callable[[str], None]
"""Prints a line, which comes without its line break."""
PACKAGE: Final = __name__.partition(".")[0]
QUIET_VARIABLE: Final = "FLOWSCHED_QUIET"
"""Environment variable that, when set, hides the lines."""
UNNOTICED: Final = 1.0
"""Time in s that rules of single events take together before a line tells of them."""
HINT: Final = f"{QUIET_VARIABLE}=1 hides this line"
ONCE: Final = "once per machine"
NOT_KEPT: Final = "anew in each process, as no folder for machine code can be written to; NUMBA_CACHE_DIR names one,"
ENGINE: Final = (
    "flowsched: compiling the engine of vector environments and of engine='compiled': about half a minute of "
    f"computing, {ONCE} for each kind of environment or discipline ({HINT})"
)
WAITING: Final = f"flowsched: waiting for another process or thread that compiles the same ({HINT})"
RULES: Final = f"flowsched: compiling rules of {PACKAGE} as they are needed: up to a second each, {ONCE} ({HINT})"


def watch_compilations() -> None:
    """Announces compilations from now on."""
    event.register("numba:compile", _Announcer())  # type: ignore[no-untyped-call]  # Numba has no types


@contextmanager
def announced_by(write: Write) -> Iterator[None]:
    """Prints the lines by another function, such as that of a progress bar which they must not run into."""
    _writers.append(write)
    try:
        yield
    finally:
        _writers.remove(write)


class _Announcer(event.Listener):
    """A listener to Numba's signals; what is compiled for the sake of something else is not counted."""

    def __init__(self) -> None:
        self._depth = 0
        self._covered: set[object] = set()
        self._spent_on_rules = 0.0
        self._told_of_rules = False
        self._begin = 0.0

    def on_start(self, signal: Any) -> None:
        """Announces what is compiled, unless a line before has covered it."""
        dispatcher = signal.data["dispatcher"]
        function = dispatcher.py_func
        if not _is_ours(function):
            return
        self._depth += 1
        if self._depth > 1:
            return
        self._begin = time.monotonic()
        if _is_rule(dispatcher):
            if self._spent_on_rules >= UNNOTICED and not self._told_of_rules and not self._covered:
                self._told_of_rules = True
                _tell_how_often(RULES, dispatcher)
        else:
            if not self._covered or function in self._covered:
                self._covered.clear()
                _tell_how_often(ENGINE, dispatcher)
            self._covered.add(function)

    def on_end(self, signal: Any) -> None:
        """Records the end, and how long a rule has taken."""
        dispatcher = signal.data["dispatcher"]
        if not _is_ours(dispatcher.py_func):
            return
        self._depth -= 1
        if not self._depth and _is_rule(dispatcher):
            self._spent_on_rules += time.monotonic() - self._begin


def _is_ours(function: Callable[..., object]) -> bool:
    return (function.__module__ or "").partition(".")[0] == PACKAGE


def _is_rule(dispatcher: Any) -> bool:
    return getattr(dispatcher, "lazily_compiled", False)


def _tell_how_often(line: str, dispatcher: Any) -> None:
    tell(line.replace(ONCE, NOT_KEPT) if isinstance(getattr(dispatcher, "_cache", None), NullCache) else line)


def _print(line: str) -> None:
    if sys.stderr is not None:
        print(line, file=sys.stderr, flush=True)  # noqa: T201 - who waits for minutes reads it here


def tell(line: str) -> None:
    """Prints a line, unless the user wants none."""
    if not os.environ.get(QUIET_VARIABLE):
        _writers[-1](line)


_writers: Final[list[Write]] = [_print]
"""The last one prints."""
