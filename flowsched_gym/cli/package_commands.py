"""Commands on what the package has: its lists, its machine code and its trained agents.

``flowsched list`` names it, ``flowsched compile`` prepares machine code and ``flowsched ns3`` the program on ns-3,
``flowsched models`` lists the agents, and ``flowsched export-card`` exports any.
"""

import argparse
import inspect
import time
from pathlib import Path
from typing import Any

import gymnasium

from flowsched_gym.cli.arguments import key_values
from flowsched_gym.cli.output import print_definitions, print_json
from flowsched_gym.core.tables import Table
from flowsched_gym.envs.arguments import describe
from flowsched_gym.fluid.disciplines import DISCIPLINES
from flowsched_gym.machine_code.drawing import take_loops
from flowsched_gym.ns3.program import build
from flowsched_gym.packets.schedulers import SCHEDULERS
from flowsched_gym.players.kept import agent_of, card_text, export_card, kept_agents, load_agent
from flowsched_gym.registration import ENVIRONMENTS, check_arguments, find_environment, load_target
from flowsched_gym.topology import TOPOLOGIES
from flowsched_gym.topology.routes import DESCRIPTIONS, ROUTINGS
from flowsched_gym.workload import WORKLOADS

Entries = list[dict[str, str]]
COLUMNS = ("agent", "environment", "trainings", "measure", "in test episodes", "best rule", "difference", "score")


def run_list(options: argparse.Namespace) -> None:
    """Prints name and description of everything that has a name, or of the arguments of an environment."""
    lists = inventory() if options.arguments is None else arguments_of(options.arguments)
    if options.json:
        print_json(lists)
        return
    titled: dict[str, Entries] = {}
    for title, entries in lists.items():
        if isinstance(entries, dict):
            titled |= {f"{title} of {owner}": owned for owner, owned in entries.items()}
        else:
            titled[title] = entries
    width = max(len(entry["name"]) for entries in titled.values() for entry in entries)
    for title, entries in titled.items():
        print(f"{title}:")
        print_definitions({entry["name"]: entry["description"] for entry in entries}, width=width, indent="  ")


def run_compile(options: argparse.Namespace) -> None:
    """Plays a step of each environment in its vector form, and tells how long that took."""
    kwargs: Any = key_values("--kwarg", options.kwarg)
    chosen = [find_environment(name) for name in options.environments] or list(ENVIRONMENTS.values())
    for spec in chosen:
        check_arguments(spec, kwargs)
    take_loops()
    for spec in chosen:
        begin = time.monotonic()
        envs = gymnasium.make_vec(spec.id, num_envs=1, **kwargs)
        envs.reset(seed=0)
        envs.action_space.seed(0)
        envs.step(envs.action_space.sample())
        envs.close()
        print(f"{spec.id} is compiled ({time.monotonic() - begin:.1f} s)", flush=True)


def run_ns3(_: argparse.Namespace) -> None:
    """Compiles the program of the engine ``ns3``, and tells where it is."""
    print(f"{build()}: engine='ns3' is ready")


def arguments_of(env_id: str) -> dict[str, Entries | dict[str, Entries]]:
    """Collects name and description of the arguments of an environment."""
    spec = find_environment(env_id)
    described = describe(load_target(spec.config))
    return {f"arguments of {spec.id}": [_entry(each.name, each.text.replace("``", "")) for each in described]}


def inventory() -> dict[str, Entries | dict[str, Entries]]:
    """Collects name and description of everything that has a name, policies by their environment."""
    return {
        "environments": [_entry(spec.id, spec.description) for spec in ENVIRONMENTS.values()],
        "disciplines": [_entry(name, _first_line(discipline)) for name, discipline in DISCIPLINES.items()],
        "schedulers": [_entry(name, _first_line(scheduler)) for name, scheduler in SCHEDULERS.items()],
        "policies": {
            spec.id: [_entry(policy.name, policy.description) for policy in (*spec.policies, *spec.planners)]
            for spec in ENVIRONMENTS.values()
        },
        "workloads": [_entry(named.name, named.description) for named in WORKLOADS.values()],
        "topologies": [_entry(name, description) for name, description in TOPOLOGIES.items()],
        "routings": [_entry(name, DESCRIPTIONS[name]) for name in ROUTINGS],
    }


def run_models(options: argparse.Namespace) -> None:
    """Prints the agents of the package, or the card of one."""
    agents = list(kept_agents().values()) if options.name is None else [load_agent(options.name)]
    if options.json:
        print_json(
            {each.name: {"environment": each.environment, "kwargs": each.kwargs, **each.results} for each in agents}
        )
    elif options.name is not None:
        print(card_text(agents[0]), end="")
    else:
        rows = []
        for each in agents:
            found = each.results
            shown = (found[name] for name in ("label", "shown", "rule", "difference"))
            rows.append((each.name, each.environment, str(found["trainings"]), *shown, f"{found['score']:.2f}"))
        print(Table(columns=COLUMNS, rows=tuple(rows)).text(), end="")


def run_export_card(options: argparse.Namespace) -> None:
    """Writes the folder of a model."""
    agent = agent_of(options.model)
    export_card(agent, Path(options.folder))
    print(f"{options.folder}: the model of {agent.name}, its card and its configuration")


def _entry(name: str, description: str) -> dict[str, str]:
    return {"name": name, "description": description}


def _first_line(described: object) -> str:
    """Takes the first sentence of a docstring, as a phrase."""
    document = inspect.getdoc(described) or ""
    first = document.partition("\n")[0].removesuffix(".").replace("``", "")
    # Names such as TAFE, QCluster and D2TCP stay as they are.
    is_name = any(not letter.islower() for letter in first.partition(" ")[0].rstrip(":,;")[1:].replace("-", ""))
    return first if is_name else first[:1].lower() + first[1:]
