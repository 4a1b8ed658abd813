"""Draws a named workload into a flow file: ``flowsched workload``."""

import argparse

from flowsched_gym.cli.arguments import key_values
from flowsched_gym.cli.progress import ProgressBar
from flowsched_gym.errors import ConfigError
from flowsched_gym.files import check_target
from flowsched_gym.units import BYTES_PER_MEGABYTE
from flowsched_gym.workload import draw_flows, make_workload, write_flows

__all__ = ["run"]


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
