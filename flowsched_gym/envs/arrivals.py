"""Changes the arrivals of a workload by the arguments ``load`` and ``flows`` of an environment."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.topology import Topology, crossing_shares
from flowsched_gym.workload import (
    ClusterWorkload,
    PoissonWorkload,
    WorkloadLike,
    WorkloadSource,
    find_source,
    found_for_each,
    leaves_open,
    workload_label,
)


def change_arrivals(
    source: WorkloadSource,
    workload: WorkloadLike,
    changes: Mapping[str, object],
    *,
    load: float | None,
    flows: int | None,
    capacity: float,
    kinds: tuple[type, ...] = (PoissonWorkload, ClusterWorkload),
) -> WorkloadSource:
    """Changes Poisson arrivals by the arguments of an environment, ``None`` for the workload's own.

    The source was found by ``workload``; ``changes`` are further ones, by field; a load is one of ``capacity`` in B/s.

    Raises:
        ConfigError: A load or flows are given for a workload that has none to change.
    """
    label = shown(workload_label(workload))
    if not isinstance(source, kinds):
        if load is None and flows is None:
            return source
        raise ConfigError(f"load and flows change Poisson arrivals: workload {label} has none")
    if load is not None:
        if isinstance(source, ClusterWorkload):
            raise ConfigError(f"load is {shown(load)}: workload {label} has a load for each cluster")
        changes = {**changes, "load": load, "rate": None, "capacity": capacity}
    if flows is not None:
        changes = {**changes, "num_flows": flows, "duration": None}
    changeable: Any = source
    changed: WorkloadSource = replace(changeable, **changes) if changes else source
    return changed


@found_for_each
def poisson_source(
    workload: WorkloadLike,
    *,
    load: float | None,
    flows: int | None,
    capacity: float,
    topology: Topology | None = None,
) -> WorkloadSource:
    """Finds where an environment draws its flows from whose workloads are Poisson arrivals, or are not changed.

    A load, given here or with the name of a workload, is one of links with the environment's capacity in B/s. On a
    network of one's own, a workload between all hosts that leaves their number open is one between all of its hosts,
    and its load that of the busiest link.
    """
    source = find_source(workload)
    meshed = isinstance(source, PoissonWorkload) and source.pattern == "all-to-all"
    own: dict[str, object] = {}
    if topology is not None and meshed and leaves_open(workload, "num_hosts"):
        shares = crossing_shares(topology)
        busiest = int(np.argmax(shares / topology.capacity))
        capacity = float(topology.capacity[busiest])
        own = {"num_hosts": topology.num_hosts, "busiest_share": float(shares[busiest])}
    is_open = isinstance(source, PoissonWorkload) and source.load is not None and leaves_open(workload, "capacity")
    if is_open:
        own["capacity"] = capacity
    kinds = (PoissonWorkload,)
    source = change_arrivals(source, workload, own, load=load, flows=flows, capacity=capacity, kinds=kinds)
    if topology is not None and source.num_hosts > topology.num_hosts:
        raise ConfigError(
            f"workload {shown(workload_label(workload))} has {source.num_hosts} hosts: network {topology.name} has "
            f"{topology.num_hosts}"
        )
    return source
