"""Packets in the compiled engine: one port, equal bit for bit to ``packets.simpy``, and faster; a leaf-spine."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.packets.compiled.fabric import Fabric, PacketFabric, new_fabric, replay_fabric
from flowsched_gym.packets.compiled.loop import replay, serve
from flowsched_gym.packets.compiled.state import Network, Tables, new_network, new_tables
from flowsched_gym.packets.contract import HOOKS, PacketTable, hook_error
from flowsched_gym.packets.schedulers import PacketSetup
from flowsched_gym.packets.setup import PacketFlows
from flowsched_gym.packets.state import FlowOutcomes

PARTS: Final = 200
"""Calls of compiled code in which a run is made: between them it tells how far it is, and can be interrupted."""
SPARE_ROWS: Final = 1024


def serve_compiled(arrival_time: FloatArray, table: PacketTable, setup: PacketSetup, record: Any) -> npt.NDArray[Any]:
    """Serves packets at times that are given; see ``simpy.PacketServing`` for the arguments.

    Returns:
        What became of each packet, (num_packets,) of type ``TRACE_ROW``.
    """
    num_packets = len(arrival_time)
    tables = new_tables(table, setup, record, np.array([setup.capacity]), num_rows=num_packets)
    with hook_errors(setup, tables):
        for part in range(1, PARTS + 1):
            serve(arrival_time, tables, num_packets * part // PARTS, np.inf)
    rows: npt.NDArray[Any] = tables.rows.trace[: tables.rows.written[0]]
    return rows


def replay_compiled(
    flows: PacketFlows,
    setup: PacketSetup,
    *,
    fabric: PacketFabric | None = None,
    hosts: tuple[IntArray, IntArray] | None = None,
    keep_trace: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[FlowOutcomes, npt.NDArray[Any]]:
    """Sends flows into one port, or through a fabric.

    Args:
        flows: The flows and their packets.
        setup: The port, or what each of them has, and the senders.
        fabric: The fabric; ``None`` for one port.
        hosts: Source and destination of each flow in it, (num_flows,) each.
        keep_trace: Whether to keep what becomes of each packet at the one port.
        progress: Called now and then with the number of flows acknowledged and of all.

    Returns:
        What became of each flow, and of each packet, (num_rows,) of type ``TRACE_ROW``.
    """
    num_flows, num_packets, ways = flows.num_flows, len(flows.table.flow), None
    if fabric is None or hosts is None:
        sent, tables = new_network(flows, setup, num_rows=num_packets + SPARE_ROWS if keep_trace else 0)
    else:
        (sent, tables), ways = new_fabric_network(flows, setup, fabric, hosts)
    with hook_errors(setup, tables):
        for part in range(1, PARTS + 1):
            goal = num_flows * part // PARTS
            if ways is not None:
                replay_fabric(sent, tables, ways, goal, np.inf)
            else:
                replay(sent, tables, goal, np.inf)
            while keep_trace and num_packets + tables.counts[2] >= len(tables.rows.trace):
                trace = np.concatenate([tables.rows.trace, np.zeros_like(tables.rows.trace)])
                tables = tables._replace(rows=tables.rows._replace(trace=trace))
                replay(sent, tables, goal, np.inf)
            if progress is not None:
                progress(int(tables.counts[1]), num_flows)
    rows = tables.rows.trace[: tables.rows.written[0]]
    return FlowOutcomes(sent.completion_time, sent.drops, sent.marks, sent.disordered), rows


def new_fabric_network(
    flows: PacketFlows, setup: PacketSetup, fabric: PacketFabric, hosts: tuple[IntArray, IntArray]
) -> tuple[Network, Fabric]:
    """Makes a fabric in which no flow has arrived; see ``replay_compiled`` for the arguments."""
    num_packets = len(flows.table.flow)
    table = flows.table._replace(num_senders=fabric.num_hosts, tag=np.zeros(num_packets))
    network = new_network(flows._replace(table=table), setup, capacity=fabric.port_capacity)
    return network, new_fabric(fabric, *hosts, num_packets)


@contextmanager
def hook_errors(setup: PacketSetup, tables: Tables) -> Iterator[None]:
    """Turns what machine code raises where a hook is at fault into the ``ConfigError`` that says so."""
    try:
        yield
    except IndexError:
        hook, wrong, queue = tables.ports.fault.tolist()
        raise hook_error(setup.scheduler, HOOKS[hook], queue if wrong else None) from None
