"""The arguments of the MERP ordering environment."""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Final

from flowsched_gym.envs.arguments import (
    MOST_SLOTS,
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
from flowsched_gym.envs.own_network import OwnOr, network_fields, settle_network, topology_argument
from flowsched_gym.topology import OwnNetwork
from flowsched_gym.workload import (
    PoissonWorkload,
    ReadWorkload,
    WorkloadLike,
    WorkloadSource,
    fit_workload,
    read_workload,
)


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
"""What is drawn where no workload is given; on a network of one's own, that of the tree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MERPOrderConfig(LinkConfig):
    """The arguments of the MERP ordering environment."""

    workload: WorkloadLike | None = field(
        default=None,
        kw_only=False,
        metadata=about_workload(none="MERP's sizes on the topology, ``poisson-pareto`` or ``poisson-tree``"),
    )
    topology: OwnOr[OrderTopology] = topology_argument(OrderTopology.ONE_LINK, "network on which flows compete")
    load: float | None = load_argument("the busiest link")
    flows: int | None = flows_argument()
    f: int = argument(16, at_least=1, at_most=MOST_SLOTS, unit="slots", meaning="flows that the agent sees")
    reward: Choice[OrderReward] = argument(OrderReward.LEXICOGRAPHIC, meaning="term that is the reward")
    packets: Packets = packets_argument()
    link_gbps: float = link_argument(1.0, "MERP, section 6.1: 1")
    link_delay_us: float = delay_argument(0.0)
    max_decisions: int | None = limit_argument()

    def check(self) -> None:
        """Takes the capacity of hosts from a network of one's own."""
        settle_network(self)

    def source_of(self, workload: ReadWorkload | None) -> WorkloadSource:
        """Finds where flows are drawn from: a load is one of links of this network (``network_fields``)."""
        own = self.topology if isinstance(self.topology, OwnNetwork) else None
        return fit_workload(
            read_workload(default_workload(self)) if workload is None else workload,
            self.workload_changes(),
            kinds=(PoissonWorkload,),
            what="Poisson arrivals",
            capacity=self.capacity,
            network=partial(network_fields, own, self.capacity),
            room=None if own is None else (len(own.hosts), f"network {own.name}"),
        )


def default_workload(config: MERPOrderConfig) -> str:
    """Returns the name of the workload that is drawn where none is given."""
    topology = OrderTopology.TREE9 if isinstance(config.topology, OwnNetwork) else config.topology
    return DEFAULT_WORKLOADS[topology]
