"""Describes the commands and their arguments, without the modules that run them: help comes at once."""

import argparse
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from flowsched_gym.cli.arguments import natural_number, positive_integer, positive_number, seed

DEFAULT_EPISODES: Final = 20
"""Enough for intervals, and paired with those of another policy by their seeds."""
DEFAULT_SEED: Final = 0
DEFAULT_TOPOLOGY: Final = "one-link"
DEFAULT_SUITE: Final = "standard"
LOCAL, RAY = "local", "ray"
"""Where policies of a leaderboard play: one after the other in this process, or at the same time on a Ray cluster."""
LEADERBOARD_FOLDER: Final = "leaderboard"
SEE_LIST: Final = "(`flowsched list --arguments ENV_ID` names all)"
MANY: Final[Mapping[str, Any]] = {"action": "append", "default": []}
"""Of an option that may be repeated."""
FLAG: Final[Mapping[str, Any]] = {"action": "store_true"}


class Command(NamedTuple):
    """A command: what it does, its arguments, and ``module:function`` of this package that runs it."""

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
    add = parser.add_argument
    add("name", metavar="NAME", help="name of the workload, or a file that describes one (.yaml, .json)")
    add("--flows", type=positive_integer, required=True, metavar="N", help="number of flows")
    _add_seed(parser, "seed of the draw")
    add("--load", type=positive_number, metavar="L", help="offered bytes per second over a link's capacity")
    _add_pairs(parser, "--param", "another field of the workload, such as burst_rate=20 or request_jitter=1e-4")
    add("--out", required=True, metavar="FILE", help="flow file to write (.csv, or .parquet)")


def _add_import_flows(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "nfdump: what nfdump -o csv or -o long prints. zeek: conn.log, with #fields or as JSON. pcap: pcap or pcapng. "
        "Prints what was guessed and what was left out. docs/own-traffic.md goes on from there."
    )
    add = parser.add_argument
    add("file", metavar="FILE", help="flow records, or a packet capture")
    add("--format", required=True, metavar="NAME", help="nfdump, zeek or pcap")
    add("--out", required=True, metavar="FILE", help="flow file to write (.csv, or .parquet)")
    add("--sizes", metavar="FILE", help="distribution of the sizes to write (.csv), for workloads that draw like flows")
    hosts = "hosts of the network: addresses share them in turns (a host for each address)"
    add("--hosts", type=positive_integer, metavar="N", help=hosts)
    _add_json(parser, "what was read as ")


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
    _add_plot(parser)


def _add_network(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Checks a network file as `--topology FILE` and `gym.make(..., topology=FILE)` do, and tells what it has: "
        "docs/networks.md describes the files. Links without a capacity have 1 Gbps, those without a delay none."
    )
    parser.add_argument("file", metavar="FILE", help="network file (.graphml, .yaml)")
    parser.add_argument("--plot", metavar="FILE", help="picture to write (.png, .svg, ...)")
    _add_json(parser)


def _add_serve_packets(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "A packet file has the columns flow_id, size_bytes (on the wire) and arrival_s, in the order of arrival. The "
        "trace has a row for each packet. `flowsched list` names schedulers."
    )
    parser.add_argument("packets", metavar="PACKETS", help="packet file (.csv)")
    _add_scheduler(parser, "trace")


def _add_replay_packets(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Flows are sent in packets of 1,460 B and a header of 40 B, by senders that wait for acknowledgements, across "
        "a port for each link. Columns of a flow file and topologies are those of `flowsched replay`. `flowsched list` "
        'names schedulers. By class of link: --param \'buffer={"host": 3e5, "core": 6e5}\'.'
    )
    _add_flows(parser)
    _add_scheduler(parser, "records")
    _add_topology(parser, "topology")
    parser.add_argument("--trace", metavar="FILE", help="trace of the packets to write (.csv, or .parquet)")
    _add_plot(parser)


def _add_evaluate(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Episode e has the seed S + e, so that all policies meet the same flows. Beside a model, heuristics see all "
        "that they need. A class that promises pure = True (see flowsched_gym.envs.policies.Policy) plays many "
        "episodes at once, with the same result. Where all episodes would be the same, one is played. JSON is the "
        "result file of a policy; of several, an object with a list `results`."
    )
    add = parser.add_argument
    add("environment", metavar="ENV_ID", help="environment, such as flowsched/Artemis-v0")
    policies = "name of a policy, module:Class, a trained model (.zip) or model:NAME of `flowsched models`; repeatable"
    add("--policy", action="append", required=True, metavar="POLICY", help=policies)
    count = f"number of episodes of each policy ({DEFAULT_EPISODES})"
    add("--episodes", type=positive_integer, default=DEFAULT_EPISODES, metavar="N", help=count)
    _add_seed(parser, "seed of the first episode")
    _add_pairs(parser, "--kwarg", f"argument of the environment, such as workload=gather-heavy or k=3 {SEE_LIST}")
    _add_trust(parser)
    add("--all", **FLAG, help="print all metrics, instead of the four that tell most")
    add("--explain", **FLAG, help="print the rule that a model of few weights (algorithm=cmaes) is")
    _add_json(parser, "the results as ")
    add("--out", metavar="FILE", help="results to write: all of them (.json), or the table (.csv)")


def _add_score(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "The file has one class with predict, as `flowsched leaderboard run --policy module:Class` takes. It plays the "
        "validation seeds of the suite in a process of its own, never those of the test. A score is 0 where it is as "
        "good as random, and 1 where it is as good as the reference. What goes wrong in the file is an error of its "
        "settings, without a score, and no failure of the command. The process is no sandbox: it has your rights."
    )
    add = parser.add_argument
    add("file", metavar="FILE", help="policy file (.py)")
    add("--suite", default=DEFAULT_SUITE, metavar="SUITE", help=f"name or file ({DEFAULT_SUITE})")
    add("--env", **MANY, metavar="NAME", help="setting or environment; may be repeated (all)")
    add("--episodes", type=positive_integer, metavar="N", help="the first validation episodes alone")
    seconds = "time that the policy may compute in each setting, in s (10)"
    add("--seconds", type=positive_number, default=10.0, metavar="S", help=seconds)
    memory = "memory that its process may use, in MiB (4096)"
    add("--memory-mb", type=positive_integer, default=4096, metavar="M", help=memory)
    add("--cache", metavar="FOLDER", help="folder that keeps what random and the reference reached")
    _add_pairs(parser, "--kwarg", "what the policy sees and may do, such as defer=to-back")
    parser.add_argument("--json", **FLAG, help="print one line of JSON: score, settings, and errors as text")


def _add_compile(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Machine code is kept beside the package, or in the folder that NUMBA_CACHE_DIR names, and found there by all "
        "processes. Other disciplines, routings or numbers of links than the default ones have code of "
        "their own."
    )
    environments = "environment, such as flowsched/Artemis-v0 (default: all)"
    parser.add_argument("environments", nargs="*", metavar="ENV_ID", help=environments)
    _add_pairs(parser, "--kwarg", f"argument of the environments, such as k=3 {SEE_LIST}")


def _add_leaderboard(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True, dest="action")
    run = actions.add_parser("run", help="play policies in the settings of a suite", allow_abbrev=False)
    table = actions.add_parser("table", help="print the tables of a folder of results", allow_abbrev=False)
    page = actions.add_parser("page", help="write a page of tables, curves and animated episodes", allow_abbrev=False)
    verify = actions.add_parser("verify", help="take the actions of result files again", allow_abbrev=False)
    _add_run(run)
    table.add_argument("folder", nargs="?", default=LEADERBOARD_FOLDER, metavar="FOLDER", help="results")
    _add_page(page)
    for action in (run, table, page):
        action.add_argument("--suite", default=DEFAULT_SUITE, metavar="SUITE", help=f"name or file ({DEFAULT_SUITE})")
        action.add_argument("--env", **MANY, metavar="NAME", help="setting or environment; may be repeated")
    for action in (run, table):
        action.add_argument("--markdown", **FLAG, help="print the tables as Markdown")
        _add_json(action, "the results as ")
    _add_verify(verify)


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Writes one result file for each setting and policy, and prints the tables, the published results beside "
        "them. What is there already is not played again. Without --policy all heuristics play."
    )
    add = parser.add_argument
    policies = "name of a policy, module:Class, a trained model (.zip), or a folder with a model for each training"
    add("--policy", **MANY, metavar="POLICY", help=f"{policies}; may be repeated")
    add("--label", metavar="NAME", help="name of the policy on the leaderboard")
    _add_pairs(parser, "--kwarg", "what the agent sees and may do, such as defer=to-back")
    add("--out", default=LEADERBOARD_FOLDER, metavar="FOLDER", help=f"results ({LEADERBOARD_FOLDER})")
    add("--again", **FLAG, help="play anew what was played already")
    add("--list", **FLAG, help="list the settings, and play nothing")
    add("--launcher", choices=(LOCAL, RAY), default=LOCAL, help=f"one after the other, or on a Ray cluster ({LOCAL})")
    add("--ray-address", metavar="ADDRESS", help="auto or HOST:PORT of a cluster (default: start Ray on this machine)")
    _add_trust(parser)


def _add_page(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Writes index.html, which any browser shows without a network. In each setting an agent, or else a policy of "
        "yours, has a film of its first test episode beside the best rule, taken from the actions in FOLDER."
    )
    add = parser.add_argument
    add("folder", nargs="?", metavar="FOLDER", help="results, beside the published ones (default: none)")
    add("--out", required=True, metavar="SITE", help="folder of the page")
    add("--models", metavar="FOLDER", help="learning curves: SETTING/AGENT/curve.csv")
    add("--no-episodes", **FLAG, help="film no episodes")


def _add_verify(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Computes every number anew from the actions in the file; nothing that the file names is loaded. A policy of "
        "the package, or one that --policy names, then plays episodes with seeds that no file names."
    )
    add = parser.add_argument
    add("file", nargs="+", metavar="FILE", help="result file")
    add("--policy", metavar="POLICY", help="policy that is said to have played")
    fresh = "episodes that it plays besides (as many as the suite has)"
    add("--fresh", type=natural_number, metavar="N", help=fresh)
    add("--suite", metavar="FILE", help="suite file, for a suite that is not the package's")
    _add_trust(parser)


def _add_models(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Each plays by `flowsched evaluate ENV_ID --policy model:NAME`, with the arguments of its training where "
        "--kwarg gives no others. With a NAME, its card is printed."
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="name of an agent: print its card")
    _add_json(parser)


def _add_export_card(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", metavar="MODEL", help="name of an agent, or a model file (.zip) with its .json beside it"
    )
    parser.add_argument("folder", metavar="DIR", help="folder to write model.zip, README.md and config.json into")


def _add_flows(parser: argparse.ArgumentParser) -> None:
    flows = "flow file (.csv, .parquet), workload file (.yaml, .json), or name of a workload"
    parser.add_argument("flows", metavar="FLOWS", help=flows)


def _add_topology(parser: argparse.ArgumentParser, meaning: str) -> None:
    own = f"{meaning}, or a network file (.graphml, .yaml) ({DEFAULT_TOPOLOGY})"
    parser.add_argument("--topology", default=DEFAULT_TOPOLOGY, metavar="NAME", help=own)
    hosts = "number of hosts, where the topology leaves it free"
    parser.add_argument("--hosts", type=positive_integer, metavar="N", help=hosts)


def _add_capacity(parser: argparse.ArgumentParser) -> None:
    add = parser.add_mutually_exclusive_group().add_argument
    gbps = "capacity of every link in Gbps (1)"
    add("--link-gbps", type=positive_number, metavar="G", help=gbps)
    add("--capacity", type=positive_number, metavar="B_PER_S", help="the same in bytes per second")


def _add_scheduler(parser: argparse.ArgumentParser, written: str) -> None:
    """Adds the options of both commands for packets."""
    parser.add_argument("--scheduler", required=True, metavar="NAME", help="name of the scheduler")
    _add_capacity(parser)
    _add_pairs(parser, "--param", "parameter, such as thresholds=1e4,1e5, buffer=3e5, transport=dctcp or delay=2e-5")
    _add_seed(parser, "seed of a workload's draw, and of the hashes that choose paths and buckets of a sketch")
    _add_outcome(parser, written)


def _add_outcome(parser: argparse.ArgumentParser, written: str) -> None:
    """Adds by which engine a simulation runs, and where its outcome goes."""
    engines = f"simpy, the reference, or compiled: the same {written} sooner"
    parser.add_argument("--engine", default="simpy", metavar="NAME", help=engines)
    parser.add_argument("--out", metavar="FILE", help=f"{written} to write (.csv, or .parquet)")
    _add_json(parser, "the metrics as ")


def _add_plot(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--plot", metavar="FILE", help="figure to write: completion times and a timeline (.png, ...)")


def _add_seed(parser: argparse.ArgumentParser, meaning: str) -> None:
    parser.add_argument("--seed", type=seed, default=DEFAULT_SEED, metavar="S", help=f"{meaning} ({DEFAULT_SEED})")


def _add_json(parser: argparse.ArgumentParser, what: str = "") -> None:
    parser.add_argument("--json", **FLAG, help=f"print {what}one JSON document")


def _add_trust(parser: argparse.ArgumentParser) -> None:
    trust = "load models that Stable-Baselines3 wrote too: loading one runs any code that the file brings"
    parser.add_argument("--trust", **FLAG, help=trust)


def _add_pairs(parser: argparse.ArgumentParser, option: str, meaning: str) -> None:
    """Adds an option of the form key=value that may come many times."""
    parser.add_argument(option, **MANY, metavar="KEY=VALUE", help=f"{meaning}; may be repeated")


COMMANDS: Final[Mapping[str, Command]] = {
    "list": Command(
        "list environments, disciplines, schedulers, policies, workloads and topologies",
        _add_list,
        "package_commands:run_list",
    ),
    "workload": Command("draw a workload into a flow file", _add_workload, "flow_commands:run_workload"),
    "import-flows": Command(
        "make a flow file of records of nfdump or Zeek, or of captured packets",
        _add_import_flows,
        "flow_commands:run_import_flows",
    ),
    "replay": Command("run a discipline on the flows of a file", _add_replay, "flow_commands:run_replay"),
    "serve-packets": Command(
        "run a scheduler on the packets of a file, at one port", _add_serve_packets, "flow_commands:run_serve_packets"
    ),
    "replay-packets": Command(
        "run a scheduler on the flows of a file, sent in packets",
        _add_replay_packets,
        "flow_commands:run_replay_packets",
    ),
    "network": Command("check a network file, and draw it", _add_network, "flow_commands:run_network"),
    "evaluate": Command("play episodes of an environment with policies", _add_evaluate, "evaluate_command:run"),
    "score": Command("score a policy file apart, with limits: for searches", _add_score, "score_command:run"),
    "compile": Command(
        "compile the engine of vector environments beforehand", _add_compile, "package_commands:run_compile"
    ),
    "models": Command("list the trained agents that come with the package", _add_models, "model_commands:run_models"),
    "export-card": Command(
        "write a model, its card and its configuration as model hubs expect them",
        _add_export_card,
        "model_commands:run_export_card",
    ),
    "leaderboard": Command(
        "play policies in a suite, set them beside the published results, play results again",
        _add_leaderboard,
        "leaderboard_command:run",
    ),
}
"""The commands by name."""
