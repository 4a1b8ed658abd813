"""Packets: what may wait at a port, the order of events, and what became of each packet and flow."""

from dataclasses import dataclass, fields, replace
from enum import IntEnum
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.flows.records import Records

__all__ = ["PacketRecords", "PacketTrace"]


NO_ROOM: Final = -1.0
"""What may wait at a port whose link has failed: not even a packet of no bytes."""


class PortLimits(NamedTuple):
    """What may wait at each port, (num_ports,) float64, in packets or in bytes on the wire.

    Attributes:
        room: What may wait; a packet that goes beyond is dropped. The packet that is being sent does not wait.
        unmarked: What may wait without a mark: packets with the one that arrives, or bytes before it (DCTCP, section
            3.1: marked "if the queue occupancy is greater than K upon its arrival").
        by_bytes: Whether these are bytes.
    """

    room: FloatArray
    unmarked: FloatArray
    by_bytes: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PacketTrace:
    """What became of each packet at a port, in the order of arrival there. Arrays are not writeable.

    A packet that is sent again after a loss has a row for each time.

    Attributes:
        flow_id: Identifier of the flow, (num_rows,) int64.
        size: Bytes on the wire, (num_rows,) float64, > 0.
        arrival_time: When it reached the port, in s, (num_rows,) float64, non-decreasing.
        queue: Queue, 0 the highest, (num_rows,) int64; -1 where the scheduler had none for it.
        weight: Number by which its queue was chosen, (num_rows,) float64: mostly bytes that its message has sent.
        last_seen: When its message's last packet before arrived, as the scheduler knows it, in s, (num_rows,) float64;
            NaN for never.
        new_message: Whether a message begins with it, as the scheduler knows it, (num_rows,) bool.
        start_time: When its transmission began, in s, (num_rows,) float64; NaN where it was dropped.
        departure_time: When its last bit had left the port, in s, (num_rows,) float64; NaN where it was dropped.
        dropped: Whether it was dropped, (num_rows,) bool.
        marked: Whether it was marked, (num_rows,) bool.
    """

    flow_id: IntArray
    size: FloatArray
    arrival_time: FloatArray
    queue: IntArray
    weight: FloatArray
    last_seen: FloatArray
    new_message: BoolArray
    start_time: FloatArray
    departure_time: FloatArray
    dropped: BoolArray
    marked: BoolArray

    def __post_init__(self) -> None:
        for field in fields(self):
            getattr(self, field.name).setflags(write=False)

    @property
    def num_packets(self) -> int:
        """Number of rows."""
        return len(self.queue)

    def since(self, start: float) -> "PacketTrace":
        """Returns absolute times from those on a clock that starts at this time in s; 0 changes nothing."""
        if start == 0.0:
            return self
        times = {name: start + getattr(self, name) for name in ("arrival_time", "last_seen", "start_time")}
        return replace(self, **times, departure_time=start + self.departure_time)


_KINDS: Final[dict[object, str]] = {FloatArray: "f8", IntArray: "i8", BoolArray: "?"}
TRACE_ROW: Final = np.dtype([(field.name, _KINDS[field.type]) for field in fields(PacketTrace)], align=True)
"""A row of a trace while it is written; in place of an identifier of its flow, the row of that."""


def trace_of(rows: npt.NDArray[Any], flow_id: IntArray) -> PacketTrace:
    """Makes a trace of rows of ``TRACE_ROW`` and the identifier of each flow, (num_flows,)."""
    columns = {name: rows[name] for name in TRACE_ROW.names or ()}
    return PacketTrace(**{**columns, "flow_id": flow_id[rows["flow_id"]]})


class FlowOutcomes(NamedTuple):
    """What became of each flow: see ``PacketRecords``; (num_flows,) each."""

    completion_time: FloatArray
    drops: IntArray
    marks: IntArray
    disordered: IntArray
    timeouts: IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PacketRecords(Records):
    """The outcome of each flow that was sent in packets: see ``Records`` for what is not named here.

    ``ideal_fct`` is that of a sender whose window never makes it wait: bytes on the wire over the capacity, and the
    delay.

    Attributes:
        packets: Packets of each flow, (num_flows,) int64, those sent again counted once.
        drops: How often packets were dropped, (num_flows,) int64.
        marks: How many packets arrived marked, (num_flows,) int64.
        disordered: How many packets arrived after a later one of their flow, (num_flows,) int64.
        timeouts: How often its timer expired, (num_flows,) int64.
        trace: What became of each packet, if it was kept.
    """

    packets: IntArray
    drops: IntArray
    marks: IntArray
    disordered: IntArray
    timeouts: IntArray
    trace: PacketTrace | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name != "trace":
                getattr(self, field.name).setflags(write=False)


class PacketEventKind(IntEnum):
    """Kinds of events, in the order in which they happen at one instant; equal kinds happen as they were scheduled.

    So the port that began to send first is first where two end at one instant, as in ns-3.
    """

    ACKNOWLEDGEMENT = 0
    """An acknowledgement reaches its sender; in a network, any packet the end of a link, first that of least delay."""
    TRANSMISSION_END = 1
    """A port has sent the last bit of a packet."""
    TIMEOUT = 2
    """A timer expires, or a sender may send its next segment."""
    LINK_CHANGE = 3
    """Links fail, or come up."""
    ARRIVAL = 4
    """A flow, its request for a token, or a packet by itself, arrives; several by their ids."""
    START = 5
    """A flow that has been granted a token gets it, and begins; or one goes on to its next stage before it sends."""
    OVER = 6
    """The last flow is over, and so is all else of the instant: no period begins."""
    PERIOD_END = 7
    """A period ends and the next one begins."""
    DECISION = 8
    """An agent decides."""
    CHOICE = 9
    """An idle port chooses the packet that it sends next."""
