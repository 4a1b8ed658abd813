"""Adds up the completion times and slowdowns of flows that have finished."""

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.compile import inlined_rule

__all__ = ["add_completions"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@inlined_rule
def add_completions(
    delivered: IntArray,
    first: int,
    last: int,
    completion_time: FloatArray,
    arrival: FloatArray,
    ideal_fct: FloatArray,
) -> tuple[float, float]:
    """Returns the sums of the completion times in s and of the slowdowns of some flows.

    Args:
        delivered: Rows of the flows, in the places first to last - 1.
        first: First place.
        last: Place behind the last.
        completion_time: Absolute completion times in s.
        arrival: Absolute arrival times in s.
        ideal_fct: Completion times in s alone on the empty network.
    """
    total_fct, total_slowdown = 0.0, 0.0
    for place in range(first, last):
        row = delivered[place]
        fct = completion_time[row] - arrival[row]
        total_fct += fct
        total_slowdown += fct / ideal_fct[row]
    return total_fct, total_slowdown
