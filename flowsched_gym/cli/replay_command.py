"""Runs a discipline on a user's flows: ``flowsched replay``."""

import argparse
from dataclasses import asdict, replace
from typing import Final

import numpy as np

from flowsched_gym.cli.arguments import key_values, positive_integer, positive_number
from flowsched_gym.cli.output import print_definitions, print_json, standard_output_kept_clean
from flowsched_gym.cli.progress import ProgressBar
from flowsched_gym.disciplines import DISCIPLINES
from flowsched_gym.evaluation import replay
from flowsched_gym.evaluation.plots import check_plot, plot_records
from flowsched_gym.files import check_target
from flowsched_gym.metrics import Metrics, summary
from flowsched_gym.model import Records
from flowsched_gym.topology import DEFAULT_CAPACITY, TOPOLOGIES
from flowsched_gym.units import gbps_to_capacity
from flowsched_gym.workload import read_flows
from flowsched_gym.workload.flow_file import flow_columns
from flowsched_gym.workload.table_file import Progress, write_table

__all__ = ["SUMMARY", "add_arguments", "measure", "run", "write_records"]

SUMMARY: Final = "run a discipline on the flows of a file"

ONE_LINK = "one-link"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command."""
    parser.epilog = (
        "Columns of a flow file: arrival_s is an absolute time, deadline_s the time allowed after it, and due_s, in "
        "place of deadline_s, an absolute time. "
        f"Disciplines: {', '.join(DISCIPLINES)}. Topologies: {', '.join(TOPOLOGIES)}."
    )
    parser.add_argument("flows", metavar="FLOWS", help="flow file (.csv, or .parquet)")
    parser.add_argument("--discipline", required=True, metavar="NAME", help="name of the discipline")
    parser.add_argument("--topology", default=ONE_LINK, metavar="NAME", help=f"name of the topology ({ONE_LINK})")
    parser.add_argument(
        "--hosts", type=positive_integer, metavar="N", help="number of hosts, where the topology leaves it free"
    )
    capacity = parser.add_mutually_exclusive_group()
    capacity.add_argument("--link-gbps", type=positive_number, metavar="G", help="capacity of every link in Gbps (1)")
    capacity.add_argument("--capacity", type=positive_number, metavar="B_PER_S", help="the same in bytes per second")
    parser.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="parameter of the discipline, such as thresholds=1e5,1e6 or within=fifo; may be repeated",
    )
    parser.add_argument(
        "--engine", default="simpy", metavar="NAME", help="simpy, the reference, or compiled: the same records sooner"
    )
    parser.add_argument("--out", metavar="FILE", help="records to write (.csv, or .parquet)")
    parser.add_argument("--json", action="store_true", help="print the metrics as one JSON document")
    parser.add_argument("--plot", metavar="FILE", help="figure to write: completion times and a timeline (.png, ...)")


def run(options: argparse.Namespace) -> None:
    """Reads the flows, runs the discipline, writes and prints what came of it."""
    capacity = DEFAULT_CAPACITY if options.capacity is None else options.capacity
    if options.link_gbps is not None:
        capacity = gbps_to_capacity(options.link_gbps)
    parameters = key_values("--param", options.param)
    # What cannot be written is found out before the simulation, which may take long.
    if options.out is not None:
        check_target(options.out)
    if options.plot is not None:
        check_plot(options.plot)
    with standard_output_kept_clean():
        with ProgressBar("reading flows") as progress:
            workload = read_flows(options.flows, progress=progress)
        with ProgressBar("simulating") as progress:
            records = replay(
                workload,
                discipline=options.discipline,
                topology=options.topology,
                capacity=capacity,
                parameters=parameters,
                engine=options.engine,
                num_hosts=options.hosts,
                progress=progress,
            )
        if options.out is not None:
            with ProgressBar("writing records") as progress:
                write_records(records, options.out, progress=progress)
        if options.plot is not None:
            plot_records(records, options.plot)
    metrics = asdict(measure(records, topology=options.topology, capacity=capacity))
    if options.json:
        print_json(metrics)
    else:
        defined = {name: f"{value:.6g}" for name, value in metrics.items() if value == value}
        print_definitions(defined, width=max(map(len, defined)))


def measure(records: Records, *, topology: str, capacity: float) -> Metrics:
    """Sums the records up. On one link it is that link that is utilised, whatever the destinations."""
    metrics = summary(records, capacity=capacity)
    return replace(metrics, utilisation=metrics.goodput / capacity) if topology == ONE_LINK else metrics


def write_records(records: Records, path: str, *, progress: Progress | None = None) -> None:
    """Writes records: the flow file's columns, and what became of each flow.

    A flow that did not finish has empty cells, and so has ``deadline_met`` where there is no deadline.

    Args:
        records: What became of each flow.
        path: The file; an existing one is replaced, at once and only when all is written.
        progress: Is told (rows done, rows in all) now and then.

    Raises:
        MissingDependencyError: Parquet is wanted and pyarrow is not installed.
        OSError: The file cannot be written.
    """
    finished = np.isfinite(records.completion_time)
    columns = flow_columns(
        flow_id=records.flow_id,
        task_id=records.task_id,
        source=records.source,
        destination=records.destination,
        size=records.size,
        arrival_time=records.arrival_time,
        deadline_span=records.deadline_span,
    )
    columns |= {
        "completion_s": (records.completion_time, finished),
        "fct_s": (records.fct, finished),
        "slowdown": (records.slowdown, finished),
        "deadline_met": (records.deadline_met, np.isfinite(records.deadline_span)),
    }
    write_table(path, columns, progress=progress)
