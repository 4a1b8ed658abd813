"""The arguments of QCluster's environment, checked."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.periods import Period
from flowsched_gym.core.units import SECONDS_PER_MICROSECOND, gbps_to_capacity
from flowsched_gym.envs.arguments import convert_integers, convert_members, convert_numbers
from flowsched_gym.packets.schedulers import PacketSetup, make_scheduler
from flowsched_gym.packets.schedulers.parameters import Disorder
from flowsched_gym.packets.schedulers.qcluster import Goal
from flowsched_gym.packets.state import MessageRule, PacketTransport, PortParameters, SenderParameters
from flowsched_gym.workload import (
    ClusterWorkload,
    PoissonWorkload,
    WorkloadLike,
    WorkloadSource,
    find_source,
    leaves_open,
    workload_label,
)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class QClusterConfig:
    """The arguments of QCluster's environment.

    Attributes:
        workload: Name of a workload (``flowsched list``), or path of a workload or flow file (``.yaml``, ``.csv``).
        load: Offered bytes per s over the capacity of the port, > 0; ``None`` for the workload's own.
        flows: Messages of an episode, >= 1; ``None`` for the workload's own.
        goal: What the port schedules for, ``las``, ``srpt``, ``fq`` or ``deadline``.
        queues: Queues of the port, 2 to 8 (QCluster: 8); for deadlines at least 3.
        action: What the agent chooses, ``thresholds`` or ``rule``.
        reward: Term that is the reward, ``fct``, ``slowdown``, ``jain`` or ``deadlines``.
        period_us: Length of a period in us, > 0.
        transport: Windows of senders, ``fixed``, ``dctcp``, ``d2tcp`` or ``tafe``.
        window: Packets on their way at most, >= 1; DCTCP's first window.
        buffer: Packets that may wait, >= 1; ``None``: unlimited.
        mark_at: A packet is marked if with it more wait than this, >= 0; ``None``: no marks.
        min_rto_us: Time in us after a loss at which a packet may be sent again, > 0.
        delay_us: Propagation delay in us to the receiver, and again back to the sender, >= 0.
        link_gbps: Capacity of the port in Gbps, > 0.
        messages: ``ideal``: packets name their message; ``time``: a host pair's messages are told apart by silence
            alone.
        gap_us: Silence after which the bytes of a message, or of a flowlet, count from 0 again, in us, > 0; ``None``:
            never. (QCluster: 4 ms for W4.)
        disorder: What keeps the packets of a flowlet in order, ``none``, ``las`` or ``fq`` (PDA).
        arrays: Arrays of the sketch, >= 1.
        buckets: Buckets of each, >= 1.
        max_decisions: Decisions after which an episode is truncated, >= 1; ``None`` for no limit.

    Raises:
        ConfigError: An argument has another type or is out of its range.
    """

    workload: str = "qcluster-w4"
    load: float | None = None
    flows: int | None = None
    goal: Goal = Goal.LAS
    queues: int = 8
    action: QClusterAction = QClusterAction.THRESHOLDS
    reward: QClusterReward = QClusterReward.SLOWDOWN
    period_us: float = 5_000.0
    transport: PacketTransport = PacketTransport.FIXED
    window: int = 64
    buffer: int | None = None
    mark_at: int | None = None
    min_rto_us: float = 2_000.0
    delay_us: float = 20.0
    link_gbps: float = 10.0
    messages: MessageRule = MessageRule.IDEAL
    gap_us: float | None = 4_000.0
    disorder: Disorder = Disorder.NONE
    arrays: int = 3
    buckets: int = 4_096
    max_decisions: int | None = None

    def __post_init__(self) -> None:
        """Checks the arguments, and turns names into members and numbers into Python's own."""
        convert_members(
            self,
            {
                "goal": Goal,
                "action": QClusterAction,
                "reward": QClusterReward,
                "transport": PacketTransport,
                "messages": MessageRule,
                "disorder": Disorder,
            },
        )
        least = {"flows": 1, "queues": 2, "window": 1, "buffer": 1, "mark_at": 0, "arrays": 1, "buckets": 1}
        convert_integers(self, {**least, "max_decisions": 1})
        positive = ("load", "period_us", "min_rto_us", "link_gbps", "gap_us")
        convert_numbers(self, positive=positive, at_least_0=("delay_us",))
        if self.queues > MOST_QUEUES:
            raise ConfigError(f"queues is {self.queues}: it must be from 2 to {MOST_QUEUES}")
        if self.goal is Goal.DEADLINE and self.queues == 2:
            raise ConfigError("queues is 2: goal 'deadline' needs 3, of which one cannot be parted")
        self.port_setup()

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
        """Sets the port and its senders up.

        Raises:
            ConfigError: Parameters do not fit each other.
        """
        gap = None if self.gap_us is None else self.gap_us * SECONDS_PER_MICROSECOND
        scheduler = make_scheduler(
            "qcluster",
            {
                "goal": self.goal,
                "queues": self.queues,
                "message_gap": gap,
                "flowlet_gap": gap,
                "disorder": self.disorder,
                "arrays": self.arrays,
                "buckets": self.buckets,
            },
        )
        return PacketSetup(
            scheduler=scheduler,
            capacity=self.capacity,
            port=PortParameters(buffer=self.buffer, mark_at=self.mark_at),
            senders=SenderParameters(
                window=self.window,
                transport=self.transport,
                min_rto=self.min_rto_us * SECONDS_PER_MICROSECOND,
                delay=self.delay_us * SECONDS_PER_MICROSECOND,
                messages=self.messages,
            ),
        )


def qcluster_source(config: QClusterConfig, workload: WorkloadLike) -> WorkloadSource:
    """Finds where an environment draws its messages from; all of them share the port.

    Args:
        config: The arguments of the environment.
        workload: Name of a workload, mapping that describes one, path of a file, flows, or what draws flows.

    Raises:
        ConfigError: There is no such workload, or an argument changes one that cannot be changed.
        FlowFileError: The flow file has a fault.
    """
    source = find_source(workload)
    if not isinstance(source, (PoissonWorkload, ClusterWorkload)):
        if config.load is None and config.flows is None:
            return source
        raise ConfigError(
            f"load and flows change Poisson arrivals: workload {shown(workload_label(workload))} has none"
        )
    if isinstance(source, ClusterWorkload) and config.load is not None:
        raise ConfigError(
            f"load is {shown(config.load)}: workload {shown(workload_label(workload))} has a load for each cluster"
        )
    changes: dict[str, object] = {}
    if leaves_open(workload, "capacity") or config.load is not None:
        changes |= {"capacity": config.capacity}
    if config.load is not None:
        changes |= {"load": config.load, "rate": None}
    if config.flows is not None:
        changes |= {"num_flows": config.flows, "duration": None}
    if source.busiest_share is None:
        changes |= {"busiest_share": 1.0}
    return replace(source, **changes)  # type: ignore[arg-type]  # the class checks each field
