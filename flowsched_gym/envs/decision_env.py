"""Environments whose agent decides event by event: on one engine, rules of a system alone; on both, the same bits."""

from collections.abc import Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from flowsched_gym.envs.actions import read_choice
from flowsched_gym.envs.base import Observation
from flowsched_gym.envs.columns import Layout
from flowsched_gym.envs.masks import MaskedEnv
from flowsched_gym.envs.network_setup import NetworkSetup
from flowsched_gym.fluid.compiled import BatchSimulation, CompiledSimulation
from flowsched_gym.fluid.compiled.stepping import decision_of, new_results, show, step
from flowsched_gym.fluid.compiled.tables import Tables, view
from flowsched_gym.fluid.decision import Decision, DecisionRules
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.machine_code.decorators import SteadyRule, compiled_for
from flowsched_gym.workload import WorkloadSource

Rules = TypeVar("Rules", bound=DecisionRules)

ONLY: Final = np.zeros(1, dtype=np.int64)
"""The only environment, and its network."""
NO_ACTIONS: Final = np.zeros(0, dtype=np.int64)


class _Row(NamedTuple):
    """What a step returns of one environment; see ``Results``."""

    observation: Observation
    mask: npt.NDArray[np.bool_]
    terms: npt.NDArray[np.float64]
    final: npt.NDArray[np.float64]


class DecisionEnv(MaskedEnv[int], Generic[Rules]):
    """Episodes in which an agent grants requests, orders flows or chooses paths; see ``FlowSchedEnv``.

    Args:
        rules: What the system does with a decision.
        num_actions: Number of actions.
        source: Where the flows of each episode are drawn from.
        network: The network, and what is decided in it.
        layout: Columns of the observation.
        terms: Names of the terms of the reward.
        final_infos: Names of what the last info tells besides.
        render_mode: ``human``, ``rgb_array``, ``ansi`` or ``None``.
        max_decisions: Decisions after which an episode is truncated; ``None`` for no limit.
        engine: ``simpy`` or ``compiled``.

    Attributes:
        rules: What the system does with a decision.
        num_actions: Number of actions.
        terms: Names of the terms of the reward.
        final_infos: Names of what the last info tells besides.
    """

    def __init__(
        self,
        rules: Rules,
        num_actions: int,
        *,
        source: WorkloadSource,
        network: NetworkSetup,
        layout: Layout,
        terms: tuple[str, ...],
        final_infos: tuple[str, ...] = (),
        render_mode: str | None = None,
        max_decisions: int | None = None,
        engine: str = "simpy",
    ) -> None:
        """Sets the spaces."""
        self._network: NetworkSetup
        self._batch: BatchSimulation | None
        self._simulation: Simulation | CompiledSimulation
        super().__init__(
            source=source,
            network=network,
            layout=layout,
            render_mode=render_mode,
            max_decisions=max_decisions,
            engine=engine,
        )
        self.rules = rules
        self.num_actions = num_actions
        self.terms = terms
        self.final_infos = final_infos
        self.action_space = spaces.Discrete(num_actions)  # type: ignore[assignment]  # takes a plain integer too
        self._make_room()
        self._ended = np.zeros(1, dtype=np.bool_)
        self._show, self._shown = SteadyRule(show), True
        self._tables: Tables | None = None

    def _make_room(self, most_active: int = 0) -> None:
        """Makes arrays for what a step returns, and views their only rows."""
        self._results = results = new_results(
            1,
            size=self.layout.size,
            num_actions=self.num_actions,
            num_terms=len(self.terms),
            num_final=len(self.final_infos),
        )._replace(finished=np.zeros(most_active, dtype=np.int64))
        self._row = _Row(results.observation[0], results.mask[0], results.terms[0], results.final[0])

    @property
    def simulation(self) -> Simulation | CompiledSimulation:
        """The simulation of the current episode, by the engine.

        Raises:
            SimulationError: There is none before the first ``reset``.
        """
        simulation = super().simulation
        assert isinstance(simulation, (Simulation, CompiledSimulation))
        return simulation

    def decision(self) -> Decision:
        """Lays out what is to be decided now.

        Raises:
            SimulationError: There is no episode yet.
        """
        simulation = self.simulation
        if isinstance(simulation, CompiledSimulation):
            tables = simulation.batch.tables
            return decision_of(view(tables), 0, tables.choosing)
        return self._decision

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Returns which actions do what they say, (num_actions,) bool; the others are legal, but replaced.

        Raises:
            SimulationError: There is no episode yet.
        """
        mask: npt.NDArray[np.bool_] = self._look(self.simulation).mask.copy()
        return mask

    def _begun(self) -> None:
        """Runs an episode that has been loaded to its first decision."""
        if not isinstance(self._simulation, CompiledSimulation):
            self._make_room()
            self._run(self._simulation)
            return
        tables = self._simulation.batch.tables
        if self._tables is not tables:  # the first ones, or larger ones, or those of a copy of this environment
            self._tables = tables
            self._make_room(tables.most_active)
            self._step = compiled_for(step, *self._arguments(NO_ACTIONS))
        self._step(*self._arguments(NO_ACTIONS))

    def _restored(self) -> None:
        """Writes what the other network shows."""
        self._begun()

    def _decide(self, action: int) -> tuple[Sequence[int], float, dict[str, float]]:
        """Applies an action, and runs to the next decision or to the end."""
        choice = read_choice(action, self.num_actions)
        simulation, results = self._simulation, self._results
        if isinstance(simulation, CompiledSimulation):
            self._ended[0] = False
            num_finished, _ = self._step(*self._arguments(np.array([choice])))
            self._decisions.append(choice)
            self._over = bool(self._ended[0])
            finished = results.finished[:num_finished].tolist() if num_finished else ()
            reward = results.reward.item()
        else:
            told = simulation.num_delivered if self._decisions else 0
            self._decisions.append(choice)
            order, index, is_replaced = self.rules.act(self._decision, choice)
            if is_replaced:
                self._episodes["empty_slot_choices"] += 1
            if self._decision.asked:
                simulation.give(order, index)
            self._run(simulation)
            self._over = not simulation.awaits_decision or len(self._decisions) >= self._max_decisions
            finished = simulation.delivery_order[told : simulation.num_delivered].tolist()
            reward = float(self.rules.reward(self._decision, told, self._row.terms))
        return finished, reward, dict(zip(self.terms, self._row.terms.tolist(), strict=True))

    def _run(self, simulation: Simulation) -> None:
        """Runs to the next decision or to the end, on SimPy."""
        simulation.run()
        self._decision = _decision_of(simulation, self._flow_columns, self._episodes)
        self._shown = False

    def _observe(self) -> Observation:
        """Returns what the agent sees."""
        observation: Observation = self._look(self._simulation).observation.copy()
        return observation

    def _look(self, simulation: Simulation | CompiledSimulation) -> _Row:
        """Returns what the environment shows; on SimPy, it is found out once for each decision."""
        row = self._row
        if not self._shown and not isinstance(simulation, CompiledSimulation):
            self._show(self.rules, self._decision, row.observation, row.mask)
            self._shown = True
        return row

    def _info(self, finished: Sequence[int], terms: dict[str, float]) -> dict[str, Any]:
        """Adds what else there is."""
        info = super()._info(finished, terms)
        if self._network.num_tokens is not None:
            info["destination"] = self._asking_host(self._simulation)
        info["empty_slot_choices"] = self._episodes["empty_slot_choices"].item()
        if self._over and not isinstance(self._simulation, CompiledSimulation):
            self.rules.final(self._decision, self._row.final)
        if self._over:
            info |= zip(self.final_infos, self._row.final.tolist(), strict=True)
        return info

    def _asking_host(self, simulation: Simulation | CompiledSimulation) -> int:
        """Returns the destination that asks, -1 for none."""
        if isinstance(simulation, CompiledSimulation):
            return int(self._results.host[0])
        return -1 if simulation.asking is None else simulation.asking.host

    def _arguments(self, actions: npt.NDArray[np.int64]) -> tuple[Any, ...]:
        """Lists what the compiled step takes."""
        assert self._batch is not None
        return self._batch.tables, self.rules, self._max_decisions, ONLY, ONLY, self._ended, actions, self._results


def _decision_of(simulation: Simulation, flows: npt.NDArray[Any], episodes: npt.NDArray[Any]) -> Decision:
    """Lays out what a simulation asks on SimPy."""
    links, pending = simulation.links, simulation.pending
    destination = simulation.asking or simulation.last_asking
    rows, first, count = NO_ACTIONS, 0, 0
    active, num_active, host, can_wait = links.active, links.num_active, -1, False
    if destination is not None:
        rows, first, count = destination.requests, destination.head, destination.num_waiting
        active, num_active = destination.active, destination.num_active
        host, can_wait = destination.host, destination.can_wait
    elif pending is not None:
        rows = pending.candidates
        count = len(rows)
    return Decision(
        0,
        simulation.awaits_decision,
        simulation.now,
        links.advanced_to,
        rows,
        first,
        count,
        active,
        0,
        num_active,
        host,
        can_wait,
        simulation.delivery_order,
        0,
        simulation.num_delivered,
        simulation.completion_time,
        simulation.state,
        simulation.controls,
        simulation.network,
        simulation.routes,
        flows,
        episodes,
    )
