"""Heuristics that only the ordering of MERP has."""

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.slots import virtual_deadline_slot
from flowsched_gym.policies import SlotPolicy

__all__ = ["VirtualDeadlines"]


class VirtualDeadlines(SlotPolicy):
    """Serves the flow first whose virtual deadline is the earliest (VDG; MERP, Algorithm 2).

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
        layout, (remaining_at, so_far_at) = self.layout, self.needed_at
        virtual_deadline_slot(
            batch,
            self.size_at,
            remaining_at,
            so_far_at,
            self.stride,
            layout.slot_scale("size"),
            layout.slot_scale("remaining"),
            layout.slot_scale("slowdown_so_far"),
            action,
        )
        return action
