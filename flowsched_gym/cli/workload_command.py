"""Draws a named workload into a flow file: ``flowsched workload``."""

import argparse
from typing import Final

from flowsched_gym.cli.arguments import key_values, positive_integer, positive_number, seed
from flowsched_gym.cli.progress import ProgressBar
from flowsched_gym.errors import ConfigError
from flowsched_gym.files import check_target
from flowsched_gym.units import BYTES_PER_MEGABYTE
from flowsched_gym.workload import WORKLOADS, draw_flows, make_workload, write_flows

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY: Final = "draw a named workload into a flow file"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command."""
    parser.epilog = f"Workloads: {', '.join(WORKLOADS)}."
    parser.add_argument("name", metavar="NAME", help="name of the workload")
    parser.add_argument("--flows", type=positive_integer, required=True, metavar="N", help="number of flows")
    parser.add_argument("--seed", type=seed, default=0, metavar="S", help="seed of the draw (0)")
    parser.add_argument(
        "--load", type=positive_number, metavar="L", help="offered bytes per second over a link's capacity"
    )
    parser.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="another field of the workload, such as burst_rate=20 or request_jitter=1e-4; may be repeated",
    )
    parser.add_argument("--out", required=True, metavar="FILE", help="flow file to write (.csv, or .parquet)")


def run(options: argparse.Namespace) -> None:
    """Draws the flows and writes them."""
    fields = key_values("--param", options.param)
    if options.load is not None:
        if "load" in fields:
            raise ConfigError("load is given twice: by --load and by --param")
        fields |= {"load": options.load}
    config = make_workload(options.name, **fields)
    check_target(options.out)
    workload = draw_flows(config, num_flows=options.flows, seed=options.seed)
    with ProgressBar("writing flows") as progress:
        write_flows(workload, options.out, progress=progress)
    first, last = workload.arrival_time.min(), workload.arrival_time.max()
    print(
        f"{options.out}: {workload.num_flows} flows, {workload.size.sum() / BYTES_PER_MEGABYTE:.4g} MB, "
        f"arriving from {first:.4g} s to {last:.4g} s, load {config.offered_load:.3g}"
    )
    if workload.link_changes is not None:
        print(
            f"{options.out}: a flow file holds flows alone: {workload.link_changes.num_changes} link changes left out"
        )
