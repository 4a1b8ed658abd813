"""Packets in the compiled engine: one port, equal bit for bit to ``packets.simpy``, and faster; a leaf-spine."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.packets.compiled.fabric import Fabric, PacketFabric, new_fabric, replay_fabric
from flowsched_gym.packets.compiled.loop import replay, serve
from flowsched_gym.packets.compiled.state import Flows, Rows, Tables, new_flows, new_packets, new_ports, new_rows
from flowsched_gym.packets.contract import PacketTable
from flowsched_gym.packets.rules.queues import new_counts
from flowsched_gym.packets.schedulers import PacketSetup
from flowsched_gym.packets.setup import PacketFlows
from flowsched_gym.packets.state import FlowOutcomes

PARTS: Final = 200
"""Calls of compiled code in which a run is made: between them it tells how far it is, and can be interrupted."""
SPARE_ROWS: Final = 1024


class Network(NamedTuple):
    """A network of the compiled engine."""

    flows: Flows
    tables: Tables


def serve_compiled(arrival_time: FloatArray, table: PacketTable, setup: PacketSetup, record: Any) -> npt.NDArray[Any]:
    """Serves packets at times that are given.

    Args:
        arrival_time: When each packet arrives, in s, (num_packets,), non-decreasing.
        table: The packets.
        setup: The port.
        record: What the scheduler keeps.

    Returns:
        What became of each packet, (num_packets,) of type ``TRACE_ROW``.
    """
    num_packets = len(arrival_time)
    tables = _new_tables(table, setup, record, np.array([setup.capacity]), num_rows=num_packets)
    for part in range(1, PARTS + 1):
        serve(arrival_time, tables, num_packets * part // PARTS, np.inf)
    return _written(tables.rows)


def replay_compiled(
    flows: PacketFlows,
    setup: PacketSetup,
    *,
    keep_trace: bool,
    progress: Callable[[int, int], None] | None,
) -> tuple[FlowOutcomes, npt.NDArray[Any]]:
    """Sends flows into one port.

    Args:
        flows: The flows and their packets.
        setup: The port and the senders.
        keep_trace: Whether to keep what becomes of each packet.
        progress: Called now and then with the number of flows acknowledged and of all.

    Returns:
        What became of each flow, and of each packet, (num_rows,) of type ``TRACE_ROW``.
    """
    num_flows, num_packets = flows.num_flows, len(flows.table.flow)
    sent, tables = new_network(flows, setup, num_rows=num_packets + SPARE_ROWS if keep_trace else 0)
    for part in range(1, PARTS + 1):
        goal = num_flows * part // PARTS
        while True:
            replay(sent, tables, goal, np.inf)
            if not keep_trace or num_packets + tables.counts[2] < len(tables.rows.trace):
                break
            tables = tables._replace(rows=_with_more_rows(tables.rows))
        if progress is not None:
            progress(int(tables.counts[1]), num_flows)
    return _outcomes(sent), _written(tables.rows)


def replay_compiled_fabric(
    flows: PacketFlows,
    setup: PacketSetup,
    fabric: PacketFabric,
    hosts: tuple[IntArray, IntArray],
    *,
    progress: Callable[[int, int], None] | None,
) -> FlowOutcomes:
    """Sends flows through a fabric.

    Args:
        flows: The flows and their packets.
        setup: What each port has, and the senders.
        fabric: The fabric.
        hosts: Source and destination of each flow, (num_flows,) each.
        progress: See ``replay_compiled``.
    """
    num_flows = flows.num_flows
    (sent, tables), ways = new_fabric_network(flows, setup, fabric, hosts)
    for part in range(1, PARTS + 1):
        replay_fabric(sent, tables, ways, num_flows * part // PARTS, np.inf)
        if progress is not None:
            progress(int(tables.counts[1]), num_flows)
    return _outcomes(sent)


def new_fabric_network(
    flows: PacketFlows, setup: PacketSetup, fabric: PacketFabric, hosts: tuple[IntArray, IntArray]
) -> tuple[Network, Fabric]:
    """Makes a fabric in which no flow has arrived; see ``replay_compiled_fabric`` for the arguments."""
    num_packets = len(flows.table.flow)
    table = flows.table._replace(num_senders=fabric.num_hosts, tag=np.zeros(num_packets))
    network = new_network(flows._replace(table=table), setup, capacity=fabric.port_capacity)
    return network, new_fabric(fabric, *hosts, num_packets)


def new_network(
    flows: PacketFlows,
    setup: PacketSetup,
    *,
    num_rows: int = 0,
    counted: bool = False,
    capacity: FloatArray | None = None,
) -> Network:
    """Makes a network in which no flow has arrived.

    Args:
        flows: The flows and their packets.
        setup: The port and the senders.
        num_rows: Rows of the trace; 0: none is kept.
        counted: Whether queues are counted, for an agent.
        capacity: Capacity of each port in B/s, (num_ports,); ``None`` for the one port.
    """
    ports = np.array([setup.capacity]) if capacity is None else capacity
    record = setup.new_record(flows, ports)
    tables = _new_tables(flows.table, setup, record, ports, num_rows=num_rows, counted=counted)
    return Network(new_flows(flows, setup), tables)


def _new_tables(
    table: PacketTable,
    setup: PacketSetup,
    record: Any,
    capacity: FloatArray,
    *,
    num_rows: int,
    counted: bool = False,
) -> Tables:
    num_packets, num_queues, order = len(table.flow), setup.scheduler.num_queues, setup.scheduler.order
    return Tables(
        np.zeros(1),
        np.zeros(3, dtype=np.int64),
        table,
        new_ports(capacity, setup.port, num_queues, order, num_packets, len(table.key)),
        new_packets(num_packets, order, counted=counted),
        new_counts(len(capacity), num_queues, kept=counted),
        new_rows(num_rows, num_packets),
        record,
    )


def _outcomes(sent: Flows) -> FlowOutcomes:
    """Returns what became of each flow."""
    return FlowOutcomes(sent.completion_time, sent.drops, sent.marks, sent.disordered)


def _with_more_rows(rows: Rows) -> Rows:
    """Doubles the room of a trace."""
    return rows._replace(trace=np.concatenate([rows.trace, np.zeros_like(rows.trace)]))


def _written(rows: Rows) -> npt.NDArray[Any]:
    """Returns the rows of a trace."""
    written: npt.NDArray[Any] = rows.trace[: rows.written[0]]
    return written
