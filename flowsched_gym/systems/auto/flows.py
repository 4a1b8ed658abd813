"""Finds where the environments of AuTO draw their flows from."""

from dataclasses import replace
from typing import Any, Final

from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.systems.auto.rules import FlowUnits
from flowsched_gym.workload import (
    ClusterWorkload,
    PoissonWorkload,
    WorkloadLike,
    WorkloadSource,
    find_source,
    leaves_open,
    workload_label,
)

LAST_PORT: Final = 65_535.0
LAST_PROTOCOL: Final = 255.0


def squashed_units(hosts: int, size_scale: float, fct_scale: float) -> FlowUnits:
    """Returns units in which all is from 0 to 1, and sizes in B and times in s of these scales are one half."""
    return FlowUnits(
        host=float(hosts),
        port=LAST_PORT,
        protocol=LAST_PROTOCOL,
        squashed=True,
        size_scale=size_scale,
        fct_scale=fct_scale,
    )


def flow_source(
    workload: WorkloadLike, *, load: float | None, flows: int | None, hosts: int, capacity: float
) -> WorkloadSource:
    """Finds where an environment draws its flows from.

    A load, given here or with the name of a workload, is one of hosts with the environment's capacity; a named workload
    between all hosts is one between all hosts of the environment.

    Args:
        workload: Name of a workload, mapping that describes one, path of a file, flows, or what draws flows.
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
    changes: dict[str, Any] = {}
    if isinstance(source, (PoissonWorkload, ClusterWorkload)):
        meshed = isinstance(source, ClusterWorkload) or (
            source.pattern == "all-to-all" and source.busiest_share is None
        )
        for field, own in (("num_hosts", hosts), ("capacity", capacity)):
            if meshed and leaves_open(workload, field):
                changes |= {field: own}
        if load is not None and isinstance(source, ClusterWorkload):
            raise ConfigError(
                f"load is {shown(load)}: workload {shown(workload_label(workload))} has a load for each cluster"
            )
        if load is not None:
            changes |= {"load": load, "rate": None, "capacity": capacity}
        if flows is not None:
            changes |= {"num_flows": flows, "duration": None}
        source = replace(source, **changes) if changes else source
    elif load is not None or flows is not None:
        raise ConfigError(
            f"load and flows change Poisson arrivals: workload {shown(workload_label(workload))} has none"
        )
    if source.num_hosts > hosts:
        raise ConfigError(
            f"workload {shown(workload_label(workload))} has {source.num_hosts} hosts: the network has {hosts}"
        )
    return source
