"""Environments whose agent decides event by event, by rules of a system alone, and masks of the actions that it has.

On both engines, and in vector environments, the same bits.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.core.errors import InvalidAction, shown
from flowsched_gym.envs.actions import as_integers, read_choice
from flowsched_gym.envs.base import ONLY, Action, FlowSchedEnv, Observation
from flowsched_gym.envs.columns import Layout
from flowsched_gym.envs.network_setup import NetworkSetup
from flowsched_gym.envs.policies.scores import WeightedPolicy
from flowsched_gym.envs.vector import FlowSchedVectorEnv
from flowsched_gym.fluid.compiled import BatchSimulation, CompiledSimulation
from flowsched_gym.fluid.compiled.stepping import Results, play, show, step
from flowsched_gym.fluid.compiled.tables import Tables
from flowsched_gym.fluid.decision import Decision, DecisionRules
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.machine_code.decorators import SteadyRule, compiled_for
from flowsched_gym.workload import WorkloadSource

Rules = TypeVar("Rules", bound=DecisionRules)

NO_ACTIONS: Final = np.zeros(0, dtype=np.int64)


class MaskedEnv(FlowSchedEnv[Action]):
    """An environment with masks; the actions that a mask leaves out are legal, but replaced.

    ``info["action_mask"]`` is int8, as Gymnasium's spaces sample by, and ``action_masks()`` bool, as MaskablePPO reads.
    """

    def action_masks(self) -> BoolArray:
        """Returns which actions do what they say, (num_actions,) bool; of several choices, one after the other.

        Refuses before the first episode.
        """
        raise NotImplementedError

    def _info(self, finished: Sequence[int], terms: dict[str, float]) -> dict[str, Any]:
        return {**super()._info(finished, terms), "action_mask": self.action_masks().astype(np.int8)}


class MaskedVectorEnv(FlowSchedVectorEnv):
    """Vector environments with masks."""

    _SHARED: ClassVar[tuple[str, ...]] = (*FlowSchedVectorEnv._SHARED, "num_actions")
    _ASKED: ClassVar[tuple[str, ...]] = ("action_masks", *FlowSchedVectorEnv._ASKED)

    _masks: BoolArray

    def action_masks(self) -> BoolArray:
        """Returns which actions do what they say, (num_envs, num_actions); refuses before the first episode."""
        self._check_begun()
        return self._masks.copy()

    def _settle(self, outputs: Results) -> None:
        super()._settle(outputs)
        self._masks = outputs.mask

    def _columns(self, outputs: Results) -> dict[str, npt.NDArray[Any]]:
        return {**super()._columns(outputs), "action_mask": outputs.mask.astype(np.int8)}


class DecisionEnv(MaskedEnv[int], Generic[Rules]):
    """Episodes in which an agent grants requests, orders flows or chooses paths; see ``FlowSchedEnv`` for the rest.

    Args:
        rules: What the system does with a decision.
        terms, final_infos: Names of the terms of the reward, and of what the last info tells besides.
    """

    _network: NetworkSetup
    _batch: BatchSimulation | None
    _simulation: Simulation | CompiledSimulation

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
        """The simulation of the current episode, by the engine; see ``FlowSchedEnv``."""
        _ = super().simulation  # which refuses
        return self._simulation

    def decision(self) -> Decision:
        """Lays out what is to be decided now; refuses before the first episode."""
        return self._episode().decision()

    def action_masks(self) -> BoolArray:
        """Returns which actions do what they say, (num_actions,) bool; see ``MaskedEnv``."""
        mask: BoolArray = self._episode().look().mask[0].copy()
        return mask

    def _episode(self) -> "_OnSimpy | _InMachineCode":
        _ = self.simulation
        return self._play

    def _begun(self) -> None:
        if self._batch is None:
            self._play = _OnSimpy(self)
        elif not hasattr(self, "_play") or self._play.tables is not self._batch.tables:
            # The first ones, or larger ones, or those of a copy of this environment.
            self._play = _InMachineCode(self, self._batch.tables)
        self._play.run()

    def _restored(self) -> None:
        self._begun()

    def _decide(self, action: int) -> tuple[Sequence[int], float, dict[str, float]]:
        choice = read_choice(action, self.num_actions)
        finished, reward, self._over = self._play.step(choice, is_first=not self._decisions)
        self._decisions.append(choice)
        if len(self._decisions) >= self._max_decisions:
            self._over = True
        return finished, reward, dict(zip(self.terms, self._play.results.terms[0].tolist(), strict=True))

    def _observe(self) -> Observation:
        observation: Observation = self._play.look().observation[0].copy()
        return observation

    def _info(self, finished: Sequence[int], terms: dict[str, float]) -> dict[str, Any]:
        info = super()._info(finished, terms)
        if self._network.num_tokens is not None:
            info["destination"] = self._play.asking_host()
        info["empty_slot_choices"] = self._episodes["empty_slot_choices"].item()
        if self._over:
            info |= zip(self.final_infos, self._play.final().tolist(), strict=True)
        return info


class _OnSimpy:
    """Steps of an episode on SimPy, decision by decision."""

    tables: None = None

    def __init__(self, env: DecisionEnv[Any]) -> None:
        self._env = env
        self._simulation = env.simulation
        self.results = env._new_results(1)

    def run(self) -> None:
        """Runs to the next decision or to the end."""
        self._simulation.run()
        self._decision = self._simulation.decision(self._env._flow_columns, self._env._episodes)
        self._shown = False

    def decision(self) -> Decision:
        return self._decision

    def step(self, choice: int, *, is_first: bool) -> tuple[Sequence[int], float, bool]:
        """Applies an action; returns the rows of flows that have finished, the reward, and whether nothing is asked."""
        simulation, rules = self._simulation, self._env.rules
        num_before = 0 if is_first else simulation.num_delivered
        order, index, is_replaced = rules.act(self._decision, choice)
        if is_replaced:
            self._env._episodes["empty_slot_choices"] += 1
        if self._decision.is_due:
            simulation.give(order, index)
        self.run()
        finished = simulation.delivery_order[num_before : simulation.num_delivered].tolist()
        reward = float(rules.reward(self._decision, num_before, self.results.terms[0]))
        return finished, reward, not simulation.awaits_decision

    def look(self) -> Results:
        """Returns what the environment shows, which is found out once for each decision."""
        if not self._shown:
            self._env._show(self._env.rules, self._decision, self.results.observation[0], self.results.mask[0])
            self._shown = True
        return self.results

    def asking_host(self) -> int:
        """Returns the destination that asks, -1 for none."""
        return self._decision.host if self._decision.is_due else -1

    def final(self) -> FloatArray:
        """Returns what the last info tells besides."""
        final: FloatArray = self.results.final[0]
        self._env.rules.final(self._decision, final)
        return final


class _InMachineCode:
    """Steps of episodes in the only network of a batch, one call of machine code each; see ``_OnSimpy``."""

    def __init__(self, env: DecisionEnv[Any], tables: Tables) -> None:
        self._env = env
        self.tables = tables
        self._ended = np.zeros(1, dtype=np.bool_)
        self.results = env._new_results(1)._replace(finished=np.zeros(tables.most_active, dtype=np.int64))
        self._step = compiled_for(step, *self._arguments(NO_ACTIONS))

    def run(self) -> None:
        """Runs to the first decision, or writes what the network shows."""
        self._step(*self._arguments(NO_ACTIONS))

    def decision(self) -> Decision:
        return self._env.simulation.decision(self._env._flow_columns, self._env._episodes)

    def step(self, choice: int, *, is_first: bool) -> tuple[Sequence[int], float, bool]:
        self._ended[0] = False
        num_finished, _ = self._step(*self._arguments(np.array([choice])))
        finished = self.results.finished[:num_finished].tolist() if num_finished else ()
        return finished, self.results.reward.item(), bool(self._ended[0])

    def look(self) -> Results:
        return self.results

    def asking_host(self) -> int:
        return int(self.results.host[0])

    def final(self) -> FloatArray:
        final: FloatArray = self.results.final[0]
        return final

    def _arguments(self, actions: IntArray) -> tuple[Any, ...]:
        env = self._env
        return self.tables, env.rules, env._max_decisions, ONLY, ONLY, self._ended, actions, self.results


class DecisionVectorEnv(MaskedVectorEnv):
    """Many environments of a subclass of ``DecisionEnv``, which a subclass names as ``single``."""

    single: ClassVar[type[DecisionEnv[Any]]]
    _template: DecisionEnv[Any]
    simulation: BatchSimulation

    def __init__(self, /, *args: Any, **arguments: Any) -> None:
        """Finds the machine code, of these types for good, so that it is looked up once and not in every step."""
        super().__init__(*args, **arguments)
        self._everyone = np.arange(self.num_envs)
        self._finished: IntArray = NO_ACTIONS
        tables, outputs = self.simulation.tables, self._template._new_results(self.num_envs)
        self._step = compiled_for(step, *self._step_arguments(tables, self._everyone, self._everyone, outputs))

    def _step_arguments(
        self, tables: Tables, numbers: IntArray, actions: IntArray, outputs: Results
    ) -> tuple[Any, ...]:
        template = self._template
        return tables, template.rules, template._max_decisions, self._current, numbers, self._over, actions, outputs

    def _advance(self, actions: npt.NDArray[Any], outputs: Results) -> tuple[IntArray, int]:
        chosen = as_integers(actions)
        if chosen is None or chosen.shape != (self.num_envs,):
            raise InvalidAction(f"actions is {shown(actions)}: it must be {self.num_envs} integers")
        contiguous = np.ascontiguousarray(chosen, dtype=np.int64)
        num_actions = self._template.num_actions
        if contiguous.view(np.uint64).max() >= num_actions:
            outside = np.flatnonzero(((contiguous < 0) | (contiguous >= num_actions)) & ~self._over)
            if len(outside):
                raise InvalidAction(
                    f"action of environment {outside[0]} is {contiguous[outside[0]]}: "
                    f"it must be an integer from 0 to {num_actions - 1}"
                )
        num_active = self.simulation.tables.most_active
        if len(self._finished) < self.num_envs * num_active:
            self._finished = np.zeros(self.num_envs * num_active, dtype=np.int64)

        def work(tables: Tables, numbers: IntArray) -> tuple[IntArray, int]:
            own = outputs._replace(finished=self._finished[numbers[0] * num_active :])
            num_finished, num_over = self._step(*self._step_arguments(tables, numbers, contiguous, own))
            return own.finished[:num_finished], num_over

        parts = self.simulation.share_out(work, self._everyone)
        return np.concatenate([finished for finished, _ in parts]), sum(num_over for _, num_over in parts)

    def _play(self, policy: WeightedPolicy, weights: FloatArray, outputs: Results) -> int:
        """Plays the episodes to their ends in one compiled call for each thread."""
        template, actions = self._template, np.zeros((self.num_envs, 1), dtype=np.int64)

        def work(tables: Tables, numbers: IntArray) -> int:
            scratch = np.zeros(policy.scratch_size)
            arguments = tables, template.rules, template._max_decisions, self._current, numbers, self._over
            return play(*arguments, policy, weights, scratch, actions, outputs)

        return sum(self.simulation.share_out(work, self._everyone))

    def _observe(self, numbers: IntArray, outputs: Results) -> None:
        """Writes what environments show now; those that have been loaded run to their first decision."""
        self._step(*self._step_arguments(self.simulation.tables, numbers, NO_ACTIONS, outputs))

    def _columns(self, outputs: Results) -> dict[str, npt.NDArray[Any]]:
        columns = super()._columns(outputs)
        if self._template._network.num_tokens is not None:
            columns["destination"] = outputs.host
        return {**columns, "empty_slot_choices": outputs.empty_slot_choices}
