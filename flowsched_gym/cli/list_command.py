"""Lists what there is: ``flowsched list``."""

import argparse
import inspect
from typing import Final

from flowsched_gym.cli.output import print_definitions, print_json
from flowsched_gym.disciplines import DISCIPLINES
from flowsched_gym.registration import SYSTEMS
from flowsched_gym.routing.routing import DESCRIPTIONS, ROUTINGS
from flowsched_gym.topology import TOPOLOGIES
from flowsched_gym.workload import WORKLOADS

__all__ = ["SUMMARY", "add_arguments", "inventory", "run"]

SUMMARY: Final = "list environments, disciplines, policies, workloads and topologies"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command."""
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(options: argparse.Namespace) -> None:
    """Prints the lists."""
    lists = inventory()
    if options.json:
        print_json(lists)
        return
    width = max(len(entry["name"]) for entries in lists.values() for entry in entries)
    for title, entries in lists.items():
        print(f"{title}:")
        print_definitions({entry["name"]: _describe(entry) for entry in entries}, width=width, indent="  ")


def inventory() -> dict[str, list[dict[str, str]]]:
    """Collects name and description of everything that has a name."""
    return {
        "environments": [
            {"name": environment.id, "description": environment.description}
            for system in SYSTEMS
            for environment in system.environments
        ],
        "disciplines": [
            {"name": name, "description": _first_line(discipline)} for name, discipline in DISCIPLINES.items()
        ],
        "policies": [
            {"name": policy.name, "description": policy.description, "environment": environment.id}
            for system in SYSTEMS
            for environment in system.environments
            for policy in environment.policies
        ],
        "workloads": [{"name": named.name, "description": named.description} for named in WORKLOADS.values()],
        "topologies": [{"name": name, "description": description} for name, description in TOPOLOGIES.items()],
        "routings": [{"name": name, "description": DESCRIPTIONS[name]} for name in ROUTINGS],
    }


def _describe(entry: dict[str, str]) -> str:
    """Describes an entry in one line; policies belong to an environment."""
    return f"{entry['environment']}: {entry['description']}" if "environment" in entry else entry["description"]


def _first_line(described: object) -> str:
    """Takes the first sentence of a docstring, as a phrase."""
    document = inspect.getdoc(described) or ""
    first = document.partition("\n")[0].removesuffix(".")
    return first[:1].lower() + first[1:]
