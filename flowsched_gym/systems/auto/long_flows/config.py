"""The arguments of AuTO's environment of long flows, checked."""

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Final

from flowsched_gym.core.checks import as_tuple, check_number
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.units import SECONDS_PER_MICROSECOND, SECONDS_PER_MILLISECOND, gbps_to_capacity
from flowsched_gym.envs.arguments import convert_integers, convert_members, convert_numbers

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


@dataclass(frozen=True, slots=True, kw_only=True)
class AuTOLongFlowsConfig:
    """The arguments of AuTO's environment of long flows.

    Attributes:
        workload: Name of a workload (``flowsched list``), or path of a workload or flow file (``.yaml``, ``.csv``).
        load: Offered bytes per s over the capacity of the hosts' sending links, > 0; ``None`` for the workload's own.
        flows: Flows of an episode, >= 1; ``None`` for the workload's own.
        hosts: Servers, >= 2 (AuTO, section 6: 32).
        paths: Disjoint paths between two servers, >= 1 (AuTO, section 6: 3).
        thresholds: Demotion thresholds in B, 1 to 7, increasing; a flow that has sent the last one is long. Default:
            the best ones (``optimal_thresholds``) of queues by attained bytes for web search at load 0.8.
        scope: Whose flows a decision is about, ``server`` or ``network``.
        period_ms: Time in ms in which each server, or the network, is asked once, > 0.
        n_l: Active long flows that the agent sees and controls (slots), >= 1 (AuTO, section 5.2.2: 11).
        m_l: Finished long flows that it sees, >= 0; ``None`` for the paper's 10, or the 11 of recorded rows.
        observation: What it sees, ``full`` or ``paper``.
        layout: Order and units of the paper's features, ``grouped`` or ``recorded``.
        reward: Term that is the reward, ``progress``, ``slowdown``, ``slowdown_growth`` or ``throughput_ratio``.
        link_gbps: Capacity of each link in Gbps, > 0 (AuTO, section 6: 1).
        link_delay_us: Propagation delay of each link in us, >= 0 (AuTO, section 6: 100 us for the round trip).
        max_decisions: Decisions after which an episode is truncated, >= 1; ``None`` for no limit.

    Raises:
        ConfigError: An argument has another type or is out of its range.
    """

    workload: str = "auto-web-search"
    load: float | None = None
    flows: int | None = None
    hosts: int = 32
    paths: int = 3
    thresholds: tuple[float, ...] = (200_000.0, 2_000_000.0, 10_000_000.0)
    scope: Scope = Scope.SERVER
    period_ms: float = 10.0
    n_l: int = 11
    m_l: int | None = None
    observation: LongFlowsObservation = LongFlowsObservation.FULL
    layout: LongFlowsLayout = LongFlowsLayout.GROUPED
    reward: LongFlowsReward = LongFlowsReward.SLOWDOWN
    link_gbps: float = 1.0
    link_delay_us: float = 25.0
    max_decisions: int | None = None

    def __post_init__(self) -> None:
        """Checks the arguments, and turns names into members and numbers into Python's own."""
        convert_members(
            self,
            {"scope": Scope, "observation": LongFlowsObservation, "layout": LongFlowsLayout, "reward": LongFlowsReward},
        )
        convert_integers(self, {"flows": 1, "hosts": 2, "paths": 1, "n_l": 1, "m_l": 0, "max_decisions": 1})
        convert_numbers(self, positive=("load", "period_ms", "link_gbps"), at_least_0=("link_delay_us",))
        self._check_thresholds()

    def _check_thresholds(self) -> None:
        """Checks the thresholds."""
        thresholds = as_tuple("thresholds", self.thresholds)
        for value in thresholds:
            check_number("threshold", value, above=0)
        rising = all(low < high for low, high in pairwise(thresholds))
        if not rising or not MIN_QUEUES <= len(thresholds) + 1 <= MAX_QUEUES:
            raise ConfigError(
                f"thresholds is {shown(thresholds)}: it must have {MIN_QUEUES - 1} to {MAX_QUEUES - 1} numbers, "
                "increasing"
            )
        object.__setattr__(self, "thresholds", tuple(float(value) for value in thresholds))

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
    def capacity(self) -> float:
        """Capacity of each link in B/s."""
        return gbps_to_capacity(self.link_gbps)

    @property
    def delay(self) -> float:
        """Propagation delay of each link in s."""
        return self.link_delay_us * SECONDS_PER_MICROSECOND

    @property
    def seconds(self) -> float:
        """Time in s from one question to the next."""
        asked = self.hosts if self.scope is Scope.SERVER else 1
        return self.period_ms * SECONDS_PER_MILLISECOND / asked
