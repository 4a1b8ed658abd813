"""Holds the flows of one episode as frozen arrays, drawn before the simulation starts."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.errors import WorkloadError

__all__ = ["NO_TASK", "Workload"]

NO_TASK: Final = -1
"""Task of a flow that belongs to none."""

INT64_END: Final = 2.0**63
"""The first whole number that int64 cannot hold."""

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Workload:
    """Lists the flows of one episode, one row per flow. Arrays are copied, checked and not writeable.

    Arrivals need not be sorted: the simulation serves them in the order of (arrival_time, flow_id).

    Attributes:
        flow_id: Identifiers, (num_flows,) int64, >= 0, strictly increasing.
        source: Sending host, (num_flows,) int64, >= 0.
        destination: Receiving host, (num_flows,) int64, >= 0, other than the source.
        size: Bytes to deliver, (num_flows,) float64, > 0.
        arrival_time: Absolute arrival times in s, (num_flows,) float64, >= 0.
        deadline_span: Time allowed after arrival in s, (num_flows,) float64, > 0; inf where there is no deadline.
            Default: no deadlines.
        task_id: Task of each flow, (num_flows,) int64, >= 0, or ``NO_TASK``. Default: no tasks.

    Raises:
        WorkloadError: An array has another length or type, or a value that is not allowed; the message names the
            array, the row and the value.
    """

    flow_id: IntArray
    source: IntArray
    destination: IntArray
    size: FloatArray
    arrival_time: FloatArray
    deadline_span: FloatArray | None = None
    task_id: IntArray | None = None

    def __post_init__(self) -> None:
        """Copies, checks and locks the arrays."""
        num_flows = len(np.atleast_1d(self.flow_id))
        if self.deadline_span is None:
            object.__setattr__(self, "deadline_span", np.full(num_flows, np.inf))
        if self.task_id is None:
            object.__setattr__(self, "task_id", np.full(num_flows, NO_TASK, dtype=np.int64))
        for field in fields(self):
            integral = field.name in ("flow_id", "task_id", "source", "destination")
            array = _as_array(getattr(self, field.name), field.name, integral=integral)
            if len(array) != num_flows:
                raise WorkloadError(f"{field.name} has {len(array)} rows, flow_id has {num_flows}: lengths must agree")
            array.setflags(write=False)
            object.__setattr__(self, field.name, array)
        self._check()

    @property
    def num_flows(self) -> int:
        """Number of flows."""
        return len(self.flow_id)

    @property
    def num_hosts(self) -> int:
        """Smallest number of hosts that holds every source and destination, numbered from 0."""
        if not self.num_flows:
            return 0
        return int(max(self.source.max(), self.destination.max())) + 1

    def _check(self) -> None:
        """Refuses the first value that is not allowed."""
        assert self.deadline_span is not None
        assert self.task_id is not None
        _require(self.flow_id >= 0, "flow_id", self.flow_id, ">= 0")
        _require(self.task_id >= NO_TASK, "task_id", self.task_id, ">= 0, or -1 for no task")
        _require(self.source >= 0, "source", self.source, "a host number >= 0")
        _require(self.destination >= 0, "destination", self.destination, "a host number >= 0")
        _require(self.source != self.destination, "destination", self.destination, "another host than the source")
        _require(np.isfinite(self.size) & (self.size > 0), "size", self.size, "finite and > 0 B")
        arrival_ok = np.isfinite(self.arrival_time) & (self.arrival_time >= 0)
        _require(arrival_ok, "arrival_time", self.arrival_time, "finite and >= 0 s")
        _require(self.deadline_span > 0, "deadline_span", self.deadline_span, "> 0 s, or inf for none")
        if self.num_flows > 1:
            rising = np.concatenate([[True], self.flow_id[1:] > self.flow_id[:-1]])
            _require(rising, "flow_id", self.flow_id, "strictly increasing, each id once")


def _as_array(values: Sequence[float] | FloatArray | IntArray, name: str, *, integral: bool) -> FloatArray | IntArray:
    """Copies values to a one-dimensional float64 or int64 array, or says why it cannot."""
    try:
        given = np.asarray(values)
        if given.size and given.dtype.kind not in "iufO":
            raise TypeError(f"its type is {given.dtype}")
        array = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise WorkloadError(f"{name} holds something that is not a number: {error}") from None
    if array.ndim != 1:
        raise WorkloadError(f"{name} has shape {array.shape}: it must have one dimension")
    if not integral:
        return array
    if given.dtype.kind == "i":
        return given.astype(np.int64)
    _require((array == np.floor(array)) & (np.abs(array) < INT64_END), name, given, "a whole number below 2**63")
    return given.astype(np.int64)


def _require(allowed: npt.NDArray[np.bool_], name: str, values: npt.NDArray[np.generic], what: str) -> None:
    """Raises for the first row that is not allowed."""
    if not allowed.all():
        row = int(np.argmin(allowed))
        raise WorkloadError(f"{name} is {values[row]} in row {row}: it must be {what}")
