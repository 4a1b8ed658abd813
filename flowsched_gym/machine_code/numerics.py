"""Exponentials, logarithms, squashed numbers and sums in compiled code.

The arithmetic of exponentials and logarithms is that of ``core.numerics``, bit for bit.

Sums add numbers up as NumPy does: in pairs, so that errors hardly grow with their number, and to the same bits. NumPy's
``sum`` and ``mean`` of a contiguous array of floats give what ``pairwise_sum`` gives (N. J. Higham, "The accuracy of
floating point summation", 1993, has the method). A loop that adds one number after the other does not.
"""

import math
from typing import Final

import numpy as np

from flowsched_gym.core import numerics
from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.machine_code.decorators import inlined_part, inlined_rule, rule

_exp_of_parts = inlined_part(numerics.exp_of_parts)
_log_of_parts = inlined_part(numerics.log_of_parts)
_log_pair_of_parts = inlined_part(numerics.log_pair_of_parts)
_product_pair = inlined_part(numerics.product_pair)
inlined_part(numerics.halves)
inlined_part(numerics.sum_pair)
inlined_part(numerics.polynomial)

LANES: Final = 8
"""Sums that run side by side in a block."""
BLOCK: Final = 128
"""Most numbers of a block; more are halved, and each half adds up its own."""


@rule
def natural_log(value: float) -> float:
    """Computes the natural logarithm of a number > 0, < inf."""
    fraction, exponent = math.frexp(value)
    if fraction < numerics.ROOT_HALF:
        fraction *= 2.0
        exponent -= 1
    return float(_log_of_parts(fraction - 1.0, float(exponent)))


@rule
def sum_of_logs(values: FloatArray) -> float:
    """Adds up the natural logarithms of numbers > 0, < inf."""
    total = 0.0
    for index in range(len(values)):
        total += natural_log(values[index])
    return total


@rule
def take_exponentials(values: FloatArray) -> None:
    """Replaces numbers from -700 to 700 by their exponentials, (rows, columns)."""
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            x = values[row, column]
            exponent = np.rint(x * numerics.INVERSE_LOG_2)
            values[row, column] = math.ldexp(_exp_of_parts(x, 0.0, exponent), int(exponent))


@rule
def power(base: float, exponent: float) -> float:
    """Computes a power of a number >= 0, < inf: to the bit what ``numerics.power`` gives."""
    if exponent == 0.0 or base == 1.0:
        return 1.0
    if base == 0.0:
        return 0.0 if exponent > 0.0 else np.inf
    fraction, binary = math.frexp(base)
    if fraction < numerics.ROOT_HALF:
        fraction *= 2.0
        binary -= 1
    high, low = _log_pair_of_parts(fraction - 1.0, float(binary))
    bounded = min(max(exponent, -numerics.EXTREME), numerics.EXTREME)
    product, missing = _product_pair(high, bounded)
    missing = missing + low * bounded if abs(product) < 2.0 * numerics.MOST_EXPONENT else 0.0
    within = min(max(product, numerics.LEAST_EXPONENT), numerics.MOST_EXPONENT)
    nearest = np.rint(within * numerics.INVERSE_LOG_2)
    return math.ldexp(_exp_of_parts(within, missing, nearest), int(nearest))


@inlined_rule
def squash(value: float, scale: float) -> float:
    """Returns ``value / (|value| + scale)``, in (-1, 1); 1 for inf."""
    squashed = value / (abs(value) + scale)
    return 1.0 if value == np.inf else squashed


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
