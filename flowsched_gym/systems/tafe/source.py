"""Finds where the environments of TAFE draw their tasks from."""

from dataclasses import replace
from typing import Any

from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.workload import (
    JobWorkload,
    TaskWorkload,
    WorkloadLike,
    WorkloadSource,
    find_source,
    leaves_open,
    workload_label,
)


def task_source(workload: WorkloadLike, *, load: float | None, tasks: int | None, capacity: float) -> WorkloadSource:
    """Finds where an environment draws its tasks from.

    A load, given here or with the name of a workload, is one of a link with the environment's capacity.

    Args:
        workload: Name of a workload, mapping that describes one, path of a file, flows, or what draws flows.
        load: Poisson arrivals: offered bytes per s over the capacity of one link, > 0, also where clients would take
            turns; ``None`` for the workload's own.
        tasks: Tasks of an episode, >= 1; ``None`` for the workload's own.
        capacity: Capacity of each link in B/s.

    Raises:
        ConfigError: There is no such workload, or an argument changes one that draws no tasks.
        FlowFileError: The flow file has a fault.
    """
    source = find_source(workload)
    if not isinstance(source, TaskWorkload | JobWorkload):
        if load is not None or tasks is not None:
            raise ConfigError(
                f"load and tasks change drawn tasks: workload {shown(workload_label(workload))} draws none"
            )
        return source
    changes: dict[str, Any] = {}
    if load is not None:
        changes["load"] = load
        if isinstance(source, TaskWorkload):
            changes["arrivals"] = None
    if load is not None or leaves_open(workload, "capacity"):
        changes["capacity"] = capacity
    if tasks is not None:
        changes["num_tasks"] = tasks
    return replace(source, **changes) if changes else source
