"""Columns that environments keep of flows beside those of the engine, by name."""

from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["Fields", "fill_flow_fields"]

Fields = tuple[tuple[str, str] | tuple[str, str, tuple[int, ...]], ...]
"""Names and types of the fields of a structured array, with the shapes of those that are arrays."""


OF_WORKLOAD: Final = ("flow_id", "source", "destination", "deadline_span")


class _Flows(Protocol):
    """Flows, as a workload has them."""

    @property
    def flow_id(self) -> npt.NDArray[np.int64]: ...
    @property
    def source(self) -> npt.NDArray[np.int64]: ...
    @property
    def destination(self) -> npt.NDArray[np.int64]: ...
    @property
    def deadline_span(self) -> npt.NDArray[np.float64] | None: ...
    @property
    def arrival_time(self) -> npt.NDArray[np.float64]: ...


def fill_flow_fields(
    columns: npt.NDArray[Any],
    names: Iterable[str],
    flows: _Flows,
    ideal_fct: Callable[[], npt.NDArray[np.float64]],
) -> None:
    """Sets the columns of an episode that begins.

    ``flow_id``, ``source``, ``destination`` and ``deadline_span`` are the workload's, ``by_arrival`` the rows in the
    order of arrival, ``ideal_fct`` the completion times in s alone on the empty network; all others become 0.

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
