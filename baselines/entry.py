"""Entry points of the training commands, which name the pip command that brings a missing package.

``flowsched-train``, ``flowsched-tune`` and ``flowsched-evaluate`` are installed with the light core as well, where
Hydra and torch may be absent: nothing here imports them before it has looked for them.
"""

import importlib
import importlib.util
import sys
from typing import Final

from flowsched_gym.baselines.applications.help import print_help
from flowsched_gym.core.errors import MissingDependencyError
from flowsched_gym.core.files import ended_by_signals, exit_status

REQUIRED: Final = ("hydra", "omegaconf", "torch", "stable_baselines3", "sb3_contrib", "matplotlib")
"""Import names that the training commands need, in the order of the report; the extra `train` brings them."""

EXIT_STATUS_OF_BAD_USAGE: Final = 2
HELP: Final = frozenset({"-h", "--help"})


def train() -> int:
    """Runs ``flowsched-train`` and returns its exit status."""
    return _run("train", purpose="train a policy with flowsched-train")


def tune() -> int:
    """Runs ``flowsched-tune`` and returns its exit status."""
    return _run("tune", purpose="search settings with flowsched-tune", more=("optuna", "yaml"))


def evaluate() -> int:
    """Runs ``flowsched-evaluate`` and returns its exit status."""
    return _run("evaluate", purpose="evaluate policies with flowsched-evaluate")


def _run(name: str, *, purpose: str, more: tuple[str, ...] = ()) -> int:
    """Prints help, or calls ``main`` of the command's module, or prints the first missing package to standard error."""
    command = f"flowsched-{name}"
    if not HELP.isdisjoint(sys.argv[1:]):
        print_help(command, name)
        return 0
    for package in REQUIRED + more:
        if importlib.util.find_spec(package) is None:
            print(MissingDependencyError(package, extra="train", purpose=purpose), file=sys.stderr)
            return EXIT_STATUS_OF_BAD_USAGE
    try:
        with ended_by_signals():  # importing takes seconds
            importlib.import_module(f"flowsched_gym.baselines.{name}").main()
    except KeyboardInterrupt as interrupt:
        print(f"{command}: stopped", file=sys.stderr)
        return exit_status(interrupt)
    return 0
