"""The arguments of AuTO's environment of long flows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Any, Final

from flowsched_gym.core.checks import as_tuple, check_number
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.units import SECONDS_PER_MILLISECOND
from flowsched_gym.envs.arguments import (
    MOST_SLOTS,
    PERIODS_MS,
    Choice,
    Converted,
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
from flowsched_gym.systems.auto.flows import flow_source
from flowsched_gym.topology.fabrics import MOST_PLANES, MOST_SWITCH_HOSTS
from flowsched_gym.workload import ReadWorkload, WorkloadLike, WorkloadSource

MIN_QUEUES: Final = 2
MAX_QUEUES: Final = 8
"""Queues of a switch's port."""

FINISHED: Final = 10
FINISHED_RECORDED: Final = 11
"""Finished flows that the paper's agent sees, and those in the recorded rows of it."""


class Scope(StrEnum):
    """The servers whose long flows a decision is about."""

    SERVER = "server"
    """Those that one server sends; the servers are asked one after the other, each once in a period."""
    NETWORK = "network"
    """Those of all servers, once in a period."""


class LongFlowsObservation(StrEnum):
    """What the agent sees."""

    FULL = "full"
    """The paper's features, and how far flows are and how many others are on the links of their paths."""
    PAPER = "paper"
    """The paper's features: 5-tuples, priorities, sizes and completion times."""


class LongFlowsLayout(StrEnum):
    """The order and units in which the paper's features come."""

    GROUPED = "grouped"
    """All features of the active flows, then those of finished ones, from 0 to 1."""
    RECORDED = "recorded"
    """As in rows of the authors' agent: an active flow, finished ones, the other active ones, in plain units."""


class LongFlowsReward(StrEnum):
    """The term that is the reward."""

    PROGRESS = "progress"
    """By how much the logarithms of the bytes that long flows have sent, finished or not, have grown."""
    SLOWDOWN = "slowdown"
    """Mean slowdown of the long flows that finished."""
    SLOWDOWN_GROWTH = "slowdown_growth"
    """By how much the slowdowns of long flows, finished or not, have grown."""
    THROUGHPUT_RATIO = "throughput_ratio"
    """The paper's: throughput of the long flows that finished over that of the step before."""


def _thresholds(name: str, given: Any) -> tuple[float, ...]:
    thresholds = as_tuple(name, given)
    for value in thresholds:
        check_number("threshold", value, above=0)
    rising = all(low < high for low, high in pairwise(thresholds))
    if not rising or not MIN_QUEUES <= len(thresholds) + 1 <= MAX_QUEUES:
        raise ConfigError(
            f"{name} is {shown(thresholds)}: it must have {MIN_QUEUES - 1} to {MAX_QUEUES - 1} numbers, increasing"
        )
    return tuple(float(value) for value in thresholds)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuTOLongFlowsConfig(LinkConfig):
    """The arguments of AuTO's environment of long flows."""

    workload: WorkloadLike = field(default="auto-web-search", kw_only=False, metadata=about_workload())
    load: float | None = load_argument("the hosts' sending links")
    flows: int | None = flows_argument()
    hosts: int = argument(32, at_least=2, at_most=MOST_SWITCH_HOSTS, meaning="servers (AuTO, section 6: 32)")
    paths: int = argument(
        3, at_least=1, at_most=MOST_PLANES, meaning="disjoint paths between two servers (AuTO, section 6: 3)"
    )
    thresholds: Converted[Sequence[float], tuple[float, ...]] = argument(
        (200_000.0, 2_000_000.0, 10_000_000.0),
        convert=_thresholds,
        unit="B",
        meaning="demotion thresholds, 1 to 7, increasing; a flow that has sent the last one is long. Default: the best "
        "ones (``optimal_thresholds``) of queues by attained bytes for web search at load 0.8",
    )
    scope: Choice[Scope] = argument(Scope.SERVER, meaning="whose flows a decision is about")
    period_ms: float = argument(
        10.0, between=PERIODS_MS, unit="ms", meaning="time in which each server, or the network, is asked once"
    )
    n_l: int = argument(
        11,
        at_least=1,
        at_most=MOST_SLOTS,
        unit="slots",
        meaning="active long flows that the agent sees and controls (AuTO, section 5.2.2: 11)",
    )
    m_l: int | None = argument(
        None,
        at_least=0,
        at_most=MOST_SLOTS,
        none="the paper's 10, or the 11 of recorded rows",
        meaning="finished long flows that it sees",
    )
    observation: Choice[LongFlowsObservation] = argument(LongFlowsObservation.FULL, meaning="what it sees")
    layout: Choice[LongFlowsLayout] = argument(
        LongFlowsLayout.GROUPED, meaning="order and units of the paper's features"
    )
    reward: Choice[LongFlowsReward] = argument(LongFlowsReward.SLOWDOWN, meaning="term that is the reward")
    packets: Packets = packets_argument()
    link_gbps: float = link_argument(1.0, "AuTO, section 6: 1")
    link_delay_us: float = delay_argument(25.0, "AuTO, section 6: 100 us for the round trip")
    max_decisions: int | None = limit_argument()

    @property
    def num_finished(self) -> int:
        """Finished flows that the agent sees."""
        if self.m_l is not None:
            return self.m_l
        return FINISHED if self.layout is LongFlowsLayout.GROUPED else FINISHED_RECORDED

    @property
    def num_queues(self) -> int:
        """Queues of each port."""
        return len(self.thresholds) + 1

    @property
    def long_from(self) -> float:
        """Bytes from which on a flow is long."""
        return self.thresholds[-1]

    @property
    def seconds(self) -> float:
        """Time in s from one question to the next."""
        asked = self.hosts if self.scope is Scope.SERVER else 1
        return self.period_ms * SECONDS_PER_MILLISECOND / asked

    def source_of(self, workload: ReadWorkload) -> WorkloadSource:
        """Finds where flows are drawn from; a load is one of all paths of a host together."""
        return flow_source(self, workload, self.paths * self.capacity)
