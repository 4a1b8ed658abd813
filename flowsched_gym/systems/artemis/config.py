"""The arguments of the Artemis environment, checked."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.units import gbps_to_capacity
from flowsched_gym.envs.arguments import convert_integers, convert_members, convert_numbers
from flowsched_gym.fluid import TransportName, find_transport
from flowsched_gym.workload import GatherWorkload, WorkloadLike, WorkloadSource, find_source, workload_label


class Observation(StrEnum):
    """What the agent sees."""

    PAPER = "paper"
    """Size and deadline of each visible request, as in the thesis, section 3.3."""
    FULL = "full"
    """These, and how long each has waited, what is left of its deadline, and the state of the destination."""


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
class ArtemisConfig:
    """The arguments of the Artemis environment.

    Attributes:
        workload: Name of a workload (``flowsched list``), or path of a workload or flow file (``.yaml``, ``.csv``).
        burst_rate: Bursts per s and destination, > 0; ``None`` for the workload's own.
        load: Offered bytes per s over a destination's capacity, > 0, in place of a burst rate; ``None`` for the
            workload's own.
        destinations: Hosts that gather, >= 1; ``None`` for the workload's own.
        bursts: Bursts in an episode, >= 1; ``None`` for the workload's own.
        seconds: Length of the arrivals of an episode in s, > 0, in place of bursts; ``None`` for the workload's own.
        k: Flows that a destination lets send at once (tokens), >= 1.
        f: Requests that the agent sees (slots), >= 1.
        transport: How a flow sends, ``ideal``, ``tcp``, or, where a buffer overflows, ``tcp-lossy`` or
            ``tcp-lossy-2018a``.
        transport_figures: Figures of the transport in place of its own, by the names of ``fluid.Transport`` and
            ``fluid.Losses``, such as ``{"buffer": 800}``; ``None`` for its own.
        observation: What the agent sees, ``full`` or ``paper``.
        reward: When a met deadline is rewarded, ``on_completion`` or ``lagged``.
        defer: What the agent may do besides granting: ``none``, ``wait`` or ``to-back``.
        link_gbps: Capacity of each link in Gbps, > 0 (thesis, section 4.1.1: 1).
        link_delay_us: Propagation delay of each link in us, >= 0 (thesis, section 4.1.1: 250).
        max_decisions: Decisions after which an episode is truncated, >= 1; ``None`` for no limit.

    Raises:
        ConfigError: An argument has another type or is out of its range.
    """

    workload: str = "gather-a1"
    burst_rate: float | None = None
    load: float | None = None
    destinations: int | None = None
    bursts: int | None = None
    seconds: float | None = None
    k: int = 10
    f: int = 5
    transport: TransportName = TransportName.IDEAL
    transport_figures: Mapping[str, float] | None = None
    observation: Observation = Observation.FULL
    reward: Reward = Reward.ON_COMPLETION
    defer: Defer = Defer.NONE
    link_gbps: float = 1.0
    link_delay_us: float = 250.0
    max_decisions: int | None = None

    def __post_init__(self) -> None:
        """Checks the arguments, and turns names into members and numbers into Python's own."""
        convert_members(
            self, {"transport": TransportName, "observation": Observation, "reward": Reward, "defer": Defer}
        )
        find_transport(self.transport, self.transport_figures)
        convert_integers(self, {"k": 1, "f": 1, "destinations": 1, "bursts": 1, "max_decisions": 1})
        convert_numbers(self, positive=("burst_rate", "load", "seconds", "link_gbps"), at_least_0=("link_delay_us",))
        for first, second in (("burst_rate", "load"), ("bursts", "seconds")):
            if getattr(self, first) is not None and getattr(self, second) is not None:
                raise ConfigError(f"{first} and {second} are both given: give one of them")


def workload_source(config: ArtemisConfig, workload: WorkloadLike) -> WorkloadSource:
    """Finds where an environment draws its flows from.

    Args:
        config: The arguments of the environment.
        workload: Name of a workload, mapping that describes one, path of a file, flows, or what draws flows.

    Raises:
        ConfigError: There is no such workload, or an argument changes one that cannot be changed.
        FlowFileError: The flow file has a fault.
    """
    source = find_source(workload)
    changes: dict[str, object] = {}
    if config.burst_rate is not None or config.load is not None:
        changes |= {"burst_rate": config.burst_rate, "load": config.load}
        changes |= {"capacity": gbps_to_capacity(config.link_gbps)}
    if config.destinations is not None:
        changes |= {"num_destinations": config.destinations}
    if config.bursts is not None or config.seconds is not None:
        changes |= {"num_bursts": config.bursts, "duration": config.seconds}
    if not changes:
        return source
    if not isinstance(source, GatherWorkload):
        names = "burst_rate, load, destinations, bursts and seconds"
        raise ConfigError(f"{names} change bursts: workload {shown(workload_label(workload))} has none")
    return replace(source, **changes)  # type: ignore[arg-type]
