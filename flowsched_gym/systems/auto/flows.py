"""Finds where the environments of AuTO draw their flows from, and names flows by their five-tuples."""

from dataclasses import replace
from os import PathLike
from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.errors import ConfigError
from flowsched_gym.workload import (
    ClusterWorkload,
    PoissonWorkload,
    Workload,
    WorkloadSource,
    find_source,
    is_workload_name,
)

__all__ = ["PROTOCOL", "SOURCE_PORT", "destination_port", "flow_source"]

IntArray = npt.NDArray[np.int64]

SOURCE_PORT: Final = 12_000
"""Port from which all flows are sent: that of the authors' traffic generator in the rows of their agent."""
PROTOCOL: Final = 6
"""Protocol number of TCP (RFC 9293)."""
EPHEMERAL_PORTS: Final = range(32_768, 61_000)
"""Ports from which Linux gives a connection one."""


def destination_port(flow_id: IntArray) -> IntArray:
    """Returns the ports at which flows arrive, one after the other for consecutive ids; (count,), as the ids."""
    return EPHEMERAL_PORTS.start + flow_id % len(EPHEMERAL_PORTS)


def flow_source(
    workload: str | PathLike[str] | Workload | WorkloadSource,
    *,
    load: float | None,
    flows: int | None,
    hosts: int,
    capacity: float,
) -> WorkloadSource:
    """Finds where an environment draws its flows from.

    A load, given here or with the name of a workload, is one of hosts with the environment's capacity; a named workload
    between all hosts is one between all hosts of the environment.

    Args:
        workload: Name of a workload, path of a flow file, flows, or anything that draws flows.
        load: Offered bytes per s over the capacity of the hosts' links, > 0; ``None`` for the workload's own.
        flows: Flows of an episode, >= 1; ``None`` for the workload's own.
        hosts: Hosts of the environment.
        capacity: Capacity in B/s of all sending links of a host together.

    Raises:
        ConfigError: There is no such workload, it has more hosts than the environment, or an argument changes one that
            cannot be changed.
        FlowFileError: The flow file has a fault.
    """
    source = find_source(workload)
    changes: dict[str, object] = {}
    if isinstance(source, (PoissonWorkload, ClusterWorkload)):
        named = is_workload_name(workload)
        meshed = isinstance(source, ClusterWorkload) or (
            source.pattern == "all-to-all" and source.busiest_share is None
        )
        if named and meshed:
            changes |= {"num_hosts": hosts, "capacity": capacity}
        if load is not None and isinstance(source, ClusterWorkload):
            raise ConfigError(f"load is {load!r}: workload {workload!r} has a load for each cluster")
        if load is not None:
            changes |= {"load": load, "rate": None, "capacity": capacity}
        if flows is not None:
            changes |= {"num_flows": flows, "duration": None}
        source = replace(source, **changes) if changes else source  # type: ignore[arg-type]  # the class checks each field
    elif load is not None or flows is not None:
        raise ConfigError(f"load and flows change Poisson arrivals: workload {workload!r} has none")
    if source.num_hosts > hosts:
        raise ConfigError(f"workload {workload!r} has {source.num_hosts} hosts: the network has {hosts}")
    return source
