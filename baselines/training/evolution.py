"""Evolution of the weights of a policy: CMA-ES (Hansen, "The CMA Evolution Strategy: A Tutorial", 2016).

A generation is a population of weights, drawn around a mean. All of them play the same few episodes, whole, in one
vector environment, each environment by weights of its own; they are ranked by the environment's own metric, and the
distribution moves towards the better ones. Nothing is differentiated, and no reward is shaped. What is kept at the end
is the best of the last means and of a rule that the search began with, by episodes that have moved none of them: a mean
itself has never played.
"""

from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.type_aliases import GymEnv, MaybeCallback
from stable_baselines3.common.vec_env import VecEnv

from flowsched_gym.core.arrays import BoolArray, FloatArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.seeding import FIRST_TRAINING_SEED, SeedStreams
from flowsched_gym.envs.vector import FlowSchedVectorEnv
from flowsched_gym.flows.metrics import SMALLER_IS_BETTER
from flowsched_gym.integrations.weighted import WeightedModel
from flowsched_gym.registration import find_environment
from flowsched_gym.systems import EnvironmentSpec

LAST_MEANS: Final = 10
"""Means among which one is kept."""
RARE: Final = "max_slowdown"
"""Metric that is about rare events: one bad episode counts as much as it costs."""


class CmaEs(BaseAlgorithm):
    """Evolution by CMA-ES, from ``pycma``.

    Args:
        policy: ``WeightedModel``, or a class derived from it.
        env: Native vector environments; each of a population plays in ``num_envs / population`` of them.
        population: Weights that are tried in a generation, >= 4; it must divide the number of environments.
        sigma: Standard deviation of the first generation, > 0.
        metric: Metric of episodes that is made as good as possible; ``None`` for that of the environment.
        last_episodes: Episodes that each of the last means plays at the end, at least, before one is kept, >= 1.
        seed: Seed of the weights and the episodes.
        policy_kwargs: Arguments of the policy.
        **kwargs: ``tensorboard_log``, ``verbose`` and others of ``BaseAlgorithm``.

    Raises:
        ConfigError: The environments are no native vector environment, or the population does not divide their number.
    """

    policy: WeightedModel

    def __init__(
        self,
        policy: type[WeightedModel],
        env: GymEnv,
        *,
        population: int = 40,
        sigma: float = 1.0,
        metric: str | None = None,
        last_episodes: int = 64,
        seed: int | None = 0,
        policy_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            policy,
            env,
            learning_rate=0.0,
            policy_kwargs=policy_kwargs,
            seed=seed,
            device="cpu",
            support_multi_env=True,
            supported_action_spaces=(spaces.Discrete, spaces.MultiDiscrete, spaces.Box),
            **kwargs,
        )
        self._envs = _native(self.env)
        if self.n_envs % population:
            raise ConfigError(f"population is {population}: it must divide the number of environments, {self.n_envs}")
        self.population = population
        self.sigma = sigma
        self.metric = _environment(self._envs).metric if metric is None else metric
        self.last_episodes = last_episodes
        self.costs = np.zeros((0, population))
        """What each of each generation has cost, (generations, population): the state of the search."""
        self.start: FloatArray | None = None
        """Mean of the first generation, (num_weights,); ``None`` for zeros."""
        self.means: FloatArray | None = None
        """Means after the last generations, (at most ``LAST_MEANS``, num_weights)."""
        self._setup_model()

    def _setup_model(self) -> None:
        """Makes the policy and the search."""
        self.set_random_seed(self.seed)
        self.policy = self.policy_class(self.observation_space, self.action_space, None, **self.policy_kwargs)  # type: ignore[assignment]
        self.policy.play_in(self._envs)
        self._search = self._new_search()

    def begin_at(self, weights: FloatArray) -> None:
        """Lets a new model begin with weights, (num_weights,), and not with zeros."""
        self.start = np.array(weights, dtype=np.float64)
        self.policy.set_weights(self.start)
        self._search = self._new_search()

    def _new_search(self) -> Any:
        """Begins the search, and tells it what has been found so far: it is a function of its seed and the costs."""
        import cma  # noqa: PLC0415 - brings SciPy and matplotlib, which other algorithms need not wait for

        rng = SeedStreams(self.seed or 0)["weights"]
        options = {"popsize": self.population, "seed": np.nan, "randn": lambda *shape: rng.standard_normal(shape)}
        start = np.zeros(self.policy.shape.num_weights) if self.start is None else self.start
        search = cma.CMAEvolutionStrategy(start, self.sigma, {**options, "verbose": -9})
        for costs in self.costs:
            search.tell(search.ask(), costs.tolist())
        return search

    def learn(
        self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int = 1,
        tb_log_name: str = "cmaes",
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        """Goes on for whole generations until so many decisions have been made, those of the last choice left out."""
        total, callbacks = self._setup_learn(total_timesteps, callback, reset_num_timesteps, tb_log_name, progress_bar)
        if self._search.countiter != len(self.costs):  # restored from a checkpoint
            self._search = self._new_search()
            self.policy.set_weights(self._search.mean)
        callbacks.on_training_start(locals(), globals())
        while self.num_timesteps < total:
            self._update_current_progress_remaining(self.num_timesteps, total)
            callbacks.on_rollout_start()
            values = self._play_generation()
            callbacks.update_locals(locals())
            callbacks.on_rollout_end()
            self.logger.record("rollout/mean", float(values.mean()))
            self.logger.record("rollout/best", float(values.mean(axis=1).max()))
            self.logger.record("train/sigma", float(self._search.sigma))
            self.logger.record("train/n_updates", len(self.costs), exclude="tensorboard")
            if not callbacks.on_step():
                break
        else:
            self._choose_among_means()
        callbacks.on_training_end()
        return self

    def dump_logs(self) -> None:
        """Writes a row of the curves."""
        self.logger.dump(step=self.num_timesteps)

    def _play_generation(self) -> FloatArray:
        """Lets a generation play, and moves the distribution; returns the metric, (population, episodes)."""
        weights = np.array(self._search.ask())
        episodes = self.n_envs // self.population
        seeds = self._episode_seeds(f"episodes of generation {len(self.costs)}", episodes)
        values, num_decisions = self._envs.play(
            self.policy.shape, np.repeat(weights, episodes, axis=0), seeds=seeds * self.population, metric=self.metric
        )
        self.num_timesteps += num_decisions
        values = values.reshape(self.population, episodes)
        if self.metric == RARE:
            costs = values.mean(axis=1)
        elif self.metric in SMALLER_IS_BETTER:
            # Times and slowdowns are compared by ratios: one bad episode then counts as much as one good one.
            costs = np.log(values).mean(axis=1)
        else:
            costs = -values.mean(axis=1)
        self._search.tell(list(weights), costs.tolist())
        self.costs = np.concatenate([self.costs, costs[np.newaxis]])
        mean = np.array(self._search.mean)
        self.policy.set_weights(mean)
        before = np.zeros((0, len(mean))) if self.means is None else self.means
        self.means = np.vstack([before, mean])[-min(LAST_MEANS, self.population) :]
        return values

    def _choose_among_means(self) -> None:
        """Keeps the best of the means of the last generations, and of the start, by the metric of further episodes."""
        if self.means is None:
            return
        most = min(LAST_MEANS, self.population)
        tried = self.means if self.start is None else np.vstack([self.start, self.means[1 - most :]])
        candidate, episode = np.arange(self.n_envs) % len(tried), np.arange(self.n_envs) // len(tried)
        count = self.n_envs // len(tried)
        total = np.zeros(len(tried))
        for part in range(-(-self.last_episodes // count)):
            seeds = np.array(self._episode_seeds(f"episodes of the choice {part}", count + 1))[episode].tolist()
            values, _ = self._envs.play(self.policy.shape, tried[candidate], seeds=seeds, metric=self.metric)
            total += values[: count * len(total)].reshape(count, -1).sum(axis=0)
        best = total.argmin() if self.metric in SMALLER_IS_BETTER else total.argmax()
        self.policy.set_weights(tried[best])

    def _episode_seeds(self, purpose: str, count: int) -> list[int]:
        """Draws the seeds of episodes."""
        rng = SeedStreams(self.seed or 0)[purpose]
        return [FIRST_TRAINING_SEED + int(seed) for seed in rng.integers(2**62, size=count)]

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: BoolArray | None = None,
        deterministic: bool = False,
        action_masks: BoolArray | None = None,
    ) -> tuple[npt.NDArray[Any], Any]:
        """Chooses actions; see ``WeightedModel``."""
        return self.policy.predict(observation, state, episode_start, deterministic, action_masks)

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_envs", "_search"]

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        return ["policy"], []


def _environment(envs: FlowSchedVectorEnv) -> EnvironmentSpec:
    """Finds what the registry knows of environments."""
    assert envs.spec is not None  # gym.make_vec made them
    return find_environment(envs.spec.id)


def _native(env: VecEnv | None) -> FlowSchedVectorEnv:
    """Finds the native vector environment under wrappers of Stable-Baselines3."""
    found: Any = env
    while hasattr(found, "venv"):
        found = found.venv
    base = getattr(getattr(found, "envs", None), "unwrapped", None)
    if not isinstance(base, FlowSchedVectorEnv):
        raise ConfigError(
            f"environments are stepped by {type(found).__name__}: evolution plays whole episodes in a native vector "
            "environment (vectorization=native, or make_sb3_vec_env)"
        )
    return base
