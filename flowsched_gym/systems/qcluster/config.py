"""The arguments of QCluster's environment."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.periods import Period
from flowsched_gym.core.units import SECONDS_PER_MICROSECOND, gbps_to_capacity
from flowsched_gym.envs.arguments import (
    LINK_GBPS,
    Choice,
    EnvConfig,
    Packets,
    about_workload,
    argument,
    flows_argument,
    limit_argument,
    load_argument,
    packets_argument,
)
from flowsched_gym.flows.decisions import DecisionKind
from flowsched_gym.packets.parameters import (
    HEADER,
    MessageRule,
    NetworkParameters,
    PacketTransport,
    preset_or_parameters,
)
from flowsched_gym.packets.schedulers import PacketSetup, make_scheduler
from flowsched_gym.packets.schedulers.parameters import Disorder
from flowsched_gym.packets.schedulers.qcluster import Goal
from flowsched_gym.topology import one_link
from flowsched_gym.workload import (
    ClusterWorkload,
    PoissonWorkload,
    ReadWorkload,
    WorkloadLike,
    WorkloadSource,
    fit_workload,
)
from flowsched_gym.workload.empirical import PACKET_PAYLOAD

MOST_QUEUES: Final = 8


class QClusterAction(StrEnum):
    """What the agent chooses."""

    THRESHOLDS = "thresholds"
    """The thresholds between the queues."""
    RULE = "rule"
    """A rule of thresholds, and the step by which alpha moves."""


class QClusterReward(StrEnum):
    """The term that is the reward."""

    FCT = "fct"
    """Minus the logarithm of the mean completion time over what the same messages would take alone, on average."""
    SLOWDOWN = "slowdown"
    """Minus the logarithm of the mean slowdown."""
    JAIN = "jain"
    """Jain's fairness index of the mean throughputs of messages of each order of magnitude (QCluster, section 6.1)."""
    DEADLINES = "deadlines"
    """Share of the messages with deadlines that met them (QCluster's application throughput, section 6.1)."""


OWN: Final = ("transport", "window", "buffer", "mark_at", "min_rto_us")
"""Arguments of senders and their port, in place of ``packets``."""
FULL_PACKET: Final = PACKET_PAYLOAD + HEADER
"""Bytes of a full packet on the wire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QClusterConfig(EnvConfig):
    """The arguments of QCluster's environment."""

    workload: WorkloadLike = field(default="qcluster-w4", kw_only=False, metadata=about_workload())
    load: float | None = load_argument("the port")
    flows: int | None = flows_argument("messages")
    goal: Choice[Goal] = argument(Goal.LAS, meaning="what the port schedules for")
    queues: int = argument(
        8, between=(2, MOST_QUEUES), meaning="queues of the port (QCluster: 8); for deadlines at least 3"
    )
    action: Choice[QClusterAction] = argument(QClusterAction.THRESHOLDS, meaning="what the agent chooses")
    reward: Choice[QClusterReward] = argument(QClusterReward.SLOWDOWN, meaning="term that is the reward")
    period_us: float = argument(5_000.0, above=0, unit="us", meaning="length of a period")
    transport: Choice[PacketTransport] = argument(PacketTransport.FIXED, meaning="windows of senders")
    window: int = argument(64, at_least=1, unit="packets", meaning="packets on their way at most; DCTCP's first window")
    buffer: int | None = argument(
        None, at_least=1, unit="packets", meaning="packets that may wait, in bytes of full ones", none="unlimited"
    )
    mark_at: int | None = argument(
        None,
        at_least=1,
        unit="packets",
        none="no marks",
        meaning="a packet is marked if with it more wait than this, in bytes of full ones",
    )
    min_rto_us: float = argument(
        2_000.0, above=0, unit="us", meaning="shortest time after which a timer expires, where packets can be lost"
    )
    delay_us: float = argument(
        20.0, at_least=0, unit="us", meaning="propagation delay to the receiver, and again back to the sender"
    )
    packets: Packets = packets_argument()
    link_gbps: float = argument(10.0, between=LINK_GBPS, unit="Gbps", meaning="capacity of the port")
    messages: Choice[MessageRule] = argument(
        MessageRule.IDEAL,
        meaning="``ideal``: packets name their message; ``time``: a host pair's messages are told apart by silence "
        "alone",
    )
    gap_us: float | None = argument(
        4_000.0,
        above=0,
        unit="us",
        none="never",
        meaning="silence after which the bytes of a message, or of a flowlet, count from 0 again (QCluster: 4 ms for "
        "W4)",
    )
    disorder: Choice[Disorder] = argument(Disorder.NONE, meaning="what keeps the packets of a flowlet in order (PDA)")
    arrays: int = argument(3, at_least=1, meaning="arrays of the sketch")
    buckets: int = argument(4_096, at_least=1, meaning="buckets of each")
    max_decisions: int | None = limit_argument()

    def check(self) -> None:
        """Refuses queues that cannot be parted, and what the port refuses."""
        if self.goal is Goal.DEADLINE and self.queues == 2:
            raise ConfigError("queues is 2: goal 'deadline' needs 3, of which one cannot be parted")
        for name in OWN if self.packets is not None else ():
            default = type(self).__dataclass_fields__[name].default
            if getattr(self, name) != default:
                raise ConfigError(
                    f"{name} is {shown(getattr(self, name))}, and packets are given: they have senders and a buffer of "
                    f"their own; leave {name} out"
                )
        self.port_setup()

    @property
    def senders(self) -> NetworkParameters:
        """Parameters of senders and their port: those of ``packets``, or its own."""
        if self.packets is not None:
            return replace(preset_or_parameters("packets", self.packets), messages=self.messages)
        return NetworkParameters(
            initial_window=self.window,
            transport=self.transport,
            buffer=None if self.buffer is None else self.buffer * FULL_PACKET,
            mark_at=None if self.mark_at is None else (self.mark_at - 1) * FULL_PACKET,
            min_rto=self.min_rto_us * SECONDS_PER_MICROSECOND,
            messages=self.messages,
        )

    @property
    def capacity(self) -> float:
        """Capacity of the port in B/s."""
        return gbps_to_capacity(self.link_gbps)

    @property
    def period(self) -> Period:
        """When a period ends."""
        return Period(seconds=self.period_us * SECONDS_PER_MICROSECOND)

    @property
    def groups(self) -> tuple[tuple[int, int], ...]:
        """Thresholds that are ordered among themselves, from the first to before the last.

        Packets with and without deadlines have queues of their own, so the threshold between these is none.
        """
        if self.goal is not Goal.DEADLINE:
            return ((0, self.queues - 1),)
        split = self.queues // 2
        return (0, split - 1), (split, self.queues - 1)

    def port_setup(self) -> PacketSetup:
        """Sets the port and its senders up; refuses parameters that do not fit each other."""
        gap = None if self.gap_us is None else self.gap_us * SECONDS_PER_MICROSECOND
        parameters = {name: getattr(self, name) for name in ("goal", "queues", "disorder", "arrays", "buckets")}
        scheduler = make_scheduler("qcluster", {**parameters, "message_gap": gap, "flowlet_gap": gap})
        return PacketSetup(
            scheduler=scheduler,
            topology=one_link(capacity=self.capacity, delay=self.delay_us * SECONDS_PER_MICROSECOND),
            parameters=self.senders,
            asks=DecisionKind.PERIOD,
            period=self.period,
        )

    def source_of(self, workload: ReadWorkload) -> WorkloadSource:
        """Finds where messages are drawn from; all of them share the port."""
        return fit_workload(
            workload,
            self.workload_changes(),
            kinds=(PoissonWorkload, ClusterWorkload),
            what="Poisson arrivals",
            capacity=self.capacity,
            network=lambda one, source: {
                "capacity": self.capacity,
                "busiest_share": 1.0 if source.busiest_share is None else source.busiest_share,
            },
        )
