"""A progress bar on standard error: redrawn in place on a terminal, a line now and then in a log file."""

import sys
from typing import Any, Final

from tqdm import tqdm

__all__ = ["progress_bar"]

SECONDS_BEFORE_SHOWING: Final = 2.0
SECONDS_BETWEEN_FRAMES: Final = 0.1
SECONDS_BETWEEN_LINES: Final = 30.0


def progress_bar(*, total: int, unit: str, shown: bool, initial: int = 0, unit_scale: bool = False) -> Any:
    """Makes a bar of tqdm, which wipes itself away when it is closed.

    Args:
        total: What 100 % are.
        unit: What is counted.
        shown: Whether it is seen at all.
        initial: What is done already.
        unit_scale: Whether thousands are written as k.
    """
    terminal = sys.stderr.isatty()
    return tqdm(
        total=total,
        unit=f" {unit}",
        disable=not shown,
        initial=initial,
        unit_scale=unit_scale,
        delay=SECONDS_BEFORE_SHOWING,
        leave=False,
        mininterval=SECONDS_BETWEEN_FRAMES if terminal else SECONDS_BETWEEN_LINES,
        dynamic_ncols=terminal,
    )
