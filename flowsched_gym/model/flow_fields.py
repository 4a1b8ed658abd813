"""Columns that environments keep of flows beside those of the engine, by name."""

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from flowsched_gym.arrays import FloatArray, IntArray

__all__ = ["Fields", "FlowColumns", "fill_flow_fields"]

Fields = tuple[tuple[str, str] | tuple[str, str, tuple[int, ...]], ...]
"""Names and types of the fields of a structured array, with the shapes of those that are arrays."""


OF_WORKLOAD: Final = ("flow_id", "source", "destination", "size", "deadline_span")


class FlowColumns(NamedTuple):
    """Columns of flows that an environment whose agent acts once per period may see, (num_flows,) each."""

    flow_id: IntArray
    source: IntArray
    destination: IntArray
    size: FloatArray
    arrival_time: FloatArray
    completion_time: FloatArray
    ideal_fct: FloatArray
    attained: FloatArray
    remaining: FloatArray
    rate: FloatArray
    rate_cap: FloatArray
    path: IntArray
    queue: IntArray


class _Flows(Protocol):
    """Flows, as a workload has them."""

    @property
    def flow_id(self) -> IntArray: ...
    @property
    def source(self) -> IntArray: ...
    @property
    def destination(self) -> IntArray: ...
    @property
    def size(self) -> FloatArray: ...
    @property
    def deadline_span(self) -> FloatArray | None: ...
    @property
    def arrival_time(self) -> FloatArray: ...


def fill_flow_fields(
    columns: npt.NDArray[Any], names: Iterable[str], flows: _Flows, ideal_fct: Callable[[], FloatArray]
) -> None:
    """Sets the columns of an episode that begins.

    ``flow_id``, ``source``, ``destination``, ``size`` and ``deadline_span`` are the workload's, ``by_arrival`` the rows
    in the order of arrival, ``ideal_fct`` the completion times in s alone on the empty network; all others become 0.

    Args:
        columns: Structured array, (num_flows,).
        names: Fields to set.
        flows: The flows.
        ideal_fct: Computes that column.
    """
    for name in names:
        if name == "ideal_fct":
            columns[name] = ideal_fct()
        elif name == "by_arrival":
            columns[name] = np.argsort(flows.arrival_time, kind="stable")
        elif name in OF_WORKLOAD:
            columns[name] = getattr(flows, name)
        else:
            columns[name] = 0
