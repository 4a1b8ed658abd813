"""What the environments of TAFE have in common: tasks, and the network on which they compete."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray, as_numbers, is_sequence
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.units import SECONDS_PER_MILLISECOND
from flowsched_gym.envs.arguments import (
    LOADS,
    OWN,
    Choice,
    Converted,
    LinkConfig,
    Packets,
    about_workload,
    argument,
    delay_argument,
    limit_argument,
    link_argument,
    packets_argument,
)
from flowsched_gym.envs.own_network import OwnOr, settle_network, topology_argument
from flowsched_gym.flows.fields import index_tasks
from flowsched_gym.flows.stages import Barrier
from flowsched_gym.packets.parameters import BY_TASK, NetworkParameters
from flowsched_gym.topology import Topology, add_cpus, make_topology
from flowsched_gym.workload import (
    JobWorkload,
    ReadWorkload,
    TaskWorkload,
    WorkloadLike,
    WorkloadSource,
    fit_workload,
)

NUM_EPISODES: Final = 10
PART_OF_LARGEST: Final = 0.75


class TAFETopology(StrEnum):
    """The network on which tasks compete."""

    ONE_LINK = "one-link"
    """One link, and one CPU, that all flows share."""
    BIG_SWITCH = "big-switch"
    """One switch that joins all hosts, each with a CPU."""


def _shares(name: str, given: object) -> tuple[float, ...]:
    shares = as_numbers(given if is_sequence(given) else [given])
    if shares is None or not len(shares) or not (np.isfinite(shares) & (shares > 0)).all():
        raise ConfigError(f"{name} is {shown(given)}: it must have a share of a CPU for each host, or one, each > 0")
    return tuple(shares.tolist())


@dataclass(frozen=True, slots=True, kw_only=True)
class TAFEConfig(LinkConfig):
    """Arguments of every environment of TAFE."""

    workload: WorkloadLike = field(default="tafe-log", kw_only=False, metadata=about_workload())
    load: float | None = argument(
        None, none=OWN, between=LOADS, meaning="Poisson arrivals: offered bytes per s over the capacity of one link"
    )
    tasks: int | None = argument(None, none=OWN, at_least=1, meaning="tasks of an episode")
    topology: OwnOr[TAFETopology] = topology_argument(TAFETopology.ONE_LINK, "network on which tasks compete")
    cpus: Converted[float | Sequence[float] | None, tuple[float, ...] | None] = argument(
        None,
        convert=_shares,
        meaning="share of a whole CPU that each host has, > 0, or one share for all",
        none="whole ones",
    )
    barrier: Choice[Barrier] = argument(
        Barrier.FLOW,
        meaning="when a flow whose CPU work is done may send: at once (``flow``), or when that of its whole task is "
        "done (``task``)",
    )
    packets: Packets = packets_argument()
    link_gbps: float = link_argument(1.0, "TAFE, section V-A: 1")
    link_delay_us: float = delay_argument(0.0)
    reward_scale_ms: float = argument(10.0, above=0, unit="ms", meaning="task time that is a reward of -1")
    max_decisions: int | None = limit_argument()

    def check(self) -> None:
        """Takes the capacity of hosts from a network of one's own."""
        settle_network(self)

    @property
    def reward_scale(self) -> float:
        """Task time in s that is a reward of -1."""
        return self.reward_scale_ms * SECONDS_PER_MILLISECOND

    @property
    def senders(self) -> NetworkParameters | None:
        """Parameters of packets, by which the bytes of a task are counted together; ``None`` for a fluid."""
        senders = super(TAFEConfig, self).senders
        return None if senders is None else replace(senders, messages=BY_TASK)

    def make_network(self, num_hosts: int) -> Topology:
        """Makes the topology with its CPUs."""
        links = make_topology(self.topology, num_hosts=num_hosts, capacity=self.capacity, delay=self.delay)
        if self.cpus is None:
            return add_cpus(links)
        return add_cpus(links, self.cpus[0] if len(self.cpus) == 1 else self.cpus)

    def source_of(self, workload: ReadWorkload) -> WorkloadSource:
        """Finds where tasks are drawn from: a load is one of a link of this network.

        With a load among the arguments arrivals are Poisson's, also where clients would take turns.
        """
        return fit_workload(
            workload,
            self.workload_changes(),
            kinds=(TaskWorkload, JobWorkload),
            what="drawn tasks",
            capacity=self.capacity,
            network=lambda one, source: {"capacity": self.capacity},
        )


def paper_thresholds(source: WorkloadSource) -> FloatArray:
    """Returns the mean size of a task and 3/4 of that of the largest one in B (TAFE, section V-B), (2,).

    Both are means over ten episodes, drawn with seeds that belong to no environment.
    """
    means, largest = [], []
    for seed in range(NUM_EPISODES):
        flows = source.draw(seed)
        total = np.bincount(index_tasks(flows), flows.size)
        means.append(math.fsum(total) / max(len(total), 1))
        largest.append(float(total.max(initial=0.0)))
    return np.array([math.fsum(means), PART_OF_LARGEST * math.fsum(largest)]) / NUM_EPISODES
