"""A network of ports for both engines: a port for each link, the paths of flows cut into packets, and their senders.

One port is the smallest network: ``one-link``, whose acknowledgements, if they are packets, come back by a second port.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import SimulationError
from flowsched_gym.core.periods import Period
from flowsched_gym.flows.decisions import DecisionKind
from flowsched_gym.flows.link_changes import LinkChanges
from flowsched_gym.flows.stages import Stages
from flowsched_gym.flows.state import FlowState, new_flow_state
from flowsched_gym.packets.contract import PacketTable, Scheduler, Traffic
from flowsched_gym.packets.parameters import TRANSPORTS, UNLIMITED, Acks, NetworkParameters
from flowsched_gym.packets.rules.tcp import SENDER, Segments, new_sender
from flowsched_gym.packets.state import PortLimits
from flowsched_gym.topology import Topology
from flowsched_gym.topology.cpus import cpu_seconds
from flowsched_gym.topology.network import Network as Links
from flowsched_gym.topology.routes import Routes, new_routes

SYN, SYN_ACK, DATA, ACK, READY = range(5)
"""Kinds of packets; ``READY`` ends a handshake."""
BEHIND: Final = -1
"""In place of a port: a path has ended."""


class PacketFlows(NamedTuple):
    """Flows and their packets, flow by flow; or packets that are given, each of which arrives by itself.

    Attributes:
        arrival_time: When each flow, or packet, arrives, in s, (num_flows,).
        flow_id: Identifiers, (num_flows,).
        source: Hosts, (num_flows,), and ``destination``.
        first_packet: First packet of each flow, and behind the last the number of all, (num_flows + 1,); ``None`` where
            packets are given.
        table: The packets.
        key_id: Identifier of each key, (num_keys,).
        size: Bytes of payload of each flow, (num_flows,), and ``wire``, those on the wire.
        late: By how many s its source begins later than it could, (num_flows,).
    """

    arrival_time: FloatArray
    flow_id: IntArray
    source: IntArray
    destination: IntArray
    first_packet: IntArray
    table: PacketTable
    key_id: IntArray
    size: FloatArray
    wire: FloatArray
    late: FloatArray

    @property
    def num_flows(self) -> int:
        """Number of flows, or of packets that are given."""
        return len(self.arrival_time)

    @property
    def packets(self) -> IntArray:
        """Packets of each flow, (num_flows,)."""
        return np.diff(self.first_packet)


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


class Delays(NamedTuple):
    """The ways on which packets travel in order.

    Attributes:
        time: What each takes in s, (num_delays,), in the order of an instant.
        of_port: Index of each port's link, (num_ports,); ``of_flow``: of the free acknowledgements of each flow.
    """

    time: FloatArray
    of_port: IntArray
    of_flow: IntArray


class PacketNetwork(NamedTuple):
    """A network of ports, and flows cut into packets.

    Attributes:
        flows: The flows.
        parameters: The parameters.
        scheduler: The scheduler of each port.
        capacity: Capacity of each port in B/s, (num_ports,); those at which packets begin are the first ones.
        delay: Propagation delay in s of the link behind it, (num_ports,).
        link_of_port: That link, (num_ports,).
        limits: What may wait.
        path_start: Where each path begins in ``path_ports``, (num_paths + 1,).
        path_ports: Ports of all paths, each with ``BEHIND`` at its end.
        there: Paths of packets; ``back`` those of acknowledgements, which take ``back_delay`` s where they are free.
        table: Table of the packets that are given; otherwise of slots, empty yet, for packets and acknowledgements
            underway.
        seed: Seed of the sketch's hash.
        are_given: Whether packets are given, in place of flows.
        num_tokens: Flows that a destination lets send at once; ``None`` for no tokens.
        asks: About what else an agent is asked; ``period``: when a period ends; ``steers``: whether it may then set
            paths and largest rates.
        token_time: Time in s that a request, or a token, travels, (num_flows,).
        can_lose: Whether senders take packets as lost: fixed windows do not where no port can drop one.
        topology: The links and paths, as a fluid has them.
        links: Links and paths as rules know them; links that have failed have no capacity.
        changes: When links fail and come up; ``None`` where they never do.
        path: Path of each flow there, (num_flows,); of those that its packets take in turns, the first.
        stages: What flows go through before they send; ``None`` where they begin as they arrive.
    """

    flows: PacketFlows
    parameters: NetworkParameters
    scheduler: Scheduler
    capacity: FloatArray
    delay: FloatArray
    link_of_port: IntArray
    limits: PortLimits
    path_start: IntArray
    path_ports: IntArray
    there: Ways
    back: Ways
    back_delay: FloatArray
    table: PacketTable
    seed: int
    are_given: bool
    num_tokens: int | None
    asks: DecisionKind
    period: Period | None
    steers: bool
    token_time: FloatArray
    can_lose: bool
    topology: Topology
    path: IntArray
    links: Links
    changes: LinkChanges | None = None
    stages: Stages | None = None

    def with_own_links(self) -> "PacketNetwork":
        """Returns the same with capacities of links that can be changed without a change here."""
        return self._replace(links=self.links._replace(capacity=self.links.capacity.copy()))

    @property
    def begin_time(self) -> FloatArray:
        """When each flow begins, or its request for a token arrives, in s, (num_flows,)."""
        times = self.flows.arrival_time
        if self.stages is not None:  # it is late when it has come to send
            return times
        return times + (self.flows.late if self.num_tokens is None else self.token_time)

    @property
    def start_time(self) -> FloatArray:
        """What a flow takes from the grant of its token until it begins, in s, (num_flows,)."""
        return self.token_time + self.flows.late

    @property
    def min_rto(self) -> float:
        """Shortest time in s after which a timer expires; inf where nothing can be lost."""
        return float(self.parameters.min_rto) if self.can_lose else np.inf

    @property
    def transport(self) -> int:
        """Number of the transport."""
        return TRANSPORTS[self.parameters.transport]

    def delays(self) -> Delays:
        """Returns the ways on which packets travel."""
        time, index = np.unique(np.concatenate([self.delay, self.back_delay]), return_inverse=True)
        of_port, of_flow = np.split(index.astype(np.int64), [len(self.delay)])
        return Delays(time, of_port.copy(), of_flow.copy())

    def new_senders(self) -> npt.NDArray[Any]:
        """Makes senders, (num_flows,) of type ``SENDER``."""
        window, room = self.parameters.window, self.parameters.receive_window or UNLIMITED
        ends = zip(self.flows.first_packet[:-1].tolist(), self.flows.first_packet[1:].tolist(), strict=True)
        part, packet_part = self._parts(by_size=self.transport == TRANSPORTS["tafe"])
        rest = zip(part.tolist(), self.flows.table.due.tolist(), strict=True)
        rows = [
            new_sender(
                *end,
                window=window,
                min_rto=self.min_rto,
                due=due,
                part=each,
                packet_part=packet_part,
                room=room,
                can_lose=self.can_lose,
            )
            for end, (each, due) in zip(ends, rest, strict=True)
        ]
        return np.array(rows, dtype=SENDER)

    def new_routes(self) -> Routes:
        """Makes the paths between which flows may choose."""
        first, number, unknown = self.there.first, self.there.number, np.zeros_like(self.there.first)
        return new_routes(first=first, last=first + number, hash=unknown, destination=self.flows.destination)

    def new_state(self) -> FlowState:
        """Makes what rules know of flows of which nothing has been received."""
        flows, never = self.flows, np.full(self.flows.num_flows, np.inf)
        arrival = flows.arrival_time if self.stages is None else flows.arrival_time.copy()
        state = new_flow_state(size=flows.size, volume=flows.wire, arrival_time=arrival, deadline_span=never)
        return state._replace(deadline=flows.table.due)

    def new_segments(self) -> Segments:
        """Makes what senders know of segments that have not been sent."""
        count = int(self.flows.first_packet[-1])
        fate, is_there = np.zeros((2, count), dtype=np.int8)
        return Segments(fate, np.zeros(count), np.zeros(count, dtype=np.int64), is_there)

    def new_record(self) -> Any:
        """Makes what the scheduler keeps.

        Raises:
            ConfigError: Its parameters do not fit the traffic.
        """
        flows = self.flows
        largest = float(flows.table.size.max(initial=0.0))
        traffic = Traffic(
            num_packets=len(flows.table.flow),
            key_id=flows.key_id,
            capacity=self.capacity,
            seed=self.seed,
            packets_of_flow=None if self.are_given else flows.packets,
            size_of_flow=None if self.are_given else flows.wire - flows.packets * flows.table.header,
            due=flows.table.due,
            largest_packet=max(largest, self.table.bare_size),
            payload=float(self.parameters.payload),
            arrival_time=flows.arrival_time,
            source=flows.source,
            key=flows.table.key,
        )
        return self.scheduler.make_record(traffic, len(self.capacity))

    def ideal_fct(self) -> FloatArray:
        """Returns the least times in s that flows take alone, (num_flows,), if their windows make nothing wait.

        They are those of the path that is best for each; where packets take paths in turns, a bound that ports of one
        capacity reach.
        """
        flow, there = self._apart(self.there, self.flows.source, self.flows.destination)
        first, last = self.flows.first_packet[flow], self.flows.first_packet[flow + 1] - 1
        size = self.flows.table.size
        ack = np.full(len(flow), self.parameters.ack_size if self.parameters.handshake else 0.0)
        lead = 0.0 if there.step else ack  # the third packet of the handshake leaves by the same port before the data
        times = _through(self, there, self.flows.wire[flow], size[first], size[last], lead=lead)
        if self.parameters.handshake:
            times += _through(self, there, ack, ack, ack)
            times += self._least_back()[flow]
            if not there.step:
                times += ack / self.capacity[self.path_ports[self.path_start[there.first]]]
        ideal = np.full(self.flows.num_flows, np.inf)
        np.minimum.at(ideal, flow, times)
        if self.stages is not None:
            ideal += cpu_seconds(self.topology, self.flows.source, self.stages.cpu_time)
        return ideal if self.num_tokens is None else ideal + 2.0 * self.token_time

    def _least_back(self) -> FloatArray:
        """Returns the least times in s that an acknowledgement takes back, (num_flows,)."""
        flow, back = self._apart(self.back, self.flows.destination, self.flows.source)
        ack = np.full(len(flow), self.parameters.ack_size if self.parameters.acks == Acks.PACKETS else 0.0)
        least = np.full(self.flows.num_flows, np.inf)
        np.minimum.at(least, flow, _through(self, back, ack, ack, ack))
        return least

    def _apart(self, ways: Ways, source: IntArray, destination: IntArray) -> tuple[IntArray, Ways]:
        """Takes paths of which one is the best apart, unless packets take them in turns: rows of flows, and paths."""
        if ways.step:
            return np.arange(len(source)), ways
        flow, path = self.topology.rival_paths(source, destination)
        return flow, Ways(path, np.ones_like(path), np.zeros_like(path), 0)

    def _parts(self, *, by_size: bool) -> tuple[FloatArray, float]:
        """Returns the bytes of each flow, (num_flows,), and of a full packet, over those of the largest flow."""
        payload, flows = float(self.parameters.payload), self.flows
        size = (flows.packets - 1) * payload + (flows.table.size[flows.first_packet[1:] - 1] - flows.table.header)
        bound = self.parameters.largest if by_size else None
        largest = float(size.max(initial=payload) if bound is None else bound)
        with np.errstate(over="ignore"):
            return np.minimum(size / largest, 1.0), min(payload / largest, np.finfo(np.float64).max.item())


def too_many_underway(slots: int) -> SimulationError:
    """Makes the error of more packets on their way than there is room for."""
    return SimulationError(f"more than {slots} packets are on their way")


def _through(
    network: PacketNetwork,
    ways: Ways,
    wire: FloatArray,
    first: FloatArray,
    last: FloatArray,
    *,
    lead: FloatArray | float = 0.0,
) -> FloatArray:
    """Returns the least times in s in which so many bytes pass along the paths of flows, (num_flows,).

    Of flows are given the bytes on the wire and the first and last packets, in B. At the slowest port all of them pass;
    at those before it the first packet, at those behind it the last one, or that before it where the last is so short
    that it catches up. A packet of ``lead`` bytes has left the first port before them. Packets that take several paths
    in turns share the ports in which these differ.
    """
    paths, other = ways.first + ways.turn, ways.first + (ways.turn + ways.step) % ways.number
    start, end = network.path_start[paths], network.path_start[paths + 1] - 1
    other_start, other_end = network.path_start[other], network.path_start[other + 1] - 1
    least, before, ahead, delay = np.zeros((4, len(paths)))
    slowest = np.full(len(paths), np.inf)
    for hop in range(int((end - start).max(initial=0))):
        port = network.path_ports[np.minimum(start + hop, end - 1)]
        shared = network.path_ports[np.minimum(other_start + hop, other_end - 1)] == port
        capacity = np.where(start + hop < end, network.capacity[port], np.inf)
        delay += np.where(start + hop < end, network.delay[port], 0.0)
        passing = np.where(shared, wire, np.maximum(wire / ways.number, last))
        ahead += lead / capacity if hop else 0.0
        before = np.maximum(before, ahead)
        least = np.maximum(least + last / capacity, before + passing / capacity)
        before += np.where(shared, first, last) / capacity
        if not ways.step:
            after = before + np.maximum(wire - first - last, 0.0) / slowest + last / capacity
            least = np.where((capacity > slowest) & (wire > first), np.maximum(least, after), least)
            slowest = np.minimum(slowest, capacity)
    return least + delay
