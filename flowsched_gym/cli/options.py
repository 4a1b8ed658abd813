"""Describes the commands and their arguments, without the modules that run them: help comes at once."""

import argparse
from collections.abc import Mapping
from typing import Final

from flowsched_gym.cli.arguments import (
    FLAG,
    Command,
    add_capacity,
    add_json,
    add_pairs,
    add_plot,
    add_seed,
    add_trust,
    positive_integer,
    positive_number,
)
from flowsched_gym.cli.leaderboard_options import LEADERBOARD_COMMANDS
from flowsched_gym.cli.picture_options import PICTURE_COMMANDS

DEFAULT_EPISODES: Final = 20
"""Enough for intervals, and paired with those of another policy by their seeds."""
DEFAULT_TRIALS: Final = 200
DEFAULT_TRIAL_EPISODES: Final = 32
DEFAULT_TOPOLOGY: Final = "one-link"
SEE_LIST: Final = "(all: `flowsched list --arguments ENV_ID`)"
OWN_CLASS: Final = "module:Class, file.py:Class or file.py"


def _add_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--arguments", metavar="ENV_ID", help="list the arguments of an environment (for --kwarg)")
    add_json(parser, "the lists")


def _add_workload(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "`flowsched list` lists the workloads. In the file, arrival_s is an absolute time and deadline_s the time "
        "allowed after arrival."
    )
    add = parser.add_argument
    add("name", metavar="NAME", help="name of a workload, or workload file (.yaml, .json)")
    add("--flows", type=positive_integer, required=True, metavar="N", help="number of flows")
    add_seed(parser, "random seed")
    add("--load", type=positive_number, metavar="L", help="offered load as a share of the link capacity")
    add_pairs(parser, "--param", "parameter of the workload, such as burst_rate=20 or request_jitter=1e-4")
    add("--out", required=True, metavar="FILE", help="flow file to write (.csv or .parquet)")


def _add_import_flows(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "nfdump: output of nfdump -o csv or -o long. zeek: conn.log, with #fields or as JSON. pcap: pcap or pcapng. "
        "hpcc: flow.txt of HPCC's ns-3. htsim: connection matrix (.cm). coflow: trace of the coflow benchmark. "
        "Prints assumptions and skipped records. Next steps: docs/own-traffic.md."
    )
    add = parser.add_argument
    add("file", metavar="FILE", help="flow records, packet capture, or flows of a simulator")
    formats = "nfdump, zeek, pcap, hpcc, htsim or coflow (default: recognised by how the file begins)"
    add("--format", metavar="NAME", help=formats)
    add("--out", required=True, metavar="FILE", help="flow file to write (.csv or .parquet)")
    add("--sizes", metavar="FILE", help="file for the size distribution of the flows (.csv), for use in workloads")
    hosts = "number of hosts, to which addresses are assigned in turn (default: one host per address)"
    add = parser.add_mutually_exclusive_group().add_argument
    add("--hosts", type=positive_integer, metavar="N", help=hosts)
    add("--topology", metavar="FILE", help="network file whose hosts are named by their addresses, or nodes, in FILE")
    add_json(parser, "the summary")


def _add_import_network(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "graphml: with hosts marked, or of the Topology Zoo. hpcc: topology.txt of HPCC's ns-3. htsim: .topo. json: "
        "node-link mapping of networkx. Prints what was guessed and ignored. --topology also reads such files as they "
        "are; --hosts and --undirected are for graphs: docs/networks.md."
    )
    add = parser.add_argument
    add("file", metavar="FILE", help="network file of another program")
    add("--format", metavar="NAME", help="graphml, hpcc, htsim or json (default: by the extension)")
    add("--out", required=True, metavar="FILE", help="network file to write (.yaml or .json), for --topology")
    add("--hosts", metavar="beside", help="beside: add a host beside each node of a graph without hosts")
    add("--undirected", **FLAG, help="take the edges of a directed graph as cables with both directions")
    add_json(parser, "the summary")


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "hpcc: flow.txt and topology.txt of HPCC's ns-3. htsim: connection matrix (.cm) and .topo. Warns of what has "
        "no place in the file. `flowsched import-flows` reads the flows back, `flowsched import-network` the network."
    )
    _add_flows(parser)
    add = parser.add_argument
    add("--format", required=True, choices=("hpcc", "htsim"), help="simulator for which the files are")
    add("--out", required=True, metavar="FILE", help="file of flows to write (flow.txt, .cm)")
    add("--topology", metavar="NAME", help="name of the topology or network file")
    add("--topology-out", metavar="FILE", help="file of the topology to write (topology.txt, .topo)")
    add("--hosts", type=positive_integer, metavar="N", help="number of hosts, if the topology does not fix it")
    add("--link-gbps", type=positive_number, metavar="G", help="capacity of links that have none of their own (1)")
    add("--delay", type=positive_number, default=1e-6, metavar="S", help="delay in s of such links (1e-6)")
    add_seed(parser, "seed of a workload's draw")


def _add_replay(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "In a flow file, arrival_s is an absolute time and deadline_s the time allowed after arrival; due_s, an "
        "absolute deadline, can replace deadline_s. `flowsched list` lists workloads, disciplines and topologies."
    )
    _add_flows(parser)
    names = f"name of the discipline, or your own: {OWN_CLASS}"
    several = f"{names}; several times: a table, and curves in one figure"
    parser.add_argument("--discipline", action="append", required=True, metavar="NAME", help=several)
    _add_topology(parser, "name of the topology")
    add_capacity(parser)
    add_pairs(parser, "--param", "parameter of the discipline, such as thresholds=1e5,1e6 or within=fifo")
    add_seed(parser, "seed of the workload and of the hash that chooses among equal paths")
    _add_outcome(parser, "records")
    add_plot(parser)


def _add_network(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Applies the checks of `--topology FILE` and `gym.make(..., topology=FILE)` and prints a summary. "
        "File format: docs/networks.md. Default capacity: 1 Gbps; default delay: 0."
    )
    parser.add_argument(
        "file", metavar="FILE", help="network file (.graphml, .yaml, .json, or of HPCC (.txt) or htsim (.topo))"
    )
    parser.add_argument("--plot", metavar="FILE", help="file for the picture (.png, .pdf, .svg, ...)")
    add_json(parser, "the summary")


def _add_serve_packets(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "A packet file has the columns flow_id, size_bytes (on the wire) and arrival_s, in order of arrival. The trace "
        "has a row per packet. `flowsched list` lists schedulers."
    )
    parser.add_argument("packets", metavar="PACKETS", help="packet file (.csv)")
    _add_scheduler(parser, "trace")


def _add_replay_packets(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Flows are sent in packets of 1,460 B plus a header of 40 B, by senders that wait for acknowledgements, with "
        "a port for each link. Flow files and topologies are those of `flowsched replay`. `flowsched list` lists "
        'schedulers. Values per class of link: --param \'buffer={"host": 3e5, "core": 6e5}\'.'
    )
    _add_flows(parser)
    _add_scheduler(parser, "records")
    _add_topology(parser, "topology")
    parser.add_argument("--trace", metavar="FILE", help="file for the packet trace (.csv or .parquet)")
    add_plot(parser)


def _add_evaluate(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Episode e has the seed S + e, so all policies meet the same flows. When compared with a model, heuristics "
        "still observe all they need. A class with pure = True (see flowsched_gym.envs.policies.Policy) plays many "
        "episodes at once, with the same result. If all episodes would be identical, only one is played. JSON output "
        "is the result file of a policy, or an object with a list `results` for several."
    )
    _add_players(parser)
    add = parser.add_argument
    count = f"episodes per policy ({DEFAULT_EPISODES})"
    add("--episodes", type=positive_integer, default=DEFAULT_EPISODES, metavar="N", help=count)
    add("--all", **FLAG, help="print all metrics, not only the main four")
    add("--explain", **FLAG, help="explain models: effects of what they see, and the nearest rule of a few numbers")
    add_json(parser, "the results")
    add("--out", metavar="FILE", help="file for all results (.json) or the table (.csv)")


def _add_tune_rule(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Tunes the numbers of a rule by CMA-ES on training episodes, and prints it as --policy reads it. Options given "
        "are where the search begins; those that are no numbers stay. `flowsched list` names rules."
    )
    add = parser.add_argument
    add("environment", metavar="ENV_ID", help="environment, such as flowsched/Artemis-v0")
    rules = "rule with numbers, such as in-time or skip-late:base=sjf; may be repeated: the best one comes first"
    add("--policy", action="append", required=True, metavar="POLICY", help=rules)
    add("--trials", type=positive_integer, default=DEFAULT_TRIALS, metavar="N", help=f"trials ({DEFAULT_TRIALS})")
    per_trial = f"episodes of each trial ({DEFAULT_TRIAL_EPISODES})"
    add("--episodes", type=positive_integer, default=DEFAULT_TRIAL_EPISODES, metavar="N", help=per_trial)
    add_seed(parser, "seed of the search and of its episodes")
    add_pairs(parser, "--kwarg", f"argument of the environment, such as workload=gather-heavy or k=3 {SEE_LIST}")
    add_json(parser, "the rules")


def _add_collect(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Episodes have the seeds S, S + 1, ..., starting with those of the first policy. Heuristics observe all they "
        "need; the dataset holds what an agent with the arguments of --kwarg observes, and its action masks. Read it "
        "by minari.MinariDataset(DIR); docs/offline.md describes it."
    )
    _add_players(parser)
    parser.add_argument("--episodes", type=positive_integer, required=True, metavar="N", help="episodes per policy")
    parser.add_argument("--out", required=True, metavar="DIR", help="folder of the dataset; must not exist")


def _add_players(parser: argparse.ArgumentParser) -> None:
    """Adds which policies play in which environment."""
    parser.add_argument("environment", metavar="ENV_ID", help="environment, such as flowsched/Artemis-v0")
    policies = "policy name, module:Class, file.py, model.zip or model:NAME (`flowsched models`), several times"
    parser.add_argument("--policy", action="append", required=True, metavar="POLICY", help=policies)
    add_seed(parser, "seed of the first episode")
    add_pairs(parser, "--kwarg", f"argument of the environment, such as workload=gather-heavy or k=3 {SEE_LIST}")
    add_trust(parser)


def _add_compile(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Machine code is cached beside the package, or in NUMBA_CACHE_DIR, for all processes. Disciplines, routings "
        "and numbers of links other than the defaults are compiled separately."
    )
    environments = "environment, such as flowsched/Artemis-v0 (default: all)"
    parser.add_argument("environments", nargs="*", metavar="ENV_ID", help=environments)
    add_pairs(parser, "--kwarg", f"argument of the environments, such as k=3 {SEE_LIST}")


def _add_ns3(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True, dest="action")
    build = actions.add_parser("build", help="compile the program of engine='ns3'", allow_abbrev=False)
    build.epilog = "It is kept in the user's cache. CXX, CXXFLAGS and LDFLAGS name another compiler, and where ns-3 is."


def _add_models(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "To run one: `flowsched evaluate ENV_ID --policy model:NAME`, which uses the arguments of its training unless "
        "--kwarg overrides them."
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="agent whose card to print")
    add_json(parser, "the list or the card")


def _add_export_card(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", metavar="MODEL", help="name of an agent, or model file (.zip) with its .json beside it"
    )
    parser.add_argument("folder", metavar="DIR", help="folder for model.zip, README.md and config.json")


def _add_flows(parser: argparse.ArgumentParser) -> None:
    flows = "flow file (.csv, .parquet), workload file (.yaml, .json), or name of a workload"
    parser.add_argument("flows", metavar="FLOWS", help=flows)


def _add_topology(parser: argparse.ArgumentParser, meaning: str) -> None:
    own = f"{meaning} or network file (.graphml, .yaml, .json, or of HPCC (.txt) or htsim (.topo)) ({DEFAULT_TOPOLOGY})"
    parser.add_argument("--topology", default=DEFAULT_TOPOLOGY, metavar="NAME", help=own)
    hosts = "number of hosts, if the topology does not fix it"
    parser.add_argument("--hosts", type=positive_integer, metavar="N", help=hosts)


def _add_scheduler(parser: argparse.ArgumentParser, written: str) -> None:
    """Adds the options of both commands for packets."""
    names = f"name of the scheduler, or your own: {OWN_CLASS}"
    parser.add_argument("--scheduler", required=True, metavar="NAME", help=names)
    add_capacity(parser)
    add_pairs(parser, "--param", "parameter, such as thresholds=1e4,1e5, buffer=3e5, transport=dctcp or delay=2e-5")
    add_seed(parser, "seed of a workload's draw, and of the hashes that choose paths and buckets of a sketch")
    _add_outcome(parser, written)


def _add_outcome(parser: argparse.ArgumentParser, written: str) -> None:
    """Adds the options for the engine and the output of a simulation."""
    engines = f"simpy (default, the reference) or compiled: the same {written}, faster"
    parser.add_argument("--engine", default="simpy", metavar="NAME", help=engines)
    parser.add_argument("--out", metavar="FILE", help=f"file for the {written} (.csv or .parquet)")
    add_json(parser, "the metrics")


COMMANDS: Final[Mapping[str, Command]] = {
    "list": Command(
        "list environments, disciplines, schedulers, policies, workloads and topologies",
        _add_list,
        "package_commands:run_list",
    ),
    "workload": Command(
        "draw the flows of a workload and write them to a file", _add_workload, "flow_commands:run_workload"
    ),
    "import-flows": Command(
        "convert flow records, a packet capture, coflows or a simulator's flows to a flow file",
        _add_import_flows,
        "flow_commands:run_import_flows",
    ),
    "import-network": Command(
        "convert a graph or a simulator's network to a network file",
        _add_import_network,
        "flow_commands:run_import_network",
    ),
    "export": Command(
        "write flows and a network as files of HPCC's ns-3 or htsim", _add_export, "flow_commands:run_export"
    ),
    "replay": Command(
        "simulate the flows of a file or workload under a discipline", _add_replay, "flow_commands:run_replay"
    ),
    "serve-packets": Command(
        "simulate the packets of a file at one port under a scheduler",
        _add_serve_packets,
        "flow_commands:run_serve_packets",
    ),
    "replay-packets": Command(
        "simulate flows packet by packet under a scheduler",
        _add_replay_packets,
        "flow_commands:run_replay_packets",
    ),
    "network": Command("check a network file and draw it", _add_network, "flow_commands:run_network"),
    "evaluate": Command("run policies in an environment and compare them", _add_evaluate, "evaluate_command:run"),
    "tune-rule": Command("tune the numbers of a rule to a setting", _add_tune_rule, "evaluate_command:run_tune_rule"),
    "collect": Command(
        "record the episodes of policies as a Minari dataset", _add_collect, "evaluate_command:run_collect"
    ),
    "compile": Command(
        "compile the engine of vector environments in advance", _add_compile, "package_commands:run_compile"
    ),
    "ns3": Command(
        "compile the program that plays episodes on ns-3 (Debian: libns3-dev)", _add_ns3, "package_commands:run_ns3"
    ),
    "models": Command("list the trained agents that come with the package", _add_models, "package_commands:run_models"),
    "export-card": Command(
        "export a model, its card and its configuration for model hubs",
        _add_export_card,
        "package_commands:run_export_card",
    ),
    **LEADERBOARD_COMMANDS,
    **PICTURE_COMMANDS,
}
"""The commands by name."""
