"""What a replay of packets is made of, for both engines: a topology, the scheduler of its ports, and senders."""

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.core.errors import ConfigError, WorkloadError, shown
from flowsched_gym.core.periods import Period
from flowsched_gym.flows.decisions import DecisionKind
from flowsched_gym.flows.hashing import luck_of
from flowsched_gym.flows.link_changes import LinkChanges
from flowsched_gym.flows.records import Records, complete_records
from flowsched_gym.flows.stages import Barrier, Stages, fill_stages, new_stages
from flowsched_gym.flows.workload import NO_TASK, Workload
from flowsched_gym.packets.contract import PacketTable, Scheduler
from flowsched_gym.packets.network import BEHIND, PacketFlows, PacketNetwork, Ways
from flowsched_gym.packets.parameters import (
    BY_TASK,
    Acks,
    MessageRule,
    NetworkParameters,
    Paths,
    PortParameters,
)
from flowsched_gym.packets.rules.tcp import MAX_RTO
from flowsched_gym.packets.state import PortLimits
from flowsched_gym.topology import Topology, cpu_path
from flowsched_gym.topology.cpus import check_cpu_work

MOST_PACKETS: Final = 2**31
"""Packets of a replay at most: more fit into no memory."""
MOST_SLOTS: Final = 2**24
SPARE_SLOTS: Final = 64
MOST_COPIES: Final = 4
"""Copies of a packet, and acknowledgements, that are on their way at once at most, in the mean."""
SPARE_OF_PORT: Final = 4
"""Packets of a port that neither wait nor fill its link: the one that is being sent, and parts of packets."""
MOST_RESENDS: Final = 1000
"""How often at most a sender may send a packet again while a port sends it once."""
LATEST_TIME: Final = 1e300
"""Time in s before which all bytes must have been able to pass the slowest port, one after the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketSetup:
    """A network of ports before it has flows.

    Attributes:
        scheduler: The scheduler of each port.
        topology: The links behind the ports.
        parameters: Those of senders and ports.
        seed: Seed of the hash by which flows choose among equal paths, and of the sketch's hash.
        num_tokens: Flows that a destination lets send at once; ``None`` for no tokens.
        asks: About what an agent is asked; ``NOTHING`` where it grants tokens, or where there is none.
        period: When a period ends, where it is asked after each.
        steers: Whether it may set paths and largest rates of flows at each period.
        barrier: When a flow whose CPU work is done may send, where an agent is asked for an order; ``None`` where flows
            begin as they arrive.
    """

    scheduler: Scheduler
    topology: Topology
    parameters: NetworkParameters = field(default_factory=NetworkParameters)
    seed: int = 0
    num_tokens: int | None = None
    asks: DecisionKind = DecisionKind.NOTHING
    period: Period | None = None
    steers: bool = False
    barrier: Barrier | None = None

    def __post_init__(self) -> None:
        if self.barrier is not None and self.asks not in (DecisionKind.ORDER, DecisionKind.PERIOD):
            raise ConfigError(f"barrier is given, and asks is {self.asks.name}: it must be ORDER or PERIOD")
        if self.parameters.paths == Paths.PACKET and (self.steers or self.asks is DecisionKind.PATH):
            raise ConfigError("paths is 'packet': an agent chooses the path of a flow, which all its packets take")

    @property
    def capacity(self) -> float:
        """Capacity of the first port in B/s."""
        return float(self.topology.capacity[0])

    def cut(self, flows: Workload) -> PacketFlows:
        """Cuts flows into packets.

        Raises:
            WorkloadError: There are too many packets, or flows have something to wait for before they send.
        """
        if flows.has_stages and self.barrier is None:
            raise WorkloadError("flows have CPU work, or come after others: flows of packets are sent when they arrive")
        payload, header = float(self.parameters.payload), float(self.parameters.header)
        assert flows.deadline_span is not None
        with np.errstate(over="ignore"):
            due = flows.arrival_time + flows.deadline_span
            counts = np.maximum(np.ceil(flows.size / payload), 1.0)
            wire = flows.size + counts * header
        if not counts.sum() < MOST_PACKETS:
            raise WorkloadError(
                f"the flows have {counts.sum():.3g} packets of {payload:g} B: at most {MOST_PACKETS} are allowed"
            )
        counts -= (counts > 1.0) & (flows.size <= (counts - 1.0) * payload)  # where the quotient was rounded up
        first_packet = np.concatenate([[0], np.cumsum(counts.astype(np.int64))])
        flow = np.repeat(np.arange(len(counts)), np.diff(first_packet))
        size = np.full(len(flow), payload)
        size[first_packet[1:] - 1] = flows.size - (counts - 1) * payload
        size += header
        key, key_id = np.arange(len(counts)), flows.flow_id
        if self.parameters.messages == MessageRule.TIME:
            key_id, key = np.unique(flows.source * flows.num_hosts + flows.destination, return_inverse=True)
        elif self.parameters.messages == BY_TASK:
            assert flows.task_id is not None
            alone = flows.task_id.max(initial=0) + 1 + np.arange(len(counts))
            key_id, key = np.unique(np.where(flows.task_id == NO_TASK, alone, flows.task_id), return_inverse=True)
        late = np.zeros(len(counts))
        if self.parameters.start_jitter:
            late = self.parameters.start_jitter * luck_of(flows, self.seed)
        return PacketFlows(
            arrival_time=flows.arrival_time,
            flow_id=flows.flow_id,
            source=flows.source,
            destination=flows.destination,
            first_packet=first_packet,
            table=PacketTable(flow, size, header, np.zeros(0), key.reshape(-1), due),
            key_id=key_id,
            size=flows.size,
            wire=wire,
            late=late,
        )

    def network(self, flows: Workload) -> PacketNetwork:
        """Makes a network of ports in which no flow has arrived.

        Raises:
            ConfigError: See ``new_packet_network``; or flows have CPU work, and the topology has no CPUs.
            WorkloadError: See there and ``cut``.
        """
        network = self.network_of(self.cut(flows), changes=flows.link_changes)
        return network if self.barrier is None else network._replace(stages=self._stages(flows, network, self.barrier))

    def _stages(self, flows: Workload, network: PacketNetwork, barrier: Barrier) -> Stages:
        topology, path = self.topology, network.path
        check_cpu_work(flows, topology)
        work_path = cpu_path(topology, flows.source) if topology.num_cpus else path
        stages = new_stages(1, flows.num_flows, 0 if flows.after is None else flows.after.num_pairs)
        fill_stages(stages, 0, flows, cpu_path=work_path, path=path, volume=network.flows.wire, barrier=barrier)
        return stages

    def network_of(
        self, packets: PacketFlows, *, port: PortParameters | None = None, changes: LinkChanges | None = None
    ) -> PacketNetwork:
        """Makes it of flows that are cut already, or of packets that are given, and the parameters of their port."""
        return new_packet_network(
            packets,
            self.topology,
            self.parameters,
            self.scheduler,
            port=port,
            seed=self.seed,
            num_tokens=self.num_tokens,
            asks=self.asks,
            period=self.period,
            steers=self.steers,
            changes=changes,
        )

    def ideal_fct(self, flows: Workload) -> FloatArray:
        """Returns the completion times in s of flows alone whose window never makes them wait, (num_flows,)."""
        return self.network(flows).ideal_fct()

    def records(self, flows: Workload, grant_time: FloatArray, completion_time: FloatArray) -> Records:
        """Builds the records of flows from when they were granted a token, or arrived, and were delivered.

        In s, (num_flows,) each, NaN for not yet.
        """
        return complete_records(
            flows,
            grant_time=grant_time,
            completion_time=completion_time,
            ideal_fct=self.ideal_fct(flows),
        )


def new_packet_network(
    flows: PacketFlows,
    topology: Topology,
    parameters: NetworkParameters,
    scheduler: Scheduler,
    *,
    port: PortParameters | None = None,
    seed: int = 0,
    num_tokens: int | None = None,
    asks: DecisionKind = DecisionKind.NOTHING,
    period: Period | None = None,
    steers: bool = False,
    changes: LinkChanges | None = None,
) -> PacketNetwork:
    """Makes a network of ports in which nothing has arrived.

    Raises:
        ConfigError: A buffer has no room for a packet.
        WorkloadError: No path joins the hosts of a flow at the end, or packets take for ever.
    """
    num_links = topology.num_links - topology.num_cpus
    capacity, delay = topology.capacity[:num_links], topology.delay[:num_links]
    path_start = topology.path_start[: len(topology.path_start) - topology.num_cpus]
    path_links = topology.path_links[: path_start[-1]]
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
    back_turn = turn % (back_last - back_first)
    links = topology.network
    if changes is not None:
        if parameters.paths == Paths.PACKET:
            raise ConfigError("paths is 'packet', and links fail: packets do not know of them")
        if not topology.num_hosts:
            raise ConfigError("links fail, and there is one port alone: its link stays up")
        topology.check_link_changes(changes.link, changes.up, first, last)
        topology.check_link_changes(changes.link, changes.up, back_first, back_last)
        links = links._replace(capacity=_capacity_at_first(changes, links.capacity))
        is_up = np.logical_and.reduceat(links.capacity[path_links] > 0.0, path_start[:-1])
        turn = _turn_to_up(first, last, turn, is_up)
        back_turn = _turn_to_up(back_first, back_last, turn % (back_last - back_first), is_up)
    begins = np.unique(path_links[path_start[:-1]])
    at_host = np.zeros(len(capacity), dtype=np.bool_)
    at_host[begins] = at_host[path_links[path_start[1:] - 1]] = True
    order = np.concatenate([begins, np.setdiff1d(np.arange(len(capacity)), begins)])
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    step = int(parameters.paths == Paths.PACKET)
    along = np.add.reduceat(delay[path_links], path_start[:-1])
    inner = np.intersect1d(begins, np.delete(path_links, path_start[:-1]))
    if scheduler.reads_tags and len(inner):
        raise ConfigError(
            f"topology {topology.name}: link {topology.link_names[inner[0]]} begins a path and lies within another: a "
            "scheduler that reads what hosts have tagged packets with needs hosts that forward nothing"
        )
    # Hosts tag packets for the ports behind theirs, where there are any.
    num_senders = len(begins) if len(begins) < len(order) else 0
    num_packets = len(flows.table.flow)
    table = flows.table._replace(num_senders=num_senders, tag=np.zeros(num_packets if num_senders else 0))
    limits = parameters.limits(at_host[order]) if port is None else port.limits()
    fails = changes is not None and bool((changes.time > 0.0).any())
    can_lose = not parameters.is_fixed or scheduler.drops or fails or bool((limits.room < np.inf).any())
    if port is None:
        window = np.inf if can_lose else parameters.window
        slots = _count_slots(flows, num_tokens, parameters, limits, window, capacity[order] * delay[order])
        table = table._replace(
            flow=np.zeros(slots, dtype=np.int64),
            size=np.zeros(slots),
            remaining=np.zeros(slots if scheduler.needs_remaining else 0),
            tag=np.zeros(slots if num_senders else 0),
            bare_size=0.0 if parameters.has_data_alone else parameters.ack_size,
        )
    network = PacketNetwork(
        flows=flows,
        parameters=parameters,
        scheduler=scheduler,
        capacity=capacity[order],
        delay=delay[order],
        link_of_port=order,
        limits=limits,
        path_start=path_start + np.arange(len(path_start)),
        path_ports=np.insert(number[path_links], path_start[1:], BEHIND),
        there=Ways(first, last - first, turn, step),
        back=Ways(back_first, back_last - back_first, back_turn, step),
        back_delay=along[back_first + back_turn],
        table=table,
        seed=seed,
        are_given=port is not None,
        num_tokens=num_tokens,
        asks=asks,
        period=period,
        steers=steers,
        token_time=along[first + turn],
        can_lose=can_lose,
        topology=topology,
        path=first + turn,
        links=links,
        changes=changes,
    )
    _check_times(network)
    if port is None:
        _check_buffers(network)
    return network


def _capacity_at_first(changes: LinkChanges, capacity: FloatArray) -> FloatArray:
    """Returns the capacities in B/s when all changes at time 0 have happened, (num_links,)."""
    found, first = capacity.copy(), changes.time == 0.0
    for link, up in zip(changes.link[first].tolist(), changes.up[first].tolist(), strict=True):
        found[link] = capacity[link] if up else 0.0
    return found


def _turn_to_up(first: IntArray, last: IntArray, turn: IntArray, is_up: BoolArray) -> IntArray:
    """Returns the indices of paths, of those from ``first`` to before ``last``, (num_flows,) each: up where one is."""
    turn, num_up = turn.copy(), np.concatenate([[0], np.cumsum(is_up)])
    for row in np.flatnonzero(num_up[last] - num_up[first] < last - first).tolist():
        up = np.flatnonzero(is_up[first[row] : last[row]])
        turn[row] = up[turn[row] % len(up)] if len(up) else turn[row]
    return turn


def _count_slots(
    flows: PacketFlows,
    num_tokens: int | None,
    parameters: NetworkParameters,
    limits: PortLimits,
    window: float,
    on_links: FloatArray,
) -> int:
    """Returns how many packets and acknowledgements can be underway at once: by flows, or by ports and links.

    Of a flow there are at most so many packets of a window that never sends any again, or ``inf``; on links there is
    room for so many bytes, (num_ports,).
    """
    most = _most_underway(np.minimum(flows.packets, window), flows.destination, num_tokens)
    slots = most * (MOST_COPIES if window == np.inf else 1.0) + SPARE_SLOTS
    if parameters.acks == Acks.PACKETS:
        smallest = min(parameters.ack_size, float(flows.table.size.min(initial=np.inf)))
        held = (limits.room + on_links) / smallest + SPARE_OF_PORT
        slots = min(slots, float(held.sum()) + SPARE_SLOTS)
    return int(min(slots, MOST_SLOTS))


def _most_underway(packets: FloatArray, destination: IntArray, num_tokens: int | None) -> float:
    """Returns how many flows can send at once, and how many packets they have: with tokens, some to each host."""
    if num_tokens is not None:
        order = np.lexsort((-packets, destination))
        place = np.arange(len(order)) - np.searchsorted(destination[order], destination[order])
        packets = packets[order][place < num_tokens]
    return float(packets.sum()) + len(packets)


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
    trip = float(flows.table.size.max()) / slowest + 2.0 * float(network.delay.max())
    if network.can_lose and trip > MOST_RESENDS * MAX_RTO:
        raise ConfigError(
            f"a packet takes {trip:.3g} s at the slowest port, and a sender, which waits for {MAX_RTO:g} s at most, "
            f"would send it again more than {MOST_RESENDS} times meanwhile: links must be faster"
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
