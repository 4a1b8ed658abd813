"""Offers the package on the command line: ``flowsched list | workload | replay | evaluate | compile | leaderboard``."""

import sys
from collections.abc import Sequence
from typing import Final

__all__ = ["INTERRUPTED", "main"]

INTERRUPTED: Final = 130
"""Exit status after an interrupt: 128 + SIGINT, as shells count."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line, by default that of the process; returns the exit status.

    An interrupt while the commands are still being imported is reported in one line too.
    """
    try:
        from flowsched_gym.cli.app import main as run  # noqa: PLC0415 - takes most of a second
    except KeyboardInterrupt:
        print("flowsched: interrupted", file=sys.stderr)
        return INTERRUPTED
    return run(arguments)
