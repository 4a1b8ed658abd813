"""Adds up what flows that have finished are worth: slowdowns and flow completion times, each as a term of a reward."""

from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.compile import inlined_rule

__all__ = ["FCT", "LARGEST_KEPT", "LEXICOGRAPHIC", "MAX_SLOWDOWN", "NUM_TERMS", "SLOWDOWN", "pay_for_finished"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

LARGEST_KEPT: Final = 8
"""Slowdowns that the lexicographic term looks at; the next would have a weight of 1/256."""

HALF: Final = 0.5
"""Weight of a slowdown over that of the next larger one."""

NUM_TERMS: Final = 4
LEXICOGRAPHIC, MAX_SLOWDOWN, SLOWDOWN, FCT = range(NUM_TERMS)


@inlined_rule
def pay_for_finished(
    delivered: IntArray,
    first: int,
    last: int,
    completion_time: FloatArray,
    arrival: FloatArray,
    ideal_fct: FloatArray,
    largest: FloatArray,
    time_unit: float,
    terms: FloatArray,
) -> None:
    """Rewards flows that have finished.

    ``LEXICOGRAPHIC`` is minus the rise of ``s_1 + s_2 / 2 + s_3 / 4 + ...`` over the largest slowdowns of all that have
    finished, ``MAX_SLOWDOWN`` minus the rise of ``s_1``, ``SLOWDOWN`` minus the sum of the flows' slowdowns, ``FCT``
    minus the sum of their completion times.

    Args:
        delivered: Rows of the flows, in the places first to last - 1.
        first: First place.
        last: Place behind the last.
        completion_time: Absolute completion times in s.
        arrival: Absolute arrival times in s.
        ideal_fct: Flow completion times in s alone on the empty network.
        largest: Largest slowdowns of the flows that had finished before, (LARGEST_KEPT,), the largest first, 0 where
            there are none; updated.
        time_unit: Unit of ``FCT`` in s.
        terms: Receives the terms, (NUM_TERMS,).
    """
    terms[LEXICOGRAPHIC] = _weighted(largest)
    terms[MAX_SLOWDOWN] = largest[0]
    terms[SLOWDOWN] = 0.0
    terms[FCT] = 0.0
    for place in range(first, last):
        row = delivered[place]
        fct = completion_time[row] - arrival[row]
        slowdown = fct / ideal_fct[row]
        terms[SLOWDOWN] -= slowdown
        terms[FCT] -= fct / time_unit
        hole = LARGEST_KEPT
        while hole > 0 and largest[hole - 1] < slowdown:
            hole -= 1
            if hole < LARGEST_KEPT - 1:
                largest[hole + 1] = largest[hole]
        if hole < LARGEST_KEPT:
            largest[hole] = slowdown
    terms[LEXICOGRAPHIC] -= _weighted(largest)
    terms[MAX_SLOWDOWN] -= largest[0]


@inlined_rule
def _weighted(largest: FloatArray) -> float:
    """Adds up slowdowns, each with half the weight of the one before."""
    total, weight = 0.0, 1.0
    for place in range(LARGEST_KEPT):
        total += weight * largest[place]
        weight *= HALF
    return total
