"""The native vector environment of MERP's routing."""

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from flowsched_gym.batch import BatchSimulation
from flowsched_gym.batch.stepping import Columns
from flowsched_gym.disciplines import BaseDiscipline, make_discipline
from flowsched_gym.envs import CompiledVectorEnv
from flowsched_gym.envs.arguments import check_room
from flowsched_gym.model.questions import Asks
from flowsched_gym.systems.merp.route.compiled import (
    EPISODE,
    FCT,
    FLOW_FIELDS,
    NUM_AMOUNTS,
    SLOWDOWN,
    Episodes,
    observe,
    step,
)
from flowsched_gym.systems.merp.route.config import MERPRouteConfig
from flowsched_gym.systems.merp.route.env import MERPRouteEnv
from flowsched_gym.systems.merp.route.observation import path_scales
from flowsched_gym.systems.merp.route.reward import reward_terms
from flowsched_gym.topology import make_routing
from flowsched_gym.workload import Workload, WorkloadLike
from flowsched_gym.workload.checks import check_integer

__all__ = ["MERPRouteVectorEnv"]

PLACES = {"fct": FCT, "slowdown": SLOWDOWN}
"""Where the terms of the reward stand among the amounts."""


class MERPRouteVectorEnv(CompiledVectorEnv):
    """Runs many ``MERPRouteEnv`` in one compiled call per step; see there for spaces, rewards and arguments.

    Args:
        num_envs: Environments, >= 1.
        workload: As in ``MERPRouteEnv``.
        autoreset_mode: When an environment that has ended begins its next episode.
        max_episode_steps: Decisions after which Gymnasium's time limit would truncate; ``None`` for none.
        **arguments: The other arguments of ``MERPRouteEnv``.

    Raises:
        ConfigError: An argument has another type or is out of its range.
        FlowFileError: The flow file has a fault.
    """

    config: MERPRouteConfig
    _template: MERPRouteEnv
    _STEP = step
    _OBSERVE = observe
    _NUM_AMOUNTS = NUM_AMOUNTS

    def __init__(
        self,
        num_envs: int = 1,
        workload: WorkloadLike = "poisson-fat-tree",
        *,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        **arguments: Any,
    ) -> None:
        """Makes room for two episodes of each environment."""
        check_integer("num_envs", num_envs, at_least=1)
        template = MERPRouteEnv(workload, **arguments)
        config = template.config
        discipline = make_discipline(config.discipline)
        assert isinstance(discipline, BaseDiscipline)
        flows = template._source.draw(0)
        check_room(num_envs, max(flows.num_flows, 1), template.layout.size)
        simulation = BatchSimulation(
            2 * num_envs,
            max(flows.num_flows, 1),
            template._topology,
            discipline,
            num_places=config.num_hosts,
            routing=make_routing(config.rerouting),
            asks=Asks.PATH,
            num_changes=0 if flows.link_changes is None else flows.link_changes.num_changes,
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
        config = self.config
        terms = reward_terms(config.reward)
        return Episodes(
            episodes=np.zeros(self.simulation.num_networks, dtype=EPISODE),
            num_actions=self._num_actions,
            pays_fct="fct" in terms,
            pays_slowdown="slowdown" in terms,
            max_decisions=np.inf if config.max_decisions is None else float(config.max_decisions),
            scales=path_scales(config.capacity),
        )

    def _own_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Views what is kept of networks."""
        return {"episodes": self._own.episodes}

    def _terms(self, outputs: Columns) -> dict[str, npt.NDArray[np.float64]]:
        """Returns the named terms of the rewards."""
        return {name: outputs.amounts[PLACES[name]] for name in reward_terms(self.config.reward)}

    def _prepare(self, network: int, workload: Workload) -> None:
        """Runs a network that has been loaded to its first decision."""
        tables = self.simulation.tables
        nothing = np.full(workload.num_flows, np.nan)
        records = self.simulation.complete_records(workload, nothing, nothing)
        first = network * tables.num_rows
        tables.flows["ideal_fct"][first : first + workload.num_flows] = records.ideal_fct
        self._own.episodes[network] = np.zeros((), dtype=EPISODE)
        self.simulation.run(network)
