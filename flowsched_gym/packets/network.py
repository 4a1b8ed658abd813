"""A network of ports for both engines: its parameters, checked; a port for each link; the paths and segments of flows.

One port is the smallest network: ``one-link``, whose acknowledgements, if they are packets, come back by a second port.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.core.checks import check_choice, check_integer, check_number
from flowsched_gym.core.errors import ConfigError, SimulationError, WorkloadError, listed, shown
from flowsched_gym.packets.contract import PacketTable, Scheduler, Traffic
from flowsched_gym.packets.rules.tcp import SENDER, Segments, new_sender
from flowsched_gym.packets.rules.tcp_windows import CUBIC, DCTCP, FIXED, MOST_WINDOW, NEWRENO
from flowsched_gym.packets.setup import PacketFlows, PacketSetup
from flowsched_gym.packets.state import HEADER, MessageRule, PortLimits, PortParameters, SenderParameters
from flowsched_gym.topology import Topology
from flowsched_gym.workload import Workload
from flowsched_gym.workload.empirical import PACKET_PAYLOAD

TRANSPORTS: Final[Mapping[str, int]] = {"fixed": FIXED, "dctcp": DCTCP, "newreno": NEWRENO, "cubic": CUBIC}
FIXED_WINDOW: Final = 64
INITIAL_WINDOW: Final = 10
"""Packets of the first window (RFC 6928)."""
CLASSES: Final = ("host", "core")
MOST_SLOTS: Final = 2**24
SYN, SYN_ACK, DATA, ACK, READY = range(5)
"""Kinds of packets; ``READY`` ends a handshake."""


class Acks(StrEnum):
    """Acknowledgements take no bandwidth, or are packets on the way back."""

    FREE = "free"
    PACKETS = "packets"


class Paths(StrEnum):
    """All packets of a flow take one path, or they take those of its pair of hosts in turns."""

    FLOW = "flow"
    PACKET = "packet"


ByClass = float | Mapping[str, float | None] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkParameters:
    """Parameters of a network of ports, and of TCP senders in it.

    Attributes:
        transport: ``fixed``, ``dctcp`` (RFC 8257), ``newreno`` (RFC 5681) or ``cubic`` with HyStart (RFC 8312).
        payload: Bytes of payload of a full packet, > 0; the last packet of a flow has the rest.
        header: Bytes around it on the wire, >= 0.
        initial_window: Packets of the first window, 1 to 4,096; ``None`` for 10, or 64 where it is fixed.
        min_rto: Shortest time in s after which a timer expires, > 0, the first time of a SYN too.
        handshake: Whether a flow begins with a SYN, its answer and a third packet, of ``ack_bytes`` each.
        acks: ``free``: acknowledgements take the propagation delay back, no bandwidth; ``packets``: they queue too.
        ack_bytes: Bytes of an acknowledgement on the wire, > 0; ``None`` for those of a header, or 40 without one.
        paths: ``flow``: the path that the fluid takes (the hash of ``Topology.ecmp``), the same one back; ``packet``:
            the packets of a flow take the paths of its pair in turns, from that one on.
        mark_at: A packet is marked if more bytes wait when it arrives at a port (K of DCTCP). One number, or a mapping
            by class of link, ``{"host": ..., "core": ...}``: a link of the class ``host`` begins or ends at a host.
            ``None``: no marks.
        buffer: Bytes that may wait at a port, in all queues, by class too; a packet beyond is dropped. The packet that
            is being sent does not wait. ``None``: unlimited.
        messages: See ``SenderParameters``.
        delay: Propagation delay in s of each link of a topology that is given by name, >= 0.
    """

    transport: str = "fixed"
    payload: float = PACKET_PAYLOAD
    header: float = HEADER
    initial_window: int | None = None
    min_rto: float = 2e-3
    handshake: bool = False
    acks: str = Acks.FREE
    ack_bytes: float | None = None
    paths: str = Paths.FLOW
    mark_at: ByClass = None
    buffer: ByClass = None
    messages: str = MessageRule.IDEAL
    delay: float = 0.0

    def __post_init__(self) -> None:
        check_choice("transport", self.transport, TRANSPORTS)
        check_choice("acks", self.acks, Acks)
        check_choice("paths", self.paths, Paths)
        if self.handshake not in (True, False):
            raise ConfigError(f"handshake is {shown(self.handshake)}: it must be True or False")
        if self.initial_window is not None:
            check_integer("initial_window", self.initial_window, at_least=1, below=MOST_WINDOW + 1)
        if self.ack_bytes is not None:
            check_number("ack_bytes", self.ack_bytes, above=0)
        self.senders()
        for name in ("mark_at", "buffer"):
            self._by_class(name)

    def senders(self) -> SenderParameters:
        """Returns what cuts flows into packets."""
        return SenderParameters(
            payload=self.payload,
            header=self.header,
            min_rto=self.min_rto,
            messages=self.messages,
            delay=self.delay,
        )

    @property
    def window(self) -> float:
        """Packets of the first window."""
        default = FIXED_WINDOW if TRANSPORTS[self.transport] == FIXED else INITIAL_WINDOW
        return float(default if self.initial_window is None else self.initial_window)

    @property
    def ack_size(self) -> float:
        """Bytes of an acknowledgement on the wire."""
        return float((self.header or HEADER) if self.ack_bytes is None else self.ack_bytes)

    def limits(self, at_host: BoolArray) -> PortLimits:
        """Returns what may wait at each port, whose link begins or ends at a host or not, (num_ports,)."""
        room, unmarked = (np.where(at_host, *self._by_class(name)) for name in ("buffer", "mark_at"))
        return PortLimits(room, unmarked, True)

    def _by_class(self, name: str) -> list[float]:
        given: Any = getattr(self, name)
        for each in given if isinstance(given, Mapping) else ():
            if each not in CLASSES:
                raise ConfigError(f"{name} has the class {shown(each)}: it must be one of {listed(each, CLASSES)}")
        values = [given.get(each) if isinstance(given, Mapping) else given for each in CLASSES]
        least: dict[str, int] = {"at_least": 0} if name == "mark_at" else {"above": 0}
        return [np.inf if value is None else check_number(name, value, **least) for value in values]


NETWORK_PARAMETERS: Final = tuple(field.name for field in fields(NetworkParameters))


class Ways(NamedTuple):
    """The paths of flows there, or back, (num_flows,) each.

    Attributes:
        first: First path of the pair; ``number`` of them follow each other.
        turn: The one of these that the next packet takes; ``step`` ones further the one behind it.
    """

    first: IntArray
    number: IntArray
    turn: IntArray
    step: int


class PacketNetwork(NamedTuple):
    """A network of ports, and flows cut into segments.

    Attributes:
        flows: The flows.
        parameters: The parameters.
        scheduler: The scheduler of each port.
        capacity: Capacity of each port in B/s, (num_ports,); those at which packets begin are the first ones.
        delay: Propagation delay in s of the link behind it, (num_ports,).
        limits: What may wait.
        path_start: Where each path begins in ``path_ports``, (num_paths + 1,).
        path_ports: Ports of all paths.
        there: Paths of packets; ``back`` those of acknowledgements, which take ``back_delay`` s where they are free.
        table: Table of packets underway, by slot, which are empty yet.
        seed: Seed of the sketch's hash.
    """

    flows: PacketFlows
    parameters: NetworkParameters
    scheduler: Scheduler
    capacity: FloatArray
    delay: FloatArray
    limits: PortLimits
    path_start: IntArray
    path_ports: IntArray
    there: Ways
    back: Ways
    back_delay: FloatArray
    table: PacketTable
    seed: int

    @property
    def num_segments(self) -> int:
        """Number of segments of all flows."""
        return int(self.flows.first_packet[-1])

    @property
    def transport(self) -> int:
        """Number of the transport."""
        return TRANSPORTS[self.parameters.transport]

    def new_senders(self) -> npt.NDArray[Any]:
        """Makes the senders, (num_flows,) of type ``SENDER``."""
        window, min_rto = self.parameters.window, float(self.parameters.min_rto)
        ends = zip(self.flows.first_packet[:-1].tolist(), self.flows.first_packet[1:].tolist(), strict=True)
        rows = [new_sender(first, last, window=window, min_rto=min_rto) for first, last in ends]
        return np.array(rows, dtype=SENDER)

    def new_segments(self) -> Segments:
        """Makes what is known of segments that have not been sent."""
        count = self.num_segments
        fate, is_there = np.zeros((2, count), dtype=np.int8)
        return Segments(fate, np.zeros(count), np.zeros(count, dtype=np.int64), is_there)

    def new_record(self) -> Any:
        """Makes what the scheduler keeps."""
        flows = self.flows
        traffic = Traffic(
            num_packets=len(self.table.flow),
            key_id=flows.key_id,
            capacity=self.capacity,
            seed=self.seed,
            packets_of_flow=flows.packets,
            largest_packet=max(float(flows.table.size.max(initial=0.0)), self.parameters.ack_size),
            payload=float(self.parameters.payload),
        )
        return self.scheduler.make_record(traffic, len(self.capacity))

    def ideal_fct(self) -> FloatArray:
        """Returns the least times in s that flows take alone, (num_flows,), if their windows make nothing wait."""
        first, last = self.flows.first_packet[:-1], self.flows.first_packet[1:] - 1
        size = self.flows.table.size
        wire = np.add.reduceat(size, first)
        ideal = _through(self, self.there, wire, size[first], size[last])
        if self.parameters.handshake:
            ack = np.full(len(first), self.parameters.ack_size)
            are_packets = self.parameters.acks == Acks.PACKETS
            ideal += _through(self, self.there, ack, ack, ack)
            ideal += _through(self, self.back, ack, ack, ack) if are_packets else self.back_delay
            if not self.there.step:  # the third packet goes first, through the same port
                ideal += ack / self.capacity[self.path_ports[self.path_start[self.there.first + self.there.turn]]]
        return ideal


def new_packet_network(
    flows: Workload, topology: Topology, parameters: NetworkParameters, scheduler: Scheduler, seed: int
) -> PacketNetwork:
    """Makes a network of ports in which no flow has arrived.

    Raises:
        ConfigError: The topology has CPUs.
        WorkloadError: There are too many packets, flows have something to wait for, or no path joins their hosts.
    """
    setup = PacketSetup(scheduler=scheduler, capacity=1.0, port=PortParameters(), senders=parameters.senders())
    packets = setup.cut(flows)
    if flows.link_changes is not None:
        raise WorkloadError("the workload has link changes: the links of packets stay up")
    if topology.num_cpus:
        raise ConfigError(f"topology {topology.name} has CPUs: packets cross links alone")
    capacity, delay = topology.capacity, topology.delay
    path_start, path_links = topology.path_start, topology.path_links
    first, last = topology.candidates(flows.source, flows.destination)
    turn = topology.ecmp(flows.source, flows.destination, flows.flow_id, seed=seed) - first
    if topology.num_hosts == 0:
        capacity, delay = np.repeat(capacity, 2), np.repeat(delay, 2)
        path_start, path_links = np.arange(3), np.arange(2)
        back_first, back_last = first + 1, last + 1
    else:
        back_first, back_last = topology.candidates(flows.destination, flows.source)
    begins = np.unique(path_links[path_start[:-1]])
    at_host = np.zeros(len(capacity), dtype=np.bool_)
    at_host[begins] = at_host[path_links[path_start[1:] - 1]] = True
    order = np.concatenate([begins, np.setdiff1d(np.arange(len(capacity)), begins)])
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    step = int(parameters.paths == Paths.PACKET)
    back_turn = turn % (back_last - back_first)
    along = np.add.reduceat(delay[path_links], path_start[:-1])
    slots = min(4 * len(packets.table.flow) + 4 * flows.num_flows + 64, MOST_SLOTS)
    table = packets.table._replace(
        flow=np.zeros(slots, dtype=np.int64),
        size=np.zeros(slots),
        remaining=np.zeros(slots if scheduler.needs_remaining else 0),
        num_senders=len(begins),
        tag=np.zeros(slots),
    )
    return PacketNetwork(
        flows=packets,
        parameters=parameters,
        scheduler=scheduler,
        capacity=capacity[order],
        delay=delay[order],
        limits=parameters.limits(at_host[order]),
        path_start=path_start,
        path_ports=number[path_links],
        there=Ways(first, last - first, turn, step),
        back=Ways(back_first, back_last - back_first, back_turn, step),
        back_delay=along[back_first + back_turn],
        table=table,
        seed=seed,
    )


def too_many_underway(slots: int) -> SimulationError:
    """Makes the error of more packets on their way than there is room for."""
    return SimulationError(f"more than {slots} packets are on their way")


def _through(network: PacketNetwork, ways: Ways, wire: FloatArray, first: FloatArray, last: FloatArray) -> FloatArray:
    """Returns the least times in s in which so many bytes pass along the paths of flows, (num_flows,).

    At the slowest port all of them pass; at those before it the first packet, at those behind it the last one. Packets
    that take several paths in turns share the ports in which these differ.
    """
    paths, other = ways.first + ways.turn, ways.first + (ways.turn + ways.step) % ways.number
    start, end = network.path_start[paths], network.path_start[paths + 1]
    other_start, other_end = network.path_start[other], network.path_start[other + 1]
    least, before, delay = np.zeros((3, len(paths)))
    for hop in range(int((end - start).max(initial=0))):
        port = network.path_ports[np.minimum(start + hop, end - 1)]
        shared = network.path_ports[np.minimum(other_start + hop, other_end - 1)] == port
        per_byte = np.where(start + hop < end, 1.0 / network.capacity[port], 0.0)
        delay += np.where(start + hop < end, network.delay[port], 0.0)
        passing = np.where(shared, wire, np.maximum(wire / ways.number, last))
        least = np.maximum(least + last * per_byte, before + passing * per_byte)
        before += np.where(shared, first, last) * per_byte
    return least + delay
