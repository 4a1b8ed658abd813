"""Draws a workload into a flow file: ``flowsched workload``."""

import argparse
from collections.abc import Mapping

from flowsched_gym.cli.arguments import key_values
from flowsched_gym.cli.progress import ProgressBar
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.files import check_target
from flowsched_gym.core.units import BYTES_PER_MEGABYTE
from flowsched_gym.workload import (
    draw_flows,
    is_workload_file,
    make_workload,
    parse_variant,
    read_workload_file,
    write_flows,
)
from flowsched_gym.workload.named import NamedConfig


def run(options: argparse.Namespace) -> None:
    """Draws the flows and writes them."""
    fields = key_values("--param", options.param)
    if options.load is not None:
        if "load" in fields:
            raise ConfigError("load is given twice: by --load and by --param")
        fields |= {"load": options.load}
    config = _find(options.name, fields)
    check_target(options.out)
    workload = draw_flows(config, num_flows=options.flows, seed=options.seed)
    with ProgressBar("writing flows") as progress:
        write_flows(workload, options.out, progress=progress)
    first, last = workload.arrival_time.min(), workload.arrival_time.max()
    load = "" if config.offered_load is None else f", load {config.offered_load:.3g}"
    print(
        f"{options.out}: {workload.num_flows} flows, {workload.size.sum() / BYTES_PER_MEGABYTE:.4g} MB, "
        f"arriving from {first:.4g} s to {last:.4g} s{load}"
    )
    if workload.link_changes is not None:
        print(
            f"{options.out}: a flow file holds flows alone: {workload.link_changes.num_changes} link changes left out"
        )


def _find(name: str, fields: Mapping[str, object]) -> NamedConfig:
    """Finds a workload by its name, or reads the file that describes it, and changes fields."""
    if is_workload_file(name):
        return parse_variant(read_workload_file(name, fields))
    return make_workload(name, **fields)
