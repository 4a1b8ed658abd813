"""Begins the episodes of many environments: draws them ahead, into networks that are not played.

Environment ``e`` owns two networks of the batch simulation, ``2 e`` and ``2 e + 1``. One is played; into the other the
next episode is drawn, a few in each step, so that an environment that ends goes on at once.
"""

import weakref
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt
from gymnasium.utils import seeding
from gymnasium.vector import VectorEnv

from flowsched_gym.core.arrays import BoolArray, IntArray, is_whole
from flowsched_gym.core.checks import check_integer
from flowsched_gym.core.errors import ConfigError, FlowSchedError, SimulationError, shown
from flowsched_gym.core.seeding import draw_episode_seed
from flowsched_gym.envs.base import FlowSchedEnv, Observation
from flowsched_gym.envs.episode import EndedEpisode, EpisodeBatch, RecentDraws, draw_flows
from flowsched_gym.fluid import Records
from flowsched_gym.workload import ONE_OF, Workload, WorkloadSource, members_of

MOST_THREADS: Final = 512
"""Threads at most."""
MOST_ROWS: Final = 2**25
"""Flows of all episodes that vector environments make room for: 34 million of about 300 B, in two episodes for each."""
MOST_NUMBERS: Final = 2**28
"""Numbers in the observations of one step: 1 GB."""


class VectorEpisodes(VectorEnv[Observation, npt.NDArray[Any], npt.NDArray[Any]]):
    """The episodes that environments play, and the next ones; ``simulation`` has their networks."""

    single: ClassVar[type[FlowSchedEnv[Any]]]

    def __init__(self, num_envs: int, arguments: Mapping[str, Any], num_threads: int) -> None:
        check_integer("num_envs", num_envs, at_least=1)
        if not is_whole(num_threads) or not 1 <= num_threads <= MOST_THREADS:
            raise ConfigError(
                f"num_threads is {shown(num_threads)}: it must be an integer from 1 to {MOST_THREADS}, more than the "
                "cores of any machine: each thread has tables of its own"
            )
        if arguments.get("engine", "compiled") != "compiled":
            raise ConfigError(
                f"engine is {shown(arguments['engine'])}: vector environments are compiled; "
                "gym.make(..., engine='simpy') makes a single one, and vectorization_mode='sync' several of these"
            )
        # NumPy's integers overflow: twice 200 environments would be 144 in eight bits.
        num_envs, num_threads = int(num_envs), int(num_threads)
        self._arguments = dict(arguments)
        self._workloads, member = distinct_workloads(arguments.get("workload"), num_envs)
        if self._workloads is not None:
            self._arguments["workload"] = {ONE_OF: self._workloads}
        template = self._template = self.single(**self._arguments)
        first_episode = max((each.draw(0) for each in members_of(template._source)), key=lambda flows: flows.num_flows)
        num_rows, content = template._network.room(first_episode)
        check_room(num_envs, max(num_rows, 1), content, template.layout.size)
        self.num_envs = num_envs
        self._member: IntArray = member.copy()
        self.simulation: EpisodeBatch = template._network.new_batch(2 * num_envs, first_episode, num_threads)
        source: Any = template._source
        sources = (source,) if self._workloads is None else source.sources
        self._sources: list[RecentDraws] = [RecentDraws(each) for each in sources]
        self._generators: list[np.random.Generator | None] = [None] * num_envs
        self._generator_seeds: list[int] = [-1] * num_envs
        self._current: IntArray = 2 * np.arange(num_envs)
        self._over: BoolArray = np.zeros(num_envs, dtype=np.bool_)
        self._num_over = 0
        self._num_steps: IntArray = np.zeros(num_envs, dtype=np.int64)
        self._episode_seed: IntArray = np.full(num_envs, -1, dtype=np.int64)
        self._next_seed: IntArray = np.full(num_envs, -1, dtype=np.int64)
        self._ready: BoolArray = np.zeros(num_envs, dtype=np.bool_)
        self._failures: dict[int, FlowSchedError] = {}
        self._flow_ids: dict[int, IntArray] = {}
        self._history: list[list[Any]] | None = None if template.render_mode is None else [[] for _ in range(num_envs)]
        self._shadows: dict[int, tuple[FlowSchedEnv[Any], int]] = {}
        self._ended: dict[int, weakref.ref[EndedEpisode]] = {}
        self._draw_next = 0

    @property  # type: ignore[misc]  # nothing sets them
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]  # as SyncVectorEnv
        """Generators of the episode seeds; they are one episode ahead."""
        return tuple(self._generator(number) for number in range(self.num_envs))

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]  # as SyncVectorEnv
        """Seeds of these generators."""
        _ = self.np_random
        return tuple(self._generator_seeds)

    def workload(self, number: int) -> Workload:
        """Returns the flows of the current episode of an environment; refuses before the first one."""
        check_integer("number", number, at_least=0, below=self.num_envs)
        if self._episode_seed[number] < 0:
            raise SimulationError("there is no episode yet: call reset() first")
        return self._source(number).draw(int(self._episode_seed[number]))

    def records(self, number: int) -> Records:
        """Returns what has become of every flow of the current episode of an environment so far."""
        workload = self.workload(number)  # which refuses
        return self.simulation.records(int(self._current[number]), workload)

    def _source(self, number: int) -> RecentDraws:
        return self._sources[int(self._member[number])]

    def _generator(self, number: int) -> np.random.Generator:
        generator = self._generators[number]
        if generator is None:
            generator, self._generator_seeds[number] = seeding.np_random(None)
            self._generators[number] = generator
        return generator

    def _begin(self, numbers: IntArray) -> None:
        """Lets environments play the episodes that were drawn for them."""
        if not self._ready[numbers].all():
            self._draw(numbers[~self._ready[numbers]])
        for number in numbers.tolist() if self._failures else ():
            if number in self._failures:
                self._forget_next(number)
                raise self._failures.pop(number)
        self._current[numbers] ^= 1
        self._over[numbers] = False
        self._num_over = int(np.count_nonzero(self._over))
        self._num_steps[numbers] = 0
        self._episode_seed[numbers] = self._next_seed[numbers]
        self._next_seed[numbers] = -1
        self._ready[numbers] = False
        if self._history is not None:
            for number in numbers.tolist():
                self._history[number] = []
                self._shadows.pop(number, None)

    def _forget_next(self, number: int) -> None:
        """Lets the next episode of an environment be one with another seed than was drawn for it."""
        self._next_seed[number] = -1
        self._ready[number] = False

    def _draw_ahead(self, count: int) -> None:
        ahead = (self._draw_next + np.arange(count)) % self.num_envs
        self._draw_next = (self._draw_next + count) % self.num_envs
        ahead = np.unique(ahead[~self._ready[ahead]])
        if len(ahead):
            self._draw(ahead)

    def _draw(self, numbers: IntArray) -> None:
        """Draws the next episodes of environments into their spare networks."""
        for number in numbers.tolist():
            if self._next_seed[number] < 0:
                self._next_seed[number] = draw_episode_seed(self._generator(number))
        spare = self._current[numbers] ^ 1
        self._keep_ended(spare)
        for number, network in zip(numbers.tolist(), spare.tolist(), strict=True):
            try:
                self._draw_episode(network, self._source(number), int(self._next_seed[number]))
            except FlowSchedError as error:
                # An error of an episode that nobody has asked for yet; it is raised when the episode begins.
                self._failures[number] = error
        self._ready[numbers] = True

    def _draw_episode(self, network: int, source: RecentDraws, seed: int) -> None:
        workload = draw_flows(source, seed)
        self._template._network.check_links(workload)
        self.simulation.load(network, workload)
        ids = workload.flow_id
        self._note_flow_ids(network, ids if ids[-1] != len(ids) - 1 else None)

    def _note_flow_ids(self, network: int, flow_ids: IntArray | None) -> None:
        """Stores the ids of the flows in a network, where they do not count from 0."""
        if flow_ids is None:
            self._flow_ids.pop(network, None)
        else:
            self._flow_ids[network] = flow_ids

    def _keep_ended(self, networks: IntArray) -> None:
        """Saves what somebody may still ask of the episodes that have ended in networks."""
        if self._ended:
            for network in networks.tolist():
                reference = self._ended.pop(network, None)
                episode = None if reference is None else reference()
                if episode is not None:
                    episode.keep()

    def _remember(self, numbers: IntArray, actions: npt.NDArray[Any]) -> None:
        """Stores the actions of environments whose episodes are running, for drawing them."""
        assert self._history is not None
        kept = np.array(actions)
        for number in numbers.tolist():
            self._history[number].append(kept[number])

    def _shadow(self, number: int) -> FlowSchedEnv[Any]:
        """Returns a single environment that is where one of these is."""
        assert self._history is not None
        shadow, taken = self._shadows.get(number, (None, 0))
        if shadow is None:
            own = {} if self._workloads is None else {"workload": self._workloads[self._member[number]]}
            shadow = self.single(**{**self._arguments, **own})
            shadow.begin(int(self._episode_seed[number]))
        for action in self._history[number][taken:]:
            shadow.step(action)
        self._shadows[number] = shadow, len(self._history[number])
        return shadow


def distinct_workloads(workload: object, num_envs: int) -> tuple[list[Any] | None, IntArray]:
    """Finds which workload each environment has, of one for all or a list of one for each.

    Returns the workloads that differ, None for one for all, and the index of each environment's, (num_envs,).
    """
    member = np.broadcast_to(np.int64(0), num_envs)  # which takes no memory, as the number is not checked yet
    if not isinstance(workload, (list, tuple)) or isinstance(workload, WorkloadSource):
        return None, member
    if len(workload) != num_envs:
        raise ConfigError(f"workload has {len(workload)} entries: it must have {num_envs}, one for each environment")
    distinct: dict[object, Any] = {}
    keys = [each if isinstance(each, str) else id(each) for each in workload]
    for key, each in zip(keys, workload, strict=True):
        distinct.setdefault(key, each)
    return list(distinct.values()), np.array([*map(list(distinct).index, keys)], dtype=np.int64)


def check_room(num_envs: int, num_rows: int, content: str, observation_size: int) -> None:
    """Refuses vector environments for which there is no memory; a row is a flow of an episode, or takes as much."""
    most = min(MOST_ROWS // (2 * num_rows), MOST_NUMBERS // observation_size)
    if num_envs > max(most, 1):
        raise ConfigError(
            f"num_envs is {num_envs}: with {content} and observations of {observation_size} numbers it must be "
            f"an integer from 1 to {max(most, 1)}"
        )
