"""The flows of one episode as frozen arrays, drawn before the simulation starts."""

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.checks import as_column, require
from flowsched_gym.core.errors import WorkloadError, shown
from flowsched_gym.flows.link_changes import LinkChanges
from flowsched_gym.flows.precedence import Precedence
from flowsched_gym.machine_code.drawing import loops

NO_TASK: Final = -1
"""Task of a flow that belongs to none."""

INTEGER_COLUMNS: Final = ("flow_id", "source", "destination", "task_id")
COLUMNS: Final = (*INTEGER_COLUMNS, "size", "arrival_time", "deadline_span", "cpu_time")
DEFAULTS: Final = {"task_id": NO_TASK, "deadline_span": np.inf, "cpu_time": 0.0}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Workload:
    """The flows of one episode, one row per flow. Arrays are copied, checked and not writeable.

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
        cpu_time: Seconds of one whole CPU of its source that a flow needs before it sends, (num_flows,) float64, >= 0.
            Default: 0.
        after: Which flows begin only when others have finished; None where none waits.
        link_changes: When links fail and come up again; None if all stay up. Flow files hold flows alone.

    Raises:
        WorkloadError: An array has another length or type, or a value that is not allowed; the message names the
            array, the row and the value. Or flows wait for each other, or for one that is not there.
    """

    flow_id: IntArray
    source: IntArray
    destination: IntArray
    size: FloatArray
    arrival_time: FloatArray
    deadline_span: FloatArray | None = None
    task_id: IntArray | None = None
    cpu_time: FloatArray | None = None
    after: Precedence | None = None
    link_changes: LinkChanges | None = None

    def __post_init__(self) -> None:
        num_flows = len(np.atleast_1d(self.flow_id))
        for name in COLUMNS:
            given = getattr(self, name)
            if given is None and name in DEFAULTS:
                array = np.full(num_flows, DEFAULTS[name])
            else:
                array = as_column(given, name, integral=name in INTEGER_COLUMNS)
            if len(array) != num_flows:
                raise WorkloadError(f"{name} has {len(array)} rows, flow_id has {num_flows}: lengths must agree")
            object.__setattr__(self, name, array)
        arrays = tuple(getattr(self, name) for name in COLUMNS)
        if loops() is None or not loops().are_allowed(arrays[: len(INTEGER_COLUMNS)], arrays[len(INTEGER_COLUMNS) :]):
            _check(arrays)
        for array in arrays:
            array.setflags(write=False)
        if not isinstance(self.after, Precedence | None):
            raise WorkloadError(f"after is {shown(self.after)}: it must be Precedence or None")
        if self.after is not None:
            earlier, later = self.after.rows(self.flow_id)
            if not (earlier < later).all():  # otherwise they cannot wait for each other
                self.after.depth(self.flow_id)
        if not isinstance(self.link_changes, LinkChanges | None):
            raise WorkloadError(f"link_changes is {shown(self.link_changes)}: it must be LinkChanges or None")

    @property
    def num_flows(self) -> int:
        """Number of flows."""
        return len(self.flow_id)

    @property
    def arrays(self) -> tuple[npt.NDArray[np.generic], ...]:
        """All arrays that make the episode: those of the flows, then those of what else there is."""
        names = ("flow_id", "source", "destination", "size", "arrival_time", "deadline_span", "task_id")
        flows = [getattr(self, name) for name in (*names, *(("cpu_time",) if self.has_cpu_work else ()))]
        pairs = () if self.after is None else (self.after.earlier, self.after.later)
        changes = self.link_changes
        links = () if changes is None else (changes.time, changes.link, changes.up)
        return (*flows, *pairs, *links)

    @property
    def has_cpu_work(self) -> bool:
        """Whether a flow needs a CPU before it sends."""
        assert self.cpu_time is not None
        return bool(self.cpu_time.any())

    @property
    def has_stages(self) -> bool:
        """Whether a flow has something to wait for before it sends: other flows, or a CPU."""
        return self.after is not None or self.has_cpu_work

    @property
    def num_hosts(self) -> int:
        """Smallest number of hosts that holds every source and destination, numbered from 0."""
        if not self.num_flows:
            return 0
        return int(max(self.source.max(), self.destination.max())) + 1

    def on_clock(self) -> "tuple[Workload, float]":
        """Counts times from ``start_of_clock``, which it returns as well; deadlines are spans, and stay.

        Links that change before the clock starts change at its start.
        """
        start, changes = start_of_clock(self.arrival_time), self.link_changes
        if start == 0.0:
            return self, start
        if changes is not None:
            changes = replace(changes, time=np.maximum(changes.time - start, 0.0))
        return replace(self, arrival_time=self.arrival_time - start, link_changes=changes), start


def _check(columns: tuple[Any, ...]) -> None:
    flow_id, source, destination, task_id, size, arrival_time, deadline_span, cpu_time = columns
    require(flow_id >= 0, "flow_id", flow_id, ">= 0")
    require(task_id >= NO_TASK, "task_id", task_id, ">= 0, or -1 for no task")
    require(source >= 0, "source", source, "a host number >= 0")
    require(destination >= 0, "destination", destination, "a host number >= 0")
    require(source != destination, "destination", destination, "another host than the source")
    require(np.isfinite(size) & (size > 0), "size", size, "finite and > 0 B")
    require(np.isfinite(arrival_time) & (arrival_time >= 0), "arrival_time", arrival_time, "finite and >= 0 s")
    require(deadline_span > 0, "deadline_span", deadline_span, "> 0 s, or inf for none")
    require(np.isfinite(cpu_time) & (cpu_time >= 0), "cpu_time", cpu_time, "finite and >= 0 s")
    if len(flow_id) > 1:
        rising = np.append(True, flow_id[1:] > flow_id[:-1])
        require(rising, "flow_id", flow_id, "strictly increasing, each id once")


def start_of_clock(arrival_time: FloatArray) -> float:
    """Returns the absolute time in s at which the clock of an episode starts, by its arrival times in s, (num_flows,).

    Around 1.7e9 s, the Unix time of today, neighbouring float64 are 0.24 us apart; counted from the first arrival they
    are as fine as the spacing of the flows needs. The clock starts at the first arrival where the last one is no later
    than twice that time: then every difference is exact (Sterbenz, Floating-Point Computation, 1974). Otherwise it
    starts at 0, since a later start would gain less than one bit.
    """
    if not len(arrival_time):
        return 0.0
    first = float(arrival_time.min())
    return first if float(arrival_time.max()) - first <= first else 0.0
