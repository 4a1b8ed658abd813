"""Finds what an environment draws its flows from, in whatever form it is given."""

from os import PathLike

from flowsched_gym.errors import ConfigError, shown
from flowsched_gym.workload.flow_file import read_flows
from flowsched_gym.workload.named import make_workload
from flowsched_gym.workload.source import FixedWorkload, WorkloadSource
from flowsched_gym.workload.table_file import is_parquet
from flowsched_gym.workload.workload import Workload

__all__ = ["find_source", "is_workload_name"]


def find_source(workload: str | PathLike[str] | Workload | WorkloadSource) -> WorkloadSource:
    """Finds where flows are drawn from.

    The times of given flows count from the start of the episode's clock: from the first arrival where all are far from
    0, such as Unix times.

    Args:
        workload: Name of a workload, path of a flow file (``.csv``, ``.parquet``, ``.pq``), flows, or anything that
            draws flows.

    Raises:
        ConfigError: It is none of these, or there is no workload of that name.
        FlowFileError: The flow file has a fault.
    """
    if isinstance(workload, str) and is_workload_name(workload):
        return make_workload(workload)
    if isinstance(workload, (str, PathLike)):
        return FixedWorkload(workload=read_flows(workload))
    if isinstance(workload, Workload):
        return FixedWorkload(workload=workload)
    if not isinstance(workload, WorkloadSource):
        raise ConfigError(
            f"workload is {shown(workload)}: it must be a name, a flow file, a Workload or a source of them"
        )
    return workload


def is_workload_name(workload: object) -> bool:
    """Tells the name of a workload from everything else, a flow file by its extension."""
    return isinstance(workload, str) and not workload.lower().endswith(".csv") and not is_parquet(workload)
