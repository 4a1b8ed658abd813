"""Holds what native vector environments share: seeds, episodes drawn ahead, autoreset, infos, states.

Environment ``e`` owns two networks of the batch simulation, ``2 e`` and ``2 e + 1``. One is played; into the other the
next episode is drawn, a few in each step, so that an environment that ends goes on at once.
"""

import functools
import weakref
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from flowsched_gym import __version__
from flowsched_gym.batch import BatchSimulation, Snapshot
from flowsched_gym.envs.base import SEED_BOUND, FlowSchedEnv
from flowsched_gym.envs.infos import LazyInfos, merge_infos
from flowsched_gym.errors import ConfigError, FlowSchedError, SimulationError
from flowsched_gym.metrics import summary
from flowsched_gym.workload import Workload

__all__ = ["FlowSchedVectorEnv", "VectorState"]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
Observation = npt.NDArray[np.float32]
Infos = dict[str, Any]

STEPS_TO_DRAW_ALL: Final = 256
"""Steps over which the next episodes of all environments are drawn."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VectorState:
    """Is what ``get_state`` of a vector environment returns and ``set_state`` takes. It can be pickled.

    Attributes:
        package_version: Version of the package.
        environment: ``module:Class`` of the vector environment.
        config: Its arguments.
        networks: The networks that are played, one for each environment.
        own: What the system keeps of each of them besides.
        columns: What environments keep, by name, (num_envs,) each.
        generators: Generators of the episode seeds, each as its bit generator's state.
        history: Actions of the running episodes, where they are kept for drawing.
    """

    package_version: str = __version__
    environment: str
    config: Any
    networks: Snapshot
    own: Mapping[str, npt.NDArray[Any]]
    columns: Mapping[str, npt.NDArray[Any]]
    generators: tuple[Mapping[str, Any], ...]
    history: tuple[tuple[int, ...], ...] | None

    def __len__(self) -> int:
        """Number of environments."""
        return len(self.networks)

    def pick(self, numbers: Sequence[int]) -> "VectorState":
        """Returns the states of some environments, each as often as it is named."""
        rows = np.asarray(numbers, dtype=np.int64)
        return replace(
            self,
            networks=self.networks.pick(rows),
            own={name: array[rows] for name, array in self.own.items()},
            columns={name: array[rows] for name, array in self.columns.items()},
            generators=tuple(self.generators[number] for number in rows.tolist()),
            history=None if self.history is None else tuple(self.history[number] for number in rows.tolist()),
        )


class _EndedEpisode:
    """Knows how an episode ended, as long as somebody may ask for its metrics."""

    __slots__ = ("__weakref__", "_completion_time", "_draw", "_grant_time", "_now", "_number", "_simulation")

    def __init__(
        self, simulation: BatchSimulation, number: int, draw: Callable[[], Workload], now: float | None
    ) -> None:
        """Looks at the network, while the episode is in it."""
        self._simulation = simulation
        self._number = number
        self._draw = draw
        self._now = now
        self._grant_time: npt.NDArray[np.float64] | None = None
        self._completion_time: npt.NDArray[np.float64] | None = None

    def keep(self) -> None:
        """Copies what the next episode in this network will write over."""
        if self._grant_time is None:
            tables = self._simulation.tables
            first = self._number * tables.num_rows
            flows = tables.flows[first : first + int(tables.networks["num_flows"][self._number])]
            self._grant_time, self._completion_time = flows["grant_time"].copy(), flows["completion_time"].copy()

    def metrics(self) -> dict[str, float]:
        """Measures the episode."""
        self.keep()
        assert self._grant_time is not None
        assert self._completion_time is not None
        simulation = self._simulation
        records = simulation.complete_records(self._draw(), self._grant_time, self._completion_time)
        return summary(records, capacity=float(simulation.topology.capacity[0]), now=self._now).as_dict()


class FlowSchedVectorEnv(VectorEnv[Observation, IntArray, npt.NDArray[Any]]):
    """Runs many environments in one compiled call per step, each bit for bit as ``FlowSchedEnv`` runs it.

    Seeds, autoreset and infos are those of Gymnasium's ``SyncVectorEnv``. Two differences: an action outside the space
    is refused before any environment moves, and the metrics of an ended episode and the lists of finished flows are
    made when they are first read.

    Args:
        template: A single environment with the arguments of all.
        simulation: Two networks for each environment.
        num_envs: Environments, >= 1.
        autoreset_mode: When an environment that has ended begins its next episode.
        max_episode_steps: Decisions after which Gymnasium's time limit would truncate; ``None`` for none.

    Attributes:
        config: The arguments, checked.
        layout: Columns of the observation.

    Raises:
        ConfigError: An argument is not allowed.
    """

    metadata: ClassVar[dict[str, Any]] = {}  # type: ignore[misc]  # set for each instance
    _SHARED: ClassVar[tuple[str, ...]] = ("config", "layout", "num_actions", "metadata", "render_mode", "spec")
    """What ``call`` finds in the template."""
    _COLUMNS: ClassVar[tuple[str, ...]] = ("_over", "_num_steps", "_next_seed", "_episode_seed")
    """Arrays of one entry for each environment that belong to its state."""

    def __init__(
        self,
        template: FlowSchedEnv[Any],
        simulation: BatchSimulation,
        *,
        num_envs: int,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
    ) -> None:
        """Makes no draw."""
        try:
            self.autoreset_mode = AutoresetMode(autoreset_mode)
        except ValueError:
            modes = ", ".join(mode.value for mode in AutoresetMode)
            raise ConfigError(f"autoreset_mode is {autoreset_mode!r}: it must be one of {modes}") from None
        self.num_envs = num_envs
        self.metadata = {**template.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = template.render_mode
        self.config = template.config
        self.layout = template.layout
        self.single_observation_space = template.observation_space
        self.single_action_space = template.action_space
        self.observation_space = batch_space(template.observation_space, num_envs)
        self.action_space = batch_space(template.action_space, num_envs)
        self.simulation = simulation
        self._template = template
        self._source = template._source
        self._max_steps = max_episode_steps
        self._generators: list[np.random.Generator | None] = [None] * num_envs
        self._generator_seeds: list[int] = [-1] * num_envs
        self._current: IntArray = 2 * np.arange(num_envs)
        self._over: BoolArray = np.zeros(num_envs, dtype=np.bool_)
        self._num_steps: IntArray = np.zeros(num_envs, dtype=np.int64)
        self._episode_seed: IntArray = np.full(num_envs, -1, dtype=np.int64)
        self._next_seed: IntArray = np.full(num_envs, -1, dtype=np.int64)
        self._ready: BoolArray = np.zeros(num_envs, dtype=np.bool_)
        self._failures: dict[int, FlowSchedError] = {}
        self._flow_ids: dict[int, IntArray] = {}
        self._history: list[list[int]] | None = None if template.render_mode is None else [[] for _ in range(num_envs)]
        self._shadows: dict[int, tuple[FlowSchedEnv[Any], int]] = {}
        self._ended: dict[int, weakref.ref[_EndedEpisode]] = {}
        self._draw_next = 0
        self._num_unready = 0
        self._masks: BoolArray | None = None

    @property
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]  # as SyncVectorEnv
        """Generators of the episode seeds; they are one episode ahead."""
        return tuple(self._generator(number) for number in range(self.num_envs))

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]  # as SyncVectorEnv
        """Seeds of these generators."""
        _ = self.np_random
        return tuple(self._generator_seeds)

    def action_masks(self) -> BoolArray:
        """Returns which actions do what they say, (num_envs, num_actions).

        Raises:
            SimulationError: There is no episode yet.
        """
        if self._masks is None:
            raise SimulationError("there is no episode yet: call reset() first")
        return self._masks.copy()

    def workload(self, number: int) -> Workload:
        """Returns the flows of the current episode of an environment."""
        return self._source.draw(int(self._episode_seed[number]))

    def records(self, number: int) -> Any:
        """Returns what has become of every flow of the current episode of an environment so far."""
        return self.simulation.records(int(self._current[number]), self.workload(number))

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Infos]:
        """Begins new episodes.

        Args:
            seed: Environment ``i`` gets ``seed + i``, or the entry ``i`` of a sequence.
            options: ``reset_mask``, (num_envs,) bool: which environments to reset. Default: all.

        Raises:
            ConfigError: A seed or an option is not allowed, or an episode drawn has no flow.
        """
        numbers = self._masked(options)
        if seed is None or isinstance(seed, (int, np.integer)):
            seeds: list[int | None] = [None if seed is None else int(seed) + i for i in range(self.num_envs)]
        else:
            seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise ConfigError(f"seed has {len(seeds)} entries: it must have one for each of {self.num_envs}")
        for number in numbers.tolist():
            if seeds[number] is not None:
                self._generators[number], self._generator_seeds[number] = seeding.np_random(seeds[number])
                self._next_seed[number] = -1
                self._ready[number] = False
                self._failures.pop(number, None)
        if (self._episode_seed[np.setdiff1d(np.arange(self.num_envs), numbers)] < 0).any():
            raise SimulationError("an environment that is not in reset_mask has had no episode yet: reset all first")
        self._begin(numbers)
        outputs = self._new_outputs()
        self._observe(np.arange(self.num_envs), outputs)
        self._masks = self._mask(outputs)
        return self._observations(outputs), self._infos_of_reset(outputs, numbers)

    def step(self, actions: IntArray) -> tuple[Observation, npt.NDArray[np.float64], BoolArray, BoolArray, Infos]:
        """Applies an action in each environment and runs to its next decision, or to its end.

        Raises:
            InvalidAction: An action is outside the action space; no environment has moved.
            SimulationError: An environment has ended and is not reset by itself, or there is no episode.
        """
        if self._masks is None:
            raise SimulationError("there is no episode yet: call reset() first")
        resetting = np.flatnonzero(self._over) if self._over.any() else None
        if resetting is not None and self.autoreset_mode is AutoresetMode.DISABLED:
            raise SimulationError(
                f"environment {resetting[0]} has ended: reset it with options={{'reset_mask': ...}} before step()"
            )
        if self._history is not None:
            self._remember(actions)
        outputs = self._new_outputs()
        finished = self._advance(actions, outputs)
        reward, terminated, truncated = self._results(outputs)
        self._num_steps += 1
        measured = over = self._over
        if self._max_steps is not None:
            late = self._num_steps >= self._max_steps
            if resetting is not None:
                late[resetting] = False
            if late.any():
                measured = over.copy()
                truncated |= late
                over |= late
        ended = None
        if resetting is not None:
            self._begin(resetting)
            self._observe(resetting, outputs)
            measured = measured & over
        if over.any():
            ended = np.flatnonzero(over)
        infos = self._infos_of_step(outputs, finished, resetting, measured if ended is not None else None)
        if ended is not None and self.autoreset_mode is AutoresetMode.SAME_STEP:
            infos = self._reset_now(outputs, infos, ended)
        self._masks = self._mask(outputs)
        if self._num_unready:
            self._draw_ahead(-(-self.num_envs // STEPS_TO_DRAW_ALL))
        return self._observations(outputs), reward, terminated, truncated, infos

    def get_state(self) -> VectorState:
        """Returns where the environments are, for search and branching: their episodes, and what is drawn after them.

        The state does not change when the environments go on; ``state.pick([3, 3])`` is one of two environments that
        both are where number 3 was.

        Raises:
            SimulationError: There is no episode yet.
        """
        if self._masks is None:
            raise SimulationError("there is no episode yet: call reset() first")
        return VectorState(
            environment=self._name,
            config=self.config,
            networks=self.simulation.take(self._current),
            own=self._take_own(self._current),
            columns={name: getattr(self, name).copy() for name in self._COLUMNS},
            generators=tuple(self._generator(number).bit_generator.state for number in range(self.num_envs)),
            history=None if self._history is None else tuple(tuple(actions) for actions in self._history),
        )

    def set_state(self, state: VectorState, numbers: Sequence[int] | None = None) -> None:
        """Goes on from where these environments, or others with the same arguments, were; the same, bit for bit.

        Args:
            state: What ``get_state`` returned, or a part that ``pick`` took of it. It can be restored many times.
            numbers: Environments to set, as many as the state has. Default: all.

        Raises:
            ConfigError: It is not a state, or one of an environment with other arguments, or of another number.
            SimulationError: Environments that are not set have had no episode yet.
        """
        if not isinstance(state, VectorState):
            raise ConfigError(f"state is {state!r}: it must be what get_state() returned")
        if (state.package_version, state.environment) != (__version__, self._name):
            raise ConfigError(
                f"state is one of {state.environment} of flowsched-gym {state.package_version}: "
                f"this is {self._name} of {__version__}"
            )
        if state.config != self.config:
            raise ConfigError(f"state is one of an environment with {state.config}: this one has {self.config}")
        chosen = np.arange(self.num_envs) if numbers is None else np.asarray(numbers, dtype=np.int64)
        if len(chosen) != len(state) or len(np.unique(chosen)) != len(chosen):
            raise ConfigError(f"state has {len(state)} environments: numbers must be as many, each once")
        if len(chosen) and not 0 <= chosen.min() <= chosen.max() < self.num_envs:
            raise ConfigError(f"numbers is {numbers!r}: there are the environments 0 to {self.num_envs - 1}")
        if self._masks is None and len(chosen) < self.num_envs:
            raise SimulationError("there is no episode yet: call reset() first, or set all environments")
        if self._history is not None and state.history is None:
            raise ConfigError("state was taken without a render_mode: its episodes cannot be drawn")
        targets = self._current[chosen]
        self._keep_ended(targets)
        self._make_room(state.networks.flows.shape[1], state.networks.destinations.shape[1])
        self.simulation.put(targets, state.networks)
        self._put_own(targets, state.own)
        for name, values in state.columns.items():
            getattr(self, name)[chosen] = values
        for number, generator_state in zip(chosen.tolist(), state.generators, strict=True):
            generator = np.random.Generator(np.random.PCG64())
            generator.bit_generator.state = generator_state
            self._generators[number] = generator
            self._failures.pop(number, None)
        if self._history is not None and state.history is not None:
            for number, actions in zip(chosen.tolist(), state.history, strict=True):
                self._history[number] = list(actions)
                self._shadows.pop(number, None)
        self._num_unready += int(self._ready[chosen].sum())
        self._ready[chosen] = False
        outputs = self._new_outputs()
        self._observe(np.arange(self.num_envs), outputs)
        self._masks = self._mask(outputs)

    def render(self) -> tuple[Any, ...] | None:
        """Draws every environment: single environments follow the actions of each and draw themselves.

        Raises:
            SimulationError: There is no episode yet.
        """
        if self._history is None:
            return None
        if self._masks is None:
            raise SimulationError("there is no episode yet: call reset() first")
        return tuple(self._shadow(number).render() for number in range(self.num_envs))

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Returns, for each environment, an attribute of a single environment, or what a method of it returns.

        Raises:
            ConfigError: The method or attribute belongs to an episode: ask the vector environment itself.
        """
        if name == "action_masks":
            return tuple(self.action_masks())
        if name in ("np_random", "np_random_seed"):
            values: tuple[Any, ...] = getattr(self, name)
            return values
        if name not in self._SHARED:
            raise ConfigError(f"{name!r} is not known of each environment: it must be one of {', '.join(self._SHARED)}")
        value = getattr(self._template, name)
        return (value(*args, **kwargs) if callable(value) else value,) * self.num_envs

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Returns an attribute of each environment; see ``call``."""
        return self.call(name)

    @property
    def _name(self) -> str:
        """``module:Class`` of this environment."""
        return f"{type(self).__module__}:{type(self).__qualname__}"

    def _generator(self, number: int) -> np.random.Generator:
        """Returns the generator of the episode seeds of an environment."""
        generator = self._generators[number]
        if generator is None:
            generator, self._generator_seeds[number] = seeding.np_random(None)
            self._generators[number] = generator
        return generator

    def _masked(self, options: dict[str, Any] | None) -> IntArray:
        """Reads which environments to reset."""
        known = dict(options or {})
        mask = known.pop("reset_mask", None)
        if known:
            raise ConfigError(f"options is {options!r}: this environment knows only reset_mask")
        if mask is None:
            return np.arange(self.num_envs)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise ConfigError(f"reset_mask is {mask!r}: it must be an array of {self.num_envs} bool")
        if not mask.any():
            raise ConfigError("reset_mask names no environment: at least one entry must be True")
        return np.flatnonzero(mask)

    def _begin(self, numbers: IntArray) -> None:
        """Lets environments play the episodes that were drawn for them."""
        if not self._ready[numbers].all():
            self._draw(numbers[~self._ready[numbers]])
        for number in self._failures.keys() & set(numbers.tolist()) if self._failures else ():
            raise self._failures.pop(number)
        self._current[numbers] ^= 1
        self._over[numbers] = False
        self._num_steps[numbers] = 0
        self._episode_seed[numbers] = self._next_seed[numbers]
        self._next_seed[numbers] = -1
        self._ready[numbers] = False
        self._num_unready = self.num_envs - int(np.count_nonzero(self._ready))
        if self._history is not None:
            for number in numbers.tolist():
                self._history[number] = []
                self._shadows.pop(number, None)

    def _draw_ahead(self, count: int) -> None:
        """Draws the next episode for some environments that have none yet."""
        ahead = (self._draw_next + np.arange(count)) % self.num_envs
        self._draw_next = (self._draw_next + count) % self.num_envs
        ahead = np.unique(ahead[~self._ready[ahead]])
        if len(ahead):
            self._draw(ahead)

    def _draw(self, numbers: IntArray) -> None:
        """Draws the next episodes of environments into their spare networks, and runs them to their first decision."""
        for number in numbers.tolist():
            if self._next_seed[number] < 0:
                self._next_seed[number] = int(self._generator(number).integers(SEED_BOUND))
        spare = self._current[numbers] ^ 1
        self._keep_ended(spare)
        by_hand = self._draw_compiled(spare, self._next_seed[numbers])
        for number, network in zip(numbers[by_hand].tolist(), spare[by_hand].tolist(), strict=True):
            try:
                self._draw_in_python(network, int(self._next_seed[number]))
            except FlowSchedError as error:
                # An error of an episode that nobody has asked for yet; it is raised when the episode begins.
                self._failures[number] = error
        self._ready[numbers] = True
        self._num_unready = self.num_envs - int(np.count_nonzero(self._ready))

    def _draw_in_python(self, network: int, seed: int) -> None:
        """Draws an episode as the single environment does, and loads it."""
        workload = self._source.draw(seed)
        if not workload.num_flows:
            raise ConfigError("the episode drawn has no flow: ask for more bursts, or more seconds of arrivals")
        self._make_room(workload.num_flows, len(np.unique(workload.destination)))
        self.simulation.load(network, workload)
        self._prepare(network, workload)
        ids = workload.flow_id
        if ids[-1] != len(ids) - 1:
            self._flow_ids[network] = ids

    def _make_room(self, num_rows: int, num_places: int) -> None:
        """Makes room for more flows and destinations."""
        tables = self.simulation.tables
        if num_rows > tables.num_rows or num_places > tables.num_places:
            everyone = np.arange(self.simulation.num_networks)
            own = self._take_own(everyone)
            self.simulation.grow(num_rows, num_places)
            self._put_own(everyone, own)

    def _keep_ended(self, networks: IntArray) -> None:
        """Saves what somebody may still ask of the episodes that have ended in networks."""
        if self._ended:
            for network in networks.tolist():
                reference = self._ended.pop(network, None)
                episode = None if reference is None else reference()
                if episode is not None:
                    episode.keep()

    def _remember(self, actions: IntArray) -> None:
        """Keeps the actions of the running episodes, for drawing them."""
        assert self._history is not None
        for number, action in enumerate(np.asarray(actions).tolist()):
            if not self._over[number]:
                self._history[number].append(action)

    def _shadow(self, number: int) -> FlowSchedEnv[Any]:
        """Returns a single environment that is where one of these is."""
        assert self._history is not None
        shadow, taken = self._shadows.get(number) or (self._new_shadow(number), 0)
        for action in self._history[number][taken:]:
            shadow.step(action)
        self._shadows[number] = shadow, len(self._history[number])
        return shadow

    def _new_shadow(self, number: int) -> FlowSchedEnv[Any]:
        """Makes a single environment in the episode of one of these."""
        shadow = self._single()
        shadow.begin(int(self._episode_seed[number]))
        return shadow

    def _infos_of_reset(self, outputs: Any, numbers: IntArray) -> Infos:
        """Builds the infos of environments that have begun an episode."""
        who = np.zeros(self.num_envs, dtype=np.bool_)
        who[numbers] = True
        nobody = np.zeros(self.num_envs, dtype=np.bool_)
        infos = self._gather(outputs, who, nobody)
        infos["finished"] = _tuples(self.num_envs, numbers)
        return infos

    def _infos_of_step(
        self, outputs: Any, finished: IntArray, resetting: IntArray | None, measured: BoolArray | None
    ) -> Infos:
        """Builds the infos of a step; ``measured`` tells whose episodes have ended by themselves."""
        everyone = np.ones(self.num_envs, dtype=np.bool_)
        paid = everyone
        if resetting is not None:
            paid = everyone.copy()
            paid[resetting] = False
        infos = self._gather(outputs, everyone, paid)
        deferred: dict[str, Callable[[], Any]] = {"finished": self._finished_maker(outputs, finished)}
        if measured is not None and measured.any():
            for name, column in self._columns_at_end(outputs).items():
                infos[name], infos[f"_{name}"] = np.where(measured, column, 0), measured.copy()
            infos["_episode_metrics"] = measured.copy()
            deferred["episode_metrics"] = self._metrics_maker(np.flatnonzero(measured), outputs)
        return LazyInfos(infos, deferred)

    def _gather(self, outputs: Any, who: BoolArray, paid: BoolArray) -> Infos:
        """Builds the infos that all environments in ``who`` have, and the reward terms of those in ``paid``."""
        all_of_them = bool(who.all())
        infos: Infos = {}
        for name, column in self._columns(outputs).items():
            if not all_of_them:
                column = np.where(who[:, np.newaxis] if column.ndim > 1 else who, column, np.zeros(1, column.dtype))
            infos[name], infos[f"_{name}"] = column, who
        terms: Infos = {}
        if paid.any():
            for name, column in self._terms(outputs).items():
                terms[name], terms[f"_{name}"] = np.where(paid, column, 0.0), paid
        infos["reward_terms"], infos["_reward_terms"] = terms, who
        infos["_finished"] = who
        return infos

    def _finished_maker(self, outputs: Any, finished: IntArray) -> Callable[[], npt.NDArray[Any]]:
        """Returns what makes the lists of finished flows: for each environment a tuple of flow ids."""
        counts = self._finished_counts(outputs).copy()
        flow_ids = None
        if self._flow_ids:
            flow_ids = [self._flow_ids.get(network) for network in self._current.tolist()]

        def make() -> npt.NDArray[Any]:
            tuples = _tuples(self.num_envs, np.arange(self.num_envs))
            rows, end = finished.tolist(), 0
            for number in np.flatnonzero(counts).tolist():
                begin, end = end, end + int(counts[number])
                ids = None if flow_ids is None else flow_ids[number]
                tuples[number] = tuple(rows[begin:end] if ids is None else ids[rows[begin:end]].tolist())
            return tuples

        return make

    def _metrics_maker(self, numbers: IntArray, outputs: Any) -> Callable[[], Infos]:
        """Returns what makes the metrics of episodes that have ended."""
        times, terminated = self._columns(outputs)["time"], self._results(outputs)[1]
        episodes = {}
        for number in numbers.tolist():
            network, seed = int(self._current[number]), int(self._episode_seed[number])
            episode = _EndedEpisode(
                self.simulation,
                network,
                functools.partial(self._source.draw, seed),
                None if terminated[number] else float(times[number]),
            )
            episodes[number] = episode
            self._ended[network] = weakref.ref(episode)

        def make() -> Infos:
            return merge_infos({number: episode.metrics() for number, episode in episodes.items()}, self.num_envs)

        return make

    def _reset_now(self, outputs: Any, infos: Infos, ended: IntArray) -> Infos:
        """Begins the next episodes of environments that have ended; what they had is kept as final."""
        who = np.zeros(self.num_envs, dtype=np.bool_)
        who[ended] = True
        final_obs = np.full(self.num_envs, None, dtype=object)
        last = self._observations(outputs)
        for number in ended.tolist():
            final_obs[number] = last[number].copy()
        before, makers = infos, {key: functools.partial(infos.__getitem__, key) for key in ("finished",)}
        final = LazyInfos(
            _only({key: before[key] for key in before if key not in ("finished", "episode_metrics")}, who),
            {"finished": lambda: _only_tuples(makers["finished"](), who)}
            | ({"episode_metrics": lambda: before["episode_metrics"]} if "episode_metrics" in before else {}),
        )
        self._begin(ended)
        self._observe(ended, outputs)
        everyone = np.ones(self.num_envs, dtype=np.bool_)
        now = self._gather(outputs, everyone, ~who)
        now |= {"final_obs": final_obs, "_final_obs": who, "final_info": final, "_final_info": who.copy()}
        return LazyInfos(now, {"finished": lambda: _without_tuples(makers["finished"](), who)})

    @abstractmethod
    def _single(self) -> FlowSchedEnv[Any]:
        """Makes a single environment with the arguments of these."""

    @abstractmethod
    def _new_outputs(self) -> Any:
        """Makes room for what a step returns."""

    @abstractmethod
    def _advance(self, actions: IntArray, outputs: Any) -> IntArray:
        """Applies actions where no environment is over, and updates ``_over``; returns the rows that finished.

        Raises:
            InvalidAction: An action is outside the action space; no environment has moved.
        """

    @abstractmethod
    def _observe(self, numbers: IntArray, outputs: Any) -> None:
        """Writes what environments show now, without having acted."""

    @abstractmethod
    def _observations(self, outputs: Any) -> Observation:
        """Returns the observations, (num_envs, size)."""

    @abstractmethod
    def _results(self, outputs: Any) -> tuple[npt.NDArray[np.float64], BoolArray, BoolArray]:
        """Returns rewards, and who has terminated and been truncated, (num_envs,) each."""

    @abstractmethod
    def _mask(self, outputs: Any) -> BoolArray:
        """Returns a new array of the action masks, (num_envs, num_actions)."""

    @abstractmethod
    def _columns(self, outputs: Any) -> dict[str, npt.NDArray[Any]]:
        """Returns the infos of every step, with a leading axis over environments."""

    @abstractmethod
    def _columns_at_end(self, outputs: Any) -> dict[str, npt.NDArray[Any]]:
        """Returns the infos at the end of an episode."""

    @abstractmethod
    def _terms(self, outputs: Any) -> dict[str, npt.NDArray[np.float64]]:
        """Returns the named terms of the rewards."""

    @abstractmethod
    def _finished_counts(self, outputs: Any) -> IntArray:
        """Returns how many flows finished in each environment, (num_envs,)."""

    @abstractmethod
    def _draw_compiled(self, networks: IntArray, seeds: IntArray) -> BoolArray:
        """Draws episodes into networks and runs them to their first decision; returns which are left to be drawn."""

    @abstractmethod
    def _prepare(self, network: int, workload: Workload) -> None:
        """Runs a network that has been loaded to its first decision."""

    @abstractmethod
    def _take_own(self, networks: IntArray) -> dict[str, npt.NDArray[Any]]:
        """Copies what the system keeps of networks."""

    @abstractmethod
    def _put_own(self, networks: IntArray, own: Mapping[str, npt.NDArray[Any]]) -> None:
        """Sets what the system keeps of networks, in tables that may have grown."""


def _tuples(num_envs: int, numbers: IntArray) -> npt.NDArray[Any]:
    """Makes an array of empty tuples for some environments, and ``None`` for the others."""
    tuples = np.full(num_envs, None, dtype=object)
    for number in numbers.tolist():
        tuples[number] = ()
    return tuples


def _only(infos: Mapping[str, Any], who: BoolArray) -> Infos:
    """Keeps the infos of some environments."""
    return {
        key: _only(value, who) if isinstance(value, dict) else np.where(_along(who, value), value, np.zeros(1, value.dtype))
        for key, value in infos.items()
    }


def _along(who: BoolArray, value: npt.NDArray[Any]) -> BoolArray:
    """Gives a mask the number of axes of an array."""
    return who.reshape(who.shape + (1,) * (value.ndim - 1))


def _only_tuples(tuples: npt.NDArray[Any], who: BoolArray) -> npt.NDArray[Any]:
    """Keeps the tuples of some environments, ``None`` for the others."""
    kept = tuples.copy()
    kept[~who] = None
    return kept


def _without_tuples(tuples: npt.NDArray[Any], who: BoolArray) -> npt.NDArray[Any]:
    """Empties the tuples of some environments."""
    kept = tuples.copy()
    for number in np.flatnonzero(who).tolist():
        kept[number] = ()
    return kept
