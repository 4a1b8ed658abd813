"""Heuristics that only the ordering of MERP has."""

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from flowsched_gym.envs.policies import SlotPolicy
from flowsched_gym.systems.merp.order.rules import virtual_deadline_slot


class VirtualDeadlines(SlotPolicy):
    """The flow first whose virtual deadline is the earliest (VDG; MERP, Algorithm 2).

    It orders the visible flows as if they shared one link: on one link without delays it is the discipline ``merp`` as
    long as all flows are seen. Two flows whose slowdowns differ by less than float32 observations tell, a few parts in
    a million, may change places. On a tree it is not the discipline: it cannot tell which flows share which link, and
    the order that it leaves on other links may be an old one.
    """

    pure: ClassVar[bool] = True
    needs = ("remaining", "slowdown_so_far")

    def choose(self, batch: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
        """Orders the flows of each observation."""
        action = np.empty(len(batch), dtype=np.int64)
        virtual_deadline_slot(
            batch,
            self.slot_column("size"),
            self.slot_column("remaining"),
            self.slot_column("slowdown_so_far"),
            self.stride,
            action,
        )
        return action
