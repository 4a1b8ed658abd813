"""Shows one running episode of packets to the part of a system that acts in it once per period.

Both engines keep the same columns of flows, so such a part is written once, and gives the same bits in both.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray, IntArray

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
