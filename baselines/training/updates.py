"""Trainings that count their updates: schedules fall from one to the next, and the last rollout takes what is left.

Stable-Baselines3 counts decisions and looks at them after a rollout: a schedule that ends at 0 makes the last update
with 0, which for a training of a single rollout is the only one. It also rounds decisions up to whole rollouts, so that
algorithms with other rollouts make other numbers of them.
"""

from typing import Any

from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.type_aliases import RolloutReturn, TrainFreq
from stable_baselines3.common.vec_env import VecEnv


def num_updates(decisions: int, *, every: int, after: int = 0) -> int:
    """Counts the updates of a training: one ``every`` so many decisions, the last on fewer, none before ``after``."""
    return 0 if decisions <= after else -(-decisions // every) - after // every


class _CountedUpdates:
    """A model that counts its updates."""

    num_timesteps: int
    _total_timesteps: int
    _current_progress_remaining: float

    def _update_current_progress_remaining(self, num_timesteps: int, total_timesteps: int) -> None:
        """Does nothing: progress is made by updates (`_begin_update`), and this is called before one."""

    def _begin_update(self, *, every: int, after: int = 0) -> None:
        made = num_updates(self.num_timesteps, every=every, after=after)
        self._current_progress_remaining = 1.0 - made / num_updates(self._total_timesteps, every=every, after=after)

    def _steps_left(self, num_envs: int) -> int:
        return -(-(self._total_timesteps - self.num_timesteps) // num_envs)


class _CountedRollouts(_CountedUpdates):
    """A model of an algorithm that learns from its last rollout."""

    def collect_rollouts(
        self, env: VecEnv, callback: BaseCallback, rollout_buffer: Any, n_rollout_steps: int, *args: Any
    ) -> bool:
        """Collects a rollout, which is shorter where fewer steps are left of the training."""
        self._begin_update(every=n_rollout_steps * env.num_envs)
        steps = rollout_buffer.buffer_size = min(n_rollout_steps, self._steps_left(env.num_envs))
        collected: bool = super().collect_rollouts(env, callback, rollout_buffer, steps, *args)  # type: ignore[misc]
        return collected


class _CountedMemories(_CountedUpdates):
    """A model of an algorithm that learns from a replay buffer."""

    def collect_rollouts(
        self, env: VecEnv, *, train_freq: TrainFreq, learning_starts: int = 0, **kwargs: Any
    ) -> RolloutReturn:
        """Collects the decisions before a round of updates, fewer where fewer are left of the training."""
        self._begin_update(every=train_freq.frequency * env.num_envs, after=learning_starts)
        steps = min(train_freq.frequency, self._steps_left(env.num_envs))
        collected: RolloutReturn = super().collect_rollouts(  # type: ignore[misc]
            env, train_freq=train_freq._replace(frequency=steps), learning_starts=learning_starts, **kwargs
        )
        return collected


def counting_updates(algorithm: type[BaseAlgorithm]) -> type[BaseAlgorithm]:
    """Returns an algorithm whose models count their updates, by the same name."""
    part = _CountedMemories if issubclass(algorithm, OffPolicyAlgorithm) else _CountedRollouts
    return type(algorithm.__name__, (part, algorithm), {"__doc__": algorithm.__doc__})
