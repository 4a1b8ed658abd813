"""Runs the ``flowsched`` command: finds the subcommand, and turns every error into one line and an exit status.

Exit status: 0 if all went well, 2 for bad usage or input, 128 + the number of the signal, as shells count, after Ctrl-C
(130), SIGTERM (143) or SIGHUP (129), 1 for an error that nobody foresaw, such as one in a user's own policy class.
"""

import argparse
import errno
import importlib
import os
import re
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from flowsched_gym import __version__
from flowsched_gym.cli.options import COMMANDS
from flowsched_gym.core.errors import FlowSchedError, FlowSchedWarning, one_line, similar
from flowsched_gym.core.files import exit_status

SUCCESS: Final = 0
UNFORESEEN: Final = 1
BAD_INPUT: Final = 2

TRACEBACK_VARIABLE: Final = "FLOWSCHED_TRACEBACK"
"""Environment variable that, when set, shows where an error comes from."""
INVALID_CHOICE: Final = re.compile("invalid choice: '(.*?)'")
"""What argparse says of a word that is no command."""


class _Parser(argparse.ArgumentParser):
    """A parser that reports wrong arguments in one line."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[argparse.Namespace, list[str]]:  # type: ignore[override]
        """Refuses what it does not know here, where the options are known that may have been meant."""
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._meant(unknown)}")
        return known, unknown

    def _meant(self, unknown: Sequence[str]) -> str:
        """Suggests an option, or that which takes arguments of what is run, such as those of an environment."""
        option, _, value = unknown[0].partition("=")
        if found := similar(option, self._option_string_actions):
            return found
        pairs = next((name for name in ("--kwarg", "--param") if name in self._option_string_actions), None)
        name, value = option.removeprefix("--").replace("-", "_"), value or "".join(unknown[1:2])
        if pairs is None or not option.startswith("--") or not name.isidentifier() or not value:
            return ""
        return f" (did you mean {pairs} {name}={value}?)"

    def error(self, message: str) -> NoReturn:
        """Prints the message, a command that was probably meant, and where help is found, and leaves."""
        if (wrong := INVALID_CHOICE.search(message)) and " COMMAND:" in message:
            message += similar(wrong[1], COMMANDS)
        self.exit(BAD_INPUT, f"{_one_line(f'{self.prog}: error: {message} (see {self.prog} --help)')}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line, by default that of the process; returns the exit status."""
    # A process without standard streams, such as a service, has None in their place.
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - open until the process ends
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", FlowSchedWarning)
            warnings.showwarning = _show_warning
            status = _run(arguments)
            sys.stdout.flush()
    except KeyboardInterrupt as interrupt:
        return _fail("interrupted", exit_status(interrupt))
    except BrokenPipeError:
        # Whoever read the output has seen enough. Python would complain once more when it closes standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SUCCESS
    except MemoryError as error:
        return _fail(f"error: not enough memory: {error}", BAD_INPUT)
    except (FlowSchedError, OSError) as error:
        # Errors about files name them. Here the buffer is full, and Python would complain once more at its end.
        if isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None:
            error.filename = "standard output"
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _fail(f"error: {error}", BAD_INPUT)
    except Exception as error:  # noqa: BLE001 - a user's own policy may raise anything
        hint = f"{TRACEBACK_VARIABLE}=1 shows where"
        return _fail(f"error: unforeseen {type(error).__name__}: {error} ({hint})", UNFORESEEN)
    return status


def _run(arguments: Sequence[str] | None) -> int:
    """Reads the arguments and runs the command, and returns the exit status with which argparse or it wants to end."""
    try:
        options = _parser().parse_args(arguments)
        # The commands import most of the package, which takes longer than help or a wrong argument should.
        module, _, function = options.target.partition(":")
        getattr(importlib.import_module(f"flowsched_gym.cli.{module}"), function)(options)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else SUCCESS
    return SUCCESS


def _parser() -> argparse.ArgumentParser:
    description = "Simulate, evaluate and compare schedulers of datacenter flows."
    parser = _Parser(prog="flowsched", description=description, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"flowsched-gym {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        description = f"{command.summary[0].upper()}{command.summary[1:]}."
        subparser = commands.add_parser(name, help=command.summary, description=description, allow_abbrev=False)
        command.add_arguments(subparser)
        subparser.set_defaults(target=command.target)
    return parser


def _fail(message: str, status: int) -> int:
    """Prints one line on standard error, and the traceback before it if that is asked for."""
    if os.environ.get(TRACEBACK_VARIABLE):
        traceback.print_exc()
    print(_one_line(f"flowsched: {message}"), file=sys.stderr)
    return status


def _one_line(message: str) -> str:
    """Returns a message in which nothing that comes from a file reaches the terminal as an escape code."""
    return one_line(" ".join(message.split()))


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(_one_line(f"flowsched: warning: {message}"), file=sys.stderr)
