"""Offers the package on the command line: ``flowsched list | workload | replay | evaluate | compile | leaderboard``."""

import sys
from collections.abc import Sequence

from flowsched_gym.cli.output import INTERRUPTED

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line; an interrupt while the commands are still being imported is reported in one line too.

    Args:
        arguments: The arguments after the program's name. Default: those of the process.

    Returns:
        The exit status.
    """
    try:
        from flowsched_gym.cli.app import main as run  # noqa: PLC0415 - takes most of a second
    except KeyboardInterrupt:
        print("flowsched: interrupted", file=sys.stderr)
        return INTERRUPTED
    return run(arguments)
