"""The arguments of the MERP ordering environment."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from flowsched_gym.envs.arguments import (
    LINK_DELAYS_US,
    LINK_GBPS,
    LOADS,
    MOST_SLOTS,
    OWN,
    WORKLOAD_MEANING,
    EnvConfig,
    argument,
    limit_argument,
)
from flowsched_gym.workload.checks import MOST_FLOWS


class OrderTopology(StrEnum):
    """The network on which flows compete."""

    ONE_LINK = "one-link"
    """One link that all flows share."""
    TREE9 = "tree9"
    """Three racks of three hosts under one core switch (MERP, section 6.1)."""


class OrderReward(StrEnum):
    """The term that is the reward."""

    LEXICOGRAPHIC = "lexicographic"
    """The paper's objective: the largest slowdown first, then the next, each with half the weight of the one before."""
    MAX_SLOWDOWN = "max_slowdown"
    """The largest slowdown alone."""
    SLOWDOWN = "slowdown"
    """The sum of slowdowns."""
    FCT = "fct"
    """The sum of flow completion times."""


DEFAULT_WORKLOADS: Final = {OrderTopology.ONE_LINK: "poisson-pareto", OrderTopology.TREE9: "poisson-tree"}
"""What is drawn where no workload is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MERPOrderConfig(EnvConfig):
    """The arguments of the MERP ordering environment."""

    workload: str | None = argument(
        None,
        none="MERP's sizes on the topology, ``poisson-pareto`` or ``poisson-tree``",
        meaning=WORKLOAD_MEANING,
    )
    topology: OrderTopology = argument(OrderTopology.ONE_LINK, meaning="network on which flows compete")
    load: float | None = argument(
        None,
        none=OWN,
        between=LOADS,
        meaning="offered bytes per s over the capacity of the busiest link",
    )
    flows: int | None = argument(None, none=OWN, at_least=1, at_most=MOST_FLOWS, meaning="flows of an episode")
    f: int = argument(16, at_least=1, at_most=MOST_SLOTS, unit="slots", meaning="flows that the agent sees")
    reward: OrderReward = argument(OrderReward.LEXICOGRAPHIC, meaning="term that is the reward")
    link_gbps: float = argument(
        1.0, between=LINK_GBPS, unit="Gbps", meaning="capacity of each link (MERP, section 6.1: 1)"
    )
    link_delay_us: float = argument(0.0, between=LINK_DELAYS_US, unit="us", meaning="propagation delay of each link")
    max_decisions: int | None = limit_argument()
