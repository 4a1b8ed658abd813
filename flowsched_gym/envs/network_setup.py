"""The network of an environment, as both engines take it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.periods import Period
from flowsched_gym.envs.drawing import Scene
from flowsched_gym.envs.episode import EpisodeSetup
from flowsched_gym.flows.decisions import DecisionKind
from flowsched_gym.flows.fields import Fields
from flowsched_gym.flows.stages import Barrier
from flowsched_gym.fluid import TRANSPORTS, Discipline, Transport, TransportName
from flowsched_gym.fluid.compiled import BatchSimulation, CompiledSimulation
from flowsched_gym.fluid.isolation import check_stages
from flowsched_gym.fluid.rules.transport.senders import wire_volume
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.topology import Routing, Topology
from flowsched_gym.workload import Workload


@dataclass(frozen=True, kw_only=True, eq=False)
class NetworkSetup(EpisodeSetup):
    """Topology and rules of a network, and what an agent decides in it; see ``EpisodeSetup`` for the other attributes.

    Attributes:
        new_discipline: Makes the discipline that fills the controls of the flows that send.
        transport: How a flow sends.
        num_tokens: Flows that a destination lets send at once; ``None`` for no tokens.
        routing: How flows choose among their paths; ``None`` where paths and links stay.
        asks: About what an agent is asked; ``NOTHING`` where it grants tokens.
        rate_caps: Whether flows may get largest rates.
        barrier: When a flow whose CPU work is done may send; ``None`` where flows have no stages before they send.
    """

    topology: Topology
    new_discipline: Callable[[], Discipline]
    transport: Transport = TRANSPORTS[TransportName.IDEAL]
    num_tokens: int | None = None
    routing: Routing | None = None
    asks: DecisionKind = DecisionKind.NOTHING
    period: Period | None = None
    rate_caps: bool = False
    barrier: Barrier | None = None
    flow_fields: Fields = ()
    episode_fields: Fields = ()

    def check(self, workload: Workload) -> None:
        """Checks what can be checked of flows before an episode begins; see ``EpisodeSetup``."""
        topology, changes = self.topology, workload.link_changes
        path = topology.path_of(workload.source, workload.destination)
        volume = np.empty(workload.num_flows)
        wire_volume(workload.size, self.transport.segment, self.transport.header, volume)
        topology.check_times(path, volume, workload.arrival_time)
        self.check_links(workload)
        self._check_stages(workload)
        if changes is not None:
            first, last = topology.candidates(workload.source, workload.destination)
            topology.check_link_changes(changes.link, changes.up, first, last)

    def check_links(self, workload: Workload) -> None:
        """Refuses changes of links in a network whose links stay up."""
        if self.routing is None:
            super().check_links(workload)

    def _check_stages(self, workload: Workload) -> None:
        if not workload.has_stages:
            return
        if self.barrier is None:
            raise ConfigError("workload has flows with CPU work, or that come after others: here, flows send at once")
        check_stages(workload, self.topology, self.transport, has_tokens=self.num_tokens is not None)

    def simulate(self, workload: Workload) -> Simulation:
        """Begins an episode on SimPy."""
        self.check_links(workload)
        self._check_stages(workload)
        return Simulation(
            workload,
            self.topology,
            self.new_discipline(),
            transport=self.transport,
            num_tokens=self.num_tokens,
            routing=self.routing,
            asks=self.asks,
            period=self.period,
            barrier=self.barrier or Barrier.FLOW,
        )

    def new_batch(self, num_networks: int, workload: Workload, num_threads: int = 1) -> BatchSimulation:
        """Makes compiled networks, with room for such a workload in each."""
        changes = workload.link_changes
        return BatchSimulation(
            num_networks,
            max(workload.num_flows, 1),
            self.topology,
            self.new_discipline(),
            transport=self.transport,
            num_tokens=self.num_tokens,
            most_destinations=max(len(np.unique(workload.destination)), 1),
            routing=self.routing,
            asks=self.asks,
            period=self.period,
            barrier=self.barrier,
            num_changes=0 if changes is None else changes.num_changes,
            flow_fields=self.flow_fields,
            episode_fields=self.episode_fields,
            rate_caps=self.rate_caps,
            num_threads=num_threads,
        )

    def load(self, batch: BatchSimulation, workload: Workload) -> CompiledSimulation:
        """Begins an episode in the only network of a batch."""
        batch.load(0, workload)
        return CompiledSimulation(batch, workload)

    def scene(self, simulation: Simulation | CompiledSimulation) -> Scene:
        """Looks at an episode, for pictures."""
        return Scene.of(simulation)
