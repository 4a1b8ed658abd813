"""Environments whose agent decides, event by event or once per period, by the rules of a system alone.

On both engines, and in vector environments, the same bits.
"""

from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.core.errors import ConfigError, SimulationError
from flowsched_gym.envs.actions import no_actions, num_options, read_action, read_actions
from flowsched_gym.envs.base import NS3, ONLY, FlowSchedEnv, Observation
from flowsched_gym.envs.columns import Layout
from flowsched_gym.envs.episode import EpisodeBatch, EpisodeSetup
from flowsched_gym.envs.packet_setup import PortsSetup
from flowsched_gym.envs.policies.scores import WeightedPolicy
from flowsched_gym.envs.vector import FlowSchedVectorEnv
from flowsched_gym.flows.decisions import DecisionRules, Environments, Results, asks, final, show, take
from flowsched_gym.fluid.decision import periods_until
from flowsched_gym.machine_code.decorators import SteadyRule
from flowsched_gym.workload import WorkloadSource

Rules = TypeVar("Rules", bound=DecisionRules)


class DecisionEnv(FlowSchedEnv[Any], Generic[Rules]):
    """Episodes in which an agent grants requests, orders flows, chooses paths, or controls flows for a period.

    Args:
        rules: What the system does with a decision.
        action_space: The actions. They have masks where the rules have.
        source, network, layout, render_mode, max_decisions, engine: See ``FlowSchedEnv``.
        terms, final_infos: Names of the terms of the reward, and of what the last info tells besides.
    """

    def __init__(
        self,
        rules: Rules,
        action_space: spaces.Space[Any],
        *,
        source: WorkloadSource,
        network: EpisodeSetup,
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
            skips_empty=hasattr(rules, "asks"),
        )
        if engine == NS3 and not self.is_of_packets:
            raise ConfigError("engine is 'ns3' and packets is None: ns-3 sends packets; give packets='dctcp' or others")
        self.rules = rules
        self.action_space = action_space
        self.num_actions = num_options(action_space) if hasattr(rules, "mask") else 0
        self.terms = terms
        self.final_infos = final_infos
        self._show = SteadyRule(show)
        self._play: _OnSimpy | _InMachineCode

    @property
    def is_of_packets(self) -> bool:
        """Whether flows are sent in packets, and not as a fluid."""
        return isinstance(self._network, PortsSetup)

    def decision(self) -> Any:
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
        elif not hasattr(self, "_play") or self._play.batch is not self._batch:
            # The first one, or that of a copy of this environment.
            self._play = _InMachineCode(self, self._batch)
        self._play.run()

    def _restored(self) -> None:
        self._begun()

    def _decide(self, action: Any) -> tuple[Sequence[int], float, dict[str, float]]:
        chosen = read_action(self.action_space, action)
        finished, reward, self._over = self._play.step(chosen)
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

    batch: None = None

    def __init__(self, env: DecisionEnv[Any]) -> None:
        self._env = env
        self._simulation: Any = env.simulation
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
        arrival_time = simulation.workload.arrival_time
        coming = arrival_time > simulation.now
        if period is None or period.seconds is None or np.count_nonzero(~coming) > simulation.num_delivered:
            return 0
        next_period = periods_until(float(arrival_time[coming].min()), period.seconds)
        return max(next_period - int(simulation.num_periods), 0)

    def decision(self) -> Any:
        return self._decision

    def step(self, action: Any) -> tuple[Sequence[int], float, bool]:
        """Applies an action; returns the rows of flows that have finished, the reward, and whether nothing is asked."""
        simulation, rules = self._simulation, self._env.rules
        caps = self._decision.controls.rate_cap
        before = None if self._period is None or self._env._network.rate_caps else caps.copy()
        order, index = take(rules, self._decision, action)
        if before is not None and not np.array_equal(caps, before):
            raise SimulationError(
                f"{type(rules).__name__}.act sets largest rates (rate_cap), which this network does not heed: make its "
                "NetworkSetup with rate_caps=True, or ports of packets with steers=True"
            )
        if self._decision.is_due:
            simulation.give(order, index)
        self.run()
        num_before = int(self._env._episodes["num_before"][0])
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

    def __init__(self, env: DecisionEnv[Any], batch: EpisodeBatch) -> None:
        self._env = env
        self.batch = batch
        self._ended = np.zeros(1, dtype=np.bool_)
        self.results = env._new_results(1)
        self._none = no_actions(env.action_space)

    def run(self) -> None:
        """Runs to the first decision, or writes what the network shows."""
        if len(self.results.finished) < self.batch.most_finished:
            self.results = self.results._replace(finished=np.zeros(self.batch.most_finished, dtype=np.int64))
        self._step(self._none)

    def decision(self) -> Any:
        return self._env.simulation.decision(self._env._flow_columns, self._env._episodes)

    def step(self, action: Any) -> tuple[Sequence[int], float, bool]:
        self._ended[0] = False
        finished = self._step(np.array([action]))
        return finished.tolist() if len(finished) else (), self.results.reward.item(), bool(self._ended[0])

    def look(self) -> Results:
        return self.results

    def asking_host(self) -> int:
        return int(self.results.host[0])

    def final(self) -> FloatArray:
        values: FloatArray = self.results.final[0]
        return values

    def _step(self, actions: npt.NDArray[Any]) -> IntArray:
        env = self._env
        environments = Environments(env.rules, env._max_decisions, ONLY, ONLY, self._ended)
        return self.batch.step(environments, actions, self.results)[0]


class DecisionVectorEnv(FlowSchedVectorEnv):
    """Many environments of a subclass of ``DecisionEnv``, which a subclass names as ``single``."""

    single: ClassVar[type[DecisionEnv[Any]]]
    _template: DecisionEnv[Any]

    def __init__(self, /, *args: Any, **arguments: Any) -> None:
        super().__init__(*args, **arguments)
        self._everyone = np.arange(self.num_envs)
        self._none = no_actions(self.single_action_space)
        self._step(self._everyone[:0], self._none, self._template._new_results(self.num_envs))

    def _step(self, numbers: IntArray, actions: npt.NDArray[Any], outputs: Results) -> tuple[IntArray, int]:
        return self.simulation.step(self._environments(numbers), actions, outputs)

    def _environments(self, numbers: IntArray) -> Environments:
        template = self._template
        return Environments(template.rules, template._max_decisions, self._current, numbers, self._over)

    def _advance(self, actions: npt.NDArray[Any], outputs: Results) -> tuple[IntArray, int]:
        return self._step(self._everyone, read_actions(self.single_action_space, actions, self._over), outputs)

    def _play(self, policy: WeightedPolicy, weights: FloatArray, outputs: Results) -> int:
        """Plays the episodes to their ends in compiled code alone."""
        actions = np.zeros(self.action_space.shape or (), dtype=self.action_space.dtype)
        environments = self._environments(self._everyone)
        return self.simulation.play(environments, policy, weights, policy.scratch_size, actions, outputs)

    def _observe(self, numbers: IntArray, outputs: Results) -> None:
        """Writes what environments show now; those that have been loaded run to their first decision."""
        self._step(numbers, self._none, outputs)

    def _columns(self, outputs: Results) -> dict[str, npt.NDArray[Any]]:
        columns = super()._columns(outputs)
        if self._template._network.num_tokens is not None:
            columns["destination"] = outputs.host
        if isinstance(self.single_action_space, spaces.Discrete):
            columns["empty_slot_choices"] = outputs.empty_slot_choices
        return columns
