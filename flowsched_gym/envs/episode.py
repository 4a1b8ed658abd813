"""What environments ask of an episode, of many episodes in compiled code, and of what both are made of.

Flows and packets are simulated by different code; environments, states and infos know them by these alone.
"""

from abc import ABC, abstractmethod
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.periods import Period
from flowsched_gym.core.snapshot import Snapshot
from flowsched_gym.envs.drawing import Scene
from flowsched_gym.envs.views import EpisodeView
from flowsched_gym.flows.fields import Fields
from flowsched_gym.fluid import Records
from flowsched_gym.topology import Topology
from flowsched_gym.workload import Workload


class Episode(Protocol):
    """An episode that runs from decision to decision."""

    workload: Workload

    @property
    def topology(self) -> Topology:
        """The network."""

    @property
    def now(self) -> float:
        """Time in s."""

    @property
    def finished(self) -> bool:
        """Whether every flow has been delivered."""

    @property
    def awaits_decision(self) -> bool:
        """Whether time stands still until an agent decides."""

    @property
    def num_delivered(self) -> int:
        """Flows delivered so far."""

    @property
    def delivery_order(self) -> npt.NDArray[np.integer[Any]]:
        """Rows of the flows that have been delivered, in that order, in its first ``num_delivered`` indices."""

    def run(self) -> None:
        """Runs until a decision is asked, or all flows are delivered."""

    def go_on(self) -> None:
        """Begins a period, with the controls as they have been set."""

    def records(self) -> Records:
        """Returns what has become of every flow so far."""


class EpisodeBatch(Protocol):
    """Episodes of one kind in compiled code, by number."""

    @property
    def topology(self) -> Topology:
        """The network."""

    @property
    def episodes(self) -> npt.NDArray[Any]:
        """What the environment keeps of each episode, (num_networks,)."""

    def columns(self, number: int) -> npt.NDArray[Any]:
        """Views the columns of the flows of a network, (num_flows,)."""

    def load(self, number: int, workload: Workload) -> None:
        """Puts the flows of a workload into a network, at time 0."""

    def run(self, *numbers: int) -> None:
        """Runs networks, each until a decision is asked or all flows are delivered."""

    def go_on(self, number: int) -> None:
        """Begins a period of a network, with the controls as they have been set."""

    def awaits_decision(self, number: int) -> bool:
        """Returns whether a network waits until an agent decides."""

    def now(self, number: int) -> float:
        """Returns the time of a network in s."""

    def finished(self, number: int) -> bool:
        """Returns whether every flow of a network has been delivered."""

    def num_delivered(self, number: int) -> int:
        """Returns how many flows of a network have been delivered."""

    def take(self, numbers: IntArray) -> Snapshot:
        """Copies networks, (count,)."""

    def put(self, numbers: IntArray, snapshot: Snapshot) -> None:
        """Sets networks, (count,), to what a snapshot holds."""

    def records(self, number: int, workload: Workload) -> Records:
        """Returns what has become of every flow of a network so far."""

    def outcomes(self, number: int) -> tuple[FloatArray, FloatArray]:
        """Returns when the flows of a network were granted and delivered, in s, (num_flows,) each; NaN for not yet."""

    def complete_records(self, workload: Workload, grant_time: FloatArray, completion_time: FloatArray) -> Records:
        """Builds the records of flows from what was measured."""


class EpisodeSetup(ABC):
    """What the episodes of an environment are made of.

    Attributes:
        topology: Links and paths.
        period: When a period ends, where the agent is asked after each.
        flow_fields: What the environment keeps of each flow; see ``fill_flow_fields``.
        episode_fields: What it keeps of each episode, 0 at the beginning.
    """

    topology: Topology
    period: Period | None
    flow_fields: Fields
    episode_fields: Fields

    @abstractmethod
    def check(self, workload: Workload) -> None:
        """Checks what can be checked of flows before an episode begins.

        Raises:
            ConfigError: The network cannot serve the flows.
            WorkloadError: Flows take too short or too long a time to send.
        """

    def check_links(self, workload: Workload) -> None:
        """Refuses changes of links in a network whose links stay up.

        Raises:
            ConfigError: There are some.
        """
        if workload.link_changes is not None:
            raise ConfigError("workload has link changes: the links of this environment stay up")

    def room(self, workload: Workload) -> tuple[int, str]:
        """Returns how much memory an episode takes, in that of a flow of the fluid, and what takes it, in words."""
        return workload.num_flows, f"{workload.num_flows} flows"

    @abstractmethod
    def simulate(self, workload: Workload) -> Any:
        """Begins an episode on SimPy, with the attributes of an ``Episode`` and ``ideal_fct()``."""

    @abstractmethod
    def new_batch(self, num_networks: int, workload: Workload, num_threads: int = 1) -> Any:
        """Makes an ``EpisodeBatch``, with room for such a workload in each network."""

    @abstractmethod
    def load(self, batch: Any, workload: Workload) -> Any:
        """Begins an episode in the only network of a batch, with the attributes of an ``Episode``."""

    @abstractmethod
    def scene(self, simulation: Any) -> Scene:
        """Looks at an episode, for pictures."""

    def view(self, simulation: Any, columns: npt.NDArray[Any], *, told: int, begun_at: float) -> EpisodeView:
        """Views an episode on SimPy whose agent acts once per period; see ``EpisodeView``."""
        raise NotImplementedError

    def view_batch(self, batch: Any, number: int) -> EpisodeView:
        """Views one in compiled code."""
        raise NotImplementedError
