"""Offers the package on the command line: ``flowsched list | workload | replay | evaluate | compile | leaderboard``."""

import sys
from collections.abc import Sequence

from flowsched_gym.core.files import ended_by_signals, exit_status

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line, by default that of the process; returns the exit status.

    An interrupt while the commands are still being imported is reported in one line too.
    """
    try:
        with ended_by_signals():
            from flowsched_gym.cli.app import main as run  # noqa: PLC0415 - takes most of a second

            return run(arguments)
    except KeyboardInterrupt as interrupt:
        print("flowsched: interrupted", file=sys.stderr)
        return exit_status(interrupt)
