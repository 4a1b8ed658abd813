"""Finds where the environments of AuTO draw their flows from, and shows flows in their units."""

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.envs import NetworkView
from flowsched_gym.errors import ConfigError, shown
from flowsched_gym.model.rules.finished_flows import show_finished
from flowsched_gym.workload import (
    ClusterWorkload,
    PoissonWorkload,
    WorkloadLike,
    WorkloadSource,
    find_source,
    leaves_open,
    workload_label,
)

__all__ = ["FlowUnits", "flow_source", "show_flows", "squashed_units"]

LAST_PORT: Final = 65_535.0
LAST_PROTOCOL: Final = 255.0


class FlowUnits(NamedTuple):
    """Units that turn the columns of a flow into numbers that are shown, in the order of ``rules.finished_flows``.

    Attributes:
        host: Divides hosts, counted from 1.
        port: Divides ports.
        protocol: Divides the protocol's number.
        squashed: Whether ``x / (x + scale)`` is shown of size and completion time, or ``x / scale``, cut.
        size_scale: Scale of sizes in B.
        most_size: Where sizes that are not squashed are cut.
        fct_scale: Scale of completion times in s.
        most_fct: Where those that are not squashed are cut.
    """

    host: float = 1.0
    port: float = 1.0
    protocol: float = 1.0
    squashed: bool = False
    size_scale: float = 1.0
    most_size: float = np.inf
    fct_scale: float = 1.0
    most_fct: float = np.inf


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


def show_flows(
    view: NetworkView, rows: npt.NDArray[np.int64], units: FlowUnits, first: int, shown: npt.NDArray[np.float32]
) -> None:
    """Shows flows that have finished, (count,), from the place ``first`` of ``shown`` on; see ``show_finished``."""
    show_finished(
        rows,
        view.flow_id,
        view.source,
        view.destination,
        view.size,
        view.arrival_time,
        view.completion_time,
        *units,
        first,
        shown,
    )


def flow_source(
    workload: WorkloadLike,
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
        workload: Name of a workload, mapping that describes one, path of a flow file, flows, or what draws flows.
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
        source = replace(source, **changes) if changes else source  # type: ignore[arg-type]  # the class checks each field
    elif load is not None or flows is not None:
        raise ConfigError(
            f"load and flows change Poisson arrivals: workload {shown(workload_label(workload))} has none"
        )
    if source.num_hosts > hosts:
        raise ConfigError(
            f"workload {shown(workload_label(workload))} has {source.num_hosts} hosts: the network has {hosts}"
        )
    return source
