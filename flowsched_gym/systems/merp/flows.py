"""Finds where the environments of MERP draw their flows from."""

from flowsched_gym.envs.arguments import change_arrivals
from flowsched_gym.workload import (
    PoissonWorkload,
    WorkloadLike,
    WorkloadSource,
    find_source,
    found_for_each,
    leaves_open,
)


@found_for_each
def flow_source(workload: WorkloadLike, *, load: float | None, flows: int | None, capacity: float) -> WorkloadSource:
    """Finds where an environment draws its flows from.

    A load, given here or with the name of a workload, is one of links with the environment's capacity in B/s.
    """
    source = find_source(workload)
    is_open = isinstance(source, PoissonWorkload) and source.load is not None and leaves_open(workload, "capacity")
    own = {"capacity": capacity} if is_open else {}
    kinds = (PoissonWorkload,)
    return change_arrivals(source, workload, own, load=load, flows=flows, capacity=capacity, kinds=kinds)
