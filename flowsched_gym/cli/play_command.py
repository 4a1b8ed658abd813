"""``flowsched play``: a person chooses slots in a terminal, and sees how rules do on the same flows."""

import argparse
import sys
from contextlib import closing
from typing import Any, Final

import numpy as np

from flowsched_gym.cli.arguments import key_values
from flowsched_gym.core.arrays import BoolArray, IntArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.tables import Table
from flowsched_gym.evaluation import evaluate, make_environment, rollout
from flowsched_gym.evaluation.written import column_of
from flowsched_gym.flows.metrics import merit
from flowsched_gym.players import find_player
from flowsched_gym.registration import ENVIRONMENTS, agent_ability, find_environment
from flowsched_gym.workload import draw_flows

CLEAR: Final = "\x1b[2J\x1b[H"
"""Clears a terminal."""


class Person:
    """Asks somebody for the slot wherever there is a choice."""

    def __init__(self, env: Any) -> None:
        self._env = env

    def predict(self, observation: Any, *, action_masks: BoolArray, **_: Any) -> tuple[IntArray, None]:
        """Shows the environment, and asks until a slot is named that is filled."""
        slots = [str(slot) for slot in np.flatnonzero(action_masks)]
        if len(slots) > 1:
            print(f"{CLEAR}{self._env.render()}\n")
        chosen = slots[0] if len(slots) == 1 else ""
        while slots and chosen not in slots:
            try:
                chosen = input(f"slot, {slots[0]} to {slots[-1]} (Ctrl-C ends): ").strip()
            except EOFError:
                raise KeyboardInterrupt from None
        return np.array(int(chosen or 0)), None


def run(options: argparse.Namespace) -> None:
    """Lets a person play an episode, and prints how they and the rules with the same actions did."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigError("play needs a terminal, in which a person is asked: `flowsched evaluate` plays policies")
    spec, given = find_environment(options.environment), key_values("--kwarg", options.kwarg)
    with_slots = [each.id for each in ENVIRONMENTS.values() if each.planners]
    if spec.id not in with_slots:
        raise ConfigError(f"{spec.id} has no slots to choose from: play one of {', '.join(with_slots)}")
    with closing(make_environment(spec, given)) as env:
        flows = draw_flows(env.get_wrapper_attr("source"), num_flows=options.flows, seed=options.seed)
    kwargs = {**given, "workload": flows}
    with closing(make_environment(spec, {**kwargs, "render_mode": "ansi"})) as env:
        person: Any = Person(env)
        found = {"you": rollout(env, person, seed=options.seed).metrics[spec.metric]}
    allowed, column = set(agent_ability(spec, given).actions), column_of(spec.metric)
    for player in (find_player(name, spec, given) for name in spec.heuristics):
        if set(player.actions) <= allowed:
            seen = player.arguments(kwargs)
            played = evaluate(spec, player.name, episodes=1, seed=options.seed, kwargs=seen).episodes[0]
            found[player.name] = played.metrics[spec.metric]
    ordered = sorted(found, key=lambda name: -merit(spec.metric, found[name]))  # you before equals
    rows = tuple((name, column.write(found[name])) for name in ordered)
    print(f"{CLEAR}{Table(columns=('policy', column.label), rows=rows).text()}", end="")
