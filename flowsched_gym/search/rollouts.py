"""Rollouts: an action is taken in copies of an episode with futures drawn anew, and a policy goes on to the end."""

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.seeding import SeedStreams, draw_episode_seed, orders
from flowsched_gym.envs import DecisionEnv
from flowsched_gym.envs.copies import EpisodeCopies
from flowsched_gym.envs.policies import Policy
from flowsched_gym.workload import Workload, WorkloadSource, first_flows, with_future

NUM_EPISODES: Final = 256
"""Episodes from which futures are taken. Each is drawn once; each decision takes other ones of them."""


class Futures:
    """Flows to come, drawn from the workload's distribution, and never those that will truly come.

    Args:
        source: What the flows of episodes are drawn from.
        seed: Seed of the draws.
        lookahead: Flows to come that are kept of each future, >= 0.
    """

    def __init__(self, source: WorkloadSource, *, seed: int, lookahead: int) -> None:
        streams = SeedStreams(seed)
        rng = streams["episodes of futures"]
        self._seeds = [draw_episode_seed(rng) for _ in range(NUM_EPISODES)]
        self._choices = streams["choice of futures"]
        self._lookahead = lookahead
        self._draw: Callable[[int], Workload] = lru_cache(maxsize=NUM_EPISODES)(source.draw)
        self._orders: list[list[int]] = []

    def sample(self, past: Workload, now: float, decision: int, count: int) -> list[Workload]:
        """Joins the flows that have arrived with several futures.

        Args:
            past: The flows of the episode; those that have not arrived yet are left out.
            now: Time in s.
            decision: Number of the decision in its episode: each has futures of its own, the same in every episode.
            count: How many futures, at most ``NUM_EPISODES``.
        """
        while decision >= len(self._orders):
            self._orders.append(orders(self._choices, (NUM_EPISODES,)).tolist())
        chosen = self._orders[decision][:count]
        return [self.joined(past, self._draw(self._seeds[number]), now) for number in chosen]

    def joined(self, past: Workload, future: Workload, now: float) -> Workload:
        """Joins the flows that have arrived with the next ones of a future."""
        flows = with_future(past, future, now)
        num_arrived = int(np.count_nonzero(past.arrival_time <= now))
        return first_flows(flows, min(num_arrived + self._lookahead, flows.num_flows))


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
        """Plays the flows of an episode up to now, and gives it futures; returns the policy's action now."""
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
        stay[order[: _half(len(order))]] = True
        left, tried = left[stay], tried[:, stay]
        if len(left) == 1:
            break
    return best


def most_tries(num_choices: int, counts: Sequence[int]) -> int:
    """Returns how many tries a round of ``sequential_halving`` can have."""
    most, left = 0, num_choices
    for count in counts:
        most = max(most, count * left)
        left = min(left, _half(left) + 1)
    return most


def _half(count: int) -> int:
    """Returns half of a number, rounded up."""
    return (count + 1) // 2
