"""A policy that tries its choices on copies of the episode before it takes one, over futures drawn anew."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple, Self, cast

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.core.checks import check_flag, check_integer
from flowsched_gym.core.errors import ConfigError, SpaceMismatchError, listed, shown
from flowsched_gym.core.seeding import SeedStreams, draw_episode_seed, orders
from flowsched_gym.envs import DecisionEnv
from flowsched_gym.envs.copies import EpisodeCopies
from flowsched_gym.envs.policies import Policy
from flowsched_gym.envs.policies.policy import record_of
from flowsched_gym.envs.state import fingerprint
from flowsched_gym.evaluation.rollout import takes_masks
from flowsched_gym.players import Kind, find_player
from flowsched_gym.registration import (
    ENVIRONMENTS,
    SIZES,
    check_arguments,
    check_planner,
    find_environment,
    heuristic_arguments,
)
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.workload import Workload, WorkloadSource, first_flows, with_future

__all__ = ["Search", "SearchConfig", "Tried"]
__dir__ = partial(sorted, __all__)

MOST_ROUNDS: Final = 6
NO_FUTURE: Final = "no other future can be drawn; a search with clairvoyant=true knows the true one"
SEEDS_COMPARED: Final = 8
"""Episodes that are looked at for whether flows differ from one to another."""
NUM_EPISODES: Final = 256
"""Episodes from which futures are taken. Each is drawn once; each decision takes other ones of them."""
SEARCHED: Final = tuple(name for name, spec in ENVIRONMENTS.items() if spec.planners)
REWARDS: Final[Mapping[str, Mapping[str, Any]]] = {"flowsched/Artemis-v0": {"reward": "on_completion"}}
"""Arguments by which every flow is rewarded in the copies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchConfig:
    """How a search tries its choices.

    Attributes:
        base: Who goes on after a choice: a heuristic, with its options (``paced:base=lifo,active=5``), or a trained
            model (``.zip``). Default: the last of its ``baselines``: ``feasible-first``, ``vdg``, ``memr``
            or ``stf``.
        futures: Futures on which all choices are tried; later rounds try the better half on twice as many.
        lookahead: Flows to come that each future has; then it ends, when the last of its flows has finished.
        clairvoyant: Whether the only future is the true one: no policy, but a reference.
    """

    base: str | None = None
    futures: int = 1
    rounds: int = 3
    lookahead: int = 30
    clairvoyant: bool = False

    def __post_init__(self) -> None:
        if self.base is not None and not isinstance(self.base, str):
            raise ConfigError(f"base is {shown(self.base)}: it must be the name of a heuristic, or a model (.zip)")
        check_integer("futures", self.futures, at_least=1)
        check_integer("rounds", self.rounds, at_least=1, below=MOST_ROUNDS + 1)
        check_integer("lookahead", self.lookahead, at_least=0)
        check_flag("clairvoyant", self.clairvoyant)
        if (total := sum(self.counts)) > NUM_EPISODES:
            raise ConfigError(f"futures is {self.futures}: {total} in all are too many, {NUM_EPISODES} allowed")

    @property
    def counts(self) -> tuple[int, ...]:
        """New futures of each round."""
        return (1,) if self.clairvoyant else tuple(self.futures << number for number in range(self.rounds))


class Tried(NamedTuple):
    """What a search knows of a decision.

    Attributes:
        choices: Allowed actions, (num_choices,), rising.
        preferred: The base's action.
        values: Mean sums of rewards, (num_choices,) float64; 0 where there is one choice.
    """

    choices: IntArray
    preferred: int
    values: FloatArray


class Search:
    """Rollouts over sampled futures: each choice is followed by a base policy, and the best choice is taken.

    At each decision the episode is copied up to now, and goes on with flows of other episodes of the workload: what has
    not arrived yet is drawn anew, and the true future is never looked at; the sizes of flows that have arrived are
    known, even of those in no slot, so that it plays where agents are told sizes. In each copy one of the choices is
    taken, the base policy plays on until all flows have finished, and the rewards are added up. All choices meet the
    same futures (common random numbers), the better half of them more futures (sequential halving). One step of policy
    improvement, estimated from samples: the rollout algorithm of Bertsekas, Tsitsiklis and Wu (1997) in the generative
    model of Kearns, Mansour and Ng (2002), with the halving of Karnin, Koren and Somekh (2013).

    The copies are compiled, whichever engine plays: the actions are the same on both, and with the same seed.

    Args:
        env: The environment, made by ``gym.make``, wrapped or not.
        config: How choices are tried.
        seed: Seed of the futures.
        base: Who goes on after a choice, instead of the config's.

    Raises:
        ConfigError: The environment is no single one of those that a search knows, or there is no such base, or the
            workload has one episode alone, or the environment hides the sizes of flows.
        SpaceMismatchError: The base was trained with other spaces.
    """

    def __init__(
        self, env: gym.Env[Any, Any], config: SearchConfig | None = None, *, seed: int = 0, base: Policy | None = None
    ) -> None:
        """Enters the environment."""
        self.config = SearchConfig() if config is None else config
        self._seed = seed
        self._base = base
        self._key: object = None
        self._source: WorkloadSource | None = None
        self.enter(env)

    @classmethod
    def for_env(cls, env: Any, *, seed: int = 0, **options: Any) -> Self:
        """Makes the policy for an environment; the options are fields of ``SearchConfig``."""
        return cls(env, SearchConfig(**options), seed=seed)

    def enter(self, env: Any) -> None:
        """Tells in which environment the next actions are taken; see ``Planner``. Raises as the class does."""
        played = env.unwrapped
        if not isinstance(played, DecisionEnv) or played.spec is None or played.spec.id not in SEARCHED:
            raise ConfigError(f"env is {env}: search plays in single environments of gym.make, {listed('', SEARCHED)}")
        self._env: DecisionEnv[Any] = played
        key = played.spec.id, played.config
        if key != self._key or played._source is not self._source:  # a config has but the label of a workload
            self._prepare(find_environment(played.spec.id), played.spec.kwargs)
            self._key, self._source = key, played._source

    def predict(
        self,
        observation: npt.NDArray[np.floating],
        state: Any = None,
        episode_start: BoolArray | None = None,
        deterministic: bool = False,
    ) -> tuple[IntArray, Any]:
        """Chooses the next action of the environment that was entered; looks at the episode, draws futures alone."""
        if np.shape(observation) != self._env.observation_space.shape:
            raise SpaceMismatchError(
                f"observation has shape {np.shape(observation)}: a search plays in one environment, whose observations "
                f"are {self._env.observation_space.shape}"
            )
        choices = np.flatnonzero(self._env.action_masks())
        if len(choices) == 1:
            return choices[0], state
        best = sequential_halving(choices, self._begin(), self.config.counts, self._rollouts.values)
        return np.int64(best), state  # type: ignore[return-value]  # an array without axes

    def tried(self) -> Tried:
        """Tries all choices of the next action on the futures of the first round; drops none, and takes none."""
        choices = np.flatnonzero(self._env.action_masks())
        preferred = self._begin()
        if len(choices) == 1:
            return Tried(choices, preferred, np.zeros(1))
        values = self._rollouts.values(choices, np.arange(self.config.counts[0]))
        return Tried(choices, preferred, values.mean(axis=0))

    def _begin(self) -> int:
        """Copies the episode up to now, and gives it futures; returns the base's action."""
        past, now = self._env.workload, self._env.simulation.now
        actions = self._env._decisions
        if self.config.clairvoyant:
            workloads = [self._futures.joined(past, past, now)]
        else:
            workloads = self._futures.sample(past, now, len(actions), sum(self.config.counts))
        return self._rollouts.begin(past, actions, workloads)

    def _prepare(self, spec: EnvironmentSpec, kwargs: Mapping[str, Any]) -> None:
        """Makes the copies and the base policy for an environment."""
        config = self.config
        if config.base is None and not spec.baselines:
            raise ConfigError(f"base is None: {spec.id} has no baselines, so that a search needs the name of a policy")
        known = check_arguments(spec, ()).keys() - {"render_mode", "engine"}
        arguments = {key: value for key, value in kwargs.items() if key in known}
        check_planner("search", spec, arguments, SIZES)  # tables know of all else that it is told
        base = find_player(self._base or config.base or spec.baselines[-1], spec, argument="base")
        if base.kind not in (Kind.RULE, Kind.MODEL, Kind.OBJECT):
            raise ConfigError(f"base is {shown(base.name)}: it must be a heuristic or a model")
        if base.kind is Kind.RULE:
            arguments = heuristic_arguments(spec, arguments)
        template = gym.make(spec.id, **{**arguments, **REWARDS.get(spec.id, {})})
        core = cast("DecisionEnv[Any]", template.unwrapped)
        if not config.clairvoyant:
            source = core._source
            if len({fingerprint(source.draw(seed), source.num_hosts) for seed in range(SEEDS_COMPARED)}) == 1:
                raise ConfigError(f"workload has the same flows in every episode: {NO_FUTURE}")
            if np.ptp(source.draw(0).arrival_time) == 0 and source.draw(0).after is not None:
                raise ConfigError(f"workload has all its flows from the start, some after others: {NO_FUTURE}")
        self._futures = _Futures(core._source, seed=self._seed, lookahead=config.lookahead)
        num_rollouts = most_tries(core.num_actions, config.counts)
        policy = base.make(template, seed=self._seed)
        self._rollouts = _Rollouts(core, policy, num_futures=sum(config.counts), num_rollouts=num_rollouts)


class _Futures:
    """Flows to come, drawn as the workload's are, ``lookahead`` of each future, and never those that truly come."""

    def __init__(self, source: WorkloadSource, *, seed: int, lookahead: int) -> None:
        streams = SeedStreams(seed)
        rng = streams["episodes of futures"]
        self._seeds = [draw_episode_seed(rng) for _ in range(NUM_EPISODES)]
        self._choices = streams["choice of futures"]
        self._lookahead = lookahead
        self._draw: Callable[[int], Workload] = lru_cache(maxsize=NUM_EPISODES)(source.draw)
        self._orders: list[list[int]] = []

    def sample(self, past: Workload, now: float, decision: int, count: int) -> list[Workload]:
        """Joins the flows that have arrived with ``count`` futures, those of the decision with this number."""
        while decision >= len(self._orders):
            self._orders.append(orders(self._choices, (NUM_EPISODES,)).tolist())
        chosen = self._orders[decision][:count]
        return [self.joined(past, self._draw(self._seeds[number]), now) for number in chosen]

    def joined(self, past: Workload, future: Workload, now: float) -> Workload:
        """Joins the flows that have arrived with the next ones of a future."""
        flows = with_future(past, future, now)
        num_arrived = int(np.count_nonzero(past.arrival_time <= now))
        return first_flows(flows, min(num_arrived + self._lookahead, flows.num_flows))


class _Rollouts:
    """Copies of an episode, with so many futures and rollouts at a time, that a policy plays to the end."""

    def __init__(self, env: DecisionEnv[Any], policy: Policy, *, num_futures: int, num_rollouts: int) -> None:
        self._policy = policy
        self._with_masks = takes_masks(policy)
        self._record = record_of(policy)
        self._num_futures = num_futures
        self._copies = EpisodeCopies(env, 1 + num_futures + num_rollouts)

    def begin(self, past: Workload, actions: Sequence[int], workloads: Sequence[Workload]) -> int:
        """Plays the flows of an episode up to now, and gives it futures; returns the policy's action now."""
        self._copies.follow(past, actions)
        self._copies.branch(1 + np.arange(len(workloads)), workloads)
        return int(self._predict(np.zeros(1, dtype=np.int64))[0])

    def values(self, actions: IntArray, futures: IntArray) -> FloatArray:
        """Takes each action in each future, by number; returns the sums of all rewards, (count, num_actions)."""
        copies = self._copies
        numbers = 1 + self._num_futures + np.arange(len(futures) * len(actions))
        copies.copy(1 + np.repeat(futures, len(actions)), numbers)
        copies.step(numbers, np.tile(actions, len(futures)))
        running = numbers[~copies.over[numbers]]
        if self._record is not None:
            copies.play(running, self._record)
            return copies.reward[numbers].reshape(len(futures), len(actions))
        total = copies.reward.copy()
        while len(running):
            copies.step(running, self._predict(running))
            total[running] += copies.reward[running]
            running = running[~copies.over[running]]
        return total[numbers].reshape(len(futures), len(actions))

    def _predict(self, numbers: IntArray) -> IntArray:
        """Returns the policy's actions in some copies."""
        copies = self._copies
        masks: dict[str, Any] = {"action_masks": copies.mask[numbers]} if self._with_masks else {}
        return self._policy.predict(copies.observation[numbers], deterministic=True, **masks)[0]


def sequential_halving(
    choices: IntArray, preferred: int, counts: Sequence[int], values: Callable[[IntArray, IntArray], FloatArray]
) -> int:
    """Finds the choice with the largest mean value; equals go to the preferred one, then to the lower.

    Choices that look worse are dropped, the others are tried more often (Karnin et al., 2013). All choices of a round
    are tried on the same samples, and compared by the means over all samples so far. The preferred choice is never
    dropped, so that what wins has been compared with it on every sample.

    Args:
        choices: What to choose from, (num_choices,), rising.
        preferred: One of them.
        counts: New samples of each round.
        values: Tries choices, (num_left,), on samples by number, (count,); returns values, (count, num_left).
    """
    left = choices
    tried = np.zeros((0, len(left)))
    for count in counts:
        samples = np.arange(len(tried), len(tried) + count)
        tried = np.concatenate([tried, values(left, samples)])
        means = tried.mean(axis=0)
        order = np.lexsort((left, left != preferred, -means))
        best = int(left[order[0]])
        stay = left == preferred
        stay[order[: (len(order) + 1) // 2]] = True
        left, tried = left[stay], tried[:, stay]
        if len(left) == 1:
            break
    return best


def most_tries(num_choices: int, counts: Sequence[int]) -> int:
    """Returns how many tries a round of ``sequential_halving`` can have."""
    most, left = 0, num_choices
    for count in counts:
        most = max(most, count * left)
        left = min(left, (left + 1) // 2 + 1)
    return most
