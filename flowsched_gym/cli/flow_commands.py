"""Commands on files of flows, packets and networks: ``workload``, ``import-flows``, ``replay``, ``network``, ..."""

import argparse
import math
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from inspect import signature
from pathlib import Path
from typing import Any, Final

import numpy as np

from flowsched_gym import workload as workloads
from flowsched_gym.cli.arguments import key_values
from flowsched_gym.cli.options import DEFAULT_TOPOLOGY
from flowsched_gym.cli.output import ProgressBar, print_json, standard_output_kept_clean
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.files import check_target, replace_when_written
from flowsched_gym.core.tables import Table
from flowsched_gym.core.units import BYTES_PER_MEGABYTE, gbps_to_capacity
from flowsched_gym.evaluation import replay, replay_packets, serve_packets
from flowsched_gym.evaluation.figures import plot_distributions
from flowsched_gym.evaluation.plots import check_plot, plot_network, plot_records
from flowsched_gym.evaluation.replay import workload_of
from flowsched_gym.evaluation.written import GBPS, column_of, there
from flowsched_gym.flows.metrics import summary
from flowsched_gym.fluid import Records
from flowsched_gym.fluid.disciplines import DISCIPLINES
from flowsched_gym.packets.state import PacketTrace
from flowsched_gym.topology import (
    DEFAULT_CAPACITY,
    OwnNetwork,
    import_network,
    is_own_network,
    make_topology,
    read_network,
    write_hpcc_network,
    write_htsim_network,
    write_network,
)
from flowsched_gym.workload import Workload
from flowsched_gym.workload.exported import write_cm, write_hpcc
from flowsched_gym.workload.flow_file import TableColumn, flow_columns, write_table
from flowsched_gym.workload.imported import import_flows, write_sizes

COUNTS: Final = ("packets", "drops", "marks", "disordered", "timeouts")
"""Columns that records of packets have besides."""
NEEDED: Final = {"drops": "buffer", "dropped": "buffer", "marks": "mark_at", "marked": "mark_at"}
"""Counts of what does not happen without a parameter."""
ADDRESSES_SHOWN: Final = 16


def run_workload(options: argparse.Namespace) -> None:
    """Draws the flows of a workload and writes them."""
    fields = key_values("--param", options.param)
    if options.load is not None:
        if "load" in fields:
            raise ConfigError("load is given twice: by --load and by --param")
        fields |= {"load": options.load}
    config = workloads.make_workload(options.name, **fields)
    check_target(options.out)
    workload = workloads.draw_flows(config, num_flows=options.flows, seed=options.seed)
    with ProgressBar("writing flows") as progress:
        workloads.write_flows(workload, options.out, progress=progress)
    first, last = workload.arrival_time.min(), workload.arrival_time.max()
    load = "" if config.offered_load is None else f", load {config.offered_load:.3g}"
    print(
        f"{options.out}: {workload.num_flows} flows, {workload.size.sum() / BYTES_PER_MEGABYTE:.4g} MB, "
        f"arriving from {first:.4g} s to {last:.4g} s{load}"
    )
    if workload.link_changes is not None:
        count = workload.link_changes.num_changes
        print(f"{options.out}: a flow file holds flows alone: {count} link changes left out")


def run_import_flows(options: argparse.Namespace) -> None:
    """Makes a flow file of what others recorded, and tells what was guessed and left out."""
    targets = _targets(options, options.file, "out", "sizes")
    hosts_of = None if options.topology is None else read_network(options.topology).hosts
    imported = import_flows(options.file, format=options.format, num_hosts=options.hosts, hosts=hosts_of)
    workload, addresses = imported.workload, imported.addresses
    hosts = options.hosts or len(addresses)
    with ExitStack() as all_or_nothing:
        temporary = [all_or_nothing.enter_context(replace_when_written(each)) for each in targets]
        with ProgressBar("writing flows") as progress:
            workloads.write_flows(workload, temporary[0], progress=progress)
        if options.sizes is not None:
            write_sizes(workload, temporary[1])
    if options.json:
        facts = {"num_flows": workload.num_flows, "num_hosts": hosts, "addresses": addresses, "begin": imported.begin}
        print_json({**facts, "left_out": imported.left_out, "guessed": imported.guessed})
        return
    megabytes, times = workload.size.sum() / BYTES_PER_MEGABYTE, workload.arrival_time
    span = f"from {times.min():.6g} s to {times.max():.6g} s"
    print(f"{options.out}: {workload.num_flows} flows, {megabytes:.4g} MB, arriving {span}")
    if imported.begin is not None:
        begin = datetime.fromtimestamp(imported.begin, UTC)
        print(f"0 s is {begin:%Y-%m-%d %H:%M:%S.%f}, as the file has it")
    shown = [f"{number % hosts} {address}" for number, address in enumerate(addresses[:ADDRESSES_SHOWN])]
    print(f"hosts: {', '.join(shown)}{_more(len(addresses))}")
    for sentence in imported.guessed:
        print(f"guessed: {sentence}")
    for reason, count in imported.left_out.items():
        print(f"left out: {count} {reason}")
    if options.sizes is not None:
        rate = f", of which {(workload.num_flows - 1) / np.ptp(times):.4g} arrive per s" if np.ptp(times) else ""
        print(f"{options.sizes}: the sizes of the flows{rate}")


def run_export(options: argparse.Namespace) -> None:
    """Writes flows, and the network of their paths, as another simulator reads them."""
    targets = _targets(options, options.flows, "out", "topology_out")
    if (options.topology_out is None) != (options.topology is None):
        raise ConfigError("--topology and --topology-out belong together: give both or none")
    capacity = DEFAULT_CAPACITY if options.link_gbps is None else gbps_to_capacity(options.link_gbps)
    workload = _read_flows(options, capacity)
    with ExitStack() as all_or_nothing:
        temporary = [all_or_nothing.enter_context(replace_when_written(each)) for each in targets]
        hosts, to_hpcc = max(workload.num_hosts, options.hosts or 0), options.format == "hpcc"
        if options.topology_out is not None:
            topology = make_topology(options.topology, num_hosts=hosts, capacity=capacity, delay=options.delay)
            (write_hpcc_network if to_hpcc else write_htsim_network)(topology, temporary[1])
            hosts = topology.num_hosts
        if to_hpcc:
            write_hpcc(workload, temporary[0])
        else:
            write_cm(workload, temporary[0], num_hosts=hosts)
    print(f"{options.out}: {workload.num_flows} flows between {workload.num_hosts} hosts")
    if options.topology_out is not None:
        print(f"{options.topology_out}: {topology.num_hosts} hosts; host i is node i")


def run_import_network(options: argparse.Namespace) -> None:
    """Makes a network file of another program's, and tells what was guessed and ignored."""
    _targets(options, options.file, "out")
    how = {"format": options.format, "hosts": options.hosts, "undirected": options.undirected}
    network, told = import_network(options.file, **how)
    facts = _facts(network)
    write_network(network, options.out)
    without = {what: sum(getattr(each, what) is None for each in network.cables) for what in ("capacity", "delay")}
    if options.json:
        print_json({**facts, "name": network.name, "host_names": network.hosts, "without": without, "told": told})
        return
    _print_network(options.out, network, facts)
    for what, count in without.items():
        if count:
            print(f"without a {what}: {count} of {len(network.cables)} cables, which get the usual one of each command")
    for sentence in told:
        print(sentence)


def run_network(options: argparse.Namespace) -> None:
    """Checks a network file, tells what it has, and draws it."""
    network = read_network(options.file).filled(capacity=DEFAULT_CAPACITY, delay=0.0)
    facts = _facts(network)
    if options.plot is not None:
        plot_network(network, options.plot)
    if options.json:
        print_json({**facts, "name": network.name, "host_names": network.hosts, "link_names": network.link_names})
        return
    _print_network(options.file, network, facts)


def _facts(network: OwnNetwork) -> dict[str, Any]:
    """Checks that hosts reach each other, and sums a network up."""
    given = [each.capacity for each in network.cables if each.capacity is not None]
    smallest, largest = min(given, default=None), max(given, default=None)
    return {**network.facts(), "smallest_capacity": smallest, "largest_capacity": largest}


def _print_network(path: str, network: OwnNetwork, facts: Mapping[str, Any]) -> None:
    values = (facts["smallest_capacity"], facts["largest_capacity"])
    rates = dict.fromkeys(f"{GBPS * each:g}" for each in values if each is not None)
    of_rates = f" of {' to '.join(rates)} Gbps" if rates else ""
    print(
        f"{path}: {facts['hosts']} hosts, {facts['switches']} switch{'es' * (facts['switches'] != 1)}, "
        f"{facts['links']} links (each direction counted)"
        f"{of_rates}, {facts['paths']} shortest paths of at most "
        f"{facts['longest_path']} links"
    )
    shown = [f"{number} {name}" for number, name in enumerate(network.hosts[:ADDRESSES_SHOWN])]
    print(f"hosts: {', '.join(shown)}{_more(len(network.hosts))}")


def _more(count: int) -> str:
    return f", and {count - ADDRESSES_SHOWN} more (--json has all)" if count > ADDRESSES_SHOWN else ""


def run_replay(options: argparse.Namespace) -> None:
    """Runs disciplines on flows, and writes and prints the results."""
    if options.plot is not None:
        check_plot(options.plot)
    names = list(dict.fromkeys(options.discipline))
    if len(names) > 1 and options.out is not None:
        raise ConfigError("--out is given, for the records of one discipline: name one --discipline alone")
    capacity, arguments = _arguments(options, DEFAULT_CAPACITY, options.flows, "out", "plot")
    given, found = arguments.pop("parameters"), {}
    with standard_output_kept_clean():
        workload = _read_flows(options, capacity)
        for name in names:
            parameters = given if len(names) == 1 else _taken(name, given, names)
            with ProgressBar(f"simulating {name}") as progress:
                found[name] = replay(workload, discipline=name, parameters=parameters, progress=progress, **arguments)
        _write("records", options.out, record_columns(workload, found[names[0]]))
        if options.plot is not None:
            if len(names) > 1:
                plot_distributions(found, options.plot)
            else:
                plot_records(found[names[0]], options.plot)
    of_all = {name: measure(each, topology=options.topology, capacity=capacity) for name, each in found.items()}
    _print_metrics(of_all, options, given)


def run_replay_packets(options: argparse.Namespace) -> None:
    """Runs a scheduler on flows that are sent in packets, and writes and prints the results."""
    if options.plot is not None:
        check_plot(options.plot)
    capacity, arguments = _arguments(options, DEFAULT_CAPACITY, options.flows, "out", "trace", "plot")
    arguments["keep_trace"] = options.trace is not None
    with standard_output_kept_clean():
        workload = _read_flows(options, capacity)
        with ProgressBar("simulating") as progress:
            records = replay_packets(workload, scheduler=options.scheduler, progress=progress, **arguments)
        counts = {name: getattr(records, name) for name in COUNTS}
        columns = record_columns(workload, records) | {name: (values, None) for name, values in counts.items()}
        _write("records", options.out, columns)
        if records.trace is not None:
            _write("the trace", options.trace, trace_columns(records.trace))
        if options.plot is not None:
            plot_records(records, options.plot)
    metrics = measure(records, topology=options.topology, capacity=capacity)
    metrics |= {name: int(values.sum()) for name, values in counts.items()}
    _print_metrics({options.scheduler: metrics}, options, arguments["parameters"])


def run_serve_packets(options: argparse.Namespace) -> None:
    """Runs a scheduler on packets at one port, and writes and prints the results."""
    _, arguments = _arguments(options, DEFAULT_CAPACITY, options.packets, "out")
    with standard_output_kept_clean():
        trace = serve_packets(options.packets, scheduler=options.scheduler, **arguments)
        _write("the trace", options.out, trace_columns(trace))
    waiting = (trace.start_time - trace.arrival_time)[~trace.dropped]
    metrics = {
        "packets": trace.num_packets,
        "dropped": int(np.count_nonzero(trace.dropped)),
        "marked": int(np.count_nonzero(trace.marked)),
        "mean_waiting_time": float(np.mean(waiting)) if len(waiting) else np.nan,
        "largest_waiting_time": float(waiting.max()) if len(waiting) else np.nan,
    }
    _print_metrics({options.scheduler: metrics}, options, arguments["parameters"])


def measure(records: Records, *, topology: str, capacity: float) -> dict[str, float]:
    """Sums the records up. On one link it is that link that is utilised, whatever the destinations.

    In a network of one's own, whose hosts have other links than one of one capacity each, utilisation is not defined.
    """
    if is_own_network(topology):
        of_hosts = read_network(topology).filled(capacity=capacity, delay=0.0).host_capacity
        metrics = asdict(summary(records, capacity=of_hosts or capacity))
        return metrics if of_hosts else metrics | {"utilisation": math.nan}
    metrics = asdict(summary(records, capacity=capacity))
    return metrics | {"utilisation": metrics["goodput"] / capacity} if topology == DEFAULT_TOPOLOGY else metrics


def record_columns(workload: Workload, records: Records) -> dict[str, TableColumn]:
    """Lays out the columns of the flow file, and the outcome of each flow; where it has none, cells are empty."""
    finished = np.isfinite(records.completion_time)
    columns = flow_columns(workload)
    if (records.ready_time != records.arrival_time).any():
        columns["ready_s"] = (records.ready_time, np.isfinite(records.ready_time))
    columns |= {
        "completion_s": (records.completion_time, finished),
        "fct_s": (records.fct, finished),
        "slowdown": (records.slowdown, finished),
        "deadline_met": (records.deadline_met, np.isfinite(records.deadline_span)),
    }
    return columns


def trace_columns(trace: PacketTrace) -> dict[str, TableColumn]:
    """Lays out what became of each packet; cells of what did not happen are empty."""
    sent = ~trace.dropped
    return {
        "flow_id": (trace.flow_id, None),
        "size_bytes": (trace.size, None),
        "arrival_s": (trace.arrival_time, None),
        "queue": (trace.queue, None),
        "weight": (trace.weight, None),
        "last_seen_s": (trace.last_seen, np.isfinite(trace.last_seen)),
        "new_message": (trace.new_message, None),
        "start_s": (trace.start_time, sent),
        "departure_s": (trace.departure_time, sent),
        "dropped": (trace.dropped, None),
        "marked": (trace.marked, None),
    }


def _targets(options: argparse.Namespace, source: str, *names: str) -> list[Path]:
    """Checks the files that options name, and refuses one that is read, or written by another option."""
    taken: dict[str, str | None] = {os.path.realpath(source): None} if os.path.isfile(source) else {}
    targets = []
    for name in (each for each in names if getattr(options, each) is not None):
        option, path = f"--{name.replace('_', '-')}", getattr(options, name)
        targets.append(check_target(path))
        if (target := str(targets[-1])) in taken:
            if (other := taken[target]) is None:
                raise ConfigError(f"{option} is {path}, the file that is read: another one is needed")
            raise ConfigError(f"{other} and {option} are both {path}: two files are needed")
        taken[target] = option
    return targets


def _arguments(
    options: argparse.Namespace, capacity: float, source: str, *targets: str
) -> tuple[float, dict[str, Any]]:
    """Returns the capacity in B/s, a default where none is given, and arguments of all simulations; checks targets."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # where ``module:Class`` is looked for last
    if options.link_gbps is not None:
        capacity = gbps_to_capacity(options.link_gbps)
    elif options.capacity is not None:
        capacity = options.capacity
    arguments = {"parameters": key_values("--param", options.param), "seed": options.seed, "engine": options.engine}
    if "topology" in options:
        arguments |= {"topology": options.topology, "num_hosts": options.hosts}
    _targets(options, source, *targets)
    return capacity, {"capacity": capacity, **arguments}


def _print_metrics(
    found: Mapping[str, Mapping[str, float]], options: argparse.Namespace, parameters: Mapping[str, object]
) -> None:
    """Prints the metrics of each run: for people those that are there, in their units; as JSON all, in SI units."""
    one = len(found) == 1
    if options.json:
        print_json(next(iter(found.values())) if one else found)
        return
    never = {name for name, needed in NEEDED.items() if parameters.get(needed) is None}
    shown = {name: column_of(name) for metrics in found.values() for name in there(metrics) if name not in never}
    rows = tuple(
        (name, *(column.write(metrics[name]) for metrics in found.values()), column.value_unit)
        for name, column in shown.items()
    )
    print(Table(columns=("metric", *(["value"] if one else found), "unit"), rows=rows).text(), end="")


def _taken(name: str, given: Mapping[str, object], names: Sequence[str]) -> dict[str, object]:
    """Returns the parameters that one of several disciplines takes, and those that none does, which is told by name."""
    of_each = {each: signature(DISCIPLINES[each]).parameters for each in names if each in DISCIPLINES}
    known = {key for parameters in of_each.values() for key in parameters}
    return {key: value for key, value in given.items() if key not in known or key in of_each.get(name, given)}


def _read_flows(options: argparse.Namespace, capacity: float) -> Workload:
    with ProgressBar("reading flows") as progress:
        network = options.topology or DEFAULT_TOPOLOGY
        return workload_of(options.flows, options.seed, network, capacity, progress=progress)


def _write(what: str, path: str | None, columns: Mapping[str, TableColumn]) -> None:
    if path is not None:
        with ProgressBar(f"writing {what}") as progress:
            write_table(path, columns, progress=progress)
