"""Commands that show what the package does: ``flowsched demo``, ``plot``, ``record`` and ``watch``."""

import argparse
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, Final

import gymnasium

from flowsched_gym.cli.evaluate_command import players_of
from flowsched_gym.cli.output import standard_output_kept_clean
from flowsched_gym.envs.drawing.render_modes import HUMAN, check_display, window_is_closed
from flowsched_gym.envs.policies import Policy
from flowsched_gym.evaluation import make_environment, rollout
from flowsched_gym.evaluation.films import check_film, record_film
from flowsched_gym.evaluation.learning import plot_learning, read_runs
from flowsched_gym.evaluation.plots import check_plot
from flowsched_gym.evaluation.written import column_of
from flowsched_gym.leaderboard import acting
from flowsched_gym.registration import find_environment, load_target

DEMO: Final = "flowsched_gym.baselines.entry:demo"
"""What runs the demonstration, beside the command line: it may be missing what the light core does not need."""


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
    check_film(options.out)
    with _playing(options) as (env, policy):
        frames = record_film(env, policy, options.out, seed=options.seed, frames=options.frames)
    print(f"{options.out}: {options.policy[0]} on {options.environment}, {frames} decisions of seed {options.seed}")


def run_watch(options: argparse.Namespace) -> None:
    """Plays an episode in a window, and prints how it went."""
    check_display()
    with _playing(options, render_mode=HUMAN) as (env, policy):
        played = rollout(_UntilClosed(env), policy, seed=options.seed)
    metric = find_environment(options.environment).metric
    shown = column_of(metric)
    print(f"{shown.label}: {shown.write(played.metrics[metric])} after {played.num_decisions} decisions")


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
