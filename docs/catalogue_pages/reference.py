"""Pages of the interfaces: the command line, and the public names of the packages."""

import importlib
import os
from pathlib import Path
from typing import Final

from docs.catalogue_pages.markdown import first_sentence, list_page, write_page
from flowsched_gym.cli.app import _parser
from flowsched_gym.cli.options import COMMANDS

__all__ = ["MODULES", "write_reference"]

MODULES: Final = (
    "flowsched_gym",
    "flowsched_gym.fluid.disciplines",
    "flowsched_gym.packets.schedulers",
    "flowsched_gym.workload",
    "flowsched_gym.topology",
    "flowsched_gym.envs.policies",
    "flowsched_gym.envs",
    "flowsched_gym.flows.metrics",
    "flowsched_gym.evaluation",
    "flowsched_gym.leaderboard",
    "flowsched_gym.integrations.sb3",
    "flowsched_gym.queueing",
    "flowsched_gym.fluid.simpy",
    "flowsched_gym.fluid",
    "flowsched_gym.packets.parameters",
    "flowsched_gym.packets.state",
    "flowsched_gym.core.errors",
)
"""Packages whose public names are described."""
ELSEWHERE: Final = ("Records", "Workload", "PacketRecords", "PacketTrace")
"""Names that the package repeats from those below it."""


def write_reference(folder: Path) -> None:
    """Writes a page for the command line and one for each package."""
    write_page(folder / "command-line.md", _command_line())
    for name in MODULES:
        module = importlib.import_module(name)
        elsewhere = ", ".join(ELSEWHERE) if name == "flowsched_gym" else ""
        options = "   :members:\n   :imported-members:\n" + (f"   :exclude-members: {elsewhere}\n" if elsewhere else "")
        assert module.__all__
        write_page(
            folder / "python" / f"{name}.md", f"# {name}\n\n```{{eval-rst}}\n.. automodule:: {name}\n{options}```\n"
        )
    entries = ((name, name, first_sentence(importlib.import_module(name))) for name in MODULES)
    text = "The public names of the package: what `__all__` lists. Everything else may change without notice."
    write_page(folder / "python" / "index.md", list_page("Python", text, entries))


def _command_line() -> str:
    """Returns the help of all commands."""
    columns = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "110"
    try:
        parser = _parser()
        parts = [
            "# Command line\n\nExit status: 0 if all went well, 2 for bad usage or input (with one line on standard "
            "error), 130 after an interrupt. The training commands, `flowsched-train`, `flowsched-tune` and "
            "`flowsched-evaluate`, are on the page of the [baselines](../../baselines/README.md).\n",
            f"```text\n{parser.format_help()}```\n",
        ]
        [commands] = (action for action in parser._actions if action.dest == "==SUPPRESS==" and action.choices)
        parts += [f"## flowsched {name}\n\n```text\n{commands.choices[name].format_help()}```\n" for name in COMMANDS]
    finally:
        if columns is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = columns
    return "\n".join(parts)
