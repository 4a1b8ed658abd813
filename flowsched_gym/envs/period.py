"""Environments whose agent acts once per period, and not at single events."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.checks import check_integer
from flowsched_gym.core.errors import InvalidAction, shown
from flowsched_gym.envs.base import Action, FlowSchedEnv, Observation
from flowsched_gym.envs.columns import Layout
from flowsched_gym.envs.episode import EpisodeSetup
from flowsched_gym.envs.policies.scores import WeightedPolicy, choose_for_all
from flowsched_gym.envs.vector import FlowSchedVectorEnv
from flowsched_gym.envs.views import EpisodeView
from flowsched_gym.flows.fields import Fields
from flowsched_gym.fluid.compiled.stepping import Results
from flowsched_gym.workload import WorkloadSource

View = TypeVar("View", bound=EpisodeView)


class PeriodControl(ABC, Generic[Action, View]):
    """The part of a system that acts once per period, for both engines.

    It keeps nothing of an episode: what must be remembered from one step to the next stands in ``memory``, an array of
    one network alone, which is part of its state.

    Attributes:
        layout: Columns of the observation.
        action_space: What ``check`` lets through.
        memory_size: Numbers that are remembered, >= 1.
        terms: Names of the terms of the reward.
    """

    layout: Layout
    action_space: spaces.Space[Any]
    memory_size: int = 1
    terms: tuple[str, ...]

    @property
    def episode_fields(self) -> Fields:
        """What is kept of an episode."""
        return (("memory", "f8", (self.memory_size,)),)

    @abstractmethod
    def check(self, action: object, name: str = "action") -> Action:
        """Reads an action, called so in messages, or raises InvalidAction; what it lets through, ``act`` can do."""

    @abstractmethod
    def act(self, view: View, memory: FloatArray, action: Action) -> None:
        """Sets the controls for the next period, by an action that has been checked."""

    @abstractmethod
    def reward(self, view: View, memory: FloatArray) -> tuple[float, dict[str, float]]:
        """Returns the reward for the period that has ended, and its named terms, always the same ones."""

    @abstractmethod
    def observe(self, view: View, memory: FloatArray) -> Observation:
        """Returns what the agent sees, a new (layout.size,) float32 array; changes nothing."""


class PeriodEnv(FlowSchedEnv[Action]):
    """Runs episodes in which the agent acts at time 0 and at the beginning of each further period.

    The step in which all flows have been delivered ends the episode, wherever in its period that is; its action is
    rewarded for what it delivered.

    Args:
        network: The network, whose agent is asked after each period, with the control's ``episode_fields``.
        source, render_mode, max_decisions, engine: See ``FlowSchedEnv``.
    """

    def __init__(
        self,
        control: PeriodControl[Action, Any],
        *,
        source: WorkloadSource,
        network: EpisodeSetup,
        render_mode: str | None = None,
        max_decisions: int | None = None,
        engine: str = "simpy",
    ) -> None:
        super().__init__(
            source=source,
            network=network,
            layout=control.layout,
            render_mode=render_mode,
            max_decisions=max_decisions,
            engine=engine,
        )
        self.action_space = control.action_space
        self.terms = control.terms
        self._control = control

    def view(self) -> Any:
        """Views the network as it stands, as ``PeriodControl`` does; refuses before the first episode."""
        simulation = self.simulation
        if self._batch is not None:
            return self._network.view_batch(self._batch, 0)
        num_before, begun_at = self._episodes["num_before"].item(), self._episodes["acted_at"].item()
        return self._network.view(simulation, self._flow_columns, num_before=num_before, begun_at=begun_at)

    @property
    def _memory(self) -> FloatArray:
        memory: FloatArray = self._episodes["memory"][0]
        return memory

    def _begun(self) -> None:
        self._simulation.run()

    def _decide(self, action: Action) -> tuple[Sequence[int], float, dict[str, float]]:
        chosen = self._control.check(action)
        simulation = self._simulation
        num_before = 0
        if self._decisions:
            num_before = self._episodes["num_before"][0] = simulation.num_delivered
            self._episodes["acted_at"] = simulation.now
        if simulation.awaits_decision:
            self._control.act(self.view(), self._memory, chosen)
            simulation.go_on()
        self._decisions.append(copy(chosen))
        simulation.run()
        self._over = not simulation.awaits_decision or len(self._decisions) >= self._max_decisions
        reward, terms = self._control.reward(self.view(), self._memory)
        finished = simulation.delivery_order[num_before : simulation.num_delivered].tolist()
        return finished, float(reward), {name: float(term) for name, term in terms.items()}

    def _observe(self) -> Observation:
        return self._control.observe(self.view(), self._memory)


class PeriodVectorEnv(FlowSchedVectorEnv):
    """Many environments of a subclass of ``PeriodEnv``, which a subclass names as ``single``."""

    single: ClassVar[type[PeriodEnv[Any]]]
    _template: PeriodEnv[Any]

    def __init__(self, /, *args: Any, **arguments: Any) -> None:
        super().__init__(*args, **arguments)
        self._control = self._template._control

    def view(self, number: int) -> Any:
        """Views the network of an environment as it stands; refuses other numbers, and before the first episode."""
        check_integer("number", number, at_least=0, below=self.num_envs)
        self._check_begun()
        return self._view(int(self._current[number]))[0]

    def _advance(self, actions: npt.NDArray[Any], outputs: Results) -> tuple[IntArray, int]:
        running = np.flatnonzero(~self._over).tolist()
        given = list(actions) if np.iterable(actions) else []
        if len(given) != self.num_envs:
            raise InvalidAction(
                f"actions is {shown(actions)}: there must be one for each of {self.num_envs} environments"
            )
        self._act(running, given)
        finished = [self._end_step(number, outputs) for number in running]
        return np.concatenate([np.zeros(0, dtype=np.int64), *finished]), int(np.count_nonzero(self._over))

    def _act(self, running: list[int], actions: Sequence[Any]) -> None:
        """Applies the actions of environments, of one for each of all, and runs them to the ends of their periods."""
        chosen = [self._control.check(actions[number], f"action of environment {number}") for number in running]
        networks = self._current[running].tolist()
        for number, network, action in zip(running, networks, chosen, strict=True):
            if self._num_steps[number]:
                episode = self.simulation.episodes[network]
                episode["num_before"] = self.simulation.num_delivered(network)
                episode["acted_at"] = self.simulation.now(network)
            if self.simulation.awaits_decision(network):
                self._control.act(*self._view(network), action)
                self.simulation.go_on(network)
        self.simulation.run(*networks)

    def _play(self, policy: WeightedPolicy, weights: FloatArray, outputs: Results) -> int:
        """Plays the episodes that have begun to their ends; where a policy looks at nothing, nothing is observed."""
        if getattr(policy, "num_inputs", 1):
            return super()._play(policy, weights, outputs)
        length = math.prod(self.single_action_space.shape or ())
        actions = np.zeros((self.num_envs, length), dtype=self.action_space.dtype)
        choose_for_all(policy, weights, outputs.observation, outputs.mask, np.zeros(policy.scratch_size), actions)
        num_decisions = 0
        while running := np.flatnonzero(~self._over).tolist():
            num_decisions += len(running)
            self._act(running, list(actions))
            for number in running:
                self._end(number, outputs)
                outputs.time[number] = self.simulation.now(int(self._current[number]))
            self._num_steps += 1
        return num_decisions

    def _end_step(self, number: int, outputs: Results) -> IntArray:
        """Rewards and observes an environment; returns the rows that have finished."""
        network = int(self._current[number])
        view, memory = self._view(network)
        outputs.reward[number], terms = self._control.reward(view, memory)
        outputs.terms[number] = [terms[name] for name in self._control.terms]
        self._show(number, outputs)
        outputs.num_finished[number] = len(view.finished)
        self._end(number, outputs)
        return view.finished

    def _end(self, number: int, outputs: Results) -> None:
        """Notes whether the episode of an environment has ended."""
        ended = self.simulation.finished(int(self._current[number]))
        cut = not ended and self._num_steps[number] + 1 >= self._template._max_decisions
        outputs.terminated[number], outputs.truncated[number] = ended, cut
        self._over[number] = ended or cut

    def _observe(self, numbers: IntArray, outputs: Results) -> None:
        outputs.num_finished[numbers] = 0
        for number in numbers.tolist():
            self._show(number, outputs)

    def _show(self, number: int, outputs: Results) -> None:
        view, memory = self._view(int(self._current[number]))
        outputs.observation[number] = self._control.observe(view, memory)
        outputs.time[number] = view.now

    def _view(self, network: int) -> tuple[EpisodeView, FloatArray]:
        simulation = self.simulation
        return self._template._network.view_batch(simulation, network), simulation.episodes["memory"][network]

    def _prepare(self, network: int) -> None:
        self.simulation.run(network)
