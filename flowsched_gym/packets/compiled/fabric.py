"""The leaf-spine of QCluster's simulations (section 6.3), and its compiled loop: many ports, links between them."""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray, is_whole
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.machine_code.decorators import inlined_part, threaded_function
from flowsched_gym.packets.compiled.heaps import Heap, new_heap, next_time, set_time
from flowsched_gym.packets.compiled.loop import (
    append_to_list,
    begin_transmission,
    deliver,
    end_acknowledgement,
    end_timeout,
    end_transmission,
    enter,
    first_time,
    send,
    take_from_list,
)
from flowsched_gym.packets.compiled.state import (
    ACKNOWLEDGED,
    ACKNOWLEDGED_ACROSS,
    ARRIVED,
    COMPLETED,
    LOST,
    NONE,
    TRAVELLING,
    Flows,
    Tables,
    whole,
)

NUM_HOSTS: Final = 144
HOSTS_PER_LEAF: Final = 16
NUM_SPINES: Final = 4
MOST_LEAVES: Final = 64
HOST_CAPACITY: Final = 1.25e9
"""Capacity of a host's link in B/s: 10 Gbps."""
UPLINK_FACTOR: Final = 4.0
"""Capacity of a link between leaf and spine, over that of a host's: 40 Gbps."""
HOST_DELAY: Final = 2e-5
LINK_DELAY: Final = 1e-7
"""Delays in s that make the paper's round trip of 40.8 us: two of hosts, and eight of links."""
READY, HOPS = range(2)
"""Indices of ``Fabric.counts``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketFabric:
    """Leaves of 16 hosts, each leaf joined to each of 4 spines.

    Ports are numbered so: of each host to its leaf, of each leaf to each spine, of each spine to each leaf, and of the
    leaves to each host. There are 32 to 1,024 hosts, a multiple of 16. Links of hosts have the capacity in B/s, each
    way, those of spines four times that.
    """

    num_hosts: int
    capacity: float

    def __post_init__(self) -> None:
        number = self.num_hosts
        if not is_whole(number) or number % HOSTS_PER_LEAF or not 2 <= number // HOSTS_PER_LEAF <= MOST_LEAVES:
            raise ConfigError(
                f"num_hosts is {shown(number)}: leaf-spine in packets has 2 to {MOST_LEAVES} leaves of"
                f" {HOSTS_PER_LEAF} hosts"
            )
        object.__setattr__(self, "num_hosts", int(number))

    @property
    def num_leaves(self) -> int:
        """Number of leaves."""
        return self.num_hosts // HOSTS_PER_LEAF

    @property
    def port_capacity(self) -> FloatArray:
        """Capacity of each port in B/s, (num_ports,)."""
        hosts = np.full(self.num_hosts, self.capacity)
        return np.concatenate([hosts, np.full(2 * self.num_leaves * NUM_SPINES, UPLINK_FACTOR * self.capacity), hosts])

    def crosses(self, source: IntArray, destination: IntArray) -> BoolArray:
        """Returns which flows cross a spine, (num_flows,)."""
        across: BoolArray = source // HOSTS_PER_LEAF != destination // HOSTS_PER_LEAF
        return across

    def ideal_fct(self, wire: FloatArray, first: FloatArray, across: BoolArray, delay: float) -> FloatArray:
        """Returns the completion times in s of flows alone whose window never makes them wait, (num_flows,).

        The host's leaf begins to send when the first packet is there, and then sends all of them. Bytes are those on
        the wire, of all packets and of the first one; a host's delay is in s.
        """
        passed = np.where(across, 1.0 + 2.0 / UPLINK_FACTOR, 1.0)
        links = np.where(across, 4.0, 2.0) * LINK_DELAY
        ideal: FloatArray = (wire + passed * first) / self.capacity + links + delay
        return ideal


class Fabric(NamedTuple):
    """What the loop knows beside ``Tables``; source and destination are hosts, (num_flows,).

    Attributes:
        spine: Spine of the next packet of each leaf, (num_leaves,): each packet takes the next one, in turns.
        port: Port at which each packet is or was last, (num_packets,).
        busy: Ports that send, by the end of their transmission.
        ready: Idle ports at which packets wait, (num_ports,).
        counts: Ports in ``ready``, and transmissions that have ended, (2,).
    """

    num_hosts: int
    num_leaves: int
    source: IntArray
    destination: IntArray
    spine: IntArray
    port: IntArray
    busy: Heap
    ready: IntArray
    is_ready: BoolArray
    counts: IntArray


def new_fabric(fabric: PacketFabric, source: IntArray, destination: IntArray, num_packets: int) -> Fabric:
    """Makes a fabric in which nothing is sent."""
    num_ports = len(fabric.port_capacity)
    return Fabric(
        num_hosts=fabric.num_hosts,
        num_leaves=fabric.num_leaves,
        source=source,
        destination=destination,
        spine=whole(fabric.num_leaves),
        port=whole(num_packets),
        busy=new_heap(num_ports),
        ready=whole(num_ports),
        is_ready=np.zeros(num_ports, dtype=np.bool_),
        counts=whole(2),
    )


@threaded_function
def replay_fabric(flows: Flows, t: Tables, f: Fabric, goal: int, until: float) -> None:
    """Sends flows through a fabric: see ``loop.replay``.

    At one instant transmissions end by port, packets arrive behind links in the order in which they were sent,
    acknowledgements arrive, those from across the spines last, losses are noticed, and flows arrive by id; last, idle
    ports choose.
    """
    num_flows = len(flows.arrivals)
    now, arrived = t.clock[0], t.counts[ARRIVED]
    while True:
        arrival = flows.arrival_time[flows.arrivals[arrived]] if arrived < num_flows else np.inf
        end = next_time(f.busy)
        hop = first_time(TRAVELLING, flows, t)
        near = first_time(ACKNOWLEDGED, flows, t)
        far = first_time(ACKNOWLEDGED_ACROSS, flows, t)
        timeout = first_time(LOST, flows, t)
        time = min(end, hop, near, far, timeout, arrival)
        if time > now and now < until and f.counts[READY] > 0:
            _choose(now, t, f)
            continue
        if time == np.inf or (t.counts[COMPLETED] >= goal and goal < num_flows):
            break
        if time > until:
            now = until
            break
        now = time
        if end <= now:
            _depart(now, flows, t, f)
        elif hop <= now:
            p = take_from_list(TRAVELLING, flows, t)
            _pass_on(now, p, flows, t, f)
        else:
            if near <= now:
                row = end_acknowledgement(now, ACKNOWLEDGED, flows, t)
            elif far <= now:
                row = end_acknowledgement(now, ACKNOWLEDGED_ACROSS, flows, t)
            elif timeout <= now:
                row = end_timeout(now, flows, t)
            else:
                row = flows.arrivals[arrived]
                arrived += 1
            send(now, f.source[row], row, flows, t)
            _note_ready(f.source[row], t, f)
    t.clock[0] = now
    t.counts[ARRIVED] = arrived


@inlined_part
def _choose(now: float, t: Tables, f: Fabric) -> None:
    """Lets idle ports choose: each by itself, so that their order is of no matter."""
    for index in range(f.counts[READY]):
        port = f.ready[index]
        f.is_ready[port] = False
        begin_transmission(now, port, t)
        f.port[t.ports.sending[port]] = port
        set_time(port, t.ports.end[port], f.busy)
    f.counts[READY] = 0


@inlined_part
def _depart(now: float, flows: Flows, t: Tables, f: Fabric) -> None:
    """Ends the first transmission: its packet is on a link, and is delivered if that leads to a host."""
    port = f.busy.items[0]
    set_time(port, np.inf, f.busy)
    f.counts[HOPS] += 1
    p = end_transmission(port, t)
    _note_ready(port, t, f)
    if port < f.num_hosts + 2 * f.num_leaves * NUM_SPINES:
        append_to_list(TRAVELLING, p, now + LINK_DELAY, flows, t)
        return
    row = t.table.flow[p]
    across = f.source[row] // HOSTS_PER_LEAF != f.destination[row] // HOSTS_PER_LEAF
    which, links = (ACKNOWLEDGED_ACROSS, 4) if across else (ACKNOWLEDGED, 2)
    deliver(now + LINK_DELAY + flows.delay, links * LINK_DELAY + flows.delay, which, p, flows, t)


@inlined_part
def _pass_on(now: float, p: int, flows: Flows, t: Tables, f: Fabric) -> None:
    """Lets a packet arrive behind a link, at the next port of its way; a mark stays."""
    destination = f.destination[t.table.flow[p]]
    leaf = destination // HOSTS_PER_LEAF
    uplinks = f.num_hosts + f.num_leaves * NUM_SPINES
    port = f.port[p]
    if port < f.num_hosts and port // HOSTS_PER_LEAF != leaf:
        here = port // HOSTS_PER_LEAF
        spine = f.spine[here]
        f.spine[here] = spine + 1 if spine + 1 < NUM_SPINES else 0
        port = f.num_hosts + here * NUM_SPINES + spine
    elif f.num_hosts <= port < uplinks:
        port = uplinks + (port - f.num_hosts) % NUM_SPINES * f.num_leaves + leaf
    else:
        port = uplinks + f.num_leaves * NUM_SPINES + destination
    marked = t.packets.marked[p]
    enter(now, port, p, flows, t)
    t.packets.marked[p] |= marked
    _note_ready(port, t, f)


@inlined_part
def _note_ready(port: int, t: Tables, f: Fabric) -> None:
    """Notes a port that is to choose when all else of this instant has happened."""
    if t.ports.waiting[port] > 0 and t.ports.sending[port] == NONE and not f.is_ready[port]:
        f.is_ready[port] = True
        f.ready[f.counts[READY]] = port
        f.counts[READY] += 1
