"""REINFORCE with running averages of the returns as baselines, as AuTO's agent of long flows (section 5.2.2).

The paper keeps an average for each server. A decision belongs to the server that one column of the observation names,
so one model serves them all. Everything else is that of MaskablePPO: masks, ``predict``, ``save`` and ``load``.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from sb3_contrib import MaskablePPO

FloatArray = npt.NDArray[np.floating]


class RunningAverages:
    """Running averages of values by group.

    Args:
        rate: How far an average moves towards the mean of new values, 0 to 1; the first values are one as they are.
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self.averages: dict[float, float] = {}

    def update(self, groups: FloatArray, values: FloatArray) -> FloatArray:
        """Updates the averages of groups by values of the same shape, each with its group.

        Returns the average of each value's group before, or their mean where there was none; the same shape.
        """
        before = np.empty_like(values)
        for group in np.unique(groups).tolist():
            members = groups == group
            mean = float(values[members].mean())
            average = self.averages.get(group, mean)
            before[members] = average
            self.averages[group] = average + self._rate * (mean - average)
        return before


class Reinforce(MaskablePPO):
    """REINFORCE with one update per rollout: log-probabilities times return less baseline.

    The end of a rollout cuts returns off; no critic continues them.

    Args:
        policy: A maskable policy.
        env: Environments with action masks.
        baseline_rate: How far a baseline moves towards the mean return of a rollout, 0 to 1.
        baseline_column: Place of the column of the observation by whose value baselines are kept apart; ``None`` for
            one baseline.
        **kwargs: ``n_steps``, ``gamma``, ``ent_coef``, ``max_grad_norm`` and others of ``MaskablePPO``; those of its
            critic and its epochs change nothing.
    """

    def __init__(
        self, policy: Any, env: Any, *, baseline_rate: float = 0.1, baseline_column: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(policy, env, **kwargs)
        self.baselines = RunningAverages(baseline_rate)
        self.baseline_column = baseline_column

    def train(self) -> None:
        """Makes one update from the rollout."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        buffer = self.rollout_buffer
        returns = discounted_returns(buffer.rewards, buffer.episode_starts, self.gamma)
        column = self.baseline_column
        groups = np.zeros_like(returns) if column is None else buffer.observations[:, :, column]
        buffer.returns = returns
        buffer.advantages = returns - self.baselines.update(groups, returns)
        batch: Any = next(buffer.get(batch_size=None))
        discrete = isinstance(self.action_space, spaces.Discrete)
        actions = batch.actions.long().flatten() if discrete else batch.actions
        _, log_prob, entropy = self.policy.evaluate_actions(
            batch.observations, actions, action_masks=batch.action_masks
        )
        assert entropy is not None  # discrete actions have one in closed form
        policy_loss = -(batch.advantages * log_prob).mean()
        loss = policy_loss - self.ent_coef * entropy.mean()
        self.policy.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.policy.parameters(), self.max_grad_norm)
        self.policy.optimizer.step()
        self._n_updates += 1
        self.logger.record("train/policy_gradient_loss", policy_loss.item())
        self.logger.record("train/entropy_loss", -entropy.mean().item())
        self.logger.record("train/baseline", float(np.mean(list(self.baselines.averages.values()))))
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")


def discounted_returns(rewards: FloatArray, episode_starts: FloatArray, gamma: float) -> FloatArray:
    """Sums rewards up to the end of each episode, or of the rollout, discounted for each decision.

    Rewards and returns are (n_steps, num_envs), as is ``episode_starts``, 1 where the step is the first of an episode.
    """
    returns = rewards.copy()
    for step in reversed(range(len(rewards) - 1)):
        returns[step] += gamma * (1.0 - episode_starts[step + 1]) * returns[step + 1]
    return returns
