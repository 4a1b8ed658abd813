"""Runs a scheduler of packets without an environment: packets given to one port, or flows sent in packets."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from os import PathLike
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray, IntArray, to_float
from flowsched_gym.core.checks import check_choice
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.files import Progress
from flowsched_gym.evaluation.replay import ENGINES, PROGRESS_STEPS, check_seed, options_of, workload_of
from flowsched_gym.flows.workload import start_of_clock
from flowsched_gym.fluid import Records
from flowsched_gym.packets.compiled import replay_compiled, serve_compiled
from flowsched_gym.packets.compiled.fabric import HOST_CAPACITY, HOST_DELAY, NUM_HOSTS, PacketFabric
from flowsched_gym.packets.contract import PacketTable
from flowsched_gym.packets.file import packets_from_columns, read_packets
from flowsched_gym.packets.schedulers import PacketSetup, Scheduler, Traffic, find_scheduler
from flowsched_gym.packets.setup import PacketFlows
from flowsched_gym.packets.simpy import PacketLog, PacketReplay, PacketServing
from flowsched_gym.packets.state import (
    PORT_PARAMETERS,
    SENDER_PARAMETERS,
    PacketRecords,
    PacketTrace,
    PortParameters,
    SenderParameters,
    trace_of,
)
from flowsched_gym.topology import DEFAULT_CAPACITY
from flowsched_gym.workload import Workload

FABRIC: Final = "leaf-spine"
DENSE: Final = 4
"""Identifiers are keys themselves where the largest is at most so many times the number of packets."""

Columns = Mapping[str, Sequence[object] | npt.NDArray[np.generic]]


def default_packet_capacity(topology: str) -> float:
    """Returns the capacity in B/s that packets have in a topology where none is given."""
    return HOST_CAPACITY if topology == FABRIC else DEFAULT_CAPACITY


def serve_packets(
    packets: str | PathLike[str] | Columns,
    *,
    scheduler: str | Scheduler,
    capacity: float | None = None,
    parameters: Mapping[str, object] | None = None,
    seed: int = 0,
    engine: str = "simpy",
) -> PacketTrace:
    """Serves packets that arrive at one port at given times.

    Args:
        packets: Path of a CSV file, or a mapping of equally long sequences, with the columns ``flow_id``,
            ``size_bytes`` (on the wire) and ``arrival_s``, in the order of arrival. What a flow has left to send is
            known from its packets here; none has a deadline.
        scheduler: Name of a scheduler (``flowsched list``), or your own (see ``docs/packets.md``).
        capacity: Capacity of the port in B/s; ``None`` for 1 Gbps.
        parameters: Parameters of the scheduler (see its class in ``flowsched_gym.packets.schedulers``), and ``buffer``
            and ``mark_at`` (see ``PortParameters``).
        seed: Seed of the sketch's hash.
        engine: ``simpy``, the reference, or ``compiled``, which gives the same bits sooner.

    Returns:
        What became of each packet, in the order of arrival. At one instant a transmission ends first, then packets
        arrive in their order, then an idle port chooses.

    Raises:
        ConfigError: A name or parameter is unknown, or a value is not allowed.
        FlowFileError: The packet file has a fault.
        WorkloadError: The packets of the mapping are not allowed.
    """
    check_choice("engine", engine, ENGINES)
    options = options_of(parameters)
    port = PortParameters(**_taken(options, PORT_PARAMETERS))
    rule = find_scheduler(scheduler, options, beside=PORT_PARAMETERS)
    if isinstance(packets, Mapping):
        given = packets_from_columns(packets)
    elif isinstance(packets, (str, PathLike)):
        given = read_packets(packets)
    else:
        raise ConfigError(f"packets is {type(packets).__name__}: it must be a path or a mapping of columns")
    start = start_of_clock(given.arrival_time)
    times = given.arrival_time - start
    flow, flow_id = _keys(given.flow_id)
    remaining = _left_to_send(flow, given.size) if rule.needs_remaining else np.zeros(0)
    due = np.full(len(flow_id), np.inf)
    table = PacketTable(flow, given.size, header=0.0, remaining=remaining, key=np.arange(len(flow_id)), due=due)
    setup = PacketSetup(scheduler=rule, capacity=_capacity(capacity), port=port)
    largest = float(given.size.max())
    ports = np.array([setup.capacity])
    record = rule.make_record(Traffic(len(flow), flow_id, ports, check_seed(seed), None, largest, largest), 1)
    if engine == "compiled":
        rows = serve_compiled(times, table, setup, record)
    else:
        simulation = PacketServing(times, table, setup, record)
        simulation.env.run()
        rows = simulation.log.rows()
    return trace_of(rows, table, flow_id).since(start)


def replay_packets(
    flows: str | PathLike[str] | Workload | Columns,
    *,
    scheduler: str | Scheduler,
    topology: str = "one-link",
    capacity: float | None = None,
    parameters: Mapping[str, object] | None = None,
    seed: int = 0,
    engine: str = "simpy",
    num_hosts: int | None = None,
    progress: Progress | None = None,
    keep_trace: bool = False,
) -> PacketRecords:
    """Sends flows in packets, by senders that wait for acknowledgements, and returns the records of each flow.

    On ``one-link`` a packet reaches the port at once, its receiver ``delay`` after the end of its transmission, and its
    acknowledgement the sender ``delay`` later; acknowledgements take no bandwidth. A packet that is dropped is sent
    again, as the window allows, from ``min_rto`` after its loss on: there is no reaction to duplicate acknowledgements
    and no needless retransmission. At one instant transmissions end, then acknowledgements arrive, then losses are
    noticed, then flows arrive by id, and last an idle port chooses.

    ``leaf-spine`` is QCluster's (section 6.3), in compiled code alone: leaves of 16 hosts, each joined to 4 spines by
    links of four times the capacity of a host's. Each host, leaf and spine has a port with queues, a buffer and the
    scheduler for each of its links. A leaf sends the packets that go up to its spines in turns. Each link takes 0.1 us,
    and ``delay``, by default 20 us, is that of the hosts, each way: a round trip across the spines takes 40.8 us.
    Messages are counted, without error, at their host, which tags the packets; a sketch counts what passes its port.
    Packets arrive behind links after transmissions have ended, and idle ports choose last.

    Args:
        flows: Path of a flow file or of a workload file, name of a workload, a ``Workload``, or a mapping with the flow
            file's columns.
        scheduler: Name of a scheduler (``flowsched list``), or your own (see ``docs/packets.md``). It counts bytes of
            payload.
        topology: ``one-link``: all flows share one port, whatever their hosts; or ``leaf-spine``.
        capacity: Capacity of the port in B/s; ``None`` for 1 Gbps. On ``leaf-spine`` that of a host's link; ``None``
            for 10 Gbps.
        parameters: Parameters of the scheduler (see its class in ``flowsched_gym.packets.schedulers``), of the port
            (see ``PortParameters``) and of the senders (see ``SenderParameters``).
        seed: Seed of the sketch's hash, and of the flows of a workload that draws them.
        engine: ``simpy``, the reference, or ``compiled``, which gives the same bits sooner.
        num_hosts: Hosts of ``leaf-spine``, a multiple of 16 from 32 on; ``None`` for 144. ``one-link`` has none to
            count.
        progress: Called now and then with the number of flows done and of all flows.
        keep_trace: Whether to keep what became of each packet at the port of ``one-link``.

    Returns:
        Records in the order of the flows.

    Raises:
        ConfigError: A name or parameter is unknown, or a value is not allowed.
        FlowFileError: The flow file has a fault.
        WorkloadError: The flows cannot be simulated.
    """
    check_choice("engine", engine, ENGINES)
    check_choice("topology", topology, ("one-link", FABRIC))
    options = options_of(parameters)
    fabric = _fabric(capacity, num_hosts, engine, keep_trace=keep_trace) if topology == FABRIC else None
    if fabric is not None:
        capacity = fabric.capacity
        options.setdefault("delay", HOST_DELAY)
    elif num_hosts is not None:
        raise ConfigError(f"num_hosts is {shown(num_hosts)}: topology one-link has no hosts to count; leave it out")
    port = PortParameters(**_taken(options, PORT_PARAMETERS))
    senders = SenderParameters(**_taken(options, SENDER_PARAMETERS))
    rule = find_scheduler(scheduler, options, beside=(*PORT_PARAMETERS, *SENDER_PARAMETERS))
    given = workload_of(flows, seed=check_seed(seed))
    workload, start = given.on_clock()
    setup = PacketSetup(scheduler=rule, capacity=_capacity(capacity), port=port, senders=senders, seed=check_seed(seed))
    packets = setup.cut(workload)
    ideal_fct = None if fabric is None else _ideal_fct(workload, packets, fabric, float(senders.delay))
    if engine == "compiled":
        hosts = workload.source, workload.destination
        outcomes, rows = replay_compiled(
            packets, setup, fabric=fabric, hosts=hosts, keep_trace=keep_trace, progress=progress
        )
    else:
        log = PacketLog()
        simulation = PacketReplay(packets, setup, [log] if keep_trace else [])
        _run(simulation, packets.arrival_time, progress or (lambda done, total: None))
        outcomes, rows = simulation.outcomes(), log.rows()
    records = setup.records(workload, outcomes.completion_time, ideal_fct).since(start, given.arrival_time)
    return PacketRecords(
        **{field.name: getattr(records, field.name) for field in fields(Records)},
        packets=packets.packets,
        drops=outcomes.drops,
        marks=outcomes.marks,
        disordered=outcomes.disordered,
        trace=trace_of(rows, packets.table, packets.flow_id).since(start) if keep_trace else None,
    )


def _fabric(capacity: float | None, num_hosts: int | None, engine: str, *, keep_trace: bool) -> PacketFabric:
    if engine != "compiled":
        raise ConfigError(f"engine is {shown(engine)}: topology {FABRIC} in packets needs 'compiled'")
    if keep_trace:
        raise ConfigError(f"keep_trace is True: topology {FABRIC} has many ports, and no trace; leave it out")
    hosts = NUM_HOSTS if num_hosts is None else num_hosts
    return PacketFabric(num_hosts=hosts, capacity=_capacity(HOST_CAPACITY if capacity is None else capacity))


def _ideal_fct(workload: Workload, packets: PacketFlows, fabric: PacketFabric, delay: float) -> FloatArray:
    """Returns the completion times of flows alone, and checks that the fabric has their hosts."""
    if workload.num_hosts > fabric.num_hosts:
        raise ConfigError(f"num_hosts is {fabric.num_hosts}: the flows have hosts up to {workload.num_hosts - 1}")
    size, first = packets.table.size, packets.first_packet[:-1]
    across = fabric.crosses(workload.source, workload.destination)
    return fabric.ideal_fct(np.add.reduceat(size, first), size[first], across, delay)


def _taken(options: dict[str, object], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: options.pop(name) for name in names if name in options}


def _capacity(capacity: object) -> float:
    value = to_float(DEFAULT_CAPACITY if capacity is None else capacity)
    if not 0 < value < np.inf:
        raise ConfigError(f"capacity is {shown(capacity)}: it must be a finite number of B/s > 0")
    return value


def _keys(ids: IntArray) -> tuple[IntArray, IntArray]:
    """Numbers flows: returns the number of each packet's flow, and the identifier of each number."""
    largest = int(ids.max())
    if largest < DENSE * len(ids):
        return ids, np.arange(largest + 1)
    known, number = np.unique(ids, return_inverse=True)
    return number.reshape(-1), known


def _left_to_send(flow: IntArray, size: FloatArray) -> FloatArray:
    """Returns the bytes that each packet's flow has left, its own included: sums from the end."""
    left = [0.0] * (int(flow.max()) + 1)
    remaining = []
    for number, bytes_sent in zip(flow[::-1].tolist(), size[::-1].tolist(), strict=True):
        left[number] += bytes_sent
        remaining.append(left[number])
    return np.array(remaining[::-1])


def _run(simulation: PacketReplay, arrival: FloatArray, progress: Progress) -> None:
    total = len(arrival)
    for time in np.unique(np.sort(arrival)[:: max(total // PROGRESS_STEPS, 1)]):
        if time > simulation.env.now:
            simulation.run(until=float(time))
        progress(simulation.num_delivered, total)
    simulation.run()
    progress(simulation.num_delivered, total)
