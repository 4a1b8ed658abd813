"""Runs a scheduler on a user's packets at one port: ``flowsched serve-packets``."""

import argparse

import numpy as np

from flowsched_gym.cli.arguments import key_values
from flowsched_gym.cli.output import standard_output_kept_clean
from flowsched_gym.cli.progress import ProgressBar
from flowsched_gym.cli.replay_command import capacity_of, print_metrics
from flowsched_gym.core.files import check_target
from flowsched_gym.evaluation import serve_packets
from flowsched_gym.packets.state import PacketTrace
from flowsched_gym.workload.table_file import write_table


def run(options: argparse.Namespace) -> None:
    """Reads the packets, runs the scheduler, and writes and prints the results."""
    parameters = key_values("--param", options.param)
    if options.out is not None:
        check_target(options.out)
    with standard_output_kept_clean():
        trace = serve_packets(
            options.packets,
            scheduler=options.scheduler,
            capacity=capacity_of(options),
            parameters=parameters,
            seed=options.seed,
            engine=options.engine,
        )
        if options.out is not None:
            write_trace(trace, options.out)
    print_metrics(measure_trace(trace), as_json=options.json)


def measure_trace(trace: PacketTrace) -> dict[str, float]:
    """Sums a trace up: packets, those dropped and marked, and how long the others waited, in s."""
    waiting = (trace.start_time - trace.arrival_time)[~trace.dropped]
    return {
        "packets": float(trace.num_packets),
        "dropped": float(np.count_nonzero(trace.dropped)),
        "marked": float(np.count_nonzero(trace.marked)),
        "mean_waiting_time": float(np.mean(waiting)) if len(waiting) else np.nan,
        "largest_waiting_time": float(waiting.max(initial=0.0)),
    }


def write_trace(trace: PacketTrace, path: str) -> None:
    """Writes a trace, a row for each packet; cells of what did not happen are empty.

    Args:
        trace: What became of the packets.
        path: The file; an existing one is replaced, at once and only when all is written.

    Raises:
        MissingDependencyError: Parquet is wanted and pyarrow is not installed.
        OSError: The file cannot be written.
    """
    sent = ~trace.dropped
    columns = {
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
    with ProgressBar("writing the trace") as progress:
        write_table(path, columns, progress=progress)
