"""The native vector environment of Artemis."""

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from flowsched_gym.batch import BatchSimulation
from flowsched_gym.batch.records import aligned_zeros
from flowsched_gym.batch.stepping import REWARD, Columns
from flowsched_gym.disciplines import Ps
from flowsched_gym.envs import CompiledVectorEnv
from flowsched_gym.envs.arguments import check_room
from flowsched_gym.model import TRANSPORTS
from flowsched_gym.systems.artemis.compiled import (
    DESTINATION,
    EPISODE,
    FLOW_FIELDS,
    NUM_AMOUNTS,
    NUM_COUNTS,
    SEEN_COLUMNS,
    UNPAID,
    DeferCode,
    Episodes,
    observe,
    prepare,
    step,
)
from flowsched_gym.systems.artemis.config import ArtemisConfig, Defer, Observation, Reward
from flowsched_gym.systems.artemis.env import ArtemisEnv
from flowsched_gym.systems.artemis.observation import SIZE_SCALE, TIME_SCALE
from flowsched_gym.workload import GatherWorkload, Workload, WorkloadLike, WorkloadSource
from flowsched_gym.workload.checks import check_integer

__all__ = ["ArtemisVectorEnv"]

DEFER_CODES = {Defer.NONE: DeferCode.NONE, Defer.WAIT: DeferCode.WAIT, Defer.TO_BACK: DeferCode.TO_BACK}


class ArtemisVectorEnv(CompiledVectorEnv):
    """Runs many ``ArtemisEnv`` in one compiled call per step; see there for spaces, rewards and arguments.

    Args:
        num_envs: Environments, >= 1.
        workload: As in ``ArtemisEnv``.
        autoreset_mode: When an environment that has ended begins its next episode.
        max_episode_steps: Decisions after which Gymnasium's time limit would truncate; ``None`` for none.
        **arguments: The other arguments of ``ArtemisEnv``.

    Raises:
        ConfigError: An argument has another type or is out of its range.
        FlowFileError: The flow file has a fault.
    """

    config: ArtemisConfig
    _template: ArtemisEnv
    _STEP = step
    _OBSERVE = observe
    _NUM_AMOUNTS = NUM_AMOUNTS
    _NUM_COUNTS = NUM_COUNTS

    def __init__(
        self,
        num_envs: int = 1,
        workload: WorkloadLike = "gather-a1",
        *,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        **arguments: Any,
    ) -> None:
        """Makes room for two episodes of each environment."""
        check_integer("num_envs", num_envs, at_least=1)
        template = ArtemisEnv(workload, **arguments)
        config = template.config
        source = template._source
        num_flows = _expected_flows(source)
        check_room(num_envs, num_flows, template.layout.size)
        simulation = BatchSimulation(
            2 * num_envs,
            num_flows,
            template._topology,
            Ps(),
            transport=TRANSPORTS[config.transport],
            num_tokens=config.k,
            num_places=_most_destinations(source),
            flow_fields=FLOW_FIELDS,
        )
        self._own: Episodes
        super().__init__(
            template,
            simulation,
            {"workload": workload, **arguments},
            num_envs=num_envs,
            autoreset_mode=autoreset_mode,
            max_episode_steps=max_episode_steps,
        )

    def _new_own(self) -> Episodes:
        """Makes what is kept beside the tables."""
        config, simulation = self.config, self.simulation
        num_flows = len(simulation.tables.flows)
        seen = aligned_zeros(num_flows * SEEN_COLUMNS, np.dtype(np.float32)).reshape(num_flows, SEEN_COLUMNS)
        return Episodes(
            episodes=np.zeros(simulation.num_networks, dtype=EPISODE),
            seen=seen,
            seen_at=seen.view(np.int32)[:, -1],
            num_slots=config.f,
            num_actions=self._num_actions,
            defer=int(DEFER_CODES[config.defer]),
            lagged=config.reward is Reward.LAGGED,
            full=config.observation is Observation.FULL,
            max_decisions=np.inf if config.max_decisions is None else float(config.max_decisions),
            line_rate=self._template.line_rate,
            size_scale=SIZE_SCALE,
            time_scale=TIME_SCALE,
        )

    def _own_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Views what is kept of networks."""
        seen = self._own.seen.reshape(self.simulation.num_networks, -1, SEEN_COLUMNS)
        return {"episodes": self._own.episodes, "seen": seen}

    def _columns(self, outputs: Columns) -> dict[str, npt.NDArray[Any]]:
        """Returns the infos of every step."""
        columns = super()._columns(outputs)
        columns["destination"] = outputs.counts[DESTINATION]
        return columns

    def _columns_at_end(self, outputs: Columns) -> dict[str, npt.NDArray[Any]]:
        """Returns the infos at the end of an episode."""
        return {"unpaid_rewards": outputs.amounts[UNPAID]}

    def _terms(self, outputs: Columns) -> dict[str, npt.NDArray[np.float64]]:
        """Returns the named terms of the rewards."""
        return {"deadline_met": outputs.amounts[REWARD]}

    def _prepare(self, network: int, workload: Workload) -> None:
        """Runs a network that has been loaded to its first decision."""
        assert workload.deadline_span is not None
        prepare(self.simulation.tables, self._own, network, workload.size, workload.deadline_span)
        self.simulation.run(network)


def _expected_flows(source: WorkloadSource) -> int:
    """Returns how many flows an episode will have, or a guess that grows."""
    if isinstance(source, GatherWorkload) and source.num_bursts is not None:
        return source.num_bursts * source.burst_size
    return max(source.draw(0).num_flows, 1)


def _most_destinations(source: WorkloadSource) -> int:
    """Returns how many hosts can receive flows."""
    if isinstance(source, GatherWorkload) and source.pattern == "gather":
        return source.num_destinations
    return source.num_hosts
