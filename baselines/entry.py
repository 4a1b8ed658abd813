"""Entry points of the training commands, which name the pip command that brings a missing package.

``flowsched-train``, ``flowsched-tune``, ``flowsched-evaluate`` and ``flowsched demo`` are installed with the light core
as well, where Hydra and torch may be absent: nothing here imports them before it has looked for them.
"""

import importlib
import importlib.resources
import importlib.util
import os
import re
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from flowsched_gym.core.errors import MissingDependencyError
from flowsched_gym.core.files import ended_by_signals, exit_status
from flowsched_gym.workload import WORKLOADS

REQUIRED: Final = ("hydra", "omegaconf", "torch", "stable_baselines3", "sb3_contrib", "matplotlib")
"""Import names that the training commands need, in the order of the report; the extra `train` brings them."""

EXIT_STATUS_OF_BAD_USAGE: Final = 2
HELP: Final = frozenset({"-h", "--help"})
CONFIGS: Final = importlib.resources.files("flowsched_gym.configs")
SUFFIX: Final = ".yaml"
CHOICE: Final = re.compile(r"^  - (\w+): ([\w-]+|\$.*)$", re.MULTILINE)
"""A line of a list of defaults: a group of configuration files, and which of them is taken, or how it is found."""
BY_ENVIRONMENT: Final = "by env"
"""What stands for a default that depends on the environment."""
WIDTH: Final = 100


def train() -> int:
    """Runs ``flowsched-train`` and returns its exit status."""
    return _run("train", purpose="train a policy with flowsched-train")


def tune() -> int:
    """Runs ``flowsched-tune`` and returns its exit status."""
    return _run("tune", purpose="search settings with flowsched-tune", more=("optuna", "yaml"))


def evaluate() -> int:
    """Runs ``flowsched-evaluate`` and returns its exit status."""
    return _run("evaluate", purpose="evaluate policies with flowsched-evaluate")


def demo(folder: str, overrides: Sequence[str]) -> None:
    """Runs ``flowsched demo``; raises ``MissingDependencyError`` where a package is missing."""
    _check_packages("run the demonstration")
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # small networks are several times slower on more threads
    importlib.import_module("flowsched_gym.baselines.demo").run(Path(folder), overrides)


def print_help(command: str, config_name: str) -> None:
    """Prints what a command does, by the first line of its configuration file, its choices and its options."""
    primary = CONFIGS.joinpath(config_name + SUFFIX).read_text(encoding="utf-8")
    does = primary.partition("\n")[0].partition(": ")[2]
    print(f"usage: {command} [-m] [NAME=VALUE ...]\n\n{does[:1].upper()}{does[1:]}\n\nchoices, the default first:")
    for group, choice in CHOICE.findall(primary):
        default = BY_ENVIRONMENT if choice.startswith("$") else choice
        files = (file.name for file in CONFIGS.joinpath(group).iterdir() if file.name.endswith(SUFFIX))
        named = WORKLOADS if group == "workload" else ()
        others = sorted({*named, *(name.removesuffix(SUFFIX) for name in files)} - {default})
        print(
            textwrap.fill(
                ", ".join([default, *others]), WIDTH, initial_indent=f"  {group:<12}", subsequent_indent=" " * 14
            )
        )
    print(
        "\noptions:\n"
        "  -m, --multirun  run all combinations, such as workload=gather-a1,gather-a2 seed=1,2\n"
        "  --cfg job       print every value that can be set, such as env.k=3, and exit\n"
        "  --hydra-help    print the options of Hydra\n"
        "  -h, --help      print this help"
    )


def _run(name: str, *, purpose: str, more: tuple[str, ...] = ()) -> int:
    """Prints help, or calls ``main`` of the command's module, or prints the first missing package to standard error."""
    command = f"flowsched-{name}"
    if not HELP.isdisjoint(sys.argv[1:]):
        print_help(command, name)
        return 0
    try:
        _check_packages(purpose, more)
        with ended_by_signals():  # importing takes seconds
            importlib.import_module(f"flowsched_gym.baselines.{name}").main()
    except MissingDependencyError as error:
        print(error, file=sys.stderr)
        return EXIT_STATUS_OF_BAD_USAGE
    except KeyboardInterrupt as interrupt:
        print(f"{command}: stopped", file=sys.stderr)
        return exit_status(interrupt)
    return 0


def _check_packages(purpose: str, more: tuple[str, ...] = ()) -> None:
    for package in REQUIRED + more:
        if importlib.util.find_spec(package) is None:
            raise MissingDependencyError(package, extra="train", purpose=purpose)
