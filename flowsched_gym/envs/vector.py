"""Native vector environments: seeds, steps, autoreset, states."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.core.checks import check_choice, check_flag, check_integer
from flowsched_gym.core.errors import ConfigError, SimulationError, shown
from flowsched_gym.envs.actions import check_seeds
from flowsched_gym.envs.base import Observation
from flowsched_gym.envs.infos import Infos, VectorInfos
from flowsched_gym.envs.policies.scores import WeightedPolicy
from flowsched_gym.envs.state import Restored, VectorState, fingerprint, read_numbers
from flowsched_gym.flows.decisions import Results
from flowsched_gym.flows.metrics import METRIC_NAMES, summary
from flowsched_gym.workload import WorkloadLike, members_of

Actions = npt.NDArray[Any]

STEPS_TO_DRAW_ALL: Final = 256
"""Steps over which the next episodes of all environments are drawn."""


class FlowSchedVectorEnv(Restored, VectorInfos):
    """Many environments in one compiled call per step, each bit for bit as the single environment.

    Seeds, autoreset and infos are those of Gymnasium's ``SyncVectorEnv``. Three differences: an action outside the
    space is refused before any environment moves; infos list finished flows on request alone; and these lists, and the
    metrics of an ended episode, are made when they are first read.

    Args:
        num_envs: Environments, >= 1.
        workload: As in the single environment; or a list with that of each environment, ``num_envs`` long.
        autoreset_mode: When an environment that has ended begins its next episode.
        max_episode_steps: Decisions after which Gymnasium's time limit would truncate; ``None`` for none.
        num_threads: Threads that step the environments, >= 1; the numbers are the same with any.
        finished: Whether infos have ``finished``, an array of tuples: an array of objects, which PyTorch cannot read.
        **arguments: The other arguments of the single environment, whose ``config`` and ``layout`` are attributes.
    """

    _PICKLED = ("spec", "action_space", "single_action_space", "closed", "_generators", "_generator_seeds")
    _SHARED: ClassVar[tuple[str, ...]] = ("config", "layout", "metadata", "num_actions", "render_mode", "spec")
    """What ``call`` finds in the template."""
    _ASKED: ClassVar[tuple[str, ...]] = ("action_masks", "np_random", "np_random_seed")
    """What ``call`` finds here, with an entry for each environment."""
    _COLUMNS: ClassVar[tuple[str, ...]] = ("_over", "_num_steps", "_next_seed", "_episode_seed", "_member")
    """Arrays of one entry for each environment that belong to its state."""

    def __init__(
        self,
        /,
        num_envs: int = 1,
        workload: WorkloadLike | Sequence[WorkloadLike] | None = None,
        *,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        num_threads: int = 1,
        finished: bool = False,
        **arguments: Any,
    ) -> None:
        try:
            self.autoreset_mode = AutoresetMode(autoreset_mode)
        except ValueError:
            modes = ", ".join(mode.value for mode in AutoresetMode)
            raise ConfigError(f"autoreset_mode is {shown(autoreset_mode)}: it must be one of {modes}") from None
        if max_episode_steps is not None:
            check_integer("max_episode_steps", max_episode_steps, at_least=1)
        self._lists_finished = check_flag("finished", finished)
        super().__init__(num_envs, arguments if workload is None else {"workload": workload, **arguments}, num_threads)
        template = self._template
        self.metadata = {**template.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = template.render_mode
        if self.render_mode == "human":
            raise ConfigError("render_mode is 'human': vector environments draw rgb_array or ansi")
        self.config = template.config
        self.layout = template.layout
        self.single_observation_space = template.observation_space
        self.single_action_space = template.action_space
        self.observation_space = batch_space(template.observation_space, self.num_envs)
        self.action_space = batch_space(template.action_space, self.num_envs)
        self._max_steps = None if max_episode_steps is None else int(max_episode_steps)
        self._flows: bytes | None = None
        self._masks: BoolArray
        self._begun = False

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Infos]:
        """Begins new episodes.

        Args:
            seed: Environment ``i`` gets ``seed + i``, or the entry ``i`` of a sequence.
            options: ``reset_mask``, (num_envs,) bool: which environments to reset. Default: all.

        Raises:
            ConfigError: A seed or an option is not allowed, or an episode drawn has no flow.
            SimulationError: The environments are closed, or one that is not to be reset has had no episode yet.
        """
        self._check_open()
        numbers = self._masked(options)
        seeds = check_seeds(seed, self.num_envs)
        if not self._begun and len(numbers) < self.num_envs:
            raise SimulationError("an environment that is not in reset_mask has had no episode yet: reset all first")
        for number in numbers.tolist():
            if seeds[number] is not None:
                self._generators[number], self._generator_seeds[number] = seeding.np_random(seeds[number])
                self._forget_next(number)
                self._failures.pop(number, None)
        self._begin(numbers)
        outputs = self._look()
        return outputs.observation, self._infos_of_reset(outputs, numbers)

    @property
    def action_masks(self) -> Callable[[], BoolArray]:
        """Returns which actions do what they say, (num_envs, num_actions) bool.

        Refuses before the first episode, and is not there where there are no masks.
        """
        _ = self._template.action_masks  # which refuses
        return self._mask

    def _mask(self) -> BoolArray:
        self._check_begun()
        return self._masks.copy()

    def step(self, actions: Actions) -> tuple[Observation, npt.NDArray[np.float64], BoolArray, BoolArray, Infos]:
        """Applies an action in each environment and runs to its next decision, or to its end.

        Raises:
            InvalidAction: An action is outside the action space; no environment has moved.
            SimulationError: An environment has ended and is not reset by itself, or there is no episode, or the
                environments are closed.
        """
        self._check_open()
        self._check_begun()
        resetting = np.flatnonzero(self._over) if self._num_over else None
        if resetting is not None and self.autoreset_mode is AutoresetMode.DISABLED:
            raise SimulationError(
                f"environment {resetting[0]} has ended: reset it with options={{'reset_mask': ...}} before step()"
            )
        outputs = self._template._new_results(self.num_envs)
        drawn = None if self._history is None else np.flatnonzero(~self._over)
        finished, self._num_over = self._advance(actions, outputs)
        if drawn is not None:
            self._remember(drawn, actions)
        truncated = outputs.truncated
        self._num_steps += 1
        over, measured = self._over, None
        if self._num_over > (0 if resetting is None else len(resetting)):
            measured = over.copy()
            if resetting is not None:
                measured[resetting] = False
        if self._max_steps is not None:
            late = self._num_steps >= self._max_steps
            if resetting is not None:
                late[resetting] = False
            truncated |= late
            over |= late
            self._num_over = int(np.count_nonzero(over))
        if resetting is not None:
            self._begin(resetting)
            self._observe(resetting, outputs)
        infos = self._infos_of_step(outputs, finished, resetting, measured)
        if self._num_over and self.autoreset_mode is AutoresetMode.SAME_STEP:
            infos = self._reset_now(outputs, infos, np.flatnonzero(over))
        self._settle(outputs)
        if not self._ready.all():
            self._draw_ahead(-(-self.num_envs // STEPS_TO_DRAW_ALL))
        return outputs.observation, outputs.reward, outputs.terminated, truncated, infos

    def play(
        self, policy: WeightedPolicy, weights: FloatArray, *, seeds: Sequence[int], metric: str
    ) -> tuple[FloatArray, int]:
        """Plays a whole episode in each environment, each by a policy with weights of its own.

        The episodes, actions and metrics are those of ``reset`` and ``step``, bit for bit, in one compiled call; at a
        port of packets, one for each environment. Returns the metric of each episode, (num_envs,), and the number of
        decisions of all together.

        Args:
            policy: The shape of the policy, as ``weighted_policy`` makes it.
            weights: Weights in each environment, (num_envs, num_weights).
            seeds: Seeds of the resets, (num_envs,); those with the same seed play the same episode.
            metric: Name of a metric of episodes.

        Raises:
            ConfigError: Weights or seeds have another shape, a seed is not allowed, or there is no such metric.
            SimulationError: The environments are closed.
        """
        shape = (self.num_envs, policy.num_weights)
        if np.shape(weights) != shape:
            raise ConfigError(f"weights have shape {np.shape(weights)}: it must be {shape}")
        check_choice("metric", metric, METRIC_NAMES)
        self.reset(seed=list(seeds))
        outputs = self._template._new_results(self.num_envs)
        num_decisions = self._play(policy, np.ascontiguousarray(weights, dtype=np.float64), outputs)
        self._num_over = self.num_envs
        capacity = float(self.simulation.topology.capacity[0])
        ends = zip(outputs.terminated.tolist(), outputs.time.tolist(), strict=True)
        values = [
            getattr(summary(self.records(number), capacity=capacity, now=None if whole else now), metric)
            for number, (whole, now) in enumerate(ends)
        ]
        return np.array(values, dtype=np.float64), num_decisions

    @abstractmethod
    def _play(self, policy: WeightedPolicy, weights: FloatArray, outputs: Results) -> int:
        """Plays the episodes that have begun to their ends; returns the number of decisions."""

    def get_state(self) -> VectorState:
        """Returns where the environments are, for search and branching: their episodes, and what is drawn after them.

        The state does not change when the environments go on; ``state.pick([3, 3])`` is one of two environments that
        both are where number 3 was. To take one takes about 0.4 ms and 0.2 MB for each environment with 1,000 flows, to
        restore it 0.5 ms. Refuses before the first episode.
        """
        self._check_begun()
        return VectorState(
            environment=self._name,
            config=self.config,
            networks=self.simulation.take(self._current),
            columns={name: getattr(self, name).copy() for name in self._COLUMNS},
            flow_ids=tuple(self._flow_ids.get(network) for network in self._current.tolist()),
            flows=self._fingerprint(),
            seeds=self.np_random_seed,
            generators=tuple(generator.bit_generator.state for generator in self.np_random),
            history=None if self._history is None else tuple(tuple(actions) for actions in self._history),
        ).sealed()

    def set_state(self, state: VectorState, numbers: Sequence[int] | None = None) -> None:
        """Goes on from where these environments, or others with the same arguments, were; the same, bit for bit.

        Args:
            state: What ``get_state`` returned, or a part that ``pick`` took of it. It can be restored many times.
            numbers: Environments to set, as many as the state has. Default: all.

        Raises:
            ConfigError: It is not a state, or one of an environment with other arguments, or of another number, or was
                altered.
            SimulationError: Environments that are not set have had no episode yet, or all are closed.
        """
        self._check_open()
        if not isinstance(state, VectorState):
            raise ConfigError(f"state is {shown(state)}: it must be what get_state() returned")
        state.check(self._name, self.config)
        if state.flows != self._fingerprint():
            raise ConfigError("state is one of episodes with other flows than these environments draw")
        chosen = np.arange(self.num_envs) if numbers is None else read_numbers(numbers, self.num_envs)
        if len(chosen) != len(state) or len(np.unique(chosen)) != len(chosen):
            raise ConfigError(f"state has {len(state)} environments: numbers must be as many, each once")
        if not self._begun and len(chosen) < self.num_envs:
            raise SimulationError("there is no episode yet: call reset() first, or set all environments")
        if self._history is not None and state.history is None:
            raise ConfigError("state was taken without a render_mode: its episodes cannot be drawn")
        targets = self._current[chosen]
        self._keep_ended(targets)
        self.simulation.put(targets, state.networks)
        for name, values in state.columns.items():
            getattr(self, name)[chosen] = values
        self._num_over = int(np.count_nonzero(self._over))
        for place, number in enumerate(chosen.tolist()):
            generator = np.random.Generator(np.random.PCG64())
            generator.bit_generator.state = state.generators[place]
            self._generators[number], self._generator_seeds[number] = generator, state.seeds[place]
            self._note_flow_ids(int(targets[place]), state.flow_ids[place])
            self._failures.pop(number, None)
            if self._history is not None and state.history is not None:
                self._history[number] = list(state.history[place])
                self._shadows.pop(number, None)
        self._ready[chosen] = False
        self._look()

    def _state_to_pickle(self) -> VectorState | None:
        return self.get_state() if self._begun else None

    def _take_up(self, state: VectorState) -> None:
        self.set_state(state)

    def render(self) -> tuple[Any, ...] | None:
        """Draws every environment by single ones that follow its actions; refuses before the first episode."""
        if self._history is None:
            return None
        self._check_begun()
        return tuple(self._shadow(number).render() for number in range(self.num_envs))

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Returns, for each environment, an attribute of a single environment, or what a method of it returns.

        Raises:
            AttributeError: There is none, or it belongs to an episode: ask the vector environment itself.
        """
        if name in self._ASKED:
            values = getattr(self, name)
            return tuple(values() if callable(values) else values)
        if name not in self._SHARED:
            names = ", ".join((*self._ASKED, *self._SHARED))
            raise AttributeError(f"{shown(name)} is not known of each environment: it must be one of {names}")
        value = self.spec if name == "spec" else getattr(self._template, name)
        return (value(*args, **kwargs) if callable(value) else value,) * self.num_envs

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Returns an attribute of each environment; see ``call``."""
        return self.call(name)

    def _fingerprint(self) -> bytes:
        """Digests what the flows of episodes are drawn from, by the flows of one episode, once."""
        if self._flows is None:
            sources = members_of(self._template.source)
            digests = [fingerprint(each.draw(0), each.num_hosts) for each in sources]
            self._flows = b"".join([len(self._sources).to_bytes(8), *digests])
        return self._flows

    def _masked(self, options: dict[str, Any] | None) -> IntArray:
        if options is not None and not isinstance(options, dict):
            raise ConfigError(f"options is {shown(options)}: it must be a dict or None")
        known = dict(options or {})
        mask = known.pop("reset_mask", None)
        if known:
            raise ConfigError(f"options is {shown(options)}: this environment knows only reset_mask")
        if mask is None:
            return np.arange(self.num_envs)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise ConfigError(f"reset_mask is {shown(mask)}: it must be an array of {self.num_envs} bool")
        if not mask.any():
            raise ConfigError("reset_mask names no environment: at least one entry must be True")
        return np.flatnonzero(mask)

    def _check_open(self) -> None:
        if self.closed:
            raise SimulationError("the environments are closed: make new ones")

    def _check_begun(self) -> None:
        if not self._begun:
            raise SimulationError("there is no episode yet: call reset() first")

    def _look(self) -> Results:
        outputs = self._template._new_results(self.num_envs)
        self._observe(np.arange(self.num_envs), outputs)
        self._settle(outputs)
        return outputs

    def _settle(self, outputs: Results) -> None:
        """Notes what the environments offer, now that they wait for actions."""
        self._begun = True
        self._masks = outputs.mask

    @abstractmethod
    def _advance(self, actions: Actions, outputs: Results) -> tuple[IntArray, int]:
        """Acts where no environment is over, and updates ``_over``; returns the rows that finished and how many are."""
