"""Finds where the environments of MERP draw their flows from."""

from dataclasses import replace
from typing import Any

from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.workload import (
    PoissonWorkload,
    WorkloadLike,
    WorkloadSource,
    find_source,
    leaves_open,
    workload_label,
)


def flow_source(workload: WorkloadLike, *, load: float | None, flows: int | None, capacity: float) -> WorkloadSource:
    """Finds where an environment draws its flows from.

    A load, given here or with the name of a workload, is one of links with the environment's capacity.

    Args:
        workload: Name of a workload, mapping that describes one, path of a file, flows, or what draws flows.
        load: Offered bytes per s over the capacity of the busiest link, > 0; ``None`` for the workload's own.
        flows: Flows of an episode, >= 1; ``None`` for the workload's own.
        capacity: Capacity of each link in B/s.

    Raises:
        ConfigError: There is no such workload, or an argument changes one that cannot be changed.
        FlowFileError: The flow file has a fault.
    """
    source = find_source(workload)
    if not isinstance(source, PoissonWorkload):
        if load is not None or flows is not None:
            raise ConfigError(
                f"load and flows change Poisson arrivals: workload {shown(workload_label(workload))} has none"
            )
        return source
    changes: dict[str, Any] = {}
    if load is not None:
        changes |= {"load": load, "rate": None}
    if load is not None or (leaves_open(workload, "capacity") and source.load is not None):
        changes |= {"capacity": capacity}
    if flows is not None:
        changes |= {"num_flows": flows, "duration": None}
    return replace(source, **changes) if changes else source
