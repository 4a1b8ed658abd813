"""Exponentials and logarithms in compiled code: the arithmetic of ``numerics``, bit for bit."""

import math

import numpy as np

from flowsched_gym.core import numerics
from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.machine_code.decorators import inlined_part, rule

_exp_of_parts = inlined_part(numerics.exp_of_parts)
_log_of_parts = inlined_part(numerics.log_of_parts)
_log_pair_of_parts = inlined_part(numerics.log_pair_of_parts)
_product_pair = inlined_part(numerics.product_pair)
inlined_part(numerics.halves)
inlined_part(numerics.sum_pair)
inlined_part(numerics.polynomial)


@rule
def natural_log(value: float) -> float:
    """Computes the natural logarithm of a number > 0, < inf."""
    fraction, exponent = math.frexp(value)
    if fraction < numerics.ROOT_HALF:
        fraction *= 2.0
        exponent -= 1
    logarithm: float = _log_of_parts(fraction - 1.0, float(exponent))
    return logarithm


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
    result: float = math.ldexp(_exp_of_parts(within, missing, nearest), int(nearest))
    return result
