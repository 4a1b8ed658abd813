"""Puts down what the flows of a network go through: stages before they send, and paths among which they choose."""

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.fluid.compiled.tables import Tables
from flowsched_gym.fluid.isolation import check_stages
from flowsched_gym.fluid.stages import Barrier, fill_stages
from flowsched_gym.fluid.transport import Transport
from flowsched_gym.topology import Topology, cpu_path
from flowsched_gym.workload import Workload


def open_stages(
    tables: Tables,
    number: int,
    workload: Workload,
    *,
    topology: Topology,
    transport: Transport,
    barrier: Barrier | None,
    path: IntArray,
    volume: FloatArray,
) -> None:
    """Puts down what the flows of a network go through before they send.

    Raises:
        ConfigError: Flows have stages, and there is no barrier, or the network cannot serve them.
    """
    stages = tables.stages
    if stages is None or barrier is None:
        if workload.has_stages:
            raise ConfigError("flows of this workload have CPU work, or come after others: a barrier is needed")
        return
    check_stages(workload, topology, transport, has_tokens=tables.num_tokens > 0)
    work_path = cpu_path(topology, workload.source) if topology.num_cpus else path
    fill_stages(stages, number, workload, cpu_path=work_path, path=path, volume=volume, barrier=barrier)


def open_paths(tables: Tables, number: int, workload: Workload, topology: Topology, seed: int) -> None:
    """Lets the flows of a network choose paths, and puts down the changes of its links.

    Raises:
        ConfigError: Links change, and there is no routing.
    """
    choosing, changes = tables.choosing, workload.link_changes
    if choosing is not None:
        choosing.choices[number] = 0
    if choosing is None or choosing.chooser is None:
        if changes is not None:
            raise ConfigError("links change in this workload: a routing is needed for flows whose paths fail")
        return
    first, last = topology.candidates(workload.source, workload.destination)
    hashes = topology.flow_hash(workload.source, workload.destination, workload.flow_id, seed=seed)
    rows = np.s_[number * tables.num_rows : number * tables.num_rows + workload.num_flows]
    for column, values in zip(choosing.routes, (first, last, hashes, workload.destination), strict=False):
        column[rows] = values
    choosing.routes.quiet_since[rows] = np.inf
    links = np.s_[number * topology.num_links : (number + 1) * topology.num_links]
    tables.capacity[links] = topology.capacity
    tables.data_capacity[links] = topology.data_capacity(tables.data_share)
    num_changes = 0
    if changes is not None:
        topology.check_link_changes(changes.link, changes.up, first, last)
        num_changes = len(changes.time)
        indices = np.s_[number * choosing.most_changes : number * choosing.most_changes + num_changes]
        for name in ("time", "link", "up"):
            choosing.changes[name][indices] = getattr(changes, name)
    choosing.choices["num_changes"][number] = num_changes
