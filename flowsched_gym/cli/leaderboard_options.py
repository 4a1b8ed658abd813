"""Describes the commands that judge policies, like `flowsched_gym.cli.options` does the others."""

import argparse
from collections.abc import Mapping
from typing import Final

from flowsched_gym.cli.arguments import (
    FLAG,
    MANY,
    Command,
    add_json,
    add_pairs,
    add_trust,
    natural_number,
    positive_integer,
    positive_number,
    seed,
)

DEFAULT_SUITE: Final = "standard"
LOCAL, RAY = "local", "ray"
"""Where policies of a leaderboard play: one after the other in this process, or at the same time on a Ray cluster."""
LEADERBOARD_FOLDER: Final = "leaderboard"


def _add_score(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "The file must have one class with predict, as for `flowsched leaderboard run --policy FILE`. It plays, in a "
        "separate process, episodes whose seeds are drawn and printed afterwards, and are none of the suite's. Score "
        "0: as good as random; 1: as good as the reference. If the file fails, the command still succeeds: the "
        "settings have an error and no score. The process is not a sandbox: it has your permissions."
    )
    add = parser.add_argument
    add("file", metavar="FILE", help="policy file (.py)")
    add("--suite", default=DEFAULT_SUITE, metavar="SUITE", help=f"suite name or file ({DEFAULT_SUITE})")
    add("--env", **MANY, metavar="NAME", help="setting or environment; may be repeated (all)")
    add("--episodes", type=positive_integer, metavar="N", help="number of episodes (as many as the suite validates by)")
    add("--seed", type=seed, metavar="S", help="seed of the first episode, S + 1 that of the next, ... (drawn)")
    _add_limits(parser, seconds=10.0, memory=4096)
    add("--cache", metavar="FOLDER", help="folder that stores the results of random and the reference, with --seed")
    add_pairs(parser, "--kwarg", "observation or action argument, such as defer=to-back")
    parser.add_argument("--json", **FLAG, help="print one line of JSON: score, settings and errors")


def _add_leaderboard(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True, dest="action")
    run = actions.add_parser("run", help="run policies in the settings of a suite", allow_abbrev=False)
    table = actions.add_parser("table", help="print the tables for a folder of results", allow_abbrev=False)
    page = actions.add_parser("page", help="write a web page with tables, curves and animations", allow_abbrev=False)
    verify = actions.add_parser("verify", help="recompute result files from their actions", allow_abbrev=False)
    _add_run(run)
    table.add_argument(
        "folder", nargs="?", default=LEADERBOARD_FOLDER, metavar="FOLDER", help=f"results ({LEADERBOARD_FOLDER})"
    )
    _add_page(page)
    for action in (run, table, page):
        action.add_argument(
            "--suite", default=DEFAULT_SUITE, metavar="SUITE", help=f"suite name or file ({DEFAULT_SUITE})"
        )
        action.add_argument("--env", **MANY, metavar="NAME", help="setting or environment; may be repeated (all)")
    for action in (run, table):
        action.add_argument("--markdown", **FLAG, help="print the tables as Markdown")
        add_json(action, "the results")
    _add_verify(verify)


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Writes one result file per setting and policy, and prints tables that include the published results. "
        "Existing results are not played again. Without --policy, all heuristics play."
    )
    add = parser.add_argument
    policies = "policy name, module:Class, policy file (.py), trained model (.zip), or folder with one per training"
    add("--policy", **MANY, metavar="POLICY", help=f"{policies}; may be repeated")
    add("--label", metavar="NAME", help="name of the policy on the leaderboard")
    add_pairs(parser, "--kwarg", "observation or action argument, such as defer=to-back")
    add("--out", default=LEADERBOARD_FOLDER, metavar="FOLDER", help=f"folder for the results ({LEADERBOARD_FOLDER})")
    add("--again", **FLAG, help="replace existing results")
    add("--list", **FLAG, help="list the settings and exit")
    add(
        "--launcher",
        choices=(LOCAL, RAY),
        default=LOCAL,
        help=f"run policies one after the other, or on a Ray cluster ({LOCAL})",
    )
    add("--ray-address", metavar="ADDRESS", help="auto or HOST:PORT of a cluster (default: start Ray locally)")
    _add_limits(parser)
    add_trust(parser)


def _add_page(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Writes index.html, which any browser opens offline. Each setting has an animation of the first test episode "
        "of an agent, or else of your policy, next to the best rule, from the actions in FOLDER."
    )
    add = parser.add_argument
    add("folder", nargs="?", metavar="FOLDER", help="results to show with the published ones (default: none)")
    add("--out", required=True, metavar="SITE", help="folder for the page")
    add("--models", metavar="FOLDER", help="folder with learning curves, SETTING/AGENT/curve.csv")
    add("--no-episodes", **FLAG, help="omit the animations")


def _add_verify(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Recomputes every number from the actions in the file; nothing that the file names is loaded. A policy of "
        "the package, or the one given by --policy, then plays episodes whose seeds are drawn, as the best rule does. "
        "Exit status 1: the difference between them, or the actions of the models, are not those of the file; runs are "
        "equal, and no models are at hand; or another version made it, and its numbers are others now."
    )
    add = parser.add_argument
    add("file", nargs="+", metavar="FILE", help="result file, or all results of a setting (.tar.xz)")
    add("--policy", metavar="POLICY", help="policy that the file claims to be from, as for `run`")
    add("--models", metavar="FOLDER", help="folder to find the models of FILE in, by their digests, without --policy")
    fresh = "number of episodes on secret seeds (as many as the suite has)"
    add("--fresh", type=natural_number, metavar="N", help=fresh)
    add("--mark", **FLAG, help="keep these episodes beside FILE if the claim holds: its row is then verified")
    add("--suite", metavar="FILE", help="suite file, for a suite outside the package")
    _add_limits(parser)
    add_trust(parser)


def _add_limits(parser: argparse.ArgumentParser, *, seconds: float = 3600.0, memory: int = 16384) -> None:
    """Adds what a policy that is not of the package may use, with all processes that it starts."""
    cpu = f"CPU time limit of your policy in each setting, in s ({seconds:g}); the judge waits four times as long"
    parser.add_argument("--seconds", type=positive_number, default=seconds, metavar="S", help=cpu)
    most = f"memory limit of your policy in MiB ({memory})"
    parser.add_argument("--memory-mb", type=positive_integer, default=memory, metavar="M", help=most)


LEADERBOARD_COMMANDS: Final[Mapping[str, Command]] = {
    "score": Command("score a policy file in a separate process with limits", _add_score, "score_command:run"),
    "leaderboard": Command(
        "compare policies with the published results, and verify results",
        _add_leaderboard,
        "leaderboard_command:run",
    ),
}
