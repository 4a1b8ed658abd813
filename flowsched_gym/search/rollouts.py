"""Rollouts: an action is taken in a copy of an episode, and a policy goes on to the end of its flows."""

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.envs import DecisionEnv
from flowsched_gym.envs.copies import EpisodeCopies
from flowsched_gym.envs.policies import Policy
from flowsched_gym.workload import Workload


class Rollouts:
    """Copies of an episode that a policy plays to the end.

    Args:
        env: An environment with the arguments of the copies; it is not touched.
        policy: Who plays.
        num_futures: Most futures at a time.
        num_rollouts: Most rollouts at a time.
    """

    def __init__(self, env: DecisionEnv[Any], policy: Policy, *, num_futures: int, num_rollouts: int) -> None:
        self._policy = policy
        self._with_masks = "action_masks" in inspect.signature(policy.predict).parameters
        self._num_futures = num_futures
        self._copies = EpisodeCopies(env, 1 + num_futures + num_rollouts)

    def begin(self, past: Workload, actions: Sequence[int], workloads: Sequence[Workload]) -> int:
        """Plays an episode up to now, and gives it several futures.

        Args:
            past: Its flows.
            actions: What was done in it.
            workloads: The flows with each of the futures.

        Returns:
            The action that the policy would take now.
        """
        self._copies.follow(past, actions)
        self._copies.branch(1 + np.arange(len(workloads)), workloads)
        return int(self._predict(np.zeros(1, dtype=np.int64))[0])

    def values(self, actions: IntArray, futures: IntArray) -> FloatArray:
        """Takes each action in each future, and lets the policy go on.

        Args:
            actions: Actions, (num_actions,).
            futures: Futures by number, (count,).

        Returns:
            The sums of all rewards, (count, num_actions).
        """
        copies = self._copies
        numbers = 1 + self._num_futures + np.arange(len(futures) * len(actions))
        copies.copy(1 + np.repeat(futures, len(actions)), numbers)
        copies.step(numbers, np.tile(actions, len(futures)))
        total = copies.reward[numbers]
        running = np.flatnonzero(~copies.over[numbers])
        while len(running):
            chosen = numbers[running]
            copies.step(chosen, self._predict(chosen))
            total[running] += copies.reward[chosen]
            running = running[~copies.over[chosen]]
        return total.reshape(len(futures), len(actions))

    def _predict(self, numbers: IntArray) -> IntArray:
        """Asks the policy for its actions in some copies."""
        copies = self._copies
        masks: dict[str, Any] = {"action_masks": copies.mask[numbers]} if self._with_masks else {}
        return self._policy.predict(copies.observation[numbers], deterministic=True, **masks)[0]
