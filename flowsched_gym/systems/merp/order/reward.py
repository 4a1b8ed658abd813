"""Pays for flows that finish, by their slowdowns or their completion times."""

from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.slowdowns import (
    FCT,
    LARGEST_KEPT,
    LEXICOGRAPHIC,
    MAX_SLOWDOWN,
    NUM_TERMS,
    SLOWDOWN,
    pay_for_finished,
)
from flowsched_gym.systems.merp.order.config import OrderReward
from flowsched_gym.systems.merp.order.observation import TIME_SCALE

__all__ = ["TERMS", "OrderPayments"]

TERMS: Final = {
    OrderReward.LEXICOGRAPHIC: LEXICOGRAPHIC,
    OrderReward.MAX_SLOWDOWN: MAX_SLOWDOWN,
    OrderReward.SLOWDOWN: SLOWDOWN,
    OrderReward.FCT: FCT,
}
"""Place of each term."""


class OrderPayments:
    """Remembers the largest slowdowns of an episode, and pays for flows that finish.

    Args:
        arrival_time: Absolute arrival times in s, (num_flows,).
        ideal_fct: Flow completion times in s alone on the empty network, (num_flows,).
    """

    def __init__(self, arrival_time: npt.NDArray[np.float64], ideal_fct: npt.NDArray[np.float64]) -> None:
        """Starts with no flow finished."""
        self._arrays = arrival_time, ideal_fct, np.zeros(LARGEST_KEPT)

    @property
    def largest(self) -> float:
        """Largest slowdown of the flows that have been paid for, 0 before the first."""
        return float(self._arrays[2][0])

    def pay(self, rows: list[int], completion_time: npt.NDArray[np.float64]) -> dict[str, float]:
        """Returns the named terms for flows that have finished.

        Args:
            rows: The flows.
            completion_time: Absolute completion times in s, (num_flows,).
        """
        terms = np.empty(NUM_TERMS)
        finished = np.array(rows, dtype=np.int64)
        pay_for_finished(finished, 0, len(rows), completion_time, *self._arrays, TIME_SCALE, terms)
        return {str(name): float(terms[place]) for name, place in TERMS.items()}
