"""Pays for flows that finish: minus their completion times, minus their slowdowns, or both."""

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.completions import add_completions
from flowsched_gym.systems.merp.route.config import RouteReward
from flowsched_gym.systems.merp.route.observation import TIME_SCALE

__all__ = ["RoutePayments", "reward_terms"]


def reward_terms(reward: RouteReward) -> tuple[str, ...]:
    """Names the terms that are paid."""
    return ("fct", "slowdown") if reward is RouteReward.BOTH else (str(reward),)


class RoutePayments:
    """Pays for flows that finish in one episode.

    Args:
        reward: What is paid.
        arrival_time: Absolute arrival times in s, (num_flows,).
        ideal_fct: Flow completion times in s alone on the empty network, (num_flows,).
    """

    def __init__(
        self, reward: RouteReward, arrival_time: npt.NDArray[np.float64], ideal_fct: npt.NDArray[np.float64]
    ) -> None:
        """Keeps what flows are measured by."""
        self._terms = reward_terms(reward)
        self._arrays = arrival_time, ideal_fct

    def pay(self, rows: list[int], completion_time: npt.NDArray[np.float64]) -> dict[str, float]:
        """Returns the named terms for flows that have finished.

        Args:
            rows: The flows.
            completion_time: Absolute completion times in s, (num_flows,).
        """
        finished = np.array(rows, dtype=np.int64)
        fct, slowdown = add_completions(finished, 0, len(rows), completion_time, *self._arrays)
        paid = {"fct": 0.0 - fct / TIME_SCALE, "slowdown": 0.0 - slowdown}
        return {name: paid[name] for name in self._terms}
