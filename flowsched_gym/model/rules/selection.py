"""Finds the value of a given rank without sorting the others (C. A. R. Hoare, "Algorithm 65: Find", 1961)."""

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.compile import rule

__all__ = ["select"]

FloatArray = npt.NDArray[np.float64]


@rule
def select(values: FloatArray, first: int, last: int, place: int) -> float:
    """Returns the value that would stand in a place if those in the places ``first`` to ``last - 1`` were sorted.

    They are rearranged: no larger ones before that place, no smaller ones behind. None is NaN.
    """
    low, high = first, last - 1
    while low < high:
        pivot = values[place]
        left, right = low, high
        while left <= right:
            while values[left] < pivot:
                left += 1
            while values[right] > pivot:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left += 1
                right -= 1
        if right < place:
            low = left
        if left > place:
            high = right
    value: float = values[place]
    return value
