"""Episodes, of flows or of packets, what they are made of, and how their flows are drawn.

Flows are drawn to check where they come from, for new episodes, and again for states.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.checks import EXACT_END
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.periods import Period
from flowsched_gym.envs.drawing import Scene
from flowsched_gym.envs.state import EnvState, fingerprint
from flowsched_gym.flows.fields import Fields
from flowsched_gym.flows.metrics import summary
from flowsched_gym.fluid.compiled import BatchSimulation, CompiledSimulation
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.packets.compiled import CompiledPackets, PacketNetworks
from flowsched_gym.packets.simpy import FlowSimulation
from flowsched_gym.topology import Topology
from flowsched_gym.workload import Workload, WorkloadSource, members_of, with_future

Episode = Simulation | CompiledSimulation | FlowSimulation | CompiledPackets
"""One that runs from decision to decision."""
EpisodeBatch = BatchSimulation | PacketNetworks
"""Episodes of one kind in compiled code, by number."""

NO_FLOW: Final = "the episode drawn has no flow: ask for more bursts, or more seconds of arrivals"
SEEDS_TO_TRY: Final = 10
"""Episodes that are drawn to find one that has a flow."""
MOST_PERIODS: Final = 10_000_000
"""Periods of an episode at most: to go through so many takes half an hour, whether anything is decided or not."""
RECENT: Final = 16
"""Episodes that are kept after they have been drawn."""


class EpisodeSetup(ABC):
    """What the episodes of an environment are made of.

    Attributes:
        period: When a period ends, where the agent is asked after each.
        num_tokens: Tokens of each destination; ``None`` where flows need none.
        rate_caps: Whether the agent may set largest rates of flows.
        flow_fields: What the environment keeps of each flow; see ``fill_flow_fields``.
        episode_fields: What it keeps of each episode, 0 at the beginning.
    """

    topology: Topology
    period: Period | None
    num_tokens: int | None
    rate_caps: bool
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
        """Refuses changes of links in a network whose links stay up."""
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


class EndedEpisode:
    """The end of an episode, for as long as its metrics may be read."""

    __slots__ = ("__weakref__", "_draw", "_now", "_number", "_outcomes", "_simulation")

    def __init__(self, simulation: EpisodeBatch, number: int, draw: Callable[[], Workload], now: float | None) -> None:
        self._simulation = simulation
        self._number = number
        self._draw = draw
        self._now = now
        self._outcomes: tuple[FloatArray, FloatArray] | None = None

    def keep(self) -> tuple[FloatArray, FloatArray]:
        """Copies what the next episode in this network will write over, and returns it."""
        self._outcomes = self._outcomes or self._simulation.outcomes(self._number)
        return self._outcomes

    def metrics(self) -> dict[str, float]:
        """Measures the episode."""
        simulation = self._simulation
        records = simulation.complete_records(self._draw(), *self.keep())
        return summary(records, capacity=float(simulation.topology.capacity[0]), now=self._now).as_dict()


class RecentDraws:
    """A source of workloads that keeps the episodes drawn last, for environments that play the same ones."""

    def __init__(self, source: WorkloadSource) -> None:
        self.num_hosts = source.num_hosts
        self.draw: Callable[[int], Workload] = lru_cache(maxsize=RECENT)(source.draw)


def check_source(source: WorkloadSource, network: EpisodeSetup) -> None:
    """Checks the flows of one episode, as ``EpisodeSetup.check`` does, and that there are any."""
    for each in members_of(source):
        workload = each.draw(0)
        if not isinstance(workload, Workload):
            raise ConfigError(f"workload draws {shown(workload)}: its draw(seed) must return a Workload")
        if workload.num_flows:
            network.check(workload)
        elif not any(each.draw(seed).num_flows for seed in range(1, SEEDS_TO_TRY)):
            raise ConfigError(NO_FLOW)


def check_periods(source: WorkloadSource, network: EpisodeSetup, argument: str, *, skips_empty: bool) -> None:
    """Refuses periods, set by an argument, of which an episode has too many, by the flows of one.

    Those that are left out, since no flow is active in them, do not count.
    """
    seconds = None if network.period is None else network.period.seconds
    for workload in (each.draw(0) for each in members_of(source)):
        if seconds is None or not workload.num_flows:
            continue
        hosts = len(np.unique(workload.source))
        alone = float(workload.size.sum()) / float(network.topology.capacity[0])
        last = float(workload.arrival_time.max())
        active = min(last, alone) if skips_empty else last
        expected = (active + alone / hosts) / seconds
        if not (expected <= MOST_PERIODS and last / seconds < EXACT_END):
            raise ConfigError(
                f"{argument} makes periods of {seconds:g} s: an episode would have about {expected:.2g}, at most "
                f"{MOST_PERIODS} are allowed (periods of about {expected * seconds / MOST_PERIODS:.2g} s, or flows "
                f"that arrive within less than {last:.2g} s: a larger load, or fewer flows)"
            )


def draw_flows(source: WorkloadSource, episode_seed: int) -> Workload:
    """Draws the flows of a new episode; refuses none."""
    workload = source.draw(episode_seed)
    if not workload.num_flows:
        raise ConfigError(NO_FLOW)
    return workload


def redraw_flows(source: WorkloadSource, state: EnvState) -> Workload:
    """Draws the flows of a state's episode again; refuses other flows than the state's."""
    workload = source.draw(state.episode_seed)
    if state.flows != fingerprint(workload, source.num_hosts):
        raise ConfigError("state is one of an episode with other flows than this environment draws")
    for now, seed in state.futures:
        workload = with_future(workload, source.draw(seed), now)
    return workload
