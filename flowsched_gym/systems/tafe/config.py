"""What the environments of TAFE have in common: tasks, and the network on which they compete."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from flowsched_gym.core.arrays import as_numbers, is_sequence
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.units import SECONDS_PER_MICROSECOND, SECONDS_PER_MILLISECOND, gbps_to_capacity
from flowsched_gym.envs.arguments import convert_integers, convert_members, convert_numbers
from flowsched_gym.fluid.stages import Barrier
from flowsched_gym.topology import Topology, add_cpus, make_topology


class TAFETopology(StrEnum):
    """The network on which tasks compete."""

    ONE_LINK = "one-link"
    """One link, and one CPU, that all flows share."""
    BIG_SWITCH = "big-switch"
    """One switch that joins all hosts, each with a CPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TAFEConfig:
    """Arguments of every environment of TAFE.

    Attributes:
        workload: Name of a workload (``flowsched list``), or path of a workload or flow file (``.yaml``, ``.csv``).
        load: Poisson arrivals: offered bytes per s over the capacity of one link, > 0; ``None`` for the workload's own.
        tasks: Tasks of an episode, >= 1; ``None`` for the workload's own.
        topology: Network on which tasks compete, ``one-link`` or ``big-switch``.
        cpus: Share of a whole CPU that each host has, > 0, or one share for all; ``None`` for whole ones.
        barrier: When a flow whose CPU work is done may send: ``flow`` (at once) or ``task`` (when that of its whole
            task is done).
        link_gbps: Capacity of each link in Gbps, > 0 (TAFE, section V-A: 1).
        link_delay_us: Propagation delay of each link in us, >= 0.
        reward_scale_ms: Task time in ms that is a reward of -1, > 0.
        max_decisions: Decisions after which an episode is truncated, >= 1; ``None`` for no limit.

    Raises:
        ConfigError: An argument has another type or is out of its range.
    """

    workload: str = "tafe-log"
    load: float | None = None
    tasks: int | None = None
    topology: TAFETopology = TAFETopology.ONE_LINK
    cpus: tuple[float, ...] | None = None
    barrier: Barrier = Barrier.FLOW
    link_gbps: float = 1.0
    link_delay_us: float = 0.0
    reward_scale_ms: float = 10.0
    max_decisions: int | None = None

    def __post_init__(self) -> None:
        """Checks the arguments, and turns names into members and numbers into Python's own."""
        convert_members(self, {"topology": TAFETopology, "barrier": Barrier})
        convert_integers(self, {"tasks": 1, "max_decisions": 1})
        convert_numbers(self, positive=("load", "link_gbps", "reward_scale_ms"), at_least_0=("link_delay_us",))
        if self.cpus is not None:
            self._check_cpus(self.cpus)

    def _check_cpus(self, cpus: object) -> None:
        """Checks shares of CPUs, and turns them into Python's own numbers."""
        shares = as_numbers(cpus if is_sequence(cpus) else [cpus])
        if shares is None or not len(shares) or not (np.isfinite(shares) & (shares > 0)).all():
            raise ConfigError(f"cpus is {shown(cpus)}: it must have a share of a CPU for each host, or one, each > 0")
        object.__setattr__(self, "cpus", tuple(shares.tolist()))

    @property
    def capacity(self) -> float:
        """Capacity of each link in B/s."""
        return gbps_to_capacity(self.link_gbps)

    @property
    def reward_scale(self) -> float:
        """Task time in s that is a reward of -1."""
        return self.reward_scale_ms * SECONDS_PER_MILLISECOND

    def make_network(self, num_hosts: int) -> Topology:
        """Makes the topology with its CPUs.

        Raises:
            ConfigError: There are shares of CPUs for another number of hosts.
        """
        delay = self.link_delay_us * SECONDS_PER_MICROSECOND
        links = make_topology(self.topology, num_hosts=num_hosts, capacity=self.capacity, delay=delay)
        if self.cpus is None:
            return add_cpus(links)
        return add_cpus(links, self.cpus[0] if len(self.cpus) == 1 else self.cpus)
