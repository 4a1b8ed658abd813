"""Runs a scheduler on a user's flows, sent in packets: ``flowsched replay-packets``."""

import argparse
from dataclasses import asdict

from flowsched_gym.cli.arguments import key_values
from flowsched_gym.cli.output import standard_output_kept_clean
from flowsched_gym.cli.progress import ProgressBar
from flowsched_gym.cli.replay_command import capacity_of, measure, print_metrics, record_columns
from flowsched_gym.cli.serve_packets_command import write_trace
from flowsched_gym.core.files import check_target
from flowsched_gym.evaluation.packets import default_packet_capacity, replay_packets
from flowsched_gym.evaluation.replay import workload_of
from flowsched_gym.workload.table_file import write_table

COUNTS = ("packets", "drops", "marks", "disordered")


def run(options: argparse.Namespace) -> None:
    """Reads the flows, runs the scheduler, and writes and prints the results."""
    capacity = capacity_of(options, default_packet_capacity(options.topology))
    parameters = key_values("--param", options.param)
    for target in (options.out, options.trace):
        if target is not None:
            check_target(target)
    with standard_output_kept_clean():
        with ProgressBar("reading flows") as progress:
            workload = workload_of(options.flows, seed=options.seed, progress=progress)
        with ProgressBar("simulating") as progress:
            records = replay_packets(
                workload,
                scheduler=options.scheduler,
                topology=options.topology,
                capacity=capacity,
                parameters=parameters,
                seed=options.seed,
                engine=options.engine,
                num_hosts=options.hosts,
                progress=progress,
                keep_trace=options.trace is not None,
            )
        if options.out is not None:
            columns = record_columns(workload, records) | {name: (getattr(records, name), None) for name in COUNTS}
            with ProgressBar("writing records") as progress:
                write_table(options.out, columns, progress=progress)
        if records.trace is not None:
            write_trace(records.trace, options.trace)
    metrics = asdict(measure(records, topology=options.topology, capacity=capacity))
    metrics |= {name: float(getattr(records, name).sum()) for name in COUNTS}
    print_metrics(metrics, as_json=options.json)
