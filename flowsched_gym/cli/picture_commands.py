"""Commands that show what the package does: ``flowsched demo``, ``plot``, ``record``, ``watch`` and ``play``."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium.envs.registration import parse_env_id

from flowsched_gym.cli.arguments import key_values
from flowsched_gym.cli.evaluate_command import players_of
from flowsched_gym.cli.output import ProgressBar, standard_output_kept_clean
from flowsched_gym.core.arrays import BoolArray, IntArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.tables import Table
from flowsched_gym.envs.drawing.render_modes import HUMAN, check_display, window_is_closed
from flowsched_gym.envs.policies import Policy
from flowsched_gym.evaluation import evaluate, make_environment, rollout
from flowsched_gym.evaluation.films import check_film, record_film
from flowsched_gym.evaluation.learning import plot_learning, read_runs
from flowsched_gym.evaluation.plots import check_plot
from flowsched_gym.evaluation.written import column_of
from flowsched_gym.flows.metrics import merit
from flowsched_gym.leaderboard import acting
from flowsched_gym.players import find_player
from flowsched_gym.registration import ENVIRONMENTS, agent_ability, find_environment, load_target
from flowsched_gym.workload import draw_flows

DEMO: Final = "flowsched_gym.baselines.entry:demo"
"""What runs the demonstration, beside the command line: it may be missing what the light core does not need."""
CLEAR: Final = "\x1b[2J\x1b[H"
"""Clears a terminal."""


def run_demo(options: argparse.Namespace) -> None:
    """Trains an agent and shows what it has learned."""
    load_target(DEMO)(options.folder, options.overrides)


def run_plot(options: argparse.Namespace) -> None:
    """Draws learning curves."""
    check_plot(options.out)
    curves = read_runs(options.runs)
    plot_learning(curves, options.out)
    trainings = sum(len(curve.values) for curve in curves)
    print(f"{options.out}: {len(curves)} agent{'s' * (len(curves) > 1)}, {trainings} training{'s' * (trainings > 1)}")


def run_record(options: argparse.Namespace) -> None:
    """Plays an episode, as far as it is shown, and writes it."""
    out = options.out or f"{parse_env_id(find_environment(options.environment).id)[1].lower()}.gif"
    check_film(out)
    with _playing(options) as (env, policy), ProgressBar("drawing") as progress:
        frames = record_film(env, policy, out, seed=options.seed, frames=options.frames, progress=progress)
    print(f"{out}: {options.policy[0]} on {options.environment}, {frames} decisions of seed {options.seed}")


def run_watch(options: argparse.Namespace) -> None:
    """Plays an episode in a window, and prints how it went."""
    check_display()
    if options.out is not None:
        check_film(options.out)
    with _playing(options, render_mode=HUMAN) as (env, policy):
        played = rollout(_UntilClosed(env), policy, seed=options.seed)
    metric = find_environment(options.environment).metric
    shown = column_of(metric)
    print(f"{shown.label}: {shown.write(played.metrics[metric])} after {played.num_decisions} decisions")
    if options.out is not None:
        run_record(options)


def run_play(options: argparse.Namespace) -> None:
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
        person: Any = _Person(env)
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


class _Person:
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


class _UntilClosed(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Ends an episode where somebody closes its window."""

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        *before, truncated, info = super().step(action)
        return (*before, truncated or window_is_closed(), info)


@contextmanager
def _playing(options: argparse.Namespace, **more: Any) -> Iterator[tuple[gymnasium.Env[Any, Any], Policy]]:
    """Makes the environment and the policy of a command."""
    spec = find_environment(options.environment)
    [player], kwargs = players_of(options, spec)
    arguments = player.arguments(kwargs)
    with (
        standard_output_kept_clean(),
        acting(player, arguments, seed=options.seed, trust=options.trust) as policy,
        closing(make_environment(spec, {**arguments, **more})) as env,
    ):
        yield env, policy
