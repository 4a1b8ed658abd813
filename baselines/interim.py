"""Compares a policy that learns with heuristics, on the same few episodes each time.

All episodes are played side by side, so that a network is asked once for all of them.
"""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np

from flowsched_gym.errors import ConfigError
from flowsched_gym.evaluation import Interval, make_environment, paired_ratio
from flowsched_gym.evaluation.rollout import takes_masks
from flowsched_gym.policies import Policy
from flowsched_gym.registration import heuristic_arguments, make_policy

__all__ = ["InterimComparison", "play_together"]


class InterimComparison:
    """Plays the same episodes with every policy that it is given.

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
        """Makes the environments and plays the heuristics."""
        self._seed = seed
        self._metric = metric
        self._envs = [make_environment(env_id, heuristic_arguments(env_id, kwargs)) for _ in range(episodes)]
        self.baselines = {name: self.play(make_policy(name, self._envs[0], seed=seed)) for name in baselines}
        self.close()
        self._envs = [make_environment(env_id, kwargs) for _ in range(episodes)]

    def play(self, policy: Policy) -> np.typing.NDArray[np.float64]:
        """Returns the metric of every episode, (episodes,).

        Raises:
            ConfigError: There is no such metric.
        """
        metrics = play_together(self._envs, policy, seed=self._seed)
        if self._metric not in metrics[0]:
            raise ConfigError(f"evaluation.metric is {self._metric!r}: it must be one of {', '.join(metrics[0])}")
        return np.array([episode[self._metric] for episode in metrics])

    def ratios(self, values: np.typing.NDArray[np.float64]) -> dict[str, Interval]:
        """Returns how many times a heuristic's metric the values are, with intervals over the episodes."""
        return {name: paired_ratio(values, baseline) for name, baseline in self.baselines.items()}

    def close(self) -> None:
        """Closes the environments."""
        for env in self._envs:
            env.close()


def play_together(envs: Sequence[gymnasium.Env[Any, Any]], policy: Policy, *, seed: int) -> list[dict[str, float]]:
    """Plays one episode in each environment, all at once.

    Args:
        envs: Environments with equal spaces.
        policy: Asked for its most likely actions, of all running episodes together.
        seed: Seed of the first one; the others count on from it.

    Returns:
        Metrics of each episode.
    """
    with_masks = takes_masks(policy)
    begun = [env.reset(seed=seed + index) for index, env in enumerate(envs)]
    observations, infos = [list(column) for column in zip(*begun, strict=True)]
    running = list(range(len(envs)))
    while running:
        masks = {"action_masks": np.stack([infos[i]["action_mask"] for i in running])} if with_masks else {}
        batch = np.stack([observations[i] for i in running])
        actions, _ = policy.predict(batch, deterministic=True, **masks)
        still_running = []
        for i, action in zip(running, actions, strict=True):
            observations[i], _, terminated, truncated, infos[i] = envs[i].step(action)
            if not (terminated or truncated):
                still_running.append(i)
        running = still_running
    return [dict(info["episode_metrics"]) for info in infos]
