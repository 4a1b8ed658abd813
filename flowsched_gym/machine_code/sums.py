"""Adds numbers up as NumPy does: in pairs, so that errors hardly grow with their number, and to the same bits.

NumPy's ``sum`` and ``mean`` of a contiguous array of floats give what ``pairwise_sum`` gives (N. J. Higham, "The
accuracy of floating point summation", 1993, has the method). A loop that adds one number after the other does not.
"""

from typing import Final

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.machine_code.decorators import inlined_part, rule

LANES: Final = 8
"""Sums that run side by side in a block."""
BLOCK: Final = 128
"""Most numbers of a block; more are halved, and each half adds up its own."""


@rule
def pairwise_sum(values: FloatArray, first: int, last: int) -> float:
    """Returns the sum of the values in the entries ``first`` to ``last - 1``, which are lost where they are many.

    Sums of blocks whose other half is still to come wait in the entries of values that have been added.
    """
    waiting = begin = first
    while last - first > BLOCK:
        low, high, halves = first, last, 0
        while high - low > BLOCK:
            middle = low + (high - low) // 2 - (high - low) // 2 % LANES
            if begin < middle:
                high, halves = middle, 0
            else:
                low, halves = middle, halves + 1
        total = _add_block(values, low, high)
        for _ in range(halves):
            waiting -= 1
            total = values[waiting] + total
        if high == last:
            return total
        values[waiting] = total
        waiting, begin = waiting + 1, high
    return _add_block(values, first, last)


@inlined_part
def _add_block(values: FloatArray, first: int, last: int) -> float:
    """Returns the sum of at most ``BLOCK`` values."""
    total, rest = 0.0, first
    if last - first >= LANES:
        a, b, c, d = values[first], values[first + 1], values[first + 2], values[first + 3]
        e, f, g, h = values[first + 4], values[first + 5], values[first + 6], values[first + 7]
        rest = last - (last - first) % LANES
        for index in range(first + LANES, rest, LANES):
            a += values[index]
            b += values[index + 1]
            c += values[index + 2]
            d += values[index + 3]
            e += values[index + 4]
            f += values[index + 5]
            g += values[index + 6]
            h += values[index + 7]
        total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for index in range(rest, last):
        total += values[index]
    return total
