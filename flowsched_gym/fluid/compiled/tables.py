"""Lays out many networks side by side: what the compiled event loop reads and writes.

The flows of all networks stand in flat arrays; those of network ``n`` in the rows ``n * num_rows`` to
``(n + 1) * num_rows - 1``. So a row names a flow of a network, and the rules, which address flows by row, serve one
network as they serve a thousand. Rows of one network are in the order of flow ids, which break ties.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.periods import Period
from flowsched_gym.flows.decisions import DecisionKind
from flowsched_gym.flows.fields import EPISODE_FIELDS, Fields
from flowsched_gym.flows.stages import Stages, new_stages
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.flows.tokens import DESTINATION
from flowsched_gym.fluid.compiled.allocation_cache import AllocationCache, new_allocation_cache
from flowsched_gym.fluid.compiled.records import (
    FLOW_FIELDS,
    LOG_ENTRY,
    NETWORK,
    PATH,
    ROW,
    SCRATCH,
    TIMER,
    WINDOW,
    Choosing,
    aligned_zeros,
    new_choosing,
)
from flowsched_gym.fluid.contract import Discipline
from flowsched_gym.fluid.isolation import round_trip_time
from flowsched_gym.fluid.rules.sharing import Filling, new_filling
from flowsched_gym.fluid.rules.transport.lossy_senders import Senders
from flowsched_gym.fluid.transport import Transport, new_senders
from flowsched_gym.machine_code.decorators import inlined_part
from flowsched_gym.topology import Routing, Topology
from flowsched_gym.topology.network import Network

Rows = npt.NDArray[Any]
Row = Any
"""One row of a structured array, which compiled code changes in place."""
NOBODY: Final = -1


class Sending(NamedTuple):
    """The figures of a ``Transport``, of its segments in bytes on the wire; see there."""

    handshake_round_trips: float
    first_burst: float
    exit_window: float
    slow_start_growth: float
    later_growth: float
    segment: float
    header: float


class Tables(NamedTuple):
    """All that the compiled engine works on, in few arrays: each costs time to hand over.

    Attributes:
        networks: State of each network, (num_networks,) NETWORK.
        destinations: Receiving hosts, (num_networks * most_destinations,) DESTINATION.
        flows: The flows, (num_networks * num_rows,) with ``FLOW_FIELDS`` and those of the system.
        episodes: What an environment keeps of each episode, (num_networks,) with fields of its own.
        windows: Their windows, (num_networks * num_rows,) WINDOW; (0,) without windows.
        capacity: Capacities in B/s now, 0 where a link has failed: (num_links,), or, where links change,
            (num_networks * num_links,).
        data_capacity: What the discipline leaves of them for data, likewise.
        order: Rows in the order of the arrival of their requests, where that is another than their own.
        requests: Rows that wait for tokens, in the segments of the destinations, (2 * num_networks * num_rows,).
        holders: Rows that hold tokens, in the segments of the destinations.
        active: Rows that have begun to send and not ended, (num_networks * most_active,).
        served: Those of them that have a rate, likewise.
        delivered: Rows in the order of their delivery, (num_networks * num_rows,).
        scratch: (most_active,) SCRATCH.
        destination_of_host: Scratch, (num_hosts or 1,).
        log: Events, (num_networks * log_length,) LOG_ENTRY.
        record: What the discipline keeps; its type leads to the hooks.
        stages: What flows go through before they send; ``None`` where they send at once.
        choosing: What choices of paths and orders, and changes of links, need; ``None`` where there are none.
        cache: How links have been shared; ``None`` where that begins anew at each event.
        senders: Senders whose packets can be lost; ``None`` where none is.
        link_stride: Entries from one network's capacities to the next one's; 0 where all have the same.
        most_destinations: Destinations that a network can have.
        most_active: Flows of a network that can be between grant and delivery at once.
    """

    networks: Rows
    destinations: Rows
    timers: Rows
    flows: Rows
    episodes: Rows
    windows: Rows
    filling: Filling
    network: Network
    capacity: FloatArray
    data_capacity: FloatArray
    paths: Rows
    order: IntArray
    requests: IntArray
    holders: IntArray
    active: IntArray
    served: IntArray
    delivered: IntArray
    scratch: Rows
    destination_of_host: IntArray
    log: Rows
    record: Any
    stages: Stages | None
    choosing: Choosing | None
    cache: AllocationCache | None
    senders: Senders | None
    sending: Sending
    num_tokens: int
    data_share: float
    link_stride: int
    num_rows: int
    most_destinations: int
    most_active: int
    log_length: int


@inlined_part
def state_of(flows: Rows) -> FlowState:
    """Views the flows column by column, as the rules read them."""
    return FlowState(
        flows["size"],
        flows["volume"],
        flows["arrival_time"],
        flows["deadline"],
        flows["attained"],
        flows["remaining"],
        flows["rate"],
    )


@inlined_part
def controls_of(flows: Rows) -> Controls:
    """Views the controls of the flows, likewise."""
    return Controls(
        flows["admitted"], flows["priority"], flows["weight"], flows["rate_cap"], flows["path"], flows["review_at"]
    )


@inlined_part
def network_of(t: Tables, n: int, capacity: FloatArray) -> Network:
    """Returns the links of a network, with their part of ``capacity`` or ``data_capacity``, and the paths."""
    first_link = n * t.link_stride
    last_link = first_link + len(t.network.capacity)
    return Network(capacity[first_link:last_link], t.network.path_start, t.network.path_links, t.network.num_cpus)


def new_tables(
    *,
    num_networks: int,
    num_rows: int,
    most_destinations: int,
    most_changes: int,
    most_pairs: int,
    topology: Topology,
    discipline: Discipline,
    transport: Transport,
    num_tokens: int | None,
    routing: Routing | None,
    asks: DecisionKind,
    period: Period | None,
    has_stages: bool,
    log_length: int,
    flow_fields: Fields,
    episode_fields: Fields,
    rate_caps: bool,
) -> Tables:
    """Makes room for networks without flows; see ``BatchSimulation``.

    A network can have ``most_destinations`` hosts that receive flows, ``most_changes`` of links, and ``most_pairs`` of
    flows that come after each other.
    """
    num_flows = num_networks * num_rows
    has_tokens, links_change = num_tokens is not None, routing is not None
    most_active = num_rows if num_tokens is None else min(num_tokens * most_destinations, num_rows)
    flows = aligned_zeros(num_flows, np.dtype(list(dict.fromkeys((*FLOW_FIELDS, *flow_fields))), align=True))
    flows["admitted"], flows["weight"] = True, 1.0
    for name in ("rate_cap", "review_at", "deadline"):
        flows[name] = np.inf
    data_capacity = topology.data_capacity(discipline.data_share)
    # With tokens, a network has few flows at once: a cache is not worth it. It knows of no largest rates.
    has_caps = rate_caps or transport.losses is not None
    num_priorities = 0 if has_tokens or has_caps else discipline.num_priorities
    paths = np.zeros(len(topology.path_start) - 1, dtype=PATH)
    paths["delay"] = topology.path_delay(np.arange(len(paths)))
    paths["round_trip"] = round_trip_time(topology, paths["delay"], transport)
    network = Network(
        topology.capacity.copy(), topology.path_start.astype(ROW), topology.path_links.astype(ROW), topology.num_cpus
    )
    discipline.make_room(state_of(flows), network, num_networks)
    choosing = cache = senders = None
    if links_change or asks is not DecisionKind.NOTHING:
        choosing = new_choosing(
            num_networks,
            num_rows,
            most_active,
            topology.num_links,
            most_changes,
            routing=routing,
            asks=asks,
            period=period,
        )
    if num_priorities:
        cache = new_allocation_cache(num_networks, num_priorities, topology.network, num_flows)
    if transport.losses is not None:
        senders = new_senders(num_networks, num_rows, topology.num_links, transport)
    return Tables(
        networks=aligned_zeros(num_networks, NETWORK),
        destinations=np.zeros(num_networks * most_destinations if has_tokens else 0, dtype=DESTINATION),
        timers=np.zeros(num_networks * most_active, dtype=TIMER),
        flows=flows,
        episodes=np.zeros(num_networks, dtype=np.dtype([*episode_fields, *EPISODE_FIELDS], align=True)),
        windows=np.zeros(num_flows if transport.first_burst else 0, dtype=WINDOW),
        filling=new_filling(topology.network, most_active)._replace(blocks=flows),
        network=network,
        capacity=np.tile(topology.capacity, num_networks if links_change else 1),
        data_capacity=np.tile(data_capacity, num_networks if links_change else 1),
        paths=paths,
        order=np.zeros(num_flows, dtype=ROW),
        requests=np.zeros(2 * num_flows if has_tokens else 0, dtype=ROW),
        holders=np.zeros(num_networks * most_active if has_tokens else 0, dtype=ROW),
        active=np.zeros(num_networks * most_active, dtype=ROW),
        served=np.zeros(num_networks * most_active, dtype=ROW),
        delivered=np.zeros(num_flows, dtype=ROW),
        scratch=np.zeros(most_active, dtype=SCRATCH),
        destination_of_host=np.zeros(max(topology.num_hosts, 1), dtype=np.int64),
        log=np.zeros(num_networks * log_length, dtype=LOG_ENTRY),
        record=discipline.record,
        stages=new_stages(num_networks, num_rows, most_pairs) if has_stages else None,
        choosing=choosing,
        cache=cache,
        senders=senders,
        sending=Sending(*(getattr(transport, name) for name in Sending._fields)),
        num_tokens=num_tokens or 0,
        data_share=discipline.data_share,
        link_stride=topology.num_links if links_change else 0,
        num_rows=num_rows,
        most_destinations=most_destinations,
        most_active=most_active,
        log_length=log_length,
    )
