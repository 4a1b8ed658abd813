"""Packets: the parameters of ports and senders, checked; the order of events; what became of each packet and flow."""

from dataclasses import dataclass, fields, replace
from enum import IntEnum, StrEnum
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray, is_whole
from flowsched_gym.core.checks import check_choice, check_number
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.flows.records import Records
from flowsched_gym.packets.contract import PacketTable
from flowsched_gym.workload.empirical import PACKET_PAYLOAD

__all__ = [
    "PORT_PARAMETERS",
    "SENDER_PARAMETERS",
    "UNLIMITED",
    "MessageRule",
    "PacketRecords",
    "PacketTrace",
    "PacketTransport",
    "PortParameters",
    "SenderParameters",
]
UNLIMITED: Final = 2**62
"""In place of a number of packets: so many never wait."""
MOST_WINDOW: Final = 2**31
HEADER: Final = 40.0
"""Bytes around a packet's payload (QCluster's public ns-2 scripts)."""


class PacketTransport(StrEnum):
    """Windows of senders: fixed ones, or DCTCP's, D2TCP's and TAFE's, which react to marks."""

    FIXED = "fixed"
    DCTCP = "dctcp"
    D2TCP = "d2tcp"
    TAFE = "tafe"


class MessageRule(StrEnum):
    """What counts as a message: each flow, as if its packets named it, or what a host pair sends without a long gap."""

    IDEAL = "ideal"
    TIME = "time"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PortParameters:
    """Parameters of a port.

    Attributes:
        buffer: Packets that may wait, in all queues; one more is dropped. ``None``: unlimited. The packet that is being
            sent does not wait.
        mark_at: A packet is marked if with it more packets wait than this (DCTCP's K). ``None``: no marks.
    """

    buffer: int | None = None
    mark_at: int | None = None

    def __post_init__(self) -> None:
        for name, least in (("buffer", 1), ("mark_at", 0)):
            if getattr(self, name) is not None:
                _check_integer(name, getattr(self, name), at_least=least, below=UNLIMITED)

    def limits(self, num_ports: int) -> PortLimits:
        """Returns what may wait at so many ports, counted in packets."""
        return PortLimits(np.full(num_ports, float(self.room)), np.full(num_ports, float(self.unmarked)), False)

    @property
    def room(self) -> int:
        """Packets that may wait."""
        return UNLIMITED if self.buffer is None else int(self.buffer)

    @property
    def unmarked(self) -> int:
        """Packets that may wait without a mark."""
        return UNLIMITED if self.mark_at is None else int(self.mark_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderParameters:
    """Parameters of senders.

    Attributes:
        payload: Bytes of payload of a full packet, > 0; the last packet of a flow has the rest.
        header: Bytes around it on the wire, >= 0.
        window: Packets on their way at most; the first window of those that react to marks, in slow start. From 1
            to 2**31 - 1.
        transport: ``fixed``, ``dctcp``, or two that are as ``dctcp``, but marks cut a window by other parts: ``d2tcp``
            by alpha ** d / 2, where d is the time that a flow needs over the time to its deadline, from 0.5 to 2, and 1
            without one; ``tafe`` by alpha S_c / S_max (TAFE, Eq. 3 to 5), where S_c are the bytes not acknowledged.
        largest: Upper bound of flow sizes in B (S_max of ``tafe``), > 0; larger flows back off like one of it.
            ``None``: the largest flow, at least a full packet.
        min_rto: Time in s after a loss at which its packet may be sent again, > 0.
        delay: Propagation delay in s to the receiver, and again from there back to the sender, >= 0.
        messages: ``ideal``: each flow is a message; ``time``: each pair of hosts is a connection, whose messages are
            told apart by silence alone.
    """

    payload: float = PACKET_PAYLOAD
    header: float = HEADER
    window: int = 64
    transport: str = PacketTransport.FIXED
    largest: float | None = None
    min_rto: float = 2e-3
    delay: float = 0.0
    messages: str = MessageRule.IDEAL

    def __post_init__(self) -> None:
        for name in ("payload", "min_rto"):
            check_number(name, getattr(self, name), above=0)
        if self.largest is not None:
            check_number("largest", self.largest, above=0)
        for name in ("header", "delay"):
            check_number(name, getattr(self, name), at_least=0)
        _check_integer("window", self.window, at_least=1, below=MOST_WINDOW)
        check_choice("transport", self.transport, PacketTransport)
        check_choice("messages", self.messages, MessageRule)


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
TRACE_ROW: Final = np.dtype(
    [("packet", "i8"), *((field.name, _KINDS[field.type]) for field in fields(PacketTrace)[2:])], align=True
)
"""A row of a trace while it is written: the packet, and what ``PacketTrace`` has of it besides flow and size."""


def trace_of(rows: npt.NDArray[Any], table: PacketTable, flow_id: IntArray) -> PacketTrace:
    """Makes a trace of rows of ``TRACE_ROW``, the table of packets, and the identifier of each flow, (num_flows,)."""
    packet, columns = rows["packet"], {name: rows[name] for name in (TRACE_ROW.names or ())[1:]}
    return PacketTrace(flow_id=flow_id[table.flow[packet]], size=table.size[packet], **columns)


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
        timeouts: How often its timer expired, (num_flows,) int64; of a sender that is told of its losses, 0.
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
    """Kinds of events, in the order in which they happen at one instant; equal kinds happen as they were scheduled."""

    TRANSMISSION_END = 0
    """A port has sent the last bit of a packet."""
    ACKNOWLEDGEMENT = 1
    """An acknowledgement reaches its sender; in a network, any packet the end of a link, first that of least delay."""
    TIMEOUT = 2
    """A sender notices that a packet is lost."""
    ARRIVAL = 3
    """A flow, or a packet by itself, arrives; several by their ids."""
    PERIOD_END = 4
    """A period ends and the next one begins."""
    DECISION = 5
    """An agent decides."""
    CHOICE = 6
    """An idle port chooses the packet that it sends next."""


PORT_PARAMETERS: Final = tuple(field.name for field in fields(PortParameters))
SENDER_PARAMETERS: Final = tuple(field.name for field in fields(SenderParameters))


def _check_integer(name: str, value: object, *, at_least: int, below: int) -> None:
    if not is_whole(value) or not at_least <= value < below:
        raise ConfigError(f"{name} is {shown(value)}: it must be a whole number >= {at_least}, below {below}")
