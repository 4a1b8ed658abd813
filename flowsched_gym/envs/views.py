"""Shows one running episode to the part of a system that acts in it once per period, whichever engine runs it.

Both engines keep the same columns of flows, so such a part is written once, and gives the same bits in both.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.flows.fields import FlowColumns
from flowsched_gym.fluid.disciplines import Mlfq, QueuedTasks

FLOW_FIELDS: Final = (
    ("flow_id", "i8"),
    ("source", "i8"),
    ("destination", "i8"),
    ("by_arrival", "i8"),
    ("ideal_fct", "f8"),
)
"""What views show of flows beside the columns of the engine."""
FlowTable = Mapping[str, npt.NDArray[Any]] | npt.NDArray[Any]
"""Columns of flows by name: a mapping, or records of the compiled engine."""


@dataclass(kw_only=True, eq=False)
class EpisodeView:
    """Shows an episode that waits for an action, or whose flows have all been delivered.

    Columns are those of the engine, not copies, and valid until it goes on. Rows count from 0 in each episode, in the
    order of flow ids.

    Attributes:
        now: Time in s.
        begun_at: Time in s of the last action, when the period began that has ended now; 0 before the second.
        num_periods: Periods that have begun.
        flows: Columns, (num_flows,) each, by the names of the properties.
        deliveries: Rows in the order of their delivery, as the engine counts them, from ``first_row``.
        num_before: How many of these there were at the last action; 0 before the second.
        network: Number of this network among those of the engine.
        first_row: Row there of the first flow.
    """

    now: float
    begun_at: float
    num_periods: int
    num_flows: int
    flows: FlowTable
    deliveries: npt.NDArray[np.integer[Any]]
    num_before: int
    network: int = 0
    first_row: int = 0

    @property
    def size(self) -> FloatArray:
        """Bytes to deliver, (num_flows,) float64."""
        return self.flows["size"]

    @property
    def arrival_time(self) -> FloatArray:
        """Absolute times in s, (num_flows,) float64, later than now for flows to come."""
        return self.flows["arrival_time"]

    @property
    def completion_time(self) -> FloatArray:
        """Absolute times in s, (num_flows,) float64; NaN before the last byte is delivered."""
        return self.flows["completion_time"]

    @property
    def flow_id(self) -> IntArray:
        """Identifiers, (num_flows,) int64, increasing."""
        return self.flows["flow_id"]

    @property
    def source(self) -> IntArray:
        """Sending hosts, (num_flows,) int64."""
        return self.flows["source"]

    @property
    def destination(self) -> IntArray:
        """Receiving hosts, (num_flows,) int64."""
        return self.flows["destination"]

    @property
    def by_arrival(self) -> IntArray:
        """Rows in the order of arrival, (num_flows,) int64."""
        return self.flows["by_arrival"]

    @property
    def ideal_fct(self) -> FloatArray:
        """Completion times in s alone on the empty network, (num_flows,) float64."""
        return self.flows["ideal_fct"]

    @property
    def num_delivered(self) -> int:
        """Flows that have been delivered."""
        return len(self.deliveries)

    @functools.cached_property
    def delivered(self) -> IntArray:
        """Rows in the order of their delivery, (num_delivered,)."""
        return self.delivered_between(0, self.num_delivered)

    @functools.cached_property
    def finished(self) -> IntArray:
        """Those delivered since the last action, (num_finished,); all before the second."""
        return self.delivered_between(self.num_before, self.num_delivered)

    @property
    def arrived(self) -> IntArray:
        """Rows of the flows that have arrived since the last action, (num_arrived,), increasing."""
        by_arrival = self.by_arrival
        first, end = self.arrival_time.searchsorted((self.begun_at, self.now), "right", by_arrival)
        rows = by_arrival[first:end].copy()
        rows.sort(kind="stable")  # which takes least where they are in their order already
        return rows

    @property
    def period(self) -> float:
        """Time in s since the last action."""
        return self.now - self.begun_at

    def delivered_between(self, first: int, end: int) -> IntArray:
        """Returns the rows of the flows that were delivered after ``first`` others, up to the one number ``end``."""
        rows: IntArray = np.subtract(self.deliveries[first:end], self.first_row, dtype=np.int64)
        return rows

    def fct(self, rows: IntArray) -> FloatArray:
        """Returns the completion times in s of flows that have been delivered, waiting included, (count,)."""
        times: FloatArray = self.completion_time[rows] - self.arrival_time[rows]
        return times


@dataclass(kw_only=True, eq=False)
class NetworkView(EpisodeView):
    """Shows a network that waits for an action, or whose flows have all been delivered.

    Only ``rate_cap`` may be written. See ``EpisodeView`` for the attributes not named here.

    Attributes:
        capacity: Capacities of the links now in B/s, (num_links,) float64.
        discipline: The feedback queues, of flows or of tasks, of all networks of the engine.
        moves: Sends an active flow of this network along another of its paths.
        sending: Rows of the active flows in any order, as the engine counts them, from ``first_row``.
        has_rate_caps: Whether ``rate_cap`` may be written (``FluidControl.sets_rate_caps``).
    """

    capacity: FloatArray
    discipline: Mlfq | QueuedTasks
    moves: Callable[[int, int], None]
    sending: npt.NDArray[np.integer[Any]]
    has_rate_caps: bool = True

    @property
    def attained(self) -> FloatArray:
        """Bytes sent, (num_flows,) float64; of active flows alone."""
        return self.flows["attained"]

    @property
    def remaining(self) -> FloatArray:
        """Bytes left to send, (num_flows,) float64; of active flows alone."""
        return self.flows["remaining"]

    @property
    def rate(self) -> FloatArray:
        """Rates in B/s of the period that has ended, (num_flows,) float64; of active flows alone."""
        return self.flows["rate"]

    @property
    def rate_cap(self) -> FloatArray:
        """Largest rates in B/s, (num_flows,) float64, inf for none; may be written, for active flows."""
        caps = self.flows["rate_cap"][:]
        caps.setflags(write=self.has_rate_caps)
        return caps

    @property
    def path(self) -> npt.NDArray[np.integer[Any]]:
        """Rows of the path table, (num_flows,), integers."""
        return self.flows["path"]

    @property
    def queue(self) -> IntArray:
        """Queues as of the last time that links were shared, (num_flows,) int64; of active flows alone."""
        return self.discipline.levels(self.first_row, self.num_flows)

    @functools.cached_property
    def columns(self) -> FlowColumns:
        """Columns under their names, for rules."""
        return FlowColumns(**{name: getattr(self, name) for name in FlowColumns._fields})

    @functools.cached_property
    def active(self) -> IntArray:
        """Rows of the flows that have arrived and not sent their last byte, (num_active,), increasing."""
        rows: IntArray = np.sort(np.subtract(self.sending, self.first_row, dtype=np.int64))
        return rows

    def thresholds(self) -> FloatArray:
        """Returns the thresholds of each group of hosts in B, (num_groups, num_queues - 1), a copy."""
        return self.discipline.thresholds(self.network)

    def set_thresholds(self, rows: FloatArray) -> None:
        """Sets the thresholds from now on, (num_groups, num_queues - 1) in B, each row increasing; refuses others."""
        self.discipline.set_thresholds(rows, self.network)

    def queues_of(self, rows: IntArray) -> IntArray:
        """Returns the queues of active flows, (count,), as of the last time that links were shared."""
        return self.discipline.queues_of(rows + self.first_row)

    def pin(self, row: int | IntArray, queue: int | IntArray | None) -> None:
        """Pins active flows to queues, whatever they attain; ``None`` lets them go; refuses queues of tasks."""
        if not isinstance(self.discipline, Mlfq):
            raise ConfigError("flows cannot be pinned to queues of tasks")
        self.discipline.pin(row + self.first_row, queue)

    def move(self, row: int, choice: int) -> None:
        """Sends an active flow along one of its paths from now on; refuses where paths stay, and failed links."""
        self.moves(row, choice)
