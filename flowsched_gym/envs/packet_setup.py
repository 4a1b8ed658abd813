"""Networks of packets as environments have them, for both engines."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from flowsched_gym.core.errors import ConfigError, WorkloadError, shown
from flowsched_gym.core.periods import Period
from flowsched_gym.envs.base import NS3
from flowsched_gym.envs.drawing import Scene
from flowsched_gym.envs.episode import EpisodeSetup
from flowsched_gym.flows.decisions import DecisionKind
from flowsched_gym.flows.fields import Fields
from flowsched_gym.flows.stages import Barrier
from flowsched_gym.ns3 import Ns3Simulation, PathSimulation, Senders
from flowsched_gym.ns3 import TokenSimulation as TokensOnNs3
from flowsched_gym.packets.compiled import CompiledPackets, PacketNetworks
from flowsched_gym.packets.parameters import Acks, NetworkParameters, Paths
from flowsched_gym.packets.schedulers import Fifo, PacketSetup, Scheduler
from flowsched_gym.packets.simpy import FlowSimulation, StagedSimulation, TokenSimulation
from flowsched_gym.topology import Topology
from flowsched_gym.workload import Workload

BYTES_OF_ROW: Final = 300
"""Memory that a flow of the fluid takes."""
PACKETS_OF_ROW: Final = 6
"""Packets that take as much: some 50 B each."""
MOST_BYTES: Final = 2**32 - 1
"""Bytes that may wait at a port of ns-3."""
HEADERS_OF_NS3: Final = (42, 54)
"""Bytes around the payload of ns-3's packets: of TCP, IP and PPP; and with timestamps."""
LARGEST_OF_NS3: Final = 65_537
"""Bytes of its largest packet, which is one of IP, and 2 B around it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PortsSetup(EpisodeSetup):
    """Ports, the senders into them, and when an agent acts.

    Attributes:
        topology: The links behind the ports.
        port: The ports and their senders, and what the agent is asked.
    """

    topology: Topology
    port: PacketSetup
    episode_fields: Fields = ()
    flow_fields: Fields = ()

    @property
    def num_tokens(self) -> int | None:  # type: ignore[override]  # not to be set
        """Tokens of each destination; ``None`` where flows need none."""
        return self.port.num_tokens

    @property
    def period(self) -> Period | None:  # type: ignore[override]  # not to be set
        """When a period ends, where the agent is asked after each."""
        return self.port.period

    @property
    def rate_caps(self) -> bool:  # type: ignore[override]  # not to be set
        """Whether flows may get largest rates."""
        return self.port.steers

    def check(self, workload: Workload) -> None:
        """Checks that the packets of the flows are not too many and can be delivered, and that links stay up."""
        self.check_links(workload)
        self.port.network(workload)

    def check_links(self, workload: Workload) -> None:
        """Refuses changes of links where no agent chooses paths."""
        if self.port.asks is not DecisionKind.PATH:
            super().check_links(workload)

    def room(self, workload: Workload) -> tuple[int, str]:
        """Returns how much memory an episode takes, in that of a flow of the fluid, and what takes it, in words."""
        num_packets = int(np.ceil(workload.size / self.port.parameters.payload).sum())
        sketch = self.port.scheduler.sketch_bytes
        rows = num_packets // PACKETS_OF_ROW + workload.num_flows + sketch // BYTES_OF_ROW
        return rows, f"{num_packets} packets" + (f", a sketch of {sketch} B" if sketch else "")

    def simulate(self, workload: Workload) -> FlowSimulation | TokenSimulation | Ns3Simulation:
        """Begins an episode on SimPy."""
        self.check_links(workload)
        if self.num_tokens is not None:
            return TokenSimulation(workload, self.port)
        if self.port.barrier is not None:
            return StagedSimulation(workload, self.port)
        return FlowSimulation(workload, self.port)

    def new_batch(self, num_networks: int, workload: Workload, num_threads: int = 1) -> PacketNetworks:
        """Makes compiled networks."""
        return PacketNetworks(
            num_networks,
            self.port,
            workload,
            flow_fields=self.flow_fields,
            episode_fields=self.episode_fields,
            num_threads=num_threads,
        )

    def load(self, batch: PacketNetworks, workload: Workload) -> CompiledPackets:
        """Begins an episode in the only network of a batch."""
        self.check_links(workload)
        return CompiledPackets(batch, workload)

    def scene(self, simulation: FlowSimulation | TokenSimulation | CompiledPackets) -> Scene:
        """Looks at an episode, for pictures; the rate of a flow is its mean since it could begin."""
        records, now = simulation.records(), simulation.now
        volume, remaining, path = simulation.state.volume, simulation.state.remaining, simulation.path
        begun = records.arrival_time
        if self.num_tokens is not None:
            begun = records.grant_time + self.topology.path_delay(path)
        active = np.flatnonzero((begun < now) & (remaining > 0.0))
        if self.port.barrier is not None:
            assert not isinstance(simulation, TokenSimulation)
            begun, active = simulation.state.arrival_time, np.sort(simulation.active)
        rate = np.zeros(records.num_flows)
        elapsed = np.maximum(now - begun[active], np.finfo(np.float64).tiny)  # none has sent at once
        rate[active] = (volume - remaining)[active] / elapsed
        return Scene(
            now=now,
            records=records,
            delivered=np.array(simulation.delivered, dtype=np.int64),
            active=active,
            remaining=remaining.copy(),
            volume=volume,
            rate=rate,
            path=path,
            network=simulation.links,
            link_names=self.topology.link_names,
            num_hosts=self.topology.num_hosts,
            transport=str(self.port.parameters.transport),
        )


class Ns3Setup(PortsSetup):
    """The same in ns-3 itself, where an agent grants tokens or chooses paths; see ``flowsched_gym.ns3``."""

    def check(self, workload: Workload) -> None:
        """Checks what ``PortsSetup`` does, and that ns-3 has such senders."""
        super().check(workload)
        changes, parameters = workload.link_changes, self.port.parameters
        if changes is not None and (changes.time > 0.0).any():
            raise WorkloadError(
                f"a link fails, or comes up, at {shown(float(changes.time.max()))} s: in ns-3, they fail at time 0, or "
                "never"
            )
        for name, value, known in (
            ("transport", parameters.transport, ("dctcp", "cubic", "newreno", "reno")),
            ("header", parameters.header, HEADERS_OF_NS3),
            ("payload", parameters.payload, (int(parameters.payload),)),
            ("acks", str(parameters.acks), (str(Acks.PACKETS),)),
            ("handshake", parameters.handshake, (True,)),
            ("paths", str(parameters.paths), (str(Paths.FLOW),)),
        ):
            if value not in known:
                raise ConfigError(
                    f"packets has {name} {shown(value)}: in ns-3, it must be {' or '.join(map(repr, known))}"
                )
        if parameters.payload + parameters.header > LARGEST_OF_NS3:
            raise ConfigError(
                f"packets has payload {shown(parameters.payload)} and header {shown(parameters.header)}: in ns-3, both "
                f"together must be at most {LARGEST_OF_NS3}"
            )
        if not isinstance(self.port.scheduler, Fifo):
            raise ConfigError("discipline has ports that are not first in, first out: in ns-3, they must be")

    def simulate(self, workload: Workload) -> Ns3Simulation:
        """Begins an episode on ns-3."""
        self.check_links(workload)
        parts = workload, self.topology, self._senders(workload)
        if self.num_tokens is not None:
            return TokensOnNs3(*parts, self.num_tokens)
        return PathSimulation(*parts) if self.port.asks is DecisionKind.PATH else Ns3Simulation(*parts)

    def _senders(self, workload: Workload) -> Senders:
        parameters, network = self.port.parameters, self.port.network(workload)
        room, mark = np.zeros((2, self.topology.num_links), dtype=np.int64)
        for array, limits in ((room, network.limits.room), (mark, network.limits.unmarked)):
            array[network.link_of_port] = np.minimum(limits, MOST_BYTES)
        return Senders(
            options={
                "transport": parameters.transport,
                "segment": int(parameters.payload),
                "timestamps": int(parameters.header == HEADERS_OF_NS3[1]),
                "window": int(parameters.window),
                "least-timer": parameters.min_rto,
                "ack-every": parameters.ack_every,
                "ack-delay": parameters.ack_delay,
                "receive-buffer": int((parameters.receive_window or 0) * parameters.payload),
            },
            payload=int(parameters.payload),
            header=int(parameters.header),
            room=room,
            mark=mark,
            links=network.links,
            path=network.path,
            back=network.back.first + network.back.turn,
            late=network.flows.late,
            ideal_fct=network.ideal_fct(),
        )


def setup_ports(
    topology: Topology,
    scheduler: Scheduler,
    senders: NetworkParameters,
    *,
    asks: DecisionKind = DecisionKind.NOTHING,
    period: Period | None = None,
    num_tokens: int | None = None,
    steers: bool = False,
    barrier: Barrier | None = None,
    flow_fields: Fields = (),
    episode_fields: Fields = (),
    engine: str = "",
) -> PortsSetup:
    """Sets ports up for an environment; see ``PacketSetup`` and ``EpisodeSetup``."""
    kind = Ns3Setup if engine == NS3 else PortsSetup
    port = PacketSetup(
        scheduler=scheduler,
        topology=topology,
        parameters=senders,
        num_tokens=num_tokens,
        asks=asks,
        period=period,
        steers=steers,
        barrier=barrier,
    )
    return kind(topology=topology, port=port, flow_fields=flow_fields, episode_fields=episode_fields)
