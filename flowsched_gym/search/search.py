"""A policy that tries its choices on copies of the episode before it takes one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self, cast

import gymnasium
import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray, IntArray
from flowsched_gym.core.checks import check_flag, check_integer
from flowsched_gym.core.errors import ConfigError, SpaceMismatchError, listed, shown
from flowsched_gym.envs import DecisionEnv
from flowsched_gym.envs.policies import Policy
from flowsched_gym.envs.state import fingerprint
from flowsched_gym.registration import (
    MODEL_SUFFIX,
    check_arguments,
    find_environment,
    heuristic_arguments,
    make_policy,
)
from flowsched_gym.search.rollouts import NUM_EPISODES, Futures, Rollouts, most_tries, sequential_halving
from flowsched_gym.systems.spec import OPTIONS, EnvironmentSpec
from flowsched_gym.workload import WorkloadSource

MOST_ROUNDS: Final = 6


class _Defaults(NamedTuple):
    """The heuristic that a search follows by default, and arguments by which every flow is rewarded in its copies."""

    base: str
    kwargs: Mapping[str, Any]


DEFAULTS: Final[Mapping[str, _Defaults]] = {
    "flowsched/Artemis-v0": _Defaults("feasible-first", {"reward": "on_completion"}),
    "flowsched/MERPRoute-v0": _Defaults("memr", {}),
}
"""By environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchConfig:
    """How a search tries its choices.

    Attributes:
        base: Who goes on after a choice: a heuristic, with its options (``paced:base=lifo,active=5``), or a trained
            model (``.zip``). Default: ``feasible-first`` in Artemis, ``memr`` in MERPRoute.
        futures: Futures on which all choices are tried; later rounds try the better half on twice as many.
        rounds: Rounds.
        lookahead: Flows to come that each future has; then it ends, when the last of its flows has finished.
        clairvoyant: Whether the only future is the true one: no policy, but a reference.

    Raises:
        ConfigError: A value is not allowed.
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
        if sum(self.counts) > NUM_EPISODES:
            raise ConfigError(
                f"futures is {self.futures}: {sum(self.counts)} in all are too many, {NUM_EPISODES} allowed"
            )

    @property
    def counts(self) -> tuple[int, ...]:
        """New futures of each round."""
        return (1,) if self.clairvoyant else tuple(self.futures << number for number in range(self.rounds))


class Search:
    """Rollouts over sampled futures: each choice is followed by a base policy, and the best choice is taken.

    At each decision the episode is copied up to now, and goes on with flows of other episodes of the workload: what has
    not arrived yet is drawn anew, and the true future is never looked at. In each copy one of the choices is taken, the
    base policy plays on until all flows have finished, and the rewards are added up. All choices meet the same futures
    (common random numbers), the better half of them more futures (sequential halving). One step of policy improvement,
    estimated from samples: the rollout algorithm of Bertsekas, Tsitsiklis and Wu (1997) in the generative model of
    Kearns, Mansour and Ng (2002), with the halving of Karnin, Koren and Somekh (2013).

    The copies are compiled, whichever engine plays: the actions are the same on both, and with the same seed.

    Args:
        env: The environment, made by ``gym.make``, wrapped or not.
        config: How choices are tried.
        seed: Seed of the futures.
        base: Who goes on after a choice, instead of the config's.

    Raises:
        ConfigError: The environment is no single one of those that a search knows, or there is no such base, or the
            workload has one episode alone.
        SpaceMismatchError: The base was trained with other spaces.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        config: SearchConfig | None = None,
        *,
        seed: int = 0,
        base: Policy | None = None,
    ) -> None:
        """Enters the environment."""
        self.config = SearchConfig() if config is None else config
        self._seed = seed
        self._base = base
        self._key: object = None
        self.enter(env)

    @classmethod
    def for_env(cls, env: Any, *, seed: int = 0, **options: Any) -> Self:
        """Makes the policy for an environment.

        Args:
            env: As in ``Search``.
            seed: As in ``Search``.
            **options: Fields of ``SearchConfig``.

        Raises:
            ConfigError: As in ``Search``.
        """
        return cls(env, SearchConfig(**options), seed=seed)

    def enter(self, env: Any) -> None:
        """Tells in which environment the next actions are taken; see ``Planner``.

        Raises:
            ConfigError: As in ``Search``.
            SpaceMismatchError: As in ``Search``.
        """
        played = env.unwrapped
        if not isinstance(played, DecisionEnv) or played.spec is None or played.spec.id not in DEFAULTS:
            raise ConfigError(f"env is {env}: search plays in single environments of gym.make, {listed('', DEFAULTS)}")
        self._env: DecisionEnv[Any] = played
        key = played.spec.id, played.config
        if key != self._key:
            self._prepare(find_environment(played.spec.id), played.spec.kwargs)
            self._key = key

    def predict(
        self,
        observation: npt.NDArray[np.floating],
        state: Any = None,
        episode_start: BoolArray | None = None,
        deterministic: bool = False,
    ) -> tuple[IntArray, Any]:
        """Chooses the next action of the environment that was entered.

        Args:
            observation: What it shows, (size,); the search looks at the episode itself.
            state: Passed through.
            episode_start: Not used.
            deterministic: Not used: nothing but futures is drawn.

        Raises:
            SpaceMismatchError: The observation is not one of this environment, or several.
        """
        if np.shape(observation) != self._env.observation_space.shape:
            raise SpaceMismatchError(
                f"observation has shape {np.shape(observation)}: a search plays in one environment, whose observations "
                f"are {self._env.observation_space.shape}"
            )
        choices = np.flatnonzero(self._env.action_masks())
        if len(choices) == 1:
            return choices[0], state
        past, now = self._env.workload, self._env.simulation.now
        actions = cast("tuple[int, ...]", self._env.get_state().decisions)
        if self.config.clairvoyant:
            workloads = [self._futures.joined(past, past, now)]
        else:
            workloads = self._futures.sample(past, now, len(actions), sum(self.config.counts))
        preferred = self._rollouts.begin(past, actions, workloads)
        best = sequential_halving(choices, preferred, self.config.counts, self._rollouts.values)
        return np.int64(best), state  # type: ignore[return-value]  # an array without axes

    def _prepare(self, spec: EnvironmentSpec, kwargs: Mapping[str, Any]) -> None:
        """Makes the copies and the base policy for an environment."""
        config, default = self.config, DEFAULTS[spec.id]
        name = default.base if config.base is None else config.base
        is_heuristic = self._base is None and not name.endswith(MODEL_SUFFIX)
        known = check_arguments(spec, ())
        arguments = {
            key: value for key, value in kwargs.items() if key in known and key not in {"render_mode", "engine"}
        }
        if is_heuristic:
            arguments = heuristic_arguments(spec, arguments)
        template = gymnasium.make(spec.id, **{**arguments, **default.kwargs})
        core = cast("DecisionEnv[Any]", template.unwrapped)
        if not config.clairvoyant:
            _check_source(core._source)
        self._futures = Futures(core._source, seed=self._seed, lookahead=config.lookahead)
        base = _base_of(name, spec, template, self._seed) if self._base is None else self._base
        self._rollouts = Rollouts(
            core,
            base,
            num_futures=sum(config.counts),
            num_rollouts=most_tries(core.num_actions, config.counts),
        )


def _check_source(source: WorkloadSource) -> None:
    """Refuses flows that are the same in every episode."""
    first, second = (fingerprint(source.draw(seed), source.num_hosts) for seed in (0, 1))
    if first == second:
        raise ConfigError(
            "workload has the same flows in every episode: no other future can be drawn; a search with "
            "clairvoyant=true knows the true one"
        )


def _base_of(name: str, spec: EnvironmentSpec, env: gymnasium.Env[Any, Any], seed: int) -> Policy:
    """Makes a heuristic, or loads a trained model."""
    if name.endswith(MODEL_SUFFIX):
        from flowsched_gym.integrations.sb3 import batched, load_policy  # noqa: PLC0415 - Stable-Baselines3 is optional

        return batched(load_policy(name, env))
    if name.partition(OPTIONS)[0] not in spec.heuristics:
        raise ConfigError(
            f"base is {shown(name)}: it must be a model ({MODEL_SUFFIX}) or one of {listed(name, spec.heuristics)}"
        )
    return cast(Policy, make_policy(name, env, seed=seed))
