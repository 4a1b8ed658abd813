"""The arguments of TAFE's environment of tasks, checked."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from flowsched_gym.arrays import FloatArray
from flowsched_gym.envs.arguments import convert_integers, convert_members, convert_numbers
from flowsched_gym.errors import ConfigError, shown
from flowsched_gym.model.stages import Barrier
from flowsched_gym.units import (
    BYTES_PER_KILOBYTE,
    SECONDS_PER_MICROSECOND,
    SECONDS_PER_MILLISECOND,
    gbps_to_capacity,
)

__all__ = ["Information", "TAFETasksConfig", "TasksTopology"]

WAITING_RATIO: Final = 10.0
"""Times of tasks are squashed by this many times that of a transfer of usual size: they wait for others."""


class TasksTopology(StrEnum):
    """The network on which tasks compete."""

    ONE_LINK = "one-link"
    """One link, and one CPU, that all flows share."""
    BIG_SWITCH = "big-switch"
    """One switch that joins all hosts, each with a CPU."""


class Information(StrEnum):
    """What the agent knows of tasks."""

    ATTAINED = "attained"
    """What they have had: the paper's premise, as a switch cannot know how much is still to come."""
    FULL = "full"
    """What is left of them too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TAFETasksConfig:
    """The arguments of TAFE's environment of tasks.

    Attributes:
        workload: Name of a workload (``flowsched list``) or path of a flow file (``.csv``, ``.parquet``, ``.pq``).
        load: Poisson arrivals: offered bytes per s over the capacity of one link, > 0; ``None`` for the workload's own.
        tasks: Tasks of an episode, >= 1; ``None`` for the workload's own.
        topology: Network on which tasks compete, ``one-link`` or ``big-switch``.
        cpus: Share of a whole CPU that each host has, > 0, or one share for all; ``None`` for whole ones.
        barrier: When a flow whose CPU work is done may send: ``flow`` (at once) or ``task`` (when that of its whole
            task is done).
        f: Flows that the agent sees (slots), >= 1.
        information: What it knows of tasks, ``attained`` or ``full``.
        typical_kb: Bytes of a flow, in KB, that become one half in the observation, > 0. Times become one half at what
            these take to send, those of waiting at ten times that.
        reward_scale_ms: Task time in ms that is a reward of -1, > 0.
        tail_weight: Weight of the term ``tail`` in the reward, >= 0.
        link_gbps: Capacity of each link in Gbps, > 0 (TAFE, section V-A: 1).
        link_delay_us: Propagation delay of each link in us, >= 0.
        max_decisions: Decisions after which an episode is truncated, >= 1; ``None`` for no limit.

    Raises:
        ConfigError: An argument has another type or is out of its range.
    """

    workload: str = "tafe-log"
    load: float | None = None
    tasks: int | None = None
    topology: TasksTopology = TasksTopology.ONE_LINK
    cpus: tuple[float, ...] | None = None
    barrier: Barrier = Barrier.FLOW
    f: int = 16
    information: Information = Information.ATTAINED
    typical_kb: float = 1_000.0
    reward_scale_ms: float = 10.0
    tail_weight: float = 0.0
    link_gbps: float = 1.0
    link_delay_us: float = 0.0
    max_decisions: int | None = None

    def __post_init__(self) -> None:
        """Checks the arguments, and turns names into members and numbers into Python's own."""
        convert_members(self, {"topology": TasksTopology, "barrier": Barrier, "information": Information})
        convert_integers(self, {"f": 1, "tasks": 1, "max_decisions": 1})
        convert_numbers(
            self,
            positive=("load", "typical_kb", "reward_scale_ms", "link_gbps"),
            at_least_0=("tail_weight", "link_delay_us"),
        )
        if self.cpus is not None:
            self._check_cpus(self.cpus)

    def _check_cpus(self, cpus: object) -> None:
        """Checks shares of CPUs, and turns them into Python's own numbers."""
        try:
            shares: FloatArray = np.atleast_1d(np.asarray(cpus, dtype=np.float64))
        except (TypeError, ValueError):
            shares = np.full(1, np.nan)
        if shares.ndim != 1 or not len(shares) or not (np.isfinite(shares) & (shares > 0)).all():
            raise ConfigError(f"cpus is {shown(cpus)}: it must have a share of a CPU for each host, or one, each > 0")
        object.__setattr__(self, "cpus", tuple(shares.tolist()))

    @property
    def shares(self) -> float | tuple[float, ...]:
        """Share of a whole CPU of each host, or of all."""
        if self.cpus is None:
            return 1.0
        return self.cpus[0] if len(self.cpus) == 1 else self.cpus

    @property
    def capacity(self) -> float:
        """Capacity of each link in B/s."""
        return gbps_to_capacity(self.link_gbps)

    @property
    def delay(self) -> float:
        """Propagation delay of each link in s."""
        return self.link_delay_us * SECONDS_PER_MICROSECOND

    @property
    def size_scale(self) -> float:
        """Bytes that become one half."""
        return self.typical_kb * BYTES_PER_KILOBYTE

    @property
    def time_scale(self) -> float:
        """Time of service in s that becomes one half."""
        return self.size_scale / self.capacity

    @property
    def waiting_scale(self) -> float:
        """Time since an arrival in s that becomes one half."""
        return WAITING_RATIO * self.time_scale

    @property
    def reward_scale(self) -> float:
        """Task time in s that is a reward of -1."""
        return self.reward_scale_ms * SECONDS_PER_MILLISECOND
