"""The protocol of what environments draw their flows from."""

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from flowsched_gym.core.errors import ConfigError, WorkloadError
from flowsched_gym.flows.workload import Workload


@runtime_checkable
class WorkloadSource(Protocol):
    """A source of workloads: the flows of an episode, drawn from a seed."""

    @property
    def num_hosts(self) -> int:
        """Number of hosts that the flows run between, numbered from 0."""

    def draw(self, seed: int) -> Workload:
        """Draws the flows of one episode: the same seed gives the same flows, bit by bit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedWorkload:
    """The same flows in every episode, such as those of a user's own file.

    Attributes:
        workload: The flows, at least one, with times on the clock of the episode (``Workload.on_clock``).

    Raises:
        ConfigError: There is no flow.
    """

    workload: Workload

    def __post_init__(self) -> None:
        if not self.workload.num_flows:
            raise ConfigError("workload has no flow: at least one is needed")
        object.__setattr__(self, "workload", self.workload.on_clock()[0])

    @property
    def num_hosts(self) -> int:
        """Smallest number of hosts that holds every source and destination."""
        return self.workload.num_hosts

    def draw(self, seed: int) -> Workload:
        """Returns the flows, whatever the seed."""
        return self.workload


def first_flows(workload: Workload, num_flows: int) -> Workload:
    """Cuts a workload to its first flows, in the order of their ids, which wait for each other alone.

    Link changes stay as they are.

    Args:
        workload: The flows to cut.
        num_flows: How many to keep, 0 <= num_flows <= workload.num_flows.

    Raises:
        WorkloadError: The workload has fewer flows.
    """
    if not 0 <= num_flows <= workload.num_flows:
        raise WorkloadError(f"{num_flows} flows are wanted of a workload that has {workload.num_flows}")
    columns = ("flow_id", "source", "destination", "size", "arrival_time", "deadline_span", "task_id", "cpu_time")
    after = None if workload.after is None else workload.after.among(workload.flow_id[:num_flows])
    return replace(workload, after=after, **{name: getattr(workload, name)[:num_flows] for name in columns})
