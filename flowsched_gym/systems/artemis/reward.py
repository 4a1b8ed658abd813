"""Pays one for each flow that finishes by its deadline (Artemis, section 3.3)."""

import math
from collections import deque

from flowsched_gym.systems.artemis.config import Reward

__all__ = ["RewardQueue"]


class RewardQueue:
    """Keeps what finished flows have earned until an action is paid.

    Args:
        mode: ``lagged`` pays one finished flow for each action, zero when none is there; ``on_completion`` pays all.

    Attributes:
        owed: Rewards of finished flows that no action has received yet, oldest first.
    """

    __slots__ = ("_lagged", "owed")

    def __init__(self, mode: Reward) -> None:
        """Starts with nothing owed."""
        self._lagged = mode is Reward.LAGGED
        self.owed: deque[float] = deque()

    def pay(self) -> float:
        """Takes out what the last action receives."""
        if not self.owed:
            return 0.0
        if self._lagged:
            return self.owed.popleft()
        total = math.fsum(self.owed)
        self.owed.clear()
        return total
