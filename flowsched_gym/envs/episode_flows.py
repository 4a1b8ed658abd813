"""Draws the flows of episodes: to check where they come from, of new ones, and again for states."""

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.envs.episode import EpisodeSetup
from flowsched_gym.envs.state import EnvState, fingerprint
from flowsched_gym.workload import Workload, WorkloadSource, members_of, with_future

NO_FLOW: Final = "the episode drawn has no flow: ask for more bursts, or more seconds of arrivals"
SEEDS_TO_TRY: Final = 10
"""Episodes that are drawn to find one that has a flow."""
RECENT: Final = 16
"""Episodes that are kept after they have been drawn."""


class RecentDraws:
    """A source of workloads that keeps the episodes drawn last, for environments that play the same ones.

    Args:
        source: What draws them.

    Attributes:
        num_hosts: Number of hosts, as the source has it.
        draw: Draws an episode, as the source does, or returns it where it has been drawn just before.
    """

    def __init__(self, source: WorkloadSource) -> None:
        self.num_hosts = source.num_hosts
        self.draw: Callable[[int], Workload] = lru_cache(maxsize=RECENT)(source.draw)


def check_source(source: WorkloadSource, network: EpisodeSetup) -> None:
    """Checks what can be checked of flows before an episode begins, on the flows of one.

    Raises:
        ConfigError: There are no flows, or the network cannot serve them.
        WorkloadError: Flows take too short or too long a time to send.
    """
    for each in members_of(source):
        workload = each.draw(0)
        if not isinstance(workload, Workload):
            raise ConfigError(f"workload draws {shown(workload)}: its draw(seed) must return a Workload")
        if workload.num_flows:
            network.check(workload)
        elif not any(each.draw(seed).num_flows for seed in range(1, SEEDS_TO_TRY)):
            raise ConfigError(NO_FLOW)


def draw_flows(source: WorkloadSource, episode_seed: int) -> Workload:
    """Draws the flows of a new episode.

    Raises:
        ConfigError: There are none.
    """
    workload = source.draw(episode_seed)
    if not workload.num_flows:
        raise ConfigError(NO_FLOW)
    return workload


def redraw_flows(source: WorkloadSource, state: EnvState) -> Workload:
    """Draws the flows of a state's episode again.

    Raises:
        ConfigError: They are other flows than the state's.
    """
    workload = source.draw(state.episode_seed)
    if state.flows != fingerprint(workload, source.num_hosts):
        raise ConfigError("state is one of an episode with other flows than this environment draws")
    for now, seed in state.futures:
        workload = with_future(workload, source.draw(seed), now)
    return workload
