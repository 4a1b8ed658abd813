"""What all environments share: seeding, episodes, infos and rendering. A system states only what differs."""

import pickle
from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Self, TypeVar

import gymnasium
import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray
from flowsched_gym.core.checks import check_choice
from flowsched_gym.core.errors import ConfigError, SimulationError, shown
from flowsched_gym.core.seeding import draw_episode_seed
from flowsched_gym.envs.actions import check_seed
from flowsched_gym.envs.columns import Layout
from flowsched_gym.envs.configured import Documented
from flowsched_gym.envs.drawing import Scene, View, draw_frame, write_text
from flowsched_gym.envs.drawing.panels import Stack
from flowsched_gym.envs.drawing.render_modes import RENDER_MODES, Window, check_render_mode
from flowsched_gym.envs.episode import (
    Episode,
    EpisodeBatch,
    EpisodeSetup,
    check_periods,
    check_source,
    draw_flows,
    redraw_flows,
)
from flowsched_gym.envs.state import EnvState, Restored, fingerprint
from flowsched_gym.flows.decisions import Results, new_results
from flowsched_gym.flows.fields import EPISODE_FIELDS, fill_flow_fields
from flowsched_gym.flows.metrics import summary
from flowsched_gym.fluid import Records
from flowsched_gym.workload import Workload, WorkloadSource

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


Observation = npt.NDArray[np.float32]
Action = TypeVar("Action")

ENGINES: Final = ("simpy", "compiled")
NS3: Final = "ns3"
"""An engine that some systems have besides: no copies of its episodes can be made."""

ONLY: Final = np.zeros(1, dtype=np.int64)
"""The only network of a batch."""


class FlowSchedEnv(Documented, Restored, gymnasium.Env[Observation, Action], Generic[Action]):
    """Episodes of decisions, on either engine: draws flows, runs to the next decision, rewards, and reports.

    Args:
        source: Where the flows of each episode are drawn from.
        network: The network, and what is decided in it.
        layout: Columns of the observation.
        render_mode: ``human``, ``rgb_array``, ``ansi`` or ``None``.
        max_decisions: Decisions after which an episode is truncated; ``None`` for no limit.
        engine: ``simpy``, or ``compiled``, which is faster and gives the same bits; or another of ``engines``.
        skips_empty: Whether periods in which no flow is active are left out.

    Attributes:
        config: The arguments, checked, as a frozen dataclass; the system sets it.

    Raises:
        ConfigError: There is no such render mode or engine, or the network cannot serve the flows.
        MissingDependencyError: A package that the render mode needs is not installed.
        WorkloadError: Flows take too short or too long a time to send.
    """

    _PICKLED = ("spec", "action_space", "_np_random", "_np_random_seed", "_closed")
    config: "DataclassInstance"
    num_actions: int = 0
    """Entries of the action mask; 0 where there is none: actions that it leaves out are legal, but replaced."""
    terms: tuple[str, ...]
    """Names of the terms of the reward."""
    final_infos: tuple[str, ...] = ()
    """Names of what the last info tells besides."""
    engines: ClassVar[tuple[str, ...]] = ENGINES
    """Engines on which its episodes can be played."""
    metadata: ClassVar[dict[str, Any]] = {"render_modes": RENDER_MODES, "render_fps": 10}  # type: ignore[misc]  # no instance has its own

    def __init__(
        self,
        *,
        source: WorkloadSource,
        network: EpisodeSetup,
        layout: Layout,
        render_mode: str | None,
        max_decisions: int | None,
        engine: str,
        skips_empty: bool = False,
    ) -> None:
        check_render_mode(render_mode)
        check_choice("engine", engine, self.engines)
        self.render_mode = render_mode
        self.engine = engine
        self.layout = layout
        self.observation_space = layout.space()  # type: ignore[assignment]  # a Box of float32
        self._source = source
        self._network = network
        self._batch: EpisodeBatch | None = None
        self._simulation: Episode
        self._flow_columns: npt.NDArray[Any]
        self._episodes: npt.NDArray[Any]
        self._flows: bytes | None = None
        self._futures: tuple[tuple[float, int], ...] = ()
        self._over = True
        self._closed = False
        self._window: Window | None = None
        self._decisions: list[Action] = []
        self._max_decisions = np.inf if max_decisions is None else float(max_decisions)
        check_source(source, network)
        argument = "period_us" if hasattr(getattr(self, "config", None), "period_us") else "period_ms"
        check_periods(source, network, argument, skips_empty=skips_empty)

    @property
    def simulation(self) -> Any:
        """The simulation of the current episode, an ``Episode``; refuses before the first ``reset``."""
        if not hasattr(self, "_simulation"):
            raise SimulationError("there is no episode yet: call reset() first")
        return self._simulation

    @property
    def action_masks(self) -> Callable[[], BoolArray]:
        """Returns which actions do what they say, (num_actions,) bool, of several choices one after the other.

        Refuses before the first episode, and is not there (``hasattr`` is false) where there are no masks.
        """
        if not self.num_actions:
            raise AttributeError(f"{self._name} has no action masks: all of its actions do what they say")
        return self._mask

    @property
    def source(self) -> WorkloadSource:
        """What the flows of every episode are drawn by."""
        return self._source

    @property
    def workload(self) -> Workload:
        """The flows of the current episode."""
        workload: Workload = self.simulation.workload
        return workload

    def records(self) -> Records:
        """Returns what has become of every flow of the current episode so far."""
        records: Records = self.simulation.records()
        return records

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Draws an episode and runs it to its first decision; no options are known.

        A seed seeds the generator that gives each episode its seed; the episodes that follow are then fixed.

        Raises:
            ConfigError: The seed is not allowed, there are options, or the episode drawn has no flow.
            SimulationError: The environment is closed.
        """
        self._check_open()
        super().reset(seed=check_seed(seed))
        if options is not None and (not isinstance(options, dict) or options):
            raise ConfigError(f"options is {shown(options)}: this environment knows none")
        return self.begin(draw_episode_seed(self.np_random))

    def begin(self, episode_seed: int) -> tuple[Observation, dict[str, Any]]:
        """Begins an episode by its own seed, and leaves the generator that ``reset`` draws such seeds from as it is."""
        self._start(draw_flows(self._source, episode_seed), episode_seed)
        self._show_window()
        return self._observe(), self._info([], {})

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Applies an action and runs to the next decision, or to the end.

        Raises:
            InvalidAction: The action is outside the action space; the episode stays as it was.
            SimulationError: The episode is over, or there is none, or the environment is closed.
        """
        if self._over:
            self._check_open()
            raise SimulationError("there is no running episode: call reset() before step()")
        finished, reward, terms = self._decide(action)
        terminated = not self._simulation.awaits_decision
        truncated = self._over and not terminated
        info = self._info(finished, terms)
        if self._over:
            info["episode_metrics"] = self._metrics(truncated)
        self._show_window()
        return self._observe(), reward, terminated, truncated, info

    def close(self) -> None:
        """Closes the environment and its window; what has become of the last episode can still be read."""
        self._closed = self._over = True
        if self.engine == NS3 and hasattr(self, "_simulation"):
            self.simulation.close()
        if self._window is not None:
            self._window.close()

    def get_state(self) -> EnvState:
        """Returns where the environment is, for search and branching: the episode, and what is drawn after it.

        A state does not change when the environment goes on, and can be pickled. What wrappers keep is not in it
        (``max_decisions`` counts inside, ``max_episode_steps`` outside), nor are the generators of the spaces. Refuses
        before the first episode.
        """
        simulation = self.simulation
        self._check_copies()
        return EnvState(
            environment=self._name,
            engine=self.engine,
            config=self.config,
            episode_seed=self._episode_seed,
            flows=self._fingerprint(),
            decisions=tuple(self._decisions),
            now=simulation.now,
            futures=self._futures,
            generator=pickle.dumps((self._np_random, self._np_random_seed)),
            network=None if self._batch is None else self._batch.take(ONLY),
        ).sealed()

    def set_state(self, state: EnvState) -> None:
        """Goes on from where this environment, or another one with the same arguments, was.

        What follows is the same, bit for bit: observations, rewards, infos, records, and the episodes after this one.
        Where another episode runs, the flows are drawn again, which takes as long as a ``reset``. A state can be
        restored many times.

        Raises:
            SimulationError: There is no episode yet: ``reset`` comes first; or the environment is closed.
            ConfigError: It is not a state, or one of an environment with other arguments or flows, or was altered.
        """
        self._check_open()
        workload = self.workload
        if not isinstance(state, EnvState):
            raise ConfigError(f"state is {shown(state)}: it must be what get_state() returned")
        state.check(self._name, self.config)
        if state.engine != self.engine:
            raise ConfigError(f"state is one of engine {state.engine!r}: this environment has {self.engine!r}")
        if state.flows != self._fingerprint() or state.futures != self._futures:
            workload = redraw_flows(self._source, state)
        simulation = self._simulation
        if state.network is not None and self._batch is not None:
            self._batch.put(ONLY, state.network)
            self._flow_columns, self._episodes = self._batch.columns(0), self._batch.episodes  # it may have made room
            simulation.workload = workload
            self._decisions = list[Any](state.decisions)
            begun = len(self._decisions)  # an episode in which nothing is asked ends with its first step
            self._over = begun > 0 and (not simulation.awaits_decision or begun >= self._max_decisions)
            self._restored()
        else:
            self._repeat(workload, state.episode_seed, state.decisions)
        self._episode_seed, self._flows, self._futures = state.episode_seed, state.flows, state.futures
        self._np_random, self._np_random_seed = pickle.loads(state.generator)

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """Copies the environment; its episode is played again in the copy."""
        self._check_copies()
        copied = type(self).__new__(type(self))
        vars(copied).update(vars(self))
        memo[id(self)] = copied
        copied.action_space, copied._np_random = deepcopy((self.action_space, self._np_random), memo)
        copied._batch = copied._window = None
        if hasattr(self, "_simulation"):
            copied._repeat(self.workload, self._episode_seed, self._decisions)
            copied._over, copied._flows, copied._futures = self._over, self._flows, self._futures
        return copied

    def _state_to_pickle(self) -> EnvState | None:
        return self.get_state() if hasattr(self, "_simulation") else None

    def _take_up(self, state: EnvState) -> None:
        self._start(draw_flows(self._source, state.episode_seed), state.episode_seed)
        self.set_state(state)

    def render(self) -> npt.NDArray[np.uint8] | str | None:
        """Draws the current state as the render mode says.

        Returns:
            A (height, width, 3) uint8 frame, text, or ``None`` without a render mode and where a window shows it
            (``human``, at ``reset`` and ``step`` by itself).

        Raises:
            SimulationError: There is no episode yet.
            MissingDependencyError: ``rgb_array`` needs Pillow, ``human`` pygame too.
        """
        if self.render_mode in (None, "human"):
            self._show_window()
            return None
        view = self.panels()
        return write_text(view) if self.render_mode == "ansi" else draw_frame(view)

    def scene(self) -> Scene:
        """Looks at the current episode, for pictures."""
        return self._network.scene(self.simulation)

    def panels(self) -> View:
        """Lists what a picture of the current state shows; a system shows what its agent sees too."""
        scene = self.scene()
        banner = scene.banner(type(self).__name__, "", "What now?")
        return View(banner=banner, stacks=(Stack(1, (scene.links(),)), Stack(1, (scene.finished(),))))

    def _show_window(self) -> None:
        if self.render_mode == "human":
            title = self.spec.id if self.spec else self._name
            self._window = self._window or Window(title, self.metadata["render_fps"])
            self._window.show(draw_frame(self.panels()))

    def _check_open(self) -> None:
        if self._closed:
            raise SimulationError("the environment is closed: make a new one")

    def _check_copies(self) -> None:
        if self.engine == NS3:
            raise SimulationError("engine is 'ns3': its episodes have no states and no copies; 'simpy' has both")

    def _start(self, workload: Workload, episode_seed: int) -> None:
        network = self._network
        if self.engine != "compiled":
            simulation = self._simulation = network.simulate(workload)
            fields = network.flow_fields
            self._flow_columns = np.zeros(workload.num_flows, dtype=np.dtype([*fields], align=True))
            fill_flow_fields(self._flow_columns, (field[0] for field in fields), workload, simulation.ideal_fct)
            self._episodes = np.zeros(1, dtype=np.dtype([*network.episode_fields, *EPISODE_FIELDS], align=True))
        else:
            self._batch = self._batch or network.new_batch(1, workload)
            self._simulation = network.load(self._batch, workload)
            self._flow_columns, self._episodes = self._batch.columns(0), self._batch.episodes
        self._episode_seed = episode_seed
        self._flows, self._futures = None, ()
        self._decisions = []
        self._begun()
        self._over = False

    def _new_results(self, num_envs: int) -> Results:
        """Makes room for what a step of environments returns, but not for the flows that finish."""
        return new_results(
            num_envs,
            size=self.layout.size,
            num_actions=self.num_actions,
            num_terms=len(self.terms),
            num_final=len(self.final_infos),
        )

    def _repeat(self, workload: Workload, episode_seed: int, decisions: Sequence[Any]) -> None:
        self._start(workload, episode_seed)
        for decision in decisions:
            self._decide(decision)

    def _fingerprint(self) -> bytes:
        if self._flows is None:
            self._flows = fingerprint(self.workload, self._source.num_hosts)
        return self._flows

    def _metrics(self, truncated: bool) -> dict[str, float]:
        """Measures the episode; one that was truncated is judged by the deadlines that have passed."""
        simulation = self._simulation
        # Every topology lists the links of its hosts first, all of one capacity.
        capacity = float(simulation.topology.capacity[0])
        now = simulation.now if truncated else None
        return summary(simulation.records(), capacity=capacity, now=now).as_dict()

    def _info(self, finished: Sequence[int], terms: dict[str, float]) -> dict[str, Any]:
        simulation = self._simulation
        info = {
            "time": simulation.now,
            "finished": tuple(simulation.workload.flow_id[list(finished)].tolist()) if finished else (),
            "reward_terms": terms,
        }
        if self.num_actions:
            info["action_mask"] = self._mask().astype(np.int8)  # as Gymnasium's spaces sample by
        return info

    def _mask(self) -> BoolArray:
        """Returns which actions do what they say, a new array, where there are masks."""
        raise NotImplementedError

    @abstractmethod
    def _begun(self) -> None:
        """Runs an episode that has been loaded to its first decision."""

    def _restored(self) -> None:
        """Takes note that the network of the compiled engine is another one."""

    @abstractmethod
    def _decide(self, action: Action) -> tuple[Sequence[int], float, dict[str, float]]:
        """Acts, notes it, runs on, and sets ``_over``; returns the rows of finished flows, the reward and its terms."""

    @abstractmethod
    def _observe(self) -> Observation:
        """Returns what the agent sees, a new (layout.size,) float32 array."""
