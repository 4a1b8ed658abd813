"""Prints results: columns for people, one JSON document for programs."""

import contextlib
import json
import math
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping
from typing import Final

INTERRUPTED: Final = 130
"""Exit status after an interrupt: 128 + SIGINT, as shells count."""
LEAST_ROOM: Final = 30
"""Characters that a meaning gets at least, however narrow the terminal."""


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
    """Prints terms and what they are, in two columns; on a terminal, long lines are folded to its width.

    Args:
        definitions: Terms and their meanings.
        width: Width of the column of terms.
        indent: What each line begins with.
    """
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    for term, meaning in definitions.items():
        head = f"{indent}{term.ljust(width)}  "
        room = max(columns - len(head) - 1, LEAST_ROOM)
        first, *others = textwrap.wrap(meaning, room) or [""]
        print(f"{head}{first}".rstrip())
        for line in others:
            print(" " * len(head) + line)


@contextlib.contextmanager
def standard_output_kept_clean() -> Iterator[None]:
    """Sends to standard error what other code, such as a user's policy, prints meanwhile."""
    with contextlib.redirect_stdout(sys.stderr):
        yield
