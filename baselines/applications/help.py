"""Help texts of the training commands, from the names of files and workloads: Hydra is not imported."""

import importlib.resources
import re
import textwrap
from typing import Final

from flowsched_gym.workload import WORKLOADS

CONFIGS: Final = importlib.resources.files("flowsched_gym.configs")
SUFFIX: Final = ".yaml"
CHOICE: Final = re.compile(r"^  - (\w+): ([\w-]+|\$.*)$", re.MULTILINE)
"""A line of a list of defaults: a group of configuration files, and which of them is taken, or how it is found."""
BY_ENVIRONMENT: Final = "by env"
"""What stands for a default that depends on the environment."""
WIDTH: Final = 100


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
