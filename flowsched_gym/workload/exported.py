"""Writes flows for packet simulators: ``flow.txt`` of HPCC's ns-3, connection matrices (``.cm``) of htsim.

``workload.imports.simulators`` describes both, and reads what is written here as the same flows.
"""

import warnings
from collections.abc import Iterator
from decimal import Decimal
from os import PathLike
from typing import Final

import numpy as np

from flowsched_gym.core.errors import FlowSchedWarning, WorkloadError
from flowsched_gym.core.files import replace_when_written
from flowsched_gym.flows.workload import NO_TASK, Workload
from flowsched_gym.workload.imports.simulators import PICOSECOND_DIGITS

PRIORITY_GROUP, PORT = 3, 100
"""What HPCC's own files have for all flows."""
LARGEST_SIZE: Final = 2**31 - 1
"""Bytes of a connection that htsim reads at most."""


class ExportWarning(FlowSchedWarning):
    """A file of another simulator that cannot have all that is written."""


def write_hpcc(workload: Workload, path: str | PathLike[str]) -> None:
    """Writes ``flow.txt`` of HPCC, from which `read_hpcc` reads the same flows; whole or not at all.

    Raises:
        OSError: The file cannot be written.
        WorkloadError: The workload has no flows.

    Warns:
        ExportWarning: Sizes are rounded to whole bytes, or the file has no place for all that flows have.
    """
    lines = [f"{workload.num_flows}\n"]
    for source, destination, size, arrival in _rows(workload, "HPCC"):
        lines.append(f"{source} {destination} {PRIORITY_GROUP} {PORT} {size} {arrival:f}\n")
    _write(lines, path)


def write_cm(workload: Workload, path: str | PathLike[str], *, num_hosts: int = 0) -> None:
    """Writes a connection matrix of htsim, from which `read_cm` reads the same flows; whole or not at all.

    Args:
        workload: The flows.
        path: The file.
        num_hosts: Nodes of htsim's network; at least as many as flows run between.

    Raises:
        OSError: The file cannot be written.
        WorkloadError: The workload has no flows.

    Warns:
        ExportWarning: Sizes are rounded to whole bytes, or the file has no place for all that flows have.
    """
    lines = [f"Nodes {max(num_hosts, workload.num_hosts)}\n", f"Connections {workload.num_flows}\n"]
    for number, (source, destination, size, arrival) in enumerate(_rows(workload, "htsim"), start=1):
        start = f"{arrival.scaleb(PICOSECOND_DIGITS):f}"
        start = start.rstrip("0").rstrip(".") if "." in start else start
        lines.append(f"{source}->{destination} id {number} start {start} size {size}\n")
    if workload.size.max(initial=0) > LARGEST_SIZE:
        _warn("htsim", f"it reads sizes up to {LARGEST_SIZE} B, and a flow has {workload.size.max():g} B")
    _write(lines, path)


def _rows(workload: Workload, where: str) -> Iterator[tuple[int, int, int, Decimal]]:
    """Yields source, destination, whole bytes and arrival by arrival, and warns of what is lost."""
    if not workload.num_flows:
        raise WorkloadError(f"flows for {where}: the workload has none, at least one is needed")
    assert workload.deadline_span is not None
    assert workload.task_id is not None
    size = np.maximum(np.rint(workload.size), 1.0)
    order = np.lexsort((workload.flow_id, workload.arrival_time))
    lost = {
        "sizes are rounded to whole bytes": (size != workload.size).any(),
        "flows are numbered by their arrival": (workload.flow_id[order] != np.arange(workload.num_flows)).any(),
        "deadlines are left out": np.isfinite(workload.deadline_span).any(),
        "tasks are left out": (workload.task_id != NO_TASK).any(),
        "work on CPUs is left out": workload.has_cpu_work,
        "flows do not wait for others, but begin when they arrive": workload.after is not None,
        "link changes are left out": workload.link_changes is not None,
    }
    if any(lost.values()):
        _warn(where, "; ".join(reason for reason, happens in lost.items() if happens))
    columns = workload.source, workload.destination, size, workload.arrival_time
    for source, destination, whole, arrival in zip(*(column[order].tolist() for column in columns), strict=True):
        yield source, destination, int(whole), Decimal(repr(arrival))


def _warn(where: str, what: str) -> None:
    warnings.warn(ExportWarning(f"flows for {where}: {what}"), stacklevel=3)


def _write(lines: list[str], path: str | PathLike[str]) -> None:
    with replace_when_written(path) as temporary:
        temporary.write_text("".join(lines), encoding="utf-8", newline="\n")
