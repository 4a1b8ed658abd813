"""Runs a scheduler of packets without an environment: packets given to one port, or flows sent in packets."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray, IntArray, to_float
from flowsched_gym.core.checks import check_choice
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.files import Progress
from flowsched_gym.evaluation.replay import (
    ENGINES,
    PROGRESS_STEPS,
    check_seed,
    options_of,
    own_rule,
    with_link_changes,
    workload_of,
)
from flowsched_gym.flows.records import complete_records
from flowsched_gym.flows.workload import start_of_clock
from flowsched_gym.fluid import Records
from flowsched_gym.packets.compiled import Outcome, run_compiled
from flowsched_gym.packets.contract import PacketTable
from flowsched_gym.packets.file import packets_from_columns, read_packets
from flowsched_gym.packets.network import PacketFlows, PacketNetwork
from flowsched_gym.packets.parameters import NETWORK_PARAMETERS, PORT_PARAMETERS, NetworkParameters, PortParameters
from flowsched_gym.packets.schedulers import PacketSetup, Scheduler, find_scheduler
from flowsched_gym.packets.simpy import DetectingReplay, Network, PacketLog, PacketServing
from flowsched_gym.packets.state import FlowOutcomes, PacketRecords, PacketTrace, trace_of
from flowsched_gym.topology import DEFAULT_CAPACITY, Topology, TopologyLike, make_topology, one_link
from flowsched_gym.workload import Workload

Columns = Mapping[str, Sequence[object] | npt.NDArray[np.generic]]


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
        scheduler: Name of a scheduler (``flowsched list``), or your own (see ``docs/packets.md``): an object, or its
            class as ``module:Class``, ``file.py:Class`` or ``file.py``.
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
    scheduler = own_rule("scheduler", scheduler, Scheduler, options, beside=PORT_PARAMETERS)
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
    setup = PacketSetup(
        scheduler=rule,
        topology=one_link(capacity=_capacity(capacity)),
        parameters=NetworkParameters(payload=float(given.size.max()), header=0.0),
        seed=check_seed(seed),
    )
    nowhere = np.zeros(len(flow), dtype=np.int64)
    packets_alone = PacketFlows(
        times, nowhere, nowhere, nowhere, nowhere, table, flow_id, given.size, given.size, 0.0 * times
    )
    network = setup.network_of(packets_alone, port=port)
    return trace_of(_run(network, engine, keep_trace=True).rows, flow_id).since(start)


def replay_packets(
    flows: str | PathLike[str] | Workload | Columns,
    *,
    scheduler: str | Scheduler,
    topology: TopologyLike | Topology = "one-link",
    capacity: float | None = None,
    parameters: Mapping[str, object] | None = None,
    seed: int = 0,
    engine: str = "simpy",
    num_hosts: int | None = None,
    progress: Progress | None = None,
    keep_trace: bool = False,
) -> PacketRecords:
    """Sends flows in packets across a network of ports, and returns the records of each flow.

    Each link has a port with queues, a buffer, a threshold of marks and the scheduler, those of hosts too. A port
    stores a packet whole before it hands it on. Senders detect losses by selective acknowledgements and timers, as TCP
    does (``packets.rules.tcp``); those with fixed windows take nothing as lost where buffers are unlimited. An FCT runs
    from the arrival of a flow, when the SYN is sent where there is a handshake, to the last byte at the receiver.
    Messages are counted, without error, at the hosts, which tag their packets. At one instant
    packets arrive behind links, those of the least delay first, and then transmissions end, both in the order in which
    their transmissions began, as in ns-3; then timers expire and flows arrive, by id; last, idle ports choose.

    Args:
        flows: Path of a flow file or of a workload file, name of a workload, a ``Workload``, or a mapping with the flow
            file's columns.
        scheduler: As for `serve_packets`. It counts bytes of payload.
        topology: Name of a topology, a network of your own (see ``replay``), or one built before. On ``one-link`` all
            flows share one port, whatever their hosts, and acknowledgements that are packets share one on the way back.
        capacity: Capacity of every link in B/s, in a network of your own of those that give none; ``None`` for 1 Gbps.
        parameters: Parameters of the scheduler (see its class in ``flowsched_gym.packets.schedulers``), of ports and
            senders (see ``NetworkParameters`` in ``flowsched_gym/packets/parameters.py``); ``link_changes`` as for
            ``replay``: what waits for a link that fails is lost, and flows take other paths at once.
        seed: Seed of the hash by which flows choose among equal paths, of the sketch's hash, and of the flows of a
            workload that draws them.
        engine: ``simpy``, the reference, or ``compiled``, which gives the same bits sooner.
        num_hosts: Hosts of a topology whose size is free; ``None`` for the smallest that holds the flows.
        progress: Called now and then with the number of flows done and of all flows.
        keep_trace: Whether to keep what became of each packet at the port of ``one-link``.

    Returns:
        Records in the order of the flows.

    Raises:
        ConfigError: A name or parameter is unknown, or a value is not allowed.
        FlowFileError: The flow file has a fault.
        WorkloadError: The flows cannot be simulated.
        SimulationError: More than 16 million packets are on their way.
    """
    check_choice("engine", engine, ENGINES)
    options = options_of(parameters)
    if topology == "one-link" and num_hosts is not None:
        raise ConfigError(f"num_hosts is {shown(num_hosts)}: topology one-link has no hosts to count; leave it out")
    if isinstance(topology, Topology) and (capacity is not None or num_hosts is not None or "delay" in options):
        raise ConfigError("capacity, num_hosts and delay belong to a topology given by name, not to one built before")
    own = NetworkParameters(**_taken(options, NETWORK_PARAMETERS))
    given = with_link_changes(workload_of(flows, check_seed(seed), topology, capacity), options)
    beside = (*NETWORK_PARAMETERS, "link_changes")
    scheduler = own_rule("scheduler", scheduler, Scheduler, options, beside=beside)
    rule = find_scheduler(scheduler, options, beside=beside)
    workload, start = given.on_clock()
    if not isinstance(topology, Topology):
        hosts = max(workload.num_hosts, 2) if num_hosts is None else num_hosts
        there, back = workload.source, workload.destination  # acknowledgements go back
        pairs = np.concatenate([there, back]), np.concatenate([back, there])
        topology = make_topology(
            topology, num_hosts=hosts, capacity=_capacity(capacity), delay=float(own.delay), pairs=pairs
        )
    if keep_trace and topology.num_hosts:
        raise ConfigError("keep_trace is True: a network has many ports, and no trace; leave it out")
    setup = PacketSetup(scheduler=rule, topology=topology, parameters=own, seed=check_seed(seed))
    network = setup.network(workload)
    outcome = _run(network, engine, keep_trace=keep_trace, progress=progress)
    assert outcome.flows is not None
    records = complete_records(
        workload,
        grant_time=workload.arrival_time.copy(),
        completion_time=outcome.flows.completion_time,
        ideal_fct=network.ideal_fct(),
    ).since(start, given.arrival_time)
    trace = trace_of(outcome.rows, network.flows.flow_id).since(start) if keep_trace else None
    return _packet_records(records, network.flows, outcome.flows, trace)


def _run(network: PacketNetwork, engine: str, *, keep_trace: bool, progress: Progress | None = None) -> Outcome:
    """Sends flows, or packets that are given, by one of the engines."""
    if engine == "compiled":
        return run_compiled(network, keep_trace=keep_trace, progress=progress)
    log = PacketLog()
    observers = (log,) if keep_trace else ()
    if network.are_given:
        serving = PacketServing(network, observers)
        serving.run()
        return Outcome(None, log.rows(), 0)
    replay = DetectingReplay(network, observers)
    _run_to_end(replay, network.flows.arrival_time, progress or (lambda done, total: None))
    return Outcome(replay.outcomes(), log.rows(), 0)


def _packet_records(
    records: Records, packets: PacketFlows, outcomes: FlowOutcomes, trace: PacketTrace | None
) -> PacketRecords:
    counts = outcomes._asdict()
    del counts["completion_time"]
    named = {field.name: getattr(records, field.name) for field in fields(Records)}
    return PacketRecords(**named, packets=packets.packets, trace=trace, **counts)


def _taken(options: dict[str, object], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: options.pop(name) for name in names if name in options}


def _capacity(capacity: object) -> float:
    value = to_float(DEFAULT_CAPACITY if capacity is None else capacity)
    if not 0 < value < np.inf:
        raise ConfigError(f"capacity is {shown(capacity)}: it must be a finite number of B/s > 0")
    return value


def _keys(ids: IntArray) -> tuple[IntArray, IntArray]:
    """Numbers flows: returns the number of each packet's flow, and the identifier of each number."""
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


def _run_to_end(simulation: Network, arrival: FloatArray, progress: Progress) -> None:
    total = len(arrival)
    for time in np.unique(np.sort(arrival)[:: max(total // PROGRESS_STEPS, 1)]):
        if time > simulation.env.now:
            simulation.run(until=float(time))
        progress(simulation.num_delivered, total)
    simulation.run()
    progress(simulation.num_delivered, total)
