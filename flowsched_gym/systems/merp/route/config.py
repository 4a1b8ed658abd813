"""The arguments of MERP's routing environment."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from flowsched_gym.core.arrays import as_numbers, is_sequence, is_whole
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.envs.arguments import (
    OWN,
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
from flowsched_gym.packets.schedulers import Fifo, Pfabric
from flowsched_gym.topology import ROUTINGS
from flowsched_gym.topology.fabrics import MOST_ARITY_OF_ALL, SMALLEST_ARITY
from flowsched_gym.workload import (
    PoissonWorkload,
    RandomFailures,
    ReadWorkload,
    WorkloadLike,
    WorkloadSource,
    fit_workload,
)

LINKS_PER_HOST: Final = 6
"""Links of a fat-tree over its hosts: up and down in three tiers."""


class RouteDiscipline(StrEnum):
    """How flows share the links; ``flowsched_gym.fluid.disciplines`` holds what each of them does."""

    MERP = "merp"
    """By MERP's virtual deadlines: the paper's rate control, also under ECMP."""
    SRPT = "srpt"
    """Shortest remaining flow first."""
    PS = "ps"
    """Max-min fairness."""
    FIFO = "fifo"
    """In the order of arrival."""


PACKET_SCHEDULERS: Final = {RouteDiscipline.PS: Fifo, RouteDiscipline.SRPT: Pfabric}
"""How ports serve packets so that flows share: by their senders alone, or that with the least left first."""


class RouteObservation(StrEnum):
    """What the agent sees of each path."""

    LINKS = "links"
    """Its links and their flows."""
    FORECAST = "forecast"
    """These, and what it would cost the flow, and all others, if no more flows came."""


class RouteReward(StrEnum):
    """What is rewarded when flows finish."""

    SLOWDOWN = "slowdown"
    """Slowdowns."""
    FCT = "fct"
    """Completion times."""
    BOTH = "both"
    """The sum of both."""


def _slow_links(name: str, given: Any) -> tuple[tuple[int, float], ...]:
    for pair in given if is_sequence(given) else (given,):
        share = as_numbers(pair[1:]) if is_sequence(pair) and len(pair) == 2 and is_whole(pair[0]) else None
        if share is None or not 0 < share[0] <= 1:
            raise ConfigError(
                f"{name} is {shown(given)}: it must have pairs of a link's number and a share, 0 < share <= 1"
            )
    pairs = tuple((int(link), float(share)) for link, share in given)
    if len(dict(pairs)) < len(pairs):
        raise ConfigError(f"{name} is {shown(given)}: it must name each link once")
    return pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class MERPRouteConfig(LinkConfig):
    """The arguments of MERP's routing environment."""

    workload: WorkloadLike = field(default="poisson-fat-tree", kw_only=False, metadata=about_workload())
    load: float | None = load_argument("the hosts' links")
    flows: int | None = flows_argument()
    arity: int = argument(
        4,
        at_least=SMALLEST_ARITY,
        at_most=MOST_ARITY_OF_ALL,
        unit="ports",
        meaning="ports of a switch of the fat-tree (k), even; 4 gives 16 hosts and 20 switches (MERP, section 6.2)",
    )
    discipline: Converted[RouteDiscipline | str | None, RouteDiscipline | None] = argument(
        None, none="``merp``; over packets ``ps``", meaning="how flows share links; packets have ``ps`` and ``srpt``"
    )
    rerouting: str = argument(
        "ecmp",
        choices=ROUTINGS,
        meaning="how a flow finds another path when its own fails; with ``conga``, flows that have paused choose anew "
        "as well",
    )
    failures: int | None = argument(
        None,
        none=OWN,
        at_least=0,
        meaning="cables between aggregation and core switches that are down from the start, fewer than "
        "(arity / 2) ** 2, so that each pair of hosts keeps a path",
    )
    slow_links: Converted[Sequence[Sequence[float]] | None, tuple[tuple[int, float], ...] | None] = argument(
        None,
        convert=_slow_links,
        meaning="links that have a share of link_gbps alone: pairs of a number (``docs/networks.md``) and that share",
        none="all links are alike",
    )
    observation: Choice[RouteObservation] = argument(RouteObservation.LINKS, meaning="what the agent sees of paths")
    reward: Choice[RouteReward] = argument(RouteReward.SLOWDOWN, meaning="reward for flows that finish")
    packets: Packets = packets_argument()
    link_gbps: float = link_argument(1.0, "MERP, section 6.2: 1")
    link_delay_us: float = delay_argument(0.0, "MERP, section 6.2: 10")
    max_decisions: int | None = limit_argument()

    def check(self) -> None:
        """Refuses odd arities, failures that part hosts, and slow links that are not there."""
        if self.arity % 2:
            raise ConfigError(f"arity is {shown(self.arity)}: it must be even")
        if self.failures is not None and self.failures >= self.num_paths:
            raise ConfigError(
                f"failures is {shown(self.failures)}: it must be from 0 to {self.num_paths - 1}, "
                "so that each pair of hosts keeps a path"
            )
        self._check_links()
        if self.packets is None:
            return
        if self.sharing not in PACKET_SCHEDULERS:
            raise ConfigError(
                f"discipline is {shown(str(self.sharing))}: packets have {' and '.join(PACKET_SCHEDULERS)} alone"
            )
        if self.rerouting != "ecmp":
            raise ConfigError(f"rerouting is {shown(self.rerouting)}: flows of packets keep their paths; leave it out")

    def _check_links(self) -> None:
        for link, _ in self.slow_links or ():
            if not 0 <= link < LINKS_PER_HOST * self.num_hosts:
                most = LINKS_PER_HOST * self.num_hosts - 1
                raise ConfigError(f"slow_links has link {shown(link)}: a fat-tree of this arity has 0 to {most}")

    @property
    def sharing(self) -> RouteDiscipline:
        """How flows share links."""
        return self.discipline or (RouteDiscipline.MERP if self.packets is None else RouteDiscipline.PS)

    @property
    def num_hosts(self) -> int:
        """Hosts of the fat-tree."""
        return int(self.arity * self.arity * self.arity // 4)

    @property
    def num_paths(self) -> int:
        """Most paths between two hosts."""
        return int((self.arity // 2) * (self.arity // 2))

    def source_of(self, workload: ReadWorkload) -> WorkloadSource:
        """Finds where flows are drawn from; a workload between all hosts that leaves their number open takes all."""
        cables, changes = core_cables(self.num_hosts), self.workload_changes()
        if self.failures is not None:
            changes["failures"] = RandomFailures(cables=cables, count=self.failures) if self.failures else None

        def network(one: ReadWorkload, source: PoissonWorkload) -> dict[str, object]:
            own: dict[str, object] = {"capacity": self.capacity}
            if source.pattern == "all-to-all" and source.busiest_share is None:
                own["num_hosts"] = self.num_hosts
            if source.failures is not None:
                own["failures"] = replace(source.failures, cables=cables)
            return own

        return fit_workload(
            workload,
            changes,
            kinds=(PoissonWorkload,),
            what="Poisson arrivals",
            capacity=self.capacity,
            network=network,
            room=(self.num_hosts, f"a fat-tree of arity {self.arity}"),
        )


def core_cables(num_hosts: int) -> tuple[tuple[int, int], ...]:
    """Returns the links, up and down, of the cables between aggregation and core switches of a fat-tree."""
    return tuple((4 * num_hosts + cable, 5 * num_hosts + cable) for cable in range(num_hosts))
