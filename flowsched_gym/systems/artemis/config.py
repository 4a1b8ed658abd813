"""The arguments of the Artemis environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.envs.arguments import (
    BURST_RATES,
    DURATIONS,
    LOADS,
    MOST_SLOTS,
    OWN,
    Choice,
    LinkConfig,
    Packets,
    about_workload,
    argument,
    delay_argument,
    limit_argument,
    link_argument,
    packets_argument,
)
from flowsched_gym.fluid import TransportName, find_transport
from flowsched_gym.topology.fabrics import MOST_SWITCH_HOSTS
from flowsched_gym.workload import (
    GatherWorkload,
    PoissonWorkload,
    ReadWorkload,
    WorkloadLike,
    WorkloadSource,
    fit_workload,
)
from flowsched_gym.workload.source import MOST_FLOWS


class Observation(StrEnum):
    """What the agent sees."""

    PAPER = "paper"
    """Size and deadline of each visible request, as in the thesis, section 3.3."""
    REQUEST = "request"
    """These and the load of its source: what a request tells in the thesis, Figure 3.1."""
    FULL = "full"
    """Size and deadline, how long each has waited, what is left of its deadline, and the state of the destination."""


class Reward(StrEnum):
    """When a met deadline is rewarded."""

    LAGGED = "lagged"
    """From a queue, one finished flow for each action, zero when it is empty: the thesis, section 3.3."""
    ON_COMPLETION = "on_completion"
    """All flows that finished since the last action, at once."""


class Defer(StrEnum):
    """What the agent may do besides granting."""

    NONE = "none"
    WAIT = "wait"
    """One more action: let the destination wait for its next request or token."""
    TO_BACK = "to-back"
    """One more action for each slot: its request goes to the back of the queue, once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtemisConfig(LinkConfig):
    """The arguments of the Artemis environment."""

    workload: WorkloadLike = field(default="gather-heavy", kw_only=False, metadata=about_workload())
    burst_rate: float | None = argument(
        None, none=OWN, between=BURST_RATES, unit="1/s", meaning="bursts per second and destination"
    )
    load: float | None = argument(
        None,
        none=OWN,
        between=LOADS,
        meaning="offered bytes per s over a destination's capacity, in place of a burst rate",
    )
    destinations: int | None = argument(
        None, none=OWN, at_least=1, at_most=MOST_SWITCH_HOSTS, meaning="hosts that gather"
    )
    bursts: int | None = argument(None, none=OWN, at_least=1, at_most=MOST_FLOWS, meaning="bursts in an episode")
    seconds: float | None = argument(
        None, none=OWN, between=DURATIONS, unit="s", meaning="length of the arrivals of an episode, in place of bursts"
    )
    k: int = argument(3, at_least=1, unit="tokens", meaning="flows that a destination lets send at once")
    f: int = argument(10, at_least=1, at_most=MOST_SLOTS, unit="slots", meaning="requests that the agent sees")
    transport: Choice[TransportName] = argument(
        TransportName.IDEAL, meaning="how a flow sends; lossy ones lose packets where a buffer overflows"
    )
    transport_figures: Mapping[str, float] | None = argument(
        None,
        meaning="figures of the transport in place of its own, by the names of ``fluid.Transport`` and "
        '``fluid.Losses``, such as ``{"buffer": 800}``',
        none="its own",
    )
    packets: Packets = packets_argument()
    observation: Choice[Observation] = argument(Observation.FULL, meaning="what the agent sees")
    reward: Choice[Reward] = argument(Reward.ON_COMPLETION, meaning="when a met deadline is rewarded")
    defer: Choice[Defer] = argument(Defer.NONE, meaning="what the agent may do besides granting")
    link_gbps: float = link_argument(1.0, "thesis, section 4.1.1: 1")
    link_delay_us: float = delay_argument(250.0, "thesis, section 4.1.1: 250")
    max_decisions: int | None = limit_argument()

    def check(self) -> None:
        """Refuses figures that are none of the transport's, parameters that packets lack, and two for one thing."""
        find_transport(self.transport, self.transport_figures)
        is_ideal = self.transport is TransportName.IDEAL
        if self.senders is not None and not (is_ideal and self.transport_figures is None):
            name = "transport_figures" if is_ideal else "transport"
            given = self.transport_figures if is_ideal else str(self.transport)
            raise ConfigError(
                f"packets is {shown(self.packets)} and {name} is {shown(given)}: a transport is the fluid's, and "
                "packets have senders of their own; leave it out"
            )
        for first, second in (("burst_rate", "load"), ("bursts", "seconds")):
            if getattr(self, first) is not None and getattr(self, second) is not None:
                raise ConfigError(f"{first} and {second} are both given: give one of them")

    def source_of(self, workload: ReadWorkload) -> WorkloadSource:
        """Finds where flows are drawn from; refuses traffic that has no destination and no deadlines."""

        def gathered(one: ReadWorkload, source: WorkloadSource) -> WorkloadSource:
            all_to_all = ("all-to-all", None, None)
            if isinstance(source, PoissonWorkload) and (source.pattern, source.failures, source.deadline) == all_to_all:
                raise ConfigError(
                    f"workload {shown(one.label)} is traffic without deadlines between all {source.num_hosts} hosts of "
                    "another network: in Artemis flows gather at a destination and have deadlines, as in 'gather-a1'"
                )
            return source

        workload.fitted(gathered)
        return fit_workload(
            workload, self.workload_changes(), kinds=(GatherWorkload,), what="drawn bursts", capacity=self.capacity
        )
