"""Environments whose agent decides, event by event or once per period, by the rules of a system alone.

On both engines, and in vector environments, the same bits.
"""

import math
from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.envs.actions import no_actions, num_options, read_action, read_actions
from flowsched_gym.envs.base import ONLY, FlowSchedEnv, Observation
from flowsched_gym.envs.columns import Layout
from flowsched_gym.envs.network_setup import NetworkSetup
from flowsched_gym.envs.policies.scores import WeightedPolicy
from flowsched_gym.envs.vector import FlowSchedVectorEnv
from flowsched_gym.fluid.compiled import BatchSimulation, CompiledSimulation
from flowsched_gym.fluid.compiled.stepping import Results, asks, final, play, show, step
from flowsched_gym.fluid.compiled.tables import Tables
from flowsched_gym.fluid.decision import Decision, DecisionRules, periods_until
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.machine_code.decorators import SteadyRule, compiled_for
from flowsched_gym.workload import WorkloadSource

Rules = TypeVar("Rules", bound=DecisionRules)


class DecisionEnv(FlowSchedEnv[Any], Generic[Rules]):
    """Episodes in which an agent grants requests, orders flows, chooses paths, or controls flows for a period.

    Args:
        rules: What the system does with a decision.
        action_space: The actions. Those of a ``Discrete`` or ``MultiDiscrete`` space have masks.
        source, network, layout, render_mode, max_decisions, engine: See ``FlowSchedEnv``.
        terms, final_infos: Names of the terms of the reward, and of what the last info tells besides.
    """

    _network: NetworkSetup
    _batch: BatchSimulation | None
    _simulation: Simulation | CompiledSimulation

    def __init__(
        self,
        rules: Rules,
        action_space: spaces.Space[Any],
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
        self.action_space = action_space
        self.num_actions = num_options(action_space)
        self.terms = terms
        self.final_infos = final_infos
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

    def _mask(self) -> BoolArray:
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

    def _decide(self, action: Any) -> tuple[Sequence[int], float, dict[str, float]]:
        chosen = read_action(self.action_space, action)
        finished, reward, self._over = self._play.step(chosen, is_first=not self._decisions)
        self._decisions.append(copy(chosen))
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
        if isinstance(self.action_space, spaces.Discrete):
            info["empty_slot_choices"] = self._episodes["empty_slot_choices"].item()
        if self._over:
            info |= zip(self.final_infos, self._play.final().tolist(), strict=True)
        return info


class _OnSimpy:
    """Steps of an episode on SimPy, decision by decision."""

    tables: None = None

    def __init__(self, env: DecisionEnv[Any]) -> None:
        self._env = env
        assert isinstance(env.simulation, Simulation)
        self._simulation = env.simulation
        self._period = env._network.period
        self.results = env._new_results(1)

    def run(self) -> None:
        """Runs to the next decision or to the end."""
        self._run()
        while self._period is not None and self._decision.is_due and not asks(self._env.rules, self._decision):
            self._simulation.go_on()
            if empty := self._empty_periods():
                self._simulation.skip(empty)
            self._run()
        self._shown = False

    def _run(self) -> None:
        self._simulation.run()
        self._decision = self._simulation.decision(self._env._flow_columns, self._env._episodes)

    def _empty_periods(self) -> int:
        """Returns how many periods, from the next one on, begin before a flow arrives; 0 where one is there."""
        simulation, period = self._simulation, self._period
        coming = simulation.state.arrival_time > simulation.now
        if period is None or period.seconds is None or np.count_nonzero(~coming) > simulation.num_delivered:
            return 0
        arrival = float(simulation.state.arrival_time[coming].min())
        return max(periods_until(arrival, period.seconds) - simulation.num_periods, 0)

    def decision(self) -> Decision:
        return self._decision

    def step(self, action: Any, *, is_first: bool) -> tuple[Sequence[int], float, bool]:
        """Applies an action; returns the rows of flows that have finished, the reward, and whether nothing is asked."""
        simulation, rules, episode = self._simulation, self._env.rules, self._env._episodes[0]
        num_before = 0 if is_first else simulation.num_delivered
        if not is_first:
            episode["num_before"], episode["acted_at"] = num_before, simulation.now
        order, index, is_replaced = rules.act(self._decision, action)
        episode["empty_slot_choices"] += is_replaced
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
        values: FloatArray = self.results.final[0]
        final(self._env.rules, self._decision, values)
        return values


class _InMachineCode:
    """Steps of episodes in the only network of a batch, one call of machine code each; see ``_OnSimpy``."""

    def __init__(self, env: DecisionEnv[Any], tables: Tables) -> None:
        self._env = env
        self.tables = tables
        self._ended = np.zeros(1, dtype=np.bool_)
        self.results = env._new_results(1)._replace(finished=np.zeros(tables.most_active, dtype=np.int64))
        self._none = no_actions(env.action_space)
        self._step = compiled_for(step, *self._arguments(self._none))

    def run(self) -> None:
        """Runs to the first decision, or writes what the network shows."""
        self._step(*self._arguments(self._none))

    def decision(self) -> Decision:
        return self._env.simulation.decision(self._env._flow_columns, self._env._episodes)

    def step(self, action: Any, *, is_first: bool) -> tuple[Sequence[int], float, bool]:
        self._ended[0] = False
        num_finished, _ = self._step(*self._arguments(np.array([action])))
        finished = self.results.finished[:num_finished].tolist() if num_finished else ()
        return finished, self.results.reward.item(), bool(self._ended[0])

    def look(self) -> Results:
        return self.results

    def asking_host(self) -> int:
        return int(self.results.host[0])

    def final(self) -> FloatArray:
        values: FloatArray = self.results.final[0]
        return values

    def _arguments(self, actions: npt.NDArray[Any]) -> tuple[Any, ...]:
        env = self._env
        return self.tables, env.rules, env._max_decisions, ONLY, ONLY, self._ended, actions, self.results


class DecisionVectorEnv(FlowSchedVectorEnv):
    """Many environments of a subclass of ``DecisionEnv``, which a subclass names as ``single``."""

    single: ClassVar[type[DecisionEnv[Any]]]
    _template: DecisionEnv[Any]
    simulation: BatchSimulation

    def __init__(self, /, *args: Any, **arguments: Any) -> None:
        """Finds the machine code, of these types for good, so that it is looked up once and not in every step."""
        super().__init__(*args, **arguments)
        self._everyone = np.arange(self.num_envs)
        self._finished: IntArray = np.zeros(0, dtype=np.int64)
        self._none = no_actions(self.single_action_space)
        tables, outputs = self.simulation.tables, self._template._new_results(self.num_envs)
        self._step = compiled_for(step, *self._step_arguments(tables, self._everyone, self._none, outputs))

    def _step_arguments(
        self, tables: Tables, numbers: IntArray, actions: npt.NDArray[Any], outputs: Results
    ) -> tuple[Any, ...]:
        template = self._template
        return tables, template.rules, template._max_decisions, self._current, numbers, self._over, actions, outputs

    def _advance(self, actions: npt.NDArray[Any], outputs: Results) -> tuple[IntArray, int]:
        chosen = read_actions(self.single_action_space, actions, self._over)
        num_active = self.simulation.tables.most_active
        if len(self._finished) < self.num_envs * num_active:
            self._finished = np.zeros(self.num_envs * num_active, dtype=np.int64)

        def work(tables: Tables, numbers: IntArray) -> tuple[IntArray, int]:
            own = outputs._replace(finished=self._finished[numbers[0] * num_active :])
            num_finished, num_over = self._step(*self._step_arguments(tables, numbers, chosen, own))
            return own.finished[:num_finished], num_over

        parts = self.simulation.share_out(work, self._everyone)
        return np.concatenate([finished for finished, _ in parts]), sum(num_over for _, num_over in parts)

    def _play(self, policy: WeightedPolicy, weights: FloatArray, outputs: Results) -> int:
        """Plays the episodes to their ends in one compiled call for each thread."""
        template, shape = self._template, self.action_space.shape or ()
        room = np.zeros((self.num_envs, math.prod(shape[1:])), dtype=self.action_space.dtype)
        actions = room if len(shape) > 1 else room[:, 0]

        def work(tables: Tables, numbers: IntArray) -> int:
            scratch = np.zeros(policy.scratch_size)
            arguments = tables, template.rules, template._max_decisions, self._current, numbers, self._over
            return play(*arguments, policy, weights, scratch, room, actions, outputs)

        return sum(self.simulation.share_out(work, self._everyone))

    def _observe(self, numbers: IntArray, outputs: Results) -> None:
        """Writes what environments show now; those that have been loaded run to their first decision."""
        self._step(*self._step_arguments(self.simulation.tables, numbers, self._none, outputs))

    def _columns(self, outputs: Results) -> dict[str, npt.NDArray[Any]]:
        columns = super()._columns(outputs)
        if self._template._network.num_tokens is not None:
            columns["destination"] = outputs.host
        if isinstance(self.single_action_space, spaces.Discrete):
            columns["empty_slot_choices"] = outputs.empty_slot_choices
        return columns
