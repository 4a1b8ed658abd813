"""Describes the commands and their arguments, without the modules that run them: help comes at once."""

import argparse
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from flowsched_gym.cli.arguments import natural_number, positive_integer, positive_number, seed

DEFAULT_EPISODES: Final = 20
"""Enough for intervals, and paired with those of another policy by their seeds."""
DEFAULT_SEED: Final = 0
DEFAULT_TOPOLOGY: Final = "one-link"
DEFAULT_SUITE: Final = "standard"
LEADERBOARD_FOLDER: Final = "leaderboard"
SEE_LIST: Final = "(`flowsched list --arguments ENV_ID` names all)"


class Command(NamedTuple):
    """A command: what it does, its arguments, and ``module:function`` that runs it, imported at need."""

    summary: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    target: str


def _add_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--arguments", metavar="ENV_ID", help="list the arguments of an environment instead (--kwarg)")
    _add_json(parser)


def _add_workload(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "`flowsched list` names the workloads. In the file, arrival_s is an absolute time, and deadline_s the time "
        "allowed after it."
    )
    parser.add_argument(
        "name", metavar="NAME", help="name of the workload, or a file that describes one (.yaml, .json)"
    )
    parser.add_argument("--flows", type=positive_integer, required=True, metavar="N", help="number of flows")
    _add_seed(parser, "seed of the draw")
    parser.add_argument(
        "--load", type=positive_number, metavar="L", help="offered bytes per second over a link's capacity"
    )
    _add_pairs(parser, "--param", "another field of the workload, such as burst_rate=20 or request_jitter=1e-4")
    parser.add_argument("--out", required=True, metavar="FILE", help="flow file to write (.csv, or .parquet)")


def _add_replay(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Columns of a flow file: arrival_s is an absolute time, deadline_s the time allowed after it, and due_s, in "
        "place of deadline_s, an absolute time. `flowsched list` names workloads, disciplines and topologies."
    )
    _add_flows(parser)
    parser.add_argument("--discipline", required=True, metavar="NAME", help="name of the discipline")
    _add_topology(parser, "name of the topology")
    _add_capacity(parser)
    _add_pairs(parser, "--param", "parameter of the discipline, such as thresholds=1e5,1e6 or within=fifo")
    _add_seed(parser, "seed of a workload's draw, and of the hash that chooses among equal paths")
    _add_outcome(parser, "records")
    parser.add_argument("--plot", metavar="FILE", help="figure to write: completion times and a timeline (.png, ...)")


def _add_serve_packets(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "A packet file has the columns flow_id, size_bytes (on the wire) and arrival_s, in the order of arrival. The "
        "trace has a row for each packet. `flowsched list` names schedulers."
    )
    parser.add_argument("packets", metavar="PACKETS", help="packet file (.csv)")
    _add_scheduler(parser, "trace")


def _add_replay_packets(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Flows are sent in packets of 1,460 B and a header of 40 B, by senders that wait for acknowledgements. Columns "
        "of a flow file are those of `flowsched replay`. `flowsched list` names schedulers."
    )
    _add_flows(parser)
    _add_scheduler(parser, "records")
    _add_topology(parser, "topology")
    parser.add_argument("--trace", metavar="FILE", help="trace of the packets to write (.csv, or .parquet)")


def _add_evaluate(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Episode e has the seed S + e, so that all policies meet the same flows. Beside a model, heuristics see all "
        "that they need. A class that promises pure = True (see flowsched_gym.envs.policies.Policy) plays many "
        "episodes at once, with the same result. Where all episodes would be the same, one is played. JSON is the "
        "result file of a policy; of several, an object with a list `results`."
    )
    parser.add_argument("environment", metavar="ENV_ID", help="environment, such as flowsched/Artemis-v0")
    parser.add_argument(
        "--policy",
        action="append",
        required=True,
        metavar="POLICY",
        help="name of a policy, module:Class, or a trained model (.zip); may be repeated",
    )
    parser.add_argument(
        "--episodes",
        type=positive_integer,
        default=DEFAULT_EPISODES,
        metavar="N",
        help=f"number of episodes of each policy ({DEFAULT_EPISODES})",
    )
    _add_seed(parser, "seed of the first episode")
    _add_pairs(
        parser,
        "--kwarg",
        f"argument of the environment, such as workload=gather-heavy or k=3 {SEE_LIST}",
    )
    _add_trust(parser)
    parser.add_argument("--all", action="store_true", help="print all metrics, instead of the four that tell most")
    parser.add_argument(
        "--explain", action="store_true", help="print the rule that a model of few weights (algorithm=cmaes) is"
    )
    _add_json(parser, "the results as ")
    parser.add_argument("--out", metavar="FILE", help="results to write: all of them (.json), or the table (.csv)")


def _add_compile(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Machine code is kept beside the package, or in the folder that NUMBA_CACHE_DIR names, and found there by all "
        "processes. Other disciplines, routings or numbers of links than the default ones have code of "
        "their own."
    )
    parser.add_argument(
        "environments", nargs="*", metavar="ENV_ID", help="environment, such as flowsched/Artemis-v0 (default: all)"
    )
    _add_pairs(parser, "--kwarg", f"argument of the environments, such as k=3 {SEE_LIST}")


def _add_leaderboard(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True, dest="action")
    run = actions.add_parser("run", help="play policies in the settings of a suite", allow_abbrev=False)
    run.epilog = (
        "Writes one result file for each setting and policy, and prints the tables, the published results beside "
        "them. What is there already is not played again. Without --policy all heuristics play."
    )
    run.add_argument(
        "--policy",
        action="append",
        default=[],
        metavar="POLICY",
        help="name of a policy, module:Class, a trained model (.zip), or a folder with a model for each training; may "
        "be repeated",
    )
    run.add_argument("--label", metavar="NAME", help="name of the policy on the leaderboard")
    _add_pairs(run, "--kwarg", "what the agent sees and may do, such as defer=to-back")
    run.add_argument("--out", default=LEADERBOARD_FOLDER, metavar="FOLDER", help=f"results ({LEADERBOARD_FOLDER})")
    run.add_argument("--again", action="store_true", help="play anew what was played already")
    run.add_argument("--list", action="store_true", help="list the settings, and play nothing")
    _add_trust(run)
    table = actions.add_parser("table", help="print the tables of a folder of results", allow_abbrev=False)
    table.add_argument("folder", nargs="?", default=LEADERBOARD_FOLDER, metavar="FOLDER", help="results")
    page = actions.add_parser("page", help="write a page of tables, curves and animated episodes", allow_abbrev=False)
    page.epilog = (
        "Writes index.html, which any browser shows without a network, and its animations beside it. What is there "
        "already is kept: an interrupted command goes on where it stopped. In each setting the best rule has an "
        "animation, and the best learned agent whose models are in --models."
    )
    page.add_argument("folder", nargs="?", metavar="FOLDER", help="results, beside the published ones (default: none)")
    page.add_argument("--out", required=True, metavar="SITE", help="folder of the page")
    page.add_argument(
        "--models", metavar="FOLDER", help="models and learning curves: SETTING/AGENT/*.zip and SETTING/AGENT/curve.csv"
    )
    episodes = page.add_mutually_exclusive_group()
    episodes.add_argument(
        "--episodes-of",
        action="append",
        default=[],
        metavar="POLICY",
        help="policy or agent whose episodes are animated in all settings, instead of the best; may be repeated",
    )
    episodes.add_argument("--all-episodes", action="store_true", help="animate episodes in all settings")
    episodes.add_argument("--no-episodes", action="store_true", help="animate no episodes")
    _add_trust(page)
    for action in (run, table, page):
        action.add_argument("--suite", default=DEFAULT_SUITE, metavar="SUITE", help=f"name or file ({DEFAULT_SUITE})")
        action.add_argument(
            "--env", action="append", default=[], metavar="NAME", help="setting or environment; may be repeated"
        )
    for action in (run, table):
        action.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
        _add_json(action, "the results as ")
    verify = actions.add_parser("verify", help="take the actions of result files again", allow_abbrev=False)
    verify.epilog = (
        "Computes every number anew from the actions in the file; nothing that the file names is loaded. A policy of "
        "the package, or one that --policy names, then plays episodes with seeds that no file names."
    )
    verify.add_argument("file", nargs="+", metavar="FILE", help="result file")
    verify.add_argument("--policy", metavar="POLICY", help="policy that is said to have played")
    verify.add_argument(
        "--fresh", type=natural_number, metavar="N", help="episodes that it plays besides (as many as the suite has)"
    )
    verify.add_argument("--suite", metavar="FILE", help="suite file, for a suite that is not the package's")
    _add_trust(verify)


def _add_flows(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "flows",
        metavar="FLOWS",
        help="flow file (.csv, .parquet), workload file (.yaml, .json), or name of a workload",
    )


def _add_topology(parser: argparse.ArgumentParser, meaning: str) -> None:
    parser.add_argument("--topology", default=DEFAULT_TOPOLOGY, metavar="NAME", help=f"{meaning} ({DEFAULT_TOPOLOGY})")
    parser.add_argument(
        "--hosts", type=positive_integer, metavar="N", help="number of hosts, where the topology leaves it free"
    )


def _add_capacity(parser: argparse.ArgumentParser) -> None:
    capacity = parser.add_mutually_exclusive_group()
    capacity.add_argument(
        "--link-gbps",
        type=positive_number,
        metavar="G",
        help="capacity of every link in Gbps (1; packets on leaf-spine: 10, between leaves and spines four times that)",
    )
    capacity.add_argument("--capacity", type=positive_number, metavar="B_PER_S", help="the same in bytes per second")


def _add_scheduler(parser: argparse.ArgumentParser, written: str) -> None:
    """Adds the options of both commands for packets."""
    parser.add_argument("--scheduler", required=True, metavar="NAME", help="name of the scheduler")
    _add_capacity(parser)
    _add_pairs(parser, "--param", "parameter, such as thresholds=1e4,1e5, buffer=240, window=64 or delay=2e-5")
    _add_seed(parser, "seed of the sketch's hash")
    _add_outcome(parser, written)


def _add_outcome(parser: argparse.ArgumentParser, written: str) -> None:
    """Adds by which engine a simulation runs, and where its outcome goes."""
    parser.add_argument(
        "--engine",
        default="simpy",
        metavar="NAME",
        help=f"simpy, the reference, or compiled: the same {written} sooner",
    )
    parser.add_argument("--out", metavar="FILE", help=f"{written} to write (.csv, or .parquet)")
    _add_json(parser, "the metrics as ")


def _add_seed(parser: argparse.ArgumentParser, meaning: str) -> None:
    parser.add_argument("--seed", type=seed, default=DEFAULT_SEED, metavar="S", help=f"{meaning} ({DEFAULT_SEED})")


def _add_json(parser: argparse.ArgumentParser, what: str = "") -> None:
    parser.add_argument("--json", action="store_true", help=f"print {what}one JSON document")


def _add_trust(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--trust",
        action="store_true",
        help="load models that Stable-Baselines3 wrote too: loading one runs any code that the file brings",
    )


def _add_pairs(parser: argparse.ArgumentParser, option: str, meaning: str) -> None:
    """Adds an option of the form key=value that may come many times."""
    parser.add_argument(option, action="append", default=[], metavar="KEY=VALUE", help=f"{meaning}; may be repeated")


COMMANDS: Final[Mapping[str, Command]] = {
    "list": Command(
        "list environments, disciplines, schedulers, policies, workloads and topologies",
        _add_list,
        "flowsched_gym.cli.package_commands:run_list",
    ),
    "workload": Command(
        "draw a workload into a flow file", _add_workload, "flowsched_gym.cli.flow_commands:run_workload"
    ),
    "replay": Command(
        "run a discipline on the flows of a file", _add_replay, "flowsched_gym.cli.flow_commands:run_replay"
    ),
    "serve-packets": Command(
        "run a scheduler on the packets of a file, at one port",
        _add_serve_packets,
        "flowsched_gym.cli.flow_commands:run_serve_packets",
    ),
    "replay-packets": Command(
        "run a scheduler on the flows of a file, sent in packets",
        _add_replay_packets,
        "flowsched_gym.cli.flow_commands:run_replay_packets",
    ),
    "evaluate": Command(
        "play episodes of an environment with policies", _add_evaluate, "flowsched_gym.cli.evaluate_command:run"
    ),
    "compile": Command(
        "compile the engine of vector environments beforehand",
        _add_compile,
        "flowsched_gym.cli.package_commands:run_compile",
    ),
    "leaderboard": Command(
        "play policies in a suite, set them beside the published results, play results again",
        _add_leaderboard,
        "flowsched_gym.cli.leaderboard_command:run",
    ),
}
"""The commands by name."""
