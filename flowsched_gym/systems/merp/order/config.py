"""The arguments of the MERP ordering environment, checked."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from flowsched_gym.envs.arguments import convert_integers, convert_members, convert_numbers


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
class MERPOrderConfig:
    """The arguments of the MERP ordering environment.

    Attributes:
        workload: Name of a workload (``flowsched list``), or path of a workload or flow file (``.yaml``, ``.csv``);
            ``None`` for MERP's sizes on the topology: ``poisson-pareto`` or ``poisson-tree``.
        topology: Network on which flows compete, ``one-link`` or ``tree9``.
        load: Offered bytes per s over the capacity of the busiest link, > 0; ``None`` for the workload's own.
        flows: Flows of an episode, >= 1; ``None`` for the workload's own.
        f: Flows that the agent sees (slots), >= 1.
        reward: Term that is the reward, ``lexicographic``, ``max_slowdown``, ``slowdown`` or ``fct``.
        link_gbps: Capacity of each link in Gbps, > 0 (MERP, section 6.1: 1).
        link_delay_us: Propagation delay of each link in us, >= 0.
        max_decisions: Decisions after which an episode is truncated, >= 1; ``None`` for no limit.

    Raises:
        ConfigError: An argument has another type or is out of its range.
    """

    workload: str | None = None
    topology: OrderTopology = OrderTopology.ONE_LINK
    load: float | None = None
    flows: int | None = None
    f: int = 16
    reward: OrderReward = OrderReward.LEXICOGRAPHIC
    link_gbps: float = 1.0
    link_delay_us: float = 0.0
    max_decisions: int | None = None

    def __post_init__(self) -> None:
        """Checks the arguments, and turns names into members and numbers into Python's own."""
        convert_members(self, {"topology": OrderTopology, "reward": OrderReward})
        convert_integers(self, {"f": 1, "flows": 1, "max_decisions": 1})
        convert_numbers(self, positive=("load", "link_gbps"), at_least_0=("link_delay_us",))
