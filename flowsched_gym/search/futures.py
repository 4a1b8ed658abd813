"""Flows that may come next: what has arrived, and after it the flows of other episodes of the same workload."""

from collections.abc import Callable
from functools import lru_cache
from typing import Final

import numpy as np

from flowsched_gym.core.seeding import SeedStreams, draw_episode_seed, orders
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
