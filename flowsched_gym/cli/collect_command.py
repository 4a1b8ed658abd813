"""Plays episodes with policies and keeps them as a dataset for offline learning: ``flowsched collect``."""

import argparse
import shlex
import warnings
from contextlib import ExitStack, closing
from typing import Final

import numpy as np

from flowsched_gym.cli.arguments import repeated
from flowsched_gym.cli.evaluate_command import players_of
from flowsched_gym.cli.output import ProgressBar, standard_output_kept_clean
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation import EpisodeRunner, SameEpisodesWarning, make_environment, plays_the_same
from flowsched_gym.evaluation.results import check_printable
from flowsched_gym.evaluation.runner import check_seeds, with_networks_read
from flowsched_gym.leaderboard import acting
from flowsched_gym.registration import find_environment
from flowsched_gym.workload import with_workload_read

AT_ONCE: Final = 256
"""Episodes that are played before they are written."""


def run(options: argparse.Namespace) -> None:
    """Plays the episodes and writes the dataset."""
    from flowsched_gym.integrations.minari import DatasetWriter, Played, new_folder  # noqa: PLC0415 - optional

    check_seeds(options.episodes, options.seed)
    spec = find_environment(options.environment)
    players, kwargs = players_of(options, spec)
    kept = with_networks_read(with_workload_read(kwargs))
    words = ["flowsched", "collect", options.environment, *repeated("--policy", options.policy)]
    words += ["--episodes", str(options.episodes), "--seed", str(options.seed), *repeated("--kwarg", options.kwarg)]
    command = shlex.join(words)
    check_printable("the command", command)
    with (
        new_folder(options.out) as folder,
        standard_output_kept_clean(),
        ExitStack() as processes,
        ProgressBar("collecting episodes") as progress,
    ):
        seen = [player.arguments(kwargs) for player in players]
        policies = [
            processes.enter_context(acting(player, arguments, seed=options.seed, trust=options.trust))
            for player, arguments in zip(players, seen, strict=True)
        ]
        labels = [player.name for player in players]
        dataset = DatasetWriter(folder, spec.id, kept, name="-".join(labels), policies=labels, command=command)
        with closing(make_environment(spec, kwargs)) as env:
            space = env.action_space
        total, done, decisions = options.episodes * len(policies), 0, 0
        progress(0, total)
        for label, policy, arguments in zip(labels, policies, seen, strict=True):
            with closing(EpisodeRunner(spec, arguments)) as runner:
                if runner.env.action_space != space:
                    needed, has = runner.env.action_space, space
                    raise ConfigError(f"policy {label} needs the actions {needed}, --kwarg gives the agent {has}")
                episodes = options.episodes
                if episodes > 1 and plays_the_same(policy, runner.env):
                    warnings.warn(SameEpisodesWarning(label, episodes), stacklevel=2)
                    total, episodes = total - episodes + 1, 1
                for begin in range(0, episodes, AT_ONCE):
                    count = min(AT_ONCE, episodes - begin)
                    played = runner.play(policy, episodes=count, seed=options.seed + done)
                    dataset.add(
                        [
                            Played(each.seed, np.asarray(each.actions), {"policy": label, **each.metrics})
                            for each in played
                        ]
                    )
                    done, decisions = done + count, decisions + sum(each.num_decisions for each in played)
                    progress(done, total)
    print(f"{options.out}: {done} episodes, {decisions:,} decisions; minari.MinariDataset({options.out!r}) reads them")
