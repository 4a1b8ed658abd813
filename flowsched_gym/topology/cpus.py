"""CPUs of hosts: resources that flows share before they send, as they share links.

``machine_mix`` draws machines as TAFE's cluster has them: the six most frequent ones of Google's trace of 2011 (section
V-B). Shares and counts are those of the public trace (Reiss, Wilkes and Hellerstein, Google cluster-usage traces, CC-BY
4.0): 12,569 machines with (CPU, memory) of (0.5, 0.5), (0.5, 0.25), (0.5, 0.75), (1, 1), (0.25, 0.25) and (0.5, 0.12)
of the largest one.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray, as_numbers, is_sequence, to_float
from flowsched_gym.core.checks import check_between
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.seeding import SeedStreams, integers
from flowsched_gym.flows.workload import Workload
from flowsched_gym.topology.fabrics import MOST_SWITCH_HOSTS
from flowsched_gym.topology.topology import Topology

CPU_SHARES: Final = (0.5, 0.5, 0.5, 1.0, 0.25, 0.5)
NUM_MACHINES: Final = (6732, 3863, 1001, 795, 126, 52)
"""CPU of each kind of machine over that of the largest one, and how many machines of it there were."""


def add_cpus(topology: Topology, cpus: float | Sequence[float] | FloatArray = 1.0) -> Topology:
    """Adds a CPU to each host; on ``one-link``, one for all flows.

    A CPU is a link without delay behind those of the network, with a path of its own; its capacity is its share of a
    whole CPU, seconds of CPU time per second: (num_hosts,), > 0, or one share for all.

    Raises:
        ConfigError: A share is not finite and > 0, or there is not one for each host.
    """
    num_cpus = max(topology.num_hosts, 1)
    shares = as_numbers(cpus) if is_sequence(cpus) else np.array(to_float(cpus))
    if shares is None:
        raise ConfigError(f"cpus is {shown(cpus)}: it must be a share of a CPU, or one for each host")
    if shares.ndim == 1 and len(shares) != num_cpus:
        raise ConfigError(f"cpus is {shown(cpus)}: topology {topology.name} has {num_cpus} CPUs, each needs one share")
    if not (np.isfinite(shares) & (shares > 0)).all():
        raise ConfigError(f"cpus is {shown(cpus)}: each share of a CPU must be finite and > 0")
    num_paths, num_steps = len(topology.path_start) - 1, len(topology.path_links)
    pair_start = np.arange(num_paths + 1) if topology.pair_start is None else topology.pair_start
    return replace(
        topology,
        capacity=np.concatenate([topology.capacity, np.broadcast_to(shares, num_cpus)]),
        delay=np.concatenate([topology.delay, np.zeros(num_cpus)]),
        link_names=(*topology.link_names, *(f"CPU of host {host}" for host in range(num_cpus))),
        path_start=np.concatenate([topology.path_start, num_steps + 1 + np.arange(num_cpus)]),
        path_links=np.concatenate([topology.path_links, topology.num_links + np.arange(num_cpus)]),
        pair_start=pair_start,
        num_cpus=num_cpus,
    )


def cpu_path(topology: Topology, source: IntArray) -> IntArray:
    """Returns the rows of the path table that stand for the CPUs of hosts, (num_flows,) int64."""
    first = len(topology.path_start) - 1 - topology.num_cpus
    path: IntArray = first + (source if topology.num_hosts else np.zeros(len(source), dtype=np.int64))
    return path


def cpu_seconds(topology: Topology, source: IntArray, cpu_time: FloatArray) -> FloatArray:
    """Returns how long seconds of a whole CPU take alone at a host, in s, (num_flows,); hosts without CPUs have one."""
    if not topology.num_cpus:
        return cpu_time
    return cpu_time / topology.path_capacity(cpu_path(topology, source))


def check_cpu_work(flows: Workload, topology: Topology) -> None:
    """Checks that CPUs can do the work of flows.

    Raises:
        ConfigError: There is CPU work, and there are no CPUs.
        WorkloadError: It takes no time, or too long.
    """
    assert flows.cpu_time is not None
    working = flows.cpu_time > 0
    if not working.any():
        return
    if not topology.num_cpus:
        raise ConfigError(f"flows have CPU work: topology {topology.name} has no CPUs (add_cpus)")
    path = cpu_path(topology, flows.source[working])
    topology.check_times(path, flows.cpu_time[working], flows.arrival_time[working])


def machine_mix(num_hosts: int, *, seed: int) -> FloatArray:
    """Draws the CPU of each host, (num_hosts,) float64, for the parameter ``cpus`` of a replay.

    Shares of the largest machine's CPU are 0.25, 0.5 or 1. More hosts with the same seed, an integer >= 0, begin with
    the same machines. On ``one-link`` all hosts share one CPU.

    Raises:
        ConfigError: The number of hosts or the seed is not allowed.
    """
    num_hosts = check_between("topology machine-mix: num_hosts", num_hosts, 1, MOST_SWITCH_HOSTS)
    until = np.cumsum(NUM_MACHINES)
    machine = integers(SeedStreams(seed)["machines"], int(until[-1]), num_hosts)
    return np.array(CPU_SHARES)[np.searchsorted(until, machine, side="right")]
