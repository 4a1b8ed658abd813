"""Runs a discipline on a user's flows: ``flowsched replay``."""

import argparse
from collections.abc import Mapping
from dataclasses import asdict, replace

import numpy as np

from flowsched_gym.cli.arguments import key_values
from flowsched_gym.cli.options import DEFAULT_TOPOLOGY
from flowsched_gym.cli.output import print_definitions, print_json, standard_output_kept_clean
from flowsched_gym.cli.progress import ProgressBar
from flowsched_gym.core.files import check_target
from flowsched_gym.core.units import gbps_to_capacity
from flowsched_gym.evaluation import replay
from flowsched_gym.evaluation.plots import check_plot, plot_records
from flowsched_gym.evaluation.replay import workload_of
from flowsched_gym.flows.metrics import Metrics, summary
from flowsched_gym.fluid import Records
from flowsched_gym.topology import DEFAULT_CAPACITY
from flowsched_gym.workload import Workload
from flowsched_gym.workload.flow_file import flow_columns
from flowsched_gym.workload.table_file import TableColumn, write_table


def run(options: argparse.Namespace) -> None:
    """Reads the flows, runs the discipline, and writes and prints the results."""
    capacity = capacity_of(options)
    parameters = key_values("--param", options.param)
    # What cannot be written is found out before the simulation, which may take long.
    if options.out is not None:
        check_target(options.out)
    if options.plot is not None:
        check_plot(options.plot)
    with standard_output_kept_clean():
        with ProgressBar("reading flows") as progress:
            workload = workload_of(options.flows, seed=options.seed, progress=progress)
        with ProgressBar("simulating") as progress:
            records = replay(
                workload,
                discipline=options.discipline,
                topology=options.topology,
                capacity=capacity,
                parameters=parameters,
                seed=options.seed,
                engine=options.engine,
                num_hosts=options.hosts,
                progress=progress,
            )
        if options.out is not None:
            with ProgressBar("writing records") as progress:
                write_table(options.out, record_columns(workload, records), progress=progress)
        if options.plot is not None:
            plot_records(records, options.plot)
    metrics = asdict(measure(records, topology=options.topology, capacity=capacity))
    print_metrics(metrics, as_json=options.json)


def capacity_of(options: argparse.Namespace, default: float = DEFAULT_CAPACITY) -> float:
    """Returns the capacity that is asked for in B/s."""
    if options.link_gbps is not None:
        return gbps_to_capacity(options.link_gbps)
    return default if options.capacity is None else float(options.capacity)


def print_metrics(metrics: Mapping[str, float], *, as_json: bool) -> None:
    """Prints metrics, those that are defined for people, all of them as JSON."""
    if as_json:
        print_json(metrics)
    else:
        defined = {name: f"{value:.6g}" for name, value in metrics.items() if value == value}
        print_definitions(defined, width=max(map(len, defined)))


def measure(records: Records, *, topology: str, capacity: float) -> Metrics:
    """Sums the records up. On one link it is that link that is utilised, whatever the destinations."""
    metrics = summary(records, capacity=capacity)
    return replace(metrics, utilisation=metrics.goodput / capacity) if topology == DEFAULT_TOPOLOGY else metrics


def record_columns(workload: Workload, records: Records) -> dict[str, TableColumn]:
    """Lays out the columns of the flow file, and the outcome of each flow.

    A flow that did not finish has empty cells, and so has ``deadline_met`` where there is no deadline. Where flows wait
    for others, ``ready_s`` is when all of these had finished.
    """
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
