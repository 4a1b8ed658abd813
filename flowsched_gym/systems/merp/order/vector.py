"""The native vector environment of MERP's ordering."""

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from flowsched_gym.batch import BatchSimulation
from flowsched_gym.batch.stepping import Columns
from flowsched_gym.disciplines import Ranked
from flowsched_gym.envs import CompiledVectorEnv
from flowsched_gym.envs.arguments import check_room
from flowsched_gym.model.questions import Asks
from flowsched_gym.model.rules.slowdowns import LARGEST_KEPT, NUM_TERMS
from flowsched_gym.systems.merp.order.compiled import (
    EPISODE,
    FLOW_FIELDS,
    NUM_AMOUNTS,
    TERMS_AT,
    Episodes,
    observe,
    prepare,
    step,
)
from flowsched_gym.systems.merp.order.config import MERPOrderConfig
from flowsched_gym.systems.merp.order.env import MERPOrderEnv
from flowsched_gym.systems.merp.order.observation import RATIO_SCALE, SIZE_SCALE, TIME_SCALE
from flowsched_gym.systems.merp.order.reward import TERMS
from flowsched_gym.workload import PoissonWorkload, Workload, WorkloadLike, WorkloadSource
from flowsched_gym.workload.checks import check_integer

__all__ = ["MERPOrderVectorEnv"]

IntArray = npt.NDArray[np.int64]


class MERPOrderVectorEnv(CompiledVectorEnv):
    """Runs many ``MERPOrderEnv`` in one compiled call per step; see there for spaces, rewards and arguments.

    Args:
        num_envs: Environments, >= 1.
        workload: As in ``MERPOrderEnv``.
        autoreset_mode: When an environment that has ended begins its next episode.
        max_episode_steps: Decisions after which Gymnasium's time limit would truncate; ``None`` for none.
        **arguments: The other arguments of ``MERPOrderEnv``.

    Raises:
        ConfigError: An argument has another type or is out of its range.
        FlowFileError: The flow file has a fault.
    """

    config: MERPOrderConfig
    _template: MERPOrderEnv
    _STEP = step
    _OBSERVE = observe
    _NUM_AMOUNTS = NUM_AMOUNTS

    def __init__(
        self,
        num_envs: int = 1,
        workload: WorkloadLike | None = None,
        *,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        **arguments: Any,
    ) -> None:
        """Makes room for two episodes of each environment."""
        check_integer("num_envs", num_envs, at_least=1)
        template = MERPOrderEnv(workload, **arguments)
        num_flows = _expected_flows(template._source)
        check_room(num_envs, num_flows, template.layout.size)
        simulation = BatchSimulation(
            2 * num_envs,
            num_flows,
            template._topology,
            Ranked(),
            asks=Asks.ORDER,
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
        return Episodes(
            episodes=np.zeros(simulation.num_networks, dtype=EPISODE),
            largest=np.zeros((simulation.num_networks, LARGEST_KEPT)),
            terms=np.zeros(NUM_TERMS),
            backlog=np.zeros(simulation.topology.num_links),
            num_slots=config.f,
            paid=TERMS[config.reward],
            max_decisions=np.inf if config.max_decisions is None else float(config.max_decisions),
            size_scale=SIZE_SCALE,
            time_scale=TIME_SCALE,
            ratio_scale=RATIO_SCALE,
        )

    def _own_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Views what is kept of networks."""
        return {"episodes": self._own.episodes, "largest": self._own.largest}

    def _terms(self, outputs: Columns) -> dict[str, npt.NDArray[np.float64]]:
        """Returns the named terms of the rewards."""
        return {str(name): outputs.amounts[TERMS_AT + place] for name, place in TERMS.items()}

    def _prepare(self, network: int, workload: Workload) -> None:
        """Runs a network that has been loaded to its first decision."""
        tables = self.simulation.tables
        first = network * tables.num_rows
        flows = tables.flows[first : first + workload.num_flows]
        flows["ideal_fct"] = self._template.ideal_fct(flows["path"], flows["volume"])
        prepare(self._own, network)
        self.simulation.run(network)


def _expected_flows(source: WorkloadSource) -> int:
    """Returns how many flows an episode will have, or a guess that grows."""
    if isinstance(source, PoissonWorkload) and source.num_flows is not None:
        return source.num_flows
    return max(source.draw(0).num_flows, 1)
