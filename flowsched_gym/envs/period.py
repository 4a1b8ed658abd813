"""Holds what environments share whose agent acts once per period, and not at single events."""

from abc import ABC, abstractmethod
from copy import copy
from typing import Any, ClassVar, Final, Generic

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from flowsched_gym.disciplines import Mlfq
from flowsched_gym.encoders import Layout
from flowsched_gym.envs.base import Action, FlowSchedEnv, Observation
from flowsched_gym.envs.network_view import KeptColumns, NetworkView, view_simulation
from flowsched_gym.errors import ConfigError
from flowsched_gym.model import TRANSPORTS, TransportName
from flowsched_gym.model.questions import Asks, Period
from flowsched_gym.simulation import Simulation
from flowsched_gym.topology import Routing, Topology, isolated_fct
from flowsched_gym.workload import Workload, WorkloadSource

__all__ = ["PeriodControl", "PeriodEnv"]

FloatArray = npt.NDArray[np.float64]

MOST_PERIODS: Final = 10_000_000
"""Periods of an episode at most: to go through so many takes half an hour, whether anything is decided or not."""


class PeriodControl(ABC, Generic[Action]):
    """Is what a system does once per period, written once for both engines.

    It keeps nothing of an episode: what must be remembered from one step to the next stands in ``memory``, an array of
    one network alone, which is part of its state.

    Attributes:
        layout: Columns of the observation.
        action_space: What ``check`` lets through.
        memory_size: Numbers that are remembered, >= 0.
    """

    layout: Layout
    action_space: spaces.Space[Any]
    memory_size: int = 0
    may_pass: ClassVar[bool] = False
    """Whether ``asks`` may answer no."""
    sets_rate_caps: ClassVar[bool] = False
    """Whether ``act`` may write ``view.rate_cap``."""

    def asks(self, view: NetworkView) -> bool:
        """Tells whether there is anything to decide at the beginning of a period; if not, it begins at once."""
        return True

    @abstractmethod
    def new_discipline(self) -> Mlfq:
        """Makes feedback queues with the thresholds that every episode begins with."""

    @abstractmethod
    def check(self, action: object, name: str = "action") -> Action:
        """Reads an action; whatever it lets through, ``act`` can do.

        Args:
            action: What the agent chose.
            name: What it is called in messages.

        Raises:
            InvalidAction: The action is outside the space.
        """

    def begin(self, view: NetworkView, memory: FloatArray) -> None:
        """Sets what an episode begins with; the memory holds zeros before. Thresholds are the initial ones."""

    @abstractmethod
    def act(self, view: NetworkView, memory: FloatArray, action: Action) -> None:
        """Sets the controls for the next period, by an action that has been checked."""

    @abstractmethod
    def pay(self, view: NetworkView, memory: FloatArray) -> tuple[float, dict[str, float]]:
        """Returns the reward for the period that has ended, and its named terms, always the same ones."""

    @abstractmethod
    def observe(self, view: NetworkView, memory: FloatArray) -> Observation:
        """Returns what the agent sees, a new (layout.size,) float32 array; changes nothing."""


class PeriodEnv(FlowSchedEnv[Action]):
    """Runs episodes in which the agent acts at time 0 and at the beginning of each further period.

    Where the system has nothing to decide, the period begins without a step.

    Feedback queues serve the flows. The step in which all flows have been delivered ends the episode, wherever in its
    period that is, and is paid for what it delivered.

    Args:
        control: The system's part.
        source: Where the flows of each episode are drawn from.
        topology: The network.
        period: When a period ends.
        routing: How flows choose among their paths; ``None`` where paths and links stay.
        render_mode: ``rgb_array``, ``ansi`` or ``None``.
        max_decisions: Decisions after which an episode is truncated; ``None`` for no limit.

    Raises:
        ConfigError: There is no such render mode.
    """

    def __init__(
        self,
        control: PeriodControl[Action],
        *,
        source: WorkloadSource,
        topology: Topology,
        period: Period,
        routing: Routing | None = None,
        render_mode: str | None = None,
        max_decisions: int | None = None,
    ) -> None:
        """Makes no draw."""
        super().__init__(source=source, layout=control.layout, render_mode=render_mode, max_decisions=max_decisions)
        self.action_space = control.action_space
        self._control = control
        self._topology = topology
        self._period = period
        self._routing = routing
        self._check_first(topology, links_change=routing is not None)
        self._check_periods()

    def view(self) -> NetworkView:
        """Views the network as it stands.

        Raises:
            SimulationError: There is no episode yet.
        """
        return view_simulation(self.simulation, self._kept, told=self._told, begun_at=self._begun_at)

    def kept_columns(self, workload: Workload, volume: FloatArray) -> KeptColumns:
        """Gathers what views show of flows beside the columns of the engine.

        Args:
            workload: The flows.
            volume: Their bytes on the wire, (num_flows,).
        """
        path = self._topology.ideal_path(workload.source, workload.destination)
        transport = TRANSPORTS[TransportName.IDEAL]
        return KeptColumns(
            flow_id=workload.flow_id,
            source=workload.source,
            destination=workload.destination,
            by_arrival=np.argsort(workload.arrival_time, kind="stable"),
            ideal_fct=isolated_fct(self._topology, path, volume, transport, needs_token=False),
        )

    def _check_periods(self) -> None:
        """Refuses periods of which an episode has too many, by the flows of one.

        Raises:
            ConfigError: There are too many.
        """
        seconds, workload = self._period.seconds, self._source.draw(0)
        if seconds is None or not workload.num_flows:
            return
        hosts = len(np.unique(workload.source))
        busy = float(workload.size.sum()) / (float(self._topology.capacity[0]) * hosts)
        expected = (float(workload.arrival_time.max()) + busy) / seconds
        if not expected <= MOST_PERIODS:
            raise ConfigError(
                f"period_ms makes periods of {seconds:g} s: an episode would have about {expected:.2g}, at most "
                f"{MOST_PERIODS} are allowed (periods of about {expected * seconds / MOST_PERIODS:.2g} s)"
            )

    def _begin(self, workload: Workload) -> Simulation:
        """Builds the simulation of an episode."""
        if workload.link_changes is not None and self._routing is None:
            raise ConfigError("the episode drawn has link changes: the links of this environment stay up")
        simulation = Simulation(
            workload,
            self._topology,
            self._control.new_discipline(),
            routing=self._routing,
            asks=Asks.PERIOD,
            period=self._period,
        )
        self._kept = self.kept_columns(workload, simulation.state.volume)
        self._memory = np.zeros(self._control.memory_size)
        self._told, self._begun_at = 0, 0.0
        self._control.begin(view_simulation(simulation, self._kept, told=0, begun_at=0.0), self._memory)
        return simulation

    def _act(self, action: Action) -> Action:
        """Sets the controls, and lets the next period begin."""
        chosen = self._control.check(action)
        simulation = self._simulation
        if self._decisions:
            self._told, self._begun_at = len(simulation.delivered), simulation.now
        if simulation.awaits_decision:
            self._control.act(self.view(), self._memory, chosen)
            simulation.go_on()
        return copy(chosen)

    def _run(self) -> None:
        """Runs the episode to the next period in which there is something to decide, or to its end."""
        super()._run()
        while self._control.may_pass and self._simulation.awaits_decision and not self._control.asks(self.view()):
            self._simulation.go_on()
            super()._run()

    def _observe(self) -> Observation:
        """Returns what the agent sees."""
        return self._control.observe(self.view(), self._memory)

    def _pay(self, finished: list[int]) -> tuple[float, dict[str, float]]:
        """Pays for the period."""
        return self._control.pay(self.view(), self._memory)
