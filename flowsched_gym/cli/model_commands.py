"""Commands on trained agents: ``flowsched models`` lists the package's, ``flowsched export-card`` exports any."""

import argparse
from pathlib import Path

from flowsched_gym.cli.output import print_json
from flowsched_gym.core.tables import Table
from flowsched_gym.players.kept import agent_of, card_text, export_card, kept_agents, load_agent

COLUMNS = ("agent", "environment", "trainings", "measure", "in test episodes", "best rule", "difference", "score")


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
