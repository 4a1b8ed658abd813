"""Comparisons of a learning policy with heuristics, on the same few episodes each time."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowsched_gym.arrays import FloatArray
from flowsched_gym.errors import ConfigError
from flowsched_gym.evaluation import Interval, Player, paired_ratio, resolve_policy
from flowsched_gym.integrations.batched_model import batched
from flowsched_gym.policies import Policy
from flowsched_gym.registration import heuristic_arguments
from flowsched_gym.suggestions import listed

__all__ = ["InterimComparison"]


class InterimComparison:
    """The same few episodes, played by heuristics once and by the policy again and again.

    Args:
        env_id: Id of the environment.
        kwargs: Its arguments.
        baselines: Heuristics, played once.
        episodes: Number of episodes.
        seed: Seed of the first episode.
        metric: Metric to compare.

    Attributes:
        baselines: Metric of every episode, (episodes,) float64, by heuristic.

    Raises:
        ConfigError: A heuristic or the metric does not exist.
    """

    def __init__(
        self, env_id: str, kwargs: dict[str, Any], *, baselines: Sequence[str], episodes: int, seed: int, metric: str
    ) -> None:
        self._episodes = episodes
        self._seed = seed
        self._metric = metric
        self._player = Player(env_id, heuristic_arguments(env_id, kwargs))
        try:
            policies = {name: resolve_policy(name, self._player.env, seed=seed) for name in baselines}
            self.baselines = {name: self._play(policy) for name, policy in policies.items()}
        finally:
            self._player.close()
        self._player = Player(env_id, kwargs)

    def play(self, model: Any) -> FloatArray:
        """Returns the metric of every episode, (episodes,), for a model of Stable-Baselines3.

        Raises:
            ConfigError: There is no such metric.
        """
        return self._play(batched(model))

    def ratios(self, values: FloatArray) -> dict[str, Interval]:
        """Returns how many times a heuristic's metric the values are, with intervals over the episodes."""
        return {name: paired_ratio(values, baseline) for name, baseline in self.baselines.items()}

    def close(self) -> None:
        """Closes the environments."""
        self._player.close()

    def _play(self, policy: Policy) -> FloatArray:
        played = self._player.play(policy, episodes=self._episodes, seed=self._seed)
        metrics = played[0].metrics
        if self._metric not in metrics:
            raise ConfigError(
                f"evaluation.metric is {self._metric!r}: it must be one of {listed(self._metric, metrics)}"
            )
        return np.array([episode.metrics[self._metric] for episode in played])
