"""A network of ports for both engines: a port for each link, the paths of flows cut into packets, and their senders.

One port is the smallest network: ``one-link``, whose acknowledgements, if they are packets, come back by a second port.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import ConfigError, SimulationError, WorkloadError, shown
from flowsched_gym.flows.state import FlowState, new_flow_state
from flowsched_gym.packets.contract import PacketTable, Scheduler, Traffic
from flowsched_gym.packets.parameters import (
    TRANSPORTS,
    UNLIMITED,
    Acks,
    NetworkParameters,
    PacketTransport,
    Paths,
)
from flowsched_gym.packets.rules.tcp import MAX_RTO, SENDER, Segments, new_sender
from flowsched_gym.packets.rules.windows import FIRST_SHARE, Deadlines, Windows
from flowsched_gym.packets.state import PortLimits
from flowsched_gym.topology import Topology

MOST_SLOTS: Final = 2**24
MOST_RESENDS: Final = 1000
"""How often at most a sender may send a packet again while a port sends it once."""
LATEST_TIME: Final = 1e300
"""Time in s before which all bytes must have been able to pass the slowest port, one after the other."""
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
    """The ways on which packets travel in order, each of which takes two delays, one after the other.

    Attributes:
        forth: First delay in s, (num_delays,), and ``back`` the second one: for an acknowledgement that takes no
            bandwidth, of the last link and of the way back, by one event. In the order of an instant.
        of_port: Index of each port's link, (num_ports,); ``of_flow``: of the acknowledgements of each flow.
    """

    forth: FloatArray
    back: FloatArray
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
        limits: What may wait.
        path_start: Where each path begins in ``path_ports``, (num_paths + 1,).
        path_ports: Ports of all paths, each with ``BEHIND`` at its end.
        there: Paths of packets; ``back`` those of acknowledgements, which take ``back_delay`` s where they are free.
        table: Table of packets: those of the flows where senders are told of losses; otherwise of slots, empty yet, for
            packets and acknowledgements underway.
        seed: Seed of the sketch's hash.
        are_given: Whether packets are given, in place of flows.
        num_tokens: Flows that a destination lets send at once; ``None`` for no tokens.
        token_time: Time in s that a request, or a token, travels, (num_flows,).
        topology: The links and paths, as a fluid has them.
        path: Path of each flow there, (num_flows,); of those that its packets take in turns, the first.
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
    are_given: bool
    num_tokens: int | None
    token_time: FloatArray
    topology: Topology
    path: IntArray

    @property
    def begin_time(self) -> FloatArray:
        """When each flow begins, or its request for a token arrives, in s, (num_flows,)."""
        times = self.flows.arrival_time
        return times + (self.flows.late if self.num_tokens is None else self.token_time)

    @property
    def start_time(self) -> FloatArray:
        """What a flow takes from the grant of its token until it begins, in s, (num_flows,)."""
        return self.token_time + self.flows.late

    @property
    def has_slots(self) -> bool:
        """Whether packets take slots of the table while they are underway, in place of a row each."""
        return not (self.are_given or self.parameters.are_told)

    @property
    def transport(self) -> int:
        """Number of the transport."""
        return TRANSPORTS[self.parameters.transport]

    def delays(self) -> Delays:
        """Returns the ways on which packets travel."""
        inner = np.ones(len(self.capacity), dtype=np.bool_)
        flow = self.back_delay + 0j
        if self.parameters.are_told:  # a packet that has left the last port is delivered, and acknowledged
            at_end = np.append(self.path_ports[1:] == BEHIND, False)
            inner[:] = False
            inner[self.path_ports[~at_end & (self.path_ports != BEHIND)]] = True
            flow = self.delay[self.path_ports[self.path_start[self.there.first + 1] - 2]] + 1j * self.back_delay
        flows = flow[:1] if (flow == flow[:1]).all() else flow
        # Complex numbers are sorted by the real part first.
        pairs, index = np.unique(np.concatenate([self.delay[inner], flows]), return_inverse=True)
        of_port, count = np.zeros(len(inner), dtype=np.int64), np.count_nonzero(inner)
        of_port[inner] = index[:count]
        of_flow = np.broadcast_to(index[count:].astype(np.int64), len(flow)).copy()
        return Delays(pairs.real.copy(), pairs.imag.copy(), of_port, of_flow)

    def new_senders(self) -> npt.NDArray[Any]:
        """Makes senders that detect losses, (num_flows,) of type ``SENDER``."""
        window, min_rto, room = (
            self.parameters.window,
            float(self.parameters.min_rto),
            self.parameters.receive_window or UNLIMITED,
        )
        ends = zip(self.flows.first_packet[:-1].tolist(), self.flows.first_packet[1:].tolist(), strict=True)
        part, packet_part = self._parts(by_size=self.transport == TRANSPORTS["tafe"])
        rest = zip(part.tolist(), self.flows.table.due.tolist(), strict=True)
        rows = [
            new_sender(*end, window=window, min_rto=min_rto, due=due, part=each, packet_part=packet_part, room=room)
            for end, (each, due) in zip(ends, rest, strict=True)
        ]
        return np.array(rows, dtype=SENDER)

    def new_state(self) -> FlowState:
        """Makes what rules know of flows of which nothing has been received."""
        flows, never = self.flows, np.full(self.flows.num_flows, np.inf)
        state = new_flow_state(size=flows.size, volume=flows.wire, arrival_time=flows.arrival_time, deadline_span=never)
        return state._replace(deadline=flows.table.due)

    def new_segments(self) -> Segments:
        """Makes what these senders know of segments that have not been sent."""
        count = int(self.flows.first_packet[-1])
        fate, is_there = np.zeros((2, count), dtype=np.int8)
        return Segments(fate, np.zeros(count), np.zeros(count, dtype=np.int64), is_there)

    def new_windows(self) -> Windows:
        """Makes the windows of senders that are told of losses."""
        transport, count = PacketTransport(self.parameters.transport), self.flows.num_flows
        by_size = transport is PacketTransport.TAFE
        part, packet_part = self._parts(by_size=by_size)
        deadlines = None
        if transport is PacketTransport.D2TCP:
            never = np.full(count, np.nan)
            deadlines = Deadlines(due=self.flows.table.due, round_start=never, round_time=never.copy())
        zeros = np.zeros((5, count), dtype=np.int64)
        return Windows(
            reacts=transport is not PacketTransport.FIXED,
            by_size=by_size,
            window=np.full(count, self.parameters.window),
            slow_start_end=np.full(count, np.inf),
            share=np.full(count, FIRST_SHARE),
            outstanding=zeros[0],
            round_left=zeros[1],
            round_acknowledged=zeros[2],
            round_marked=zeros[3],
            cut_left=zeros[4],
            part_left=part,
            packet_part=np.full(count, packet_part),
            deadlines=deadlines,
        )

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
            largest_packet=largest if self.parameters.are_told else max(largest, self.parameters.ack_size),
            payload=float(self.parameters.payload),
        )
        return self.scheduler.make_record(traffic, len(self.capacity))

    def ideal_fct(self) -> FloatArray:
        """Returns the least times in s that flows take alone, (num_flows,), if their windows make nothing wait."""
        first, last = self.flows.first_packet[:-1], self.flows.first_packet[1:] - 1
        size = self.flows.table.size
        ideal = _through(self, self.there, self.flows.wire, size[first], size[last])
        if self.parameters.handshake:
            ack = np.full(len(first), self.parameters.ack_size)
            are_packets = self.parameters.acks == Acks.PACKETS
            ideal += _through(self, self.there, ack, ack, ack)
            ideal += _through(self, self.back, ack, ack, ack) if are_packets else self.back_delay
            if not self.there.step:  # the third packet goes first, through the same port
                ideal += ack / self.capacity[self.path_ports[self.path_start[self.there.first + self.there.turn]]]
        return ideal if self.num_tokens is None else ideal + 2.0 * self.token_time

    def _parts(self, *, by_size: bool) -> tuple[FloatArray, float]:
        """Returns the bytes of each flow, (num_flows,), and of a full packet, over those of the largest flow."""
        payload, flows = float(self.parameters.payload), self.flows
        size = (flows.packets - 1) * payload + (flows.table.size[flows.first_packet[1:] - 1] - flows.table.header)
        bound = self.parameters.largest if by_size else None
        largest = float(size.max(initial=payload) if bound is None else bound)
        with np.errstate(over="ignore"):
            return np.minimum(size / largest, 1.0), min(payload / largest, np.finfo(np.float64).max.item())


def new_packet_network(
    flows: PacketFlows,
    topology: Topology,
    parameters: NetworkParameters,
    scheduler: Scheduler,
    *,
    limits: PortLimits | None = None,
    seed: int = 0,
    are_given: bool = False,
    num_tokens: int | None = None,
) -> PacketNetwork:
    """Makes a network of ports in which nothing has arrived.

    Raises:
        ConfigError: The topology has CPUs, or a buffer no room for a packet.
        WorkloadError: No path joins the hosts of a flow, or packets take for ever.
    """
    if topology.num_cpus:
        raise ConfigError(f"topology {topology.name} has CPUs: packets cross links alone")
    capacity, delay = topology.capacity, topology.delay
    path_start, path_links = topology.path_start, topology.path_links
    first, last = topology.candidates(flows.source, flows.destination)
    turn = topology.ecmp(flows.source, flows.destination, flows.flow_id, seed=seed) - first
    if topology.num_hosts:
        back_first, back_last = topology.candidates(flows.destination, flows.source)
    elif parameters.acks == Acks.PACKETS:
        capacity, delay = np.repeat(capacity, 2), np.repeat(delay, 2)
        path_start, path_links = np.arange(3), np.arange(2)
        back_first, back_last = first + 1, last + 1
    else:
        back_first, back_last = first, last
    begins = np.unique(path_links[path_start[:-1]])
    at_host = np.zeros(len(capacity), dtype=np.bool_)
    at_host[begins] = at_host[path_links[path_start[1:] - 1]] = True
    order = np.concatenate([begins, np.setdiff1d(np.arange(len(capacity)), begins)])
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    step = int(parameters.paths == Paths.PACKET)
    back_turn = turn % (back_last - back_first)
    along = np.add.reduceat(delay[path_links], path_start[:-1])
    # Hosts tag packets for the ports behind theirs, where there are any.
    num_senders = len(begins) if len(begins) < len(order) else 0
    num_packets = len(flows.table.flow)
    table = flows.table._replace(num_senders=num_senders, tag=np.zeros(num_packets if num_senders else 0))
    if not (parameters.are_told or are_given):
        slots = min(4 * _most_underway(flows, num_tokens) + 64, MOST_SLOTS)
        has_bare = parameters.handshake or parameters.acks == Acks.PACKETS
        table = table._replace(
            flow=np.zeros(slots, dtype=np.int64),
            size=np.zeros(slots),
            remaining=np.zeros(slots if scheduler.needs_remaining else 0),
            tag=np.zeros(slots if num_senders else 0),
            bare_size=parameters.ack_size if has_bare else 0.0,
        )
    network = PacketNetwork(
        flows=flows,
        parameters=parameters,
        scheduler=scheduler,
        capacity=capacity[order],
        delay=delay[order],
        limits=parameters.limits(at_host[order]) if limits is None else limits,
        path_start=path_start + np.arange(len(path_start)),
        path_ports=np.insert(number[path_links], path_start[1:], BEHIND),
        there=Ways(first, last - first, turn, step),
        back=Ways(back_first, back_last - back_first, back_turn, step),
        back_delay=along[back_first + back_turn],
        table=table,
        seed=seed,
        are_given=are_given,
        num_tokens=num_tokens,
        token_time=along[first + turn],
        topology=topology,
        path=first + turn,
    )
    _check_times(network)
    if network.limits.by_bytes:  # where packets are counted, each port has room for one
        _check_buffers(network)
    return network


def _most_underway(flows: PacketFlows, num_tokens: int | None) -> int:
    """Returns how many flows can send at once, and how many packets they have: with tokens, some to each host."""
    packets = flows.packets
    if num_tokens is not None:
        order = np.lexsort((-packets, flows.destination))
        place = np.arange(len(order)) - np.searchsorted(flows.destination[order], flows.destination[order])
        packets = packets[order][place < num_tokens]
    return int(packets.sum()) + len(packets)


def _check_times(network: PacketNetwork) -> None:
    """Refuses packets that would take for ever, or would be sent again all the while that they are underway."""
    flows, parameters, slowest = network.flows, network.parameters, float(network.capacity.min())
    with np.errstate(over="ignore"):
        volume = float(flows.wire.sum() + len(flows.table.flow) * parameters.ack_size)
        last = float(flows.arrival_time.max(initial=0.0) + volume / np.float64(slowest))
    if not last < LATEST_TIME:
        raise WorkloadError(
            f"the flows have {volume:g} B with headers and acknowledgements, which take until {last:g} s at "
            f"{slowest:g} B/s: they must be able to end before {LATEST_TIME:g} s"
        )
    if network.are_given or not flows.num_flows:
        return
    trip, wait = float(flows.table.size.max()) / slowest, parameters.min_rto
    if not parameters.are_told:
        trip, wait = trip + 2.0 * float(network.delay.max()), MAX_RTO
    if trip > MOST_RESENDS * wait and (not parameters.are_told or (network.limits.room < UNLIMITED).any()):
        least = f"min_rto must be at least {trip / MOST_RESENDS:.3g}" if parameters.are_told else "links must be faster"
        raise ConfigError(
            f"min_rto is {shown(parameters.min_rto)}: a packet takes {trip:.3g} s at the slowest port, and a sender, "
            f"which waits for {wait:g} s at most, would send it again more than {MOST_RESENDS} times meanwhile: {least}"
        )


def _check_buffers(network: PacketNetwork) -> None:
    """Refuses a buffer without room for a packet that must pass."""
    flows, parameters, room = network.flows, network.parameters, np.append(network.limits.room, np.inf)
    room_of_path = np.minimum.reduceat(room[network.path_ports], network.path_start[:-1])
    data = flows.table.size[flows.first_packet[:-1]]
    ack = np.full(len(data), parameters.ack_size)
    there = np.maximum(data, ack) if parameters.handshake else data
    back = ack if parameters.acks == Acks.PACKETS else 0.0 * ack
    for ways, needed in ((network.there, there), (network.back, back)):
        given = room_of_path[ways.first + ways.turn]
        if (needed > given).any():
            row = int(np.argmax(np.where(needed > given, needed, 0.0)))
            raise ConfigError(
                f"buffer is {shown(parameters.buffer)}: flow {flows.flow_id[row]} sends packets of {needed[row]:g} B "
                f"(with headers, or acknowledgements) through a port with room for {given[row]:g} B: it must be at "
                f"least {needed[row]:g} B there"
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
    start, end = network.path_start[paths], network.path_start[paths + 1] - 1
    other_start, other_end = network.path_start[other], network.path_start[other + 1] - 1
    least, before, delay = np.zeros((3, len(paths)))
    for hop in range(int((end - start).max(initial=0))):
        port = network.path_ports[np.minimum(start + hop, end - 1)]
        shared = network.path_ports[np.minimum(other_start + hop, other_end - 1)] == port
        capacity = np.where(start + hop < end, network.capacity[port], np.inf)
        delay += np.where(start + hop < end, network.delay[port], 0.0)
        passing = np.where(shared, wire, np.maximum(wire / ways.number, last))
        least = np.maximum(least + last / capacity, before + passing / capacity)
        before += np.where(shared, first, last) / capacity
    return least + delay
