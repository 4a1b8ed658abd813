"""Describes the commands that show something, like `flowsched_gym.cli.options` does the others."""

import argparse
from collections.abc import Mapping
from typing import Final

from flowsched_gym.cli.arguments import Command, add_pairs, add_seed, add_trust, positive_integer


def _add_record(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "A frame for each decision. The first 60 decisions of a long episode, whose queues are still empty, are left "
        "out. A .png has the frame in the middle. .mp4 needs the extra video."
    )
    _add_player(parser)
    _add_film(parser, "file to write, .gif, .mp4 or .png (named as the environment, such as artemis.gif)")


def _add_watch(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Plays one episode; close the window to stop. Without a display, use `flowsched record`."
    _add_player(parser)
    _add_film(parser, "file to write besides, .gif, .mp4 or .png, as `flowsched record` does (none)")


def _add_demo(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Takes half a minute, and another one to compile the first time; needs the extra train. In a clone, `make "
        "demo` runs it."
    )
    folder = "folder for the agent, the tables and the pictures (demo)"
    parser.add_argument("--folder", default="demo", metavar="DIR", help=folder)
    changes = "change of the configuration, such as total_timesteps=100000"
    parser.add_argument("overrides", nargs="*", metavar="NAME=VALUE", help=changes)


def _add_plot(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Trainings that differ by their seed alone are one curve, the median, with a band between their quartiles. "
        "Rules are dashed lines, as good as they are in the same episodes. Works while a training goes on."
    )
    runs = "folder of a run, such as runs/NAME, of a sweep, or with the curve.csv of an agent of the leaderboard"
    parser.add_argument("runs", nargs="+", metavar="RUN", help=runs)
    parser.add_argument("--out", required=True, metavar="FILE", help="file to write (.png, .pdf, .svg, ...)")


def _add_play(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Type the number of a slot and Enter."
    parser.add_argument("environment", metavar="ENV_ID", help="environment of slots, such as flowsched/Artemis-v0")
    parser.add_argument("--flows", type=positive_integer, default=40, metavar="N", help="number of flows (40)")
    _add_episode(parser)


def _add_player(parser: argparse.ArgumentParser) -> None:
    """Adds which policy plays in which environment."""
    parser.add_argument("environment", metavar="ENV_ID", help="environment, such as flowsched/Artemis-v0")
    policy = "policy name, module:Class, file.py, model.zip or model:NAME (`flowsched models`)"
    parser.add_argument("--policy", nargs=1, required=True, metavar="POLICY", help=policy)
    _add_episode(parser)
    add_trust(parser)


def _add_film(parser: argparse.ArgumentParser, out: str) -> None:
    frames = "number of frames of the file, that is of decisions, at most (150)"
    parser.add_argument("--frames", type=positive_integer, default=150, metavar="N", help=frames)
    parser.add_argument("--out", metavar="FILE", help=out)


def _add_episode(parser: argparse.ArgumentParser) -> None:
    add_seed(parser, "seed of the episode")
    add_pairs(parser, "--kwarg", "argument of the environment (all: `flowsched list --arguments ENV_ID`)")


PICTURE_COMMANDS: Final[Mapping[str, Command]] = {
    "demo": Command(
        "train an agent on Artemis, compare it with the heuristics and draw the result",
        _add_demo,
        "picture_commands:run_demo",
    ),
    "plot": Command("draw the learning curves of trainings", _add_plot, "picture_commands:run_plot"),
    "record": Command(
        "record an episode of a policy as a film or a picture", _add_record, "picture_commands:run_record"
    ),
    "play": Command(
        "choose the slots yourself, and compare yourself with the rules", _add_play, "picture_commands:run_play"
    ),
    "watch": Command("watch an episode of a policy in a window", _add_watch, "picture_commands:run_watch"),
}
"""The commands by name."""
