"""Runs a discipline on given flows, without an environment: references and bounds."""

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym import workload as workloads
from flowsched_gym.core.arrays import is_whole
from flowsched_gym.core.checks import check_choice
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.files import Progress
from flowsched_gym.core.hooks import make_from
from flowsched_gym.envs.own_network import network_fields
from flowsched_gym.flows.stages import Barrier
from flowsched_gym.fluid import Discipline, Records
from flowsched_gym.fluid.compiled import run_compiled
from flowsched_gym.fluid.disciplines import make_discipline
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.registration import load_target
from flowsched_gym.topology import (
    DEFAULT_CAPACITY,
    Routing,
    Topology,
    TopologyLike,
    add_cpus,
    import_network,
    is_own_network,
    make_routing,
    make_topology,
)
from flowsched_gym.workload import Workload
from flowsched_gym.workload.columns import are_flow_columns

ENGINES: Final = ("simpy", "compiled")
OWN_PARAMETERS: Final = ("delay", "routing", "flowlet_gap", "link_changes", "barrier", "cpus")
"""Parameters of a replay that no discipline takes."""
SEED_END: Final = 2**64
"""Seeds of the hash are words of 64 bits."""
FITTED: Final = (workloads.PoissonWorkload, workloads.ClusterWorkload, workloads.TaskWorkload, workloads.JobWorkload)
"""Kinds of workloads that take a capacity, or hosts, from the network."""
FILE_SUFFIX: Final = ".py"
PROGRESS_STEPS: Final = 200
"""How often progress is reported in a run."""


def replay(
    flows: str | PathLike[str] | Workload | Mapping[str, Sequence[object] | npt.NDArray[np.generic]],
    *,
    discipline: str | Discipline,
    topology: TopologyLike | Topology = "one-link",
    capacity: float | None = None,
    parameters: Mapping[str, object] | None = None,
    seed: int = 0,
    engine: str = "simpy",
    num_hosts: int | None = None,
    progress: Progress | None = None,
) -> Records:
    """Runs a discipline on flows and returns the records of each.

    Args:
        flows: Path of a flow file or of a workload file, name of a workload, a ``Workload``, or a mapping of equally
            long sequences with the flow file's column names, or a frame of pandas or Polars that has them.
        discipline: Name of a discipline (``flowsched list``), or one of your own, which serves this replay: an object,
            or its class as ``module:Class``, ``file.py:Class`` or ``file.py``.
        topology: Name of a topology, a network of your own (a file, a mapping, or a graph of networkx; see
            ``docs/networks.md``), or one built before. On ``one-link`` all flows share one link, whatever their hosts;
            on many links ``ps`` is max-min fair and ordered disciplines are greedy in their order.
        capacity: Capacity of every link in B/s, in a network of your own of those that give none; ``None`` for 1 Gbps.
        parameters: Parameters of the discipline (``thresholds``, ``within``, ``queue``, ``weights``); ``delay``, the
            propagation delay of every link in s (0); ``routing``, how flows choose among equal paths (``ecmp``;
            ``flowsched list``) with its ``flowlet_gap``; ``link_changes``, rows (time in s, link, whether it comes up),
            in place of those of the workload; ``cpus``, each host's share of a whole CPU (1; on ``one-link`` all flows
            share one); ``barrier``, when a flow whose CPU work is done may send: at once (``flow``), or when that of
            its task is done (``task``).
        seed: Seed of the hash by which flows are spread over the equal paths of ``leaf-spine`` and ``fat-tree``, and
            of the flows of a workload that draws them.
        engine: ``simpy``, the reference, or ``compiled``, which gives the same bits sooner.
        num_hosts: Hosts of a topology whose size is free; ``None`` for the smallest that holds the flows.
        progress: Called now and then with the number of flows done and of all flows.

    Returns:
        Records in the order of the flows. Where all flows arrive far from 0, such as at Unix times, the clock starts at
        the first arrival, and ``fct`` has the digits that absolute times cannot have.

    Raises:
        ConfigError: A name or parameter is unknown, or a value is not allowed.
        FlowFileError: The flow file has a fault.
        WorkloadError: The flows cannot be simulated.
    """
    check_choice("engine", engine, ENGINES)
    check_seed(seed)
    options: dict[str, Any] = options_of(parameters)
    has_delay, delay = "delay" in options, options.pop("delay", 0.0)
    given = with_link_changes(workload_of(flows, int(seed), topology, capacity), options)
    workload, start = given.on_clock()
    routing = _routing(options, needed=workload.link_changes is not None)
    barrier = check_choice("barrier", options.pop("barrier", Barrier.FLOW), Barrier)
    cpus = options.pop("cpus", None)
    discipline = own_rule("discipline", discipline, Discipline, options, beside=OWN_PARAMETERS)
    if not isinstance(discipline, Discipline):
        discipline = make_discipline(discipline, options, beside=OWN_PARAMETERS)
    elif options:
        raise ConfigError(f"parameters has {shown(next(iter(options)))}: a discipline that is made already takes none")
    if not isinstance(topology, Topology):
        hosts = max(workload.num_hosts, 2) if num_hosts is None else num_hosts
        each_link = _number("capacity", DEFAULT_CAPACITY if capacity is None else capacity)
        pairs = workload.source, workload.destination
        topology = make_topology(
            topology, num_hosts=hosts, capacity=each_link, delay=_number("delay", delay), pairs=pairs
        )
    elif capacity is not None or num_hosts is not None or has_delay:
        raise ConfigError("capacity, num_hosts and delay belong to a topology given by name, not to one built before")
    elif topology.num_cpus and cpus is not None:
        raise ConfigError(f"cpus is given, and topology {topology.name} was built with CPUs: only one of these can be")
    if not topology.num_cpus and (workload.has_cpu_work or cpus is not None):
        topology = add_cpus(topology, 1.0 if cpus is None else cpus)
    how: dict[str, Any] = {"routing": routing, "barrier": barrier, "seed": seed}
    if engine == "compiled":
        records = run_compiled(workload, topology, discipline, progress=progress, **how)
    else:
        simulation = Simulation(workload, topology, discipline, **how)
        if progress is None:
            simulation.run()
        else:
            _run_with_progress(simulation, progress)
        records = simulation.records()
    return records.since(start, given.arrival_time)


def own_rule(what: str, given: Any, base: type, options: dict[str, Any], *, beside: tuple[str, ...]) -> Any:
    """Makes a rule of a class of one's own, and takes its parameters out of the options; returns all else as it is.

    The class is ``module:Class``, ``file.py:Class``, or the only one of ``file.py`` that derives from ``base``.

    Raises:
        ConfigError: There is no such class, or it is not made of these parameters.
    """
    if not isinstance(given, str) or not (":" in given or given.endswith(FILE_SUFFIX)):
        return given
    try:
        if given.endswith(FILE_SUFFIX):
            members = load_target(f"{given}:__dict__")
            classes = [each for each in members.values() if isinstance(each, type) and issubclass(each, base)]
            own = [each for each in classes if each.__module__ == members["__name__"]]
            if len(own) != 1:
                names = ", ".join(each.__name__ for each in own) or "none"
                raise ConfigError(f"file.py:Class must name a subclass of {base.__name__}; it has {names}")
            (cls,) = own
        else:
            cls = load_target(given)
            if not (isinstance(cls, type) and issubclass(cls, base)):
                raise ConfigError(f"it must be a subclass of {base.__name__}")
    except (ConfigError, ImportError, SyntaxError) as error:
        reason = re.sub("^target is '.*?': ", "", str(error))
        raise ConfigError(f"{what} is {given!r}: {reason}") from None
    made = make_from(cls, f"{what} {given}", options, beside=beside)
    options.clear()
    return made


def check_seed(seed: object) -> int:
    """Refuses what is no seed of a hash."""
    if not is_whole(seed) or not 0 <= seed < SEED_END:
        raise ConfigError(f"seed is {shown(seed)}: it must be an integer >= 0 and below 2**64")
    return int(seed)


def options_of(parameters: Mapping[str, object] | None) -> dict[str, object]:
    """Copies the parameters of a replay, and refuses what is no mapping."""
    if parameters is not None and not isinstance(parameters, Mapping):
        raise ConfigError(f"parameters is {shown(parameters)}: it must be a mapping of names to values")
    return dict(parameters or {})


def workload_of(
    flows: object, seed: int, topology: Any, capacity: float | None, *, progress: Progress | None = None
) -> Workload:
    """Reads, draws or makes the flows of a `replay`; ``progress`` is called with the bytes done and all, for CSV."""
    if isinstance(flows, Workload):
        return flows
    if workloads.is_workload_file(flows) or (workloads.is_workload_name(flows) and not os.path.exists(flows)):
        return _fitted(workloads.read_workload(flows), topology, capacity).draw(seed)
    if isinstance(flows, (str, PathLike)):
        return workloads.read_flows(flows, progress=progress)
    if isinstance(flows, Mapping) or are_flow_columns(flows):
        return workloads.workload_from_columns(flows)
    needed = "a path, a Workload or a mapping of columns, or a frame"
    raise ConfigError(f"flows is {type(flows).__name__}: it must be {needed}")


def with_link_changes(flows: Workload, options: dict[str, Any]) -> Workload:
    """Removes the changes of links from the options of a replay, if any, and returns the flows with them."""
    changes = options.pop("link_changes", None)
    if changes is None:
        return flows
    if not isinstance(changes, Iterable) or getattr(changes, "ndim", 1) == 0:
        rows = "rows of (time in s, link, whether it comes up)"
        raise ConfigError(f"link_changes is {shown(changes)}: it must be {rows}")
    return replace(flows, link_changes=workloads.LinkChanges.of(changes))


def _fitted(workload: workloads.ReadWorkload, topology: Any, capacity: float | None) -> workloads.WorkloadSource:
    """Fits what a workload file leaves open to its network, as environments do, and a name to one of one's own."""
    usual = _number("capacity", DEFAULT_CAPACITY if capacity is None else capacity)
    own = import_network(topology)[0].filled(capacity=usual, delay=0.0) if is_own_network(topology) else None
    if own is None and (isinstance(workload.given, str) or isinstance(topology, Topology)):
        return workload.source
    network = partial(network_fields, own, usual if own is None else own.host_capacity)
    return workloads.fit_workload(workload, {}, kinds=FITTED, what="its load", capacity=math.nan, network=network)


def _routing(options: dict[str, Any], *, needed: bool) -> Routing | None:
    """Removes the routing from the options; none where a hash alone decides."""
    gap = {name: options.pop(name) for name in ("flowlet_gap",) if name in options}
    name = options.pop("routing", None)
    if name is None and gap:
        raise ConfigError("flowlet_gap is given without a routing: it belongs to routing 'conga'")
    return make_routing("ecmp" if name is None else name, **gap) if needed or name is not None else None


def _number(name: str, value: object) -> float:
    """Refuses what is not a number; the topology checks its range."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise ConfigError(f"{name} is {shown(value)}: it must be a number")
    try:
        return float(value)
    except OverflowError:
        raise ConfigError(f"{name} is {shown(value)}: it must be a finite number") from None


def _run_with_progress(simulation: Simulation, progress: Progress) -> None:
    total = simulation.workload.num_flows
    for time in (*np.sort(simulation.workload.arrival_time)[:: max(total // PROGRESS_STEPS, 1)].tolist(), math.inf):
        simulation.run(until=time)
        progress(simulation.num_delivered, total)
