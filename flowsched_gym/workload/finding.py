"""Finds what an environment draws its flows from, in whatever form it is given."""

import os
from collections.abc import Mapping
from os import PathLike
from typing import Any, TypeGuard

from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.flows.workload import Workload
from flowsched_gym.workload.flow_file import read_flows
from flowsched_gym.workload.named import make_workload
from flowsched_gym.workload.source import FixedWorkload, WorkloadSource
from flowsched_gym.workload.table_file import is_parquet
from flowsched_gym.workload.variants import fields_given, parse_variant, variant_label
from flowsched_gym.workload.workload_file import is_workload_file, read_workload_file

WorkloadLike = str | PathLike[str] | Mapping[str, object] | Workload | WorkloadSource
"""Forms in which a workload may be given."""


def find_source(workload: WorkloadLike) -> WorkloadSource:
    """Finds where flows are drawn from.

    The times of given flows count from the start of the episode's clock: from the first arrival where all are far from
    0, such as Unix times.

    Args:
        workload: Name of a workload, path of a workload file (``.yaml``, ``.yml``, ``.json``) or of a flow file
            (``.csv``, ``.parquet``, ``.pq``), a mapping that describes a workload (``variants.py``), flows, or anything
            that draws flows.

    Raises:
        ConfigError: It is none of these, or there is no workload of that name.
        FlowFileError: The flow file has a fault.
    """
    workload = _read(workload)
    if is_workload_name(workload):
        return make_workload(workload)
    if isinstance(workload, (str, PathLike)):
        return FixedWorkload(workload=read_flows(workload))
    if isinstance(workload, Mapping):
        return parse_variant(workload)
    if isinstance(workload, Workload):
        return FixedWorkload(workload=workload)
    if not isinstance(workload, WorkloadSource):
        raise ConfigError(
            f"workload is {shown(workload)}: it must be a name, a file, a mapping, a Workload or a source of them"
        )
    return workload


def is_workload_name(workload: object) -> TypeGuard[str]:
    """Returns whether text is the name of a workload, rather than a file by its extension."""
    if not isinstance(workload, str) or is_workload_file(workload):
        return False
    return not workload.lower().endswith(".csv") and not is_parquet(workload)


def workload_label(workload: object) -> str:
    """Names a workload for titles and tables: its name, its file, or its class where it was made in Python.

    Raises:
        ConfigError: It is a mapping or a workload file that describes no workload.
    """
    workload = _read(workload)
    if isinstance(workload, Mapping):
        return variant_label(workload)
    return os.fspath(workload) if isinstance(workload, (str, PathLike)) else type(workload).__name__


def leaves_open(workload: object, field: str) -> bool:
    """Returns whether a workload takes a field from the network of its environment.

    One of a name does, and a mapping or workload file that does not give the field.

    Args:
        workload: As in ``find_source``.
        field: Name of a field, such as ``num_hosts``.
    """
    workload = _read(workload)
    return field not in fields_given(workload) if isinstance(workload, Mapping) else is_workload_name(workload)


def with_workload_read(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns arguments of an environment, with the content of a workload file in its place: results keep that.

    Raises:
        ConfigError: The file describes no workload.
    """
    return {**kwargs, "workload": _read(kwargs["workload"])} if "workload" in kwargs else dict(kwargs)


def _read(workload: Any) -> Any:
    """Reads a workload file; all else stays what it is."""
    return read_workload_file(workload) if is_workload_file(workload) else workload
