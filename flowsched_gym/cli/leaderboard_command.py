"""Prints and regenerates the leaderboard: ``flowsched leaderboard``."""

import argparse
from pathlib import Path

from flowsched_gym.cli.progress import ProgressBar
from flowsched_gym.errors import ConfigError
from flowsched_gym.leaderboard import FIRST_SEED, NUM_EPISODES, leaderboard_markdown, play_settings, write_leaderboard

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Plays the heuristics if that is asked for, writes the leaderboard and prints it."""
    folder = Path(options.folder)
    if not folder.is_dir():
        raise ConfigError(f"--folder is {options.folder!r}: there is no such folder; run this in a checkout")
    if options.play:
        with ProgressBar("playing") as progress:
            play_settings(
                folder,
                episodes=NUM_EPISODES if options.episodes is None else options.episodes,
                seed=FIRST_SEED if options.seed is None else options.seed,
                progress=progress,
            )
    elif options.episodes is not None or options.seed is not None:
        raise ConfigError("--episodes and --seed go with --run: without it nothing is played")
    write_leaderboard(folder)
    print(leaderboard_markdown(folder), end="")
