"""The arguments of AuTO's environment of thresholds."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from flowsched_gym.core.checks import check_one_of_two
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.periods import Period
from flowsched_gym.core.units import BYTES_PER_KILOBYTE, BYTES_PER_MEGABYTE, SECONDS_PER_MILLISECOND
from flowsched_gym.envs.arguments import (
    MOST_SLOTS,
    PERIODS_MS,
    Choice,
    LinkConfig,
    Packets,
    about_workload,
    argument,
    delay_argument,
    flows_argument,
    limit_argument,
    link_argument,
    load_argument,
    packets_argument,
)
from flowsched_gym.envs.own_network import OwnOr, settle_network, topology_argument
from flowsched_gym.envs.thresholds import ThresholdScale, check_num_thresholds, read_thresholds
from flowsched_gym.fluid.disciplines.queues import Within
from flowsched_gym.queueing.thresholds import NUM_QUEUES
from flowsched_gym.systems.auto.flows import flow_source
from flowsched_gym.topology import OwnNetwork
from flowsched_gym.topology.fabrics import MOST_SWITCH_HOSTS
from flowsched_gym.workload import ClusterWorkload, PoissonWorkload, ReadWorkload, WorkloadLike, WorkloadSource

LOWEST: Final = BYTES_PER_KILOBYTE
HIGHEST: Final = 1000 * BYTES_PER_MEGABYTE
"""Smallest and largest threshold in B: below one packet, and from the largest flows on, it would change nothing."""
SCALE: Final = ThresholdScale.between(LOWEST, HIGHEST)


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


def _initial_thresholds(name: str, given: object) -> str | tuple[float, ...]:
    return given if isinstance(given, str) else read_thresholds(name, given)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuTOThresholdsConfig(LinkConfig):
    """The arguments of AuTO's environment of thresholds."""

    workload: WorkloadLike = field(default="auto-web-search", kw_only=False, metadata=about_workload())
    topology: OwnOr[ThresholdsTopology] = topology_argument(
        ThresholdsTopology.BIG_SWITCH, "network on which flows compete"
    )
    load: float | None = load_argument("the hosts' links, or of the one link")
    flows: int | None = flows_argument()
    hosts: int = argument(32, at_least=2, at_most=MOST_SWITCH_HOSTS, meaning="servers (AuTO, section 6: 32)")
    clusters: int = argument(
        1,
        at_least=1,
        at_most=MOST_SWITCH_HOSTS,
        meaning="groups of servers, in their order and of equal size, with thresholds of their own; it divides hosts",
    )
    queues: int = argument(
        4, between=(NUM_QUEUES[0], NUM_QUEUES[-1]), meaning="feedback queues (K; AuTO, section 6: 4)"
    )
    within: str = argument("ps", choices=Within, meaning="how a queue is served: its flows share (``ps``) or wait")
    period_flows: int | None = argument(
        500, at_least=1, meaning="flows that finish in a period; exactly one of this and period_ms is given"
    )
    period_ms: float | None = argument(None, between=PERIODS_MS, unit="ms", meaning="length of a period")
    initial_thresholds: str | Sequence[float] = argument(
        "web_search",
        convert=_initial_thresholds,
        unit="B",
        meaning="thresholds until the first action has been taken: numbers, increasing, one fewer than queues; or the "
        "name of a packaged size distribution, whose best thresholds at the workload's load are taken",
    )
    observation: Choice[ThresholdsObservation] = argument(ThresholdsObservation.SUMMARY, meaning="what the agent sees")
    m_s: int = argument(
        100,
        at_least=1,
        at_most=MOST_SLOTS,
        meaning="finished flows that the paper's observation shows (AuTO: 100, 700 numbers)",
    )
    reward: Choice[ThresholdsReward] = argument(ThresholdsReward.LOG_FCT, meaning="term that is the reward")
    packets: Packets = packets_argument()
    link_gbps: float = link_argument(1.0, "AuTO, section 6: 1")
    link_delay_us: float = delay_argument(25.0, "AuTO, section 6: 100 us for the round trip")
    max_decisions: int | None = limit_argument()

    def check(self) -> None:
        """Refuses two periods, clusters of different sizes, and too many or too few thresholds."""
        settle_network(self)
        if isinstance(self.topology, OwnNetwork) and len(self.topology.hosts) != self.hosts:
            raise ConfigError(
                f"hosts is {self.hosts}: network {self.topology} has {len(self.topology.hosts)}, give that"
            )
        if self.packets is not None and Within(self.within) is Within.FIFO:
            raise ConfigError(
                "within is 'fifo', and packets are given: packets of a queue are served as they arrive, and their "
                "senders share it; leave within out"
            )
        check_one_of_two("period_flows", self.period_flows, "period_ms", self.period_ms)
        if self.hosts % self.clusters:
            raise ConfigError(f"clusters is {self.clusters}: it must divide the number of hosts, {self.hosts}")
        if not isinstance(self.initial_thresholds, str):
            check_num_thresholds("initial_thresholds", self.initial_thresholds, self.queues)

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

    def source_of(self, workload: ReadWorkload) -> WorkloadSource:
        """Finds where flows are drawn from; on one link, a load is that of all hosts together."""
        source = flow_source(self, workload, self.capacity)
        return ReadWorkload(source).fitted(_on_one_link) if self.topology is ThresholdsTopology.ONE_LINK else source


def _on_one_link(_: ReadWorkload, source: WorkloadSource) -> WorkloadSource:
    if isinstance(source, ClusterWorkload):
        return replace(source, capacity=source.capacity / source.num_hosts)
    if isinstance(source, PoissonWorkload) and source.busiest_share is None:
        return replace(source, busiest_share=1.0)
    return source
