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
from flowsched_gym.fluid.compiled.stepping import Results, new_results, show, step
from flowsched_gym.fluid.compiled.tables import Tables
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
        self._show = SteadyRule(show)
        self._play: _OnSimpy | _InMachineCode

    @property
    def simulation(self) -> Simulation | CompiledSimulation:
        """The simulation of the current episode, by the engine.

        Raises:
            SimulationError: There is none before the first ``reset``.
        """
        _ = super().simulation  # which refuses
        return self._simulation

    def decision(self) -> Decision:
        """Lays out what is to be decided now.

        Raises:
            SimulationError: There is no episode yet.
        """
        _ = self.simulation
        return self._play.decision()

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Returns which actions do what they say, (num_actions,) bool; the others are legal, but replaced.

        Raises:
            SimulationError: There is no episode yet.
        """
        _ = self.simulation
        mask: npt.NDArray[np.bool_] = self._play.look().mask.copy()
        return mask

    def _begun(self) -> None:
        """Runs an episode that has been loaded to its first decision."""
        if self._batch is None:
            self._play = _OnSimpy(self)
        elif not hasattr(self, "_play") or self._play.tables is not self._batch.tables:
            # The first ones, or larger ones, or those of a copy of this environment.
            self._play = _InMachineCode(self, self._batch.tables)
        self._play.begin()

    def _restored(self) -> None:
        """Writes what the other network shows."""
        self._begun()

    def _decide(self, action: int) -> tuple[Sequence[int], float, dict[str, float]]:
        """Applies an action, and runs to the next decision or to the end."""
        choice = read_choice(action, self.num_actions)
        finished, reward, self._over = self._play.step(choice, is_first=not self._decisions)
        self._decisions.append(choice)
        if len(self._decisions) >= self._max_decisions:
            self._over = True
        return finished, reward, dict(zip(self.terms, self._play.row.terms.tolist(), strict=True))

    def _observe(self) -> Observation:
        """Returns what the agent sees."""
        observation: Observation = self._play.look().observation.copy()
        return observation

    def _info(self, finished: Sequence[int], terms: dict[str, float]) -> dict[str, Any]:
        """Adds what else there is."""
        info = super()._info(finished, terms)
        if self._network.num_tokens is not None:
            info["destination"] = self._play.asking_host()
        info["empty_slot_choices"] = self._episodes["empty_slot_choices"].item()
        if self._over:
            info |= zip(self.final_infos, self._play.final().tolist(), strict=True)
        return info


class _OnSimpy:
    """Steps of an episode on SimPy, decision by decision.

    Args:
        env: The environment, whose episode has been loaded.
    """

    tables: None = None

    def __init__(self, env: DecisionEnv[Any]) -> None:
        self._env = env
        self._simulation = env.simulation
        self._shown = False
        self.row = _row_of(_room_for(env))

    def begin(self) -> None:
        """Runs to the first decision."""
        self._run()

    def decision(self) -> Decision:
        """Lays out what is to be decided now."""
        return self._decision

    def step(self, choice: int, *, is_first: bool) -> tuple[Sequence[int], float, bool]:
        """Applies an action; returns the rows of flows that have finished, the reward, and whether nothing is asked."""
        simulation, rules = self._simulation, self._env.rules
        told = 0 if is_first else simulation.num_delivered
        order, index, is_replaced = rules.act(self._decision, choice)
        if is_replaced:
            self._env._episodes["empty_slot_choices"] += 1
        if self._decision.is_due:
            simulation.give(order, index)
        self._run()
        finished = simulation.delivery_order[told : simulation.num_delivered].tolist()
        reward = float(rules.reward(self._decision, told, self.row.terms))
        return finished, reward, not simulation.awaits_decision

    def look(self) -> _Row:
        """Returns what the environment shows, which is found out once for each decision."""
        if not self._shown:
            self._env._show(self._env.rules, self._decision, self.row.observation, self.row.mask)
            self._shown = True
        return self.row

    def asking_host(self) -> int:
        """Returns the destination that asks, -1 for none."""
        return self._decision.host if self._decision.is_due else -1

    def final(self) -> npt.NDArray[np.float64]:
        """Returns what the last info tells besides."""
        self._env.rules.final(self._decision, self.row.final)
        return self.row.final

    def _run(self) -> None:
        """Runs to the next decision or to the end."""
        self._simulation.run()
        self._decision = self._simulation.decision(self._env._flow_columns, self._env._episodes)
        self._shown = False


class _InMachineCode:
    """Steps of episodes in the only network of a batch, one call of machine code each.

    Args:
        env: The environment, whose episode has been loaded.
        tables: What machine code works on; others need another one of these.
    """

    def __init__(self, env: DecisionEnv[Any], tables: Tables) -> None:
        self._env = env
        self.tables = tables
        self._ended = np.zeros(1, dtype=np.bool_)
        self._results = _room_for(env)._replace(finished=np.zeros(tables.most_active, dtype=np.int64))
        self.row = _row_of(self._results)
        self._step = compiled_for(step, *self._arguments(NO_ACTIONS))

    def begin(self) -> None:
        """Runs to the first decision, or writes what the network shows."""
        self._step(*self._arguments(NO_ACTIONS))

    def decision(self) -> Decision:
        """Lays out what is to be decided now."""
        return self._env.simulation.decision(self._env._flow_columns, self._env._episodes)

    def step(self, choice: int, *, is_first: bool) -> tuple[Sequence[int], float, bool]:
        """Applies an action; see ``_OnSimpy``."""
        self._ended[0] = False
        num_finished, _ = self._step(*self._arguments(np.array([choice])))
        finished = self._results.finished[:num_finished].tolist() if num_finished else ()
        return finished, self._results.reward.item(), bool(self._ended[0])

    def look(self) -> _Row:
        """Returns what the environment shows."""
        return self.row

    def asking_host(self) -> int:
        """Returns the destination that asks, -1 for none."""
        return int(self._results.host[0])

    def final(self) -> npt.NDArray[np.float64]:
        """Returns what the last info tells besides."""
        return self.row.final

    def _arguments(self, actions: npt.NDArray[np.int64]) -> tuple[Any, ...]:
        """Lists what the compiled step takes."""
        env = self._env
        return self.tables, env.rules, env._max_decisions, ONLY, ONLY, self._ended, actions, self._results


def _room_for(env: DecisionEnv[Any]) -> Results:
    """Makes arrays for what a step returns."""
    num_terms, num_final = len(env.terms), len(env.final_infos)
    return new_results(1, size=env.layout.size, num_actions=env.num_actions, num_terms=num_terms, num_final=num_final)


def _row_of(results: Results) -> _Row:
    """Views the only rows of these."""
    return _Row(results.observation[0], results.mask[0], results.terms[0], results.final[0])
