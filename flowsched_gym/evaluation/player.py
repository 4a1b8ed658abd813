"""Plays the episodes of an evaluation: side by side in a native vector environment where the policy allows it.

A policy allows it that promises to be pure (`flowsched_gym.envs.policies.Policy`): heuristics that compare columns, and
models wrapped by `flowsched_gym.integrations.batched_model`. Every other one, which may draw or remember, is played in
a single environment, one episode after the other. So is any policy that is asked to draw (``deterministic=False``), any
environment with a render mode, any whose system has no native vector environment, an episode that is alone or huge, and
little work as long as the vector environment would have to be compiled first. A result does not show how many episodes
were played at once, and by which engine.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from flowsched_gym.envs import FlowSchedVectorEnv
from flowsched_gym.envs.policies import Policy, is_pure
from flowsched_gym.evaluation.environment import has_machine_code, has_vector, make_environment, make_vector
from flowsched_gym.evaluation.rollout import EpisodeResult, rollout
from flowsched_gym.evaluation.vector_rollout import rollout_vector
from flowsched_gym.fluid import Records

Progress = Callable[[int, int], None]
"""Called with the number of episodes done and of all episodes."""
OnRecords = Callable[[int, Records], None]
"""Called with the number of a finished episode, from 0, and the records of its flows."""

MAX_ENVS: Final = 256
"""Episodes played at once; more would not be faster."""
MAX_FLOWS: Final = 500_000
"""Flows of all episodes played at once: about a kilobyte each."""
LITTLE_WORK: Final = 50_000
"""Flows that are played sooner one episode after the other than rules are compiled, by models too."""


class Player:
    """Environments in which policies play episodes.

    Args:
        env_id: ``flowsched/<Name>-v0``, or that with ``flowsched_gym:`` before it.
        kwargs: Arguments of the environment.

    Attributes:
        env: The single environment, for policies to be made from.

    Raises:
        ConfigError: The id or an argument is unknown, or a value is not allowed.
    """

    def __init__(self, env_id: str, kwargs: Mapping[str, Any]) -> None:
        self.env = make_environment(env_id, kwargs)
        self._env_id = env_id
        self._kwargs = dict(kwargs)
        self._vector: FlowSchedVectorEnv | None = None

    def play(
        self,
        policy: Policy,
        *,
        episodes: int,
        seed: int,
        deterministic: bool = True,
        progress: Progress | None = None,
        on_records: OnRecords | None = None,
    ) -> tuple[EpisodeResult, ...]:
        """Plays episodes, each from ``reset(seed=seed + e)`` to its end.

        Args:
            policy: Who plays.
            episodes: Number of episodes, >= 1.
            seed: Seed of the first episode, an integer >= 0.
            deterministic: Passed on to the policy: its most likely action instead of a draw.
            progress: Called before the first and after every episode.
            on_records: Called after every episode.

        Returns:
            The episodes, in the order of their seeds.

        Raises:
            SpaceMismatchError: The policy was made for other spaces.
        """
        seeds = range(seed, seed + episodes)
        if progress is not None:
            progress(0, episodes)
        vector = self._vector_for(seeds) if deterministic and is_pure(policy) else None
        if vector is not None:
            return self._play_side_by_side(vector, policy, seeds, progress, on_records)
        results = []
        for episode in range(episodes):
            results.append(rollout(self.env, policy, seed=seeds[episode], deterministic=deterministic))
            if on_records is not None:
                on_records(episode, self.env.get_wrapper_attr("records")())
            if progress is not None:
                progress(episode + 1, episodes)
        return tuple(results)

    def close(self) -> None:
        """Closes the environments."""
        self.env.close()
        if self._vector is not None:
            self._vector.close()

    def _play_side_by_side(
        self,
        vector: FlowSchedVectorEnv,
        policy: Policy,
        seeds: range,
        progress: Progress | None,
        on_records: OnRecords | None,
    ) -> tuple[EpisodeResult, ...]:
        num_done = 0

        def tell(episode: int, number: int) -> None:
            nonlocal num_done
            num_done += 1
            if on_records is not None:
                on_records(episode, vector.records(number))
            if progress is not None:
                progress(num_done, len(seeds))

        return tuple(rollout_vector(vector, policy, seeds=seeds, ended=tell))

    def _vector_for(self, seeds: range) -> FlowSchedVectorEnv | None:
        """Returns a vector for some episodes, that of the last time if its size is right; None if there is no use."""
        if not has_vector(self._env_id) or self._kwargs.get("render_mode") is not None:
            return None
        self.env.reset(seed=seeds[0])
        num_flows = self.env.get_wrapper_attr("workload").num_flows
        if len(seeds) * num_flows <= LITTLE_WORK and not has_machine_code(self._env_id):
            return None
        most = max(1, min(MAX_ENVS, MAX_FLOWS // num_flows))
        # In rounds of equal size nobody waits for a last, small one.
        num_envs = math.ceil(len(seeds) / math.ceil(len(seeds) / most))
        if num_envs == 1:  # a vector of one is slower than the single environment
            return None
        if self._vector is None or self._vector.num_envs != num_envs:
            if self._vector is not None:
                self._vector.close()
            self._vector = make_vector(self._env_id, self._kwargs, num_envs=num_envs)
        return self._vector
