"""The arguments of AuTO's environment of thresholds, checked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from flowsched_gym.core.checks import check_one_of_two
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.periods import Period
from flowsched_gym.core.units import SECONDS_PER_MICROSECOND, SECONDS_PER_MILLISECOND, gbps_to_capacity
from flowsched_gym.envs.arguments import convert_integers, convert_members, convert_numbers
from flowsched_gym.fluid.disciplines.parameters import check_limits, check_within
from flowsched_gym.queueing.thresholds import NUM_QUEUES
from flowsched_gym.systems.auto.flows import flow_source
from flowsched_gym.workload import ClusterWorkload, PoissonWorkload, WorkloadLike, WorkloadSource


class ThresholdsTopology(StrEnum):
    """The network on which flows compete."""

    BIG_SWITCH = "big-switch"
    """One switch that joins all servers (AuTO, section 6)."""
    ONE_LINK = "one-link"
    """One link that all flows share: queueing theory holds there."""


class ThresholdsObservation(StrEnum):
    """What the agent sees."""

    SUMMARY = "summary"
    """Sizes and completion times by class of size, load, queues and thresholds, for each cluster."""
    PAPER = "paper"
    """The last finished flows, one by one."""


class ThresholdsReward(StrEnum):
    """The term that is the reward."""

    LOG_FCT = "log_fct"
    """Minus the logarithm of the mean completion time over what the same flows would take alone, on average."""
    LOG_SLOWDOWN = "log_slowdown"
    """Minus the logarithm of the mean slowdown."""
    FCT_RATIO = "fct_ratio"
    """The paper's: the mean completion time of the step before over that of this step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuTOThresholdsConfig:
    """The arguments of AuTO's environment of thresholds.

    Attributes:
        workload: Name of a workload (``flowsched list``), or path of a workload or flow file (``.yaml``, ``.csv``).
        topology: Network on which flows compete, ``big-switch`` or ``one-link``.
        load: Offered bytes per s over the capacity of the hosts' links, or of the one link, > 0; ``None`` for the
            workload's own.
        flows: Flows of an episode, >= 1; ``None`` for the workload's own.
        hosts: Servers, >= 2 (AuTO, section 6: 32).
        clusters: Groups of servers, in their order and of equal size, with thresholds of their own; it divides hosts.
        queues: Feedback queues (K), 2 to 8 (AuTO, section 6: 4).
        within: How a queue is served, ``ps`` (its flows share) or ``fifo``.
        period_flows: Flows that finish in a period, >= 1; exactly one of this and period_ms is given.
        period_ms: Length of a period in ms, > 0.
        initial_thresholds: Thresholds until the first action has been taken: numbers in B, increasing, one fewer than
            queues; or the name of a packaged size distribution, whose best thresholds at the workload's load are taken.
        observation: What the agent sees, ``summary`` or ``paper``.
        m_s: Finished flows that the paper's observation shows, >= 1 (AuTO: 100, 700 numbers).
        reward: Term that is the reward, ``log_fct``, ``log_slowdown`` or ``fct_ratio``.
        link_gbps: Capacity of each link in Gbps, > 0 (AuTO, section 6: 1).
        link_delay_us: Propagation delay of each link in us, >= 0 (AuTO, section 6: 100 us for the round trip).
        max_decisions: Decisions after which an episode is truncated, >= 1; ``None`` for no limit.

    Raises:
        ConfigError: An argument has another type or is out of its range.
    """

    workload: str = "auto-web-search"
    topology: ThresholdsTopology = ThresholdsTopology.BIG_SWITCH
    load: float | None = None
    flows: int | None = None
    hosts: int = 32
    clusters: int = 1
    queues: int = 4
    within: str = "ps"
    period_flows: int | None = 500
    period_ms: float | None = None
    initial_thresholds: str | Sequence[float] = "web_search"
    observation: ThresholdsObservation = ThresholdsObservation.SUMMARY
    m_s: int = 100
    reward: ThresholdsReward = ThresholdsReward.LOG_FCT
    link_gbps: float = 1.0
    link_delay_us: float = 25.0
    max_decisions: int | None = None

    def __post_init__(self) -> None:
        """Checks the arguments, and turns names into members and numbers into Python's own."""
        convert_members(
            self, {"topology": ThresholdsTopology, "observation": ThresholdsObservation, "reward": ThresholdsReward}
        )
        object.__setattr__(self, "within", str(check_within(self.within)))
        check_one_of_two("period_flows", self.period_flows, "period_ms", self.period_ms)
        counts = {"hosts": 2, "clusters": 1, "queues": NUM_QUEUES.start, "m_s": 1}
        convert_integers(self, {**counts, "flows": 1, "period_flows": 1, "max_decisions": 1})
        if self.queues not in NUM_QUEUES:
            raise ConfigError(f"queues is {self.queues}: it must be from {NUM_QUEUES.start} to {NUM_QUEUES.stop - 1}")
        if self.hosts % self.clusters:
            raise ConfigError(f"clusters is {self.clusters}: it must divide the number of hosts, {self.hosts}")
        convert_numbers(self, positive=("load", "period_ms", "link_gbps"), at_least_0=("link_delay_us",))
        if not isinstance(self.initial_thresholds, str):
            self._check_thresholds()

    def _check_thresholds(self) -> None:
        """Checks initial thresholds that are given as numbers."""
        try:
            limits = check_limits(self.initial_thresholds).tolist()
        except ConfigError as error:
            raise ConfigError(f"initial_{error}") from None
        if len(limits) != self.queues - 1:
            raise ConfigError(f"initial_thresholds is {limits}: {self.queues} queues need {self.queues - 1} numbers")
        object.__setattr__(self, "initial_thresholds", tuple(limits))

    @property
    def capacity(self) -> float:
        """Capacity of each link in B/s."""
        return gbps_to_capacity(self.link_gbps)

    @property
    def delay(self) -> float:
        """Propagation delay of each link in s."""
        return self.link_delay_us * SECONDS_PER_MICROSECOND

    @property
    def period(self) -> Period:
        """When a period ends."""
        seconds = None if self.period_ms is None else self.period_ms * SECONDS_PER_MILLISECOND
        return Period(flows=self.period_flows, seconds=seconds)

    @property
    def num_thresholds(self) -> int:
        """Thresholds of a cluster."""
        return self.queues - 1

    @property
    def hosts_per_cluster(self) -> int:
        """Servers of a cluster."""
        return self.hosts // self.clusters

    @property
    def cluster_capacity(self) -> float:
        """Capacity in B/s that a cluster's load is measured by: of its sending links, or its part of the one link."""
        if self.topology is ThresholdsTopology.ONE_LINK:
            return self.capacity / self.clusters
        return self.capacity * self.hosts_per_cluster


def thresholds_source(config: AuTOThresholdsConfig, workload: WorkloadLike) -> WorkloadSource:
    """Finds where an environment draws its flows from; on one link, its load is that of all hosts together.

    Args:
        config: The arguments of the environment.
        workload: Name of a workload, mapping that describes one, path of a file, flows, or what draws flows.

    Raises:
        ConfigError: There is no such workload, it has more hosts than the environment, or an argument changes one that
            cannot be changed.
        FlowFileError: The flow file has a fault.
    """
    source = flow_source(workload, load=config.load, flows=config.flows, hosts=config.hosts, capacity=config.capacity)
    if config.topology is ThresholdsTopology.BIG_SWITCH:
        return source
    if isinstance(source, ClusterWorkload):
        return replace(source, capacity=source.capacity / source.num_hosts)
    if isinstance(source, PoissonWorkload) and source.busiest_share is None:
        return replace(source, busiest_share=1.0)
    return source
