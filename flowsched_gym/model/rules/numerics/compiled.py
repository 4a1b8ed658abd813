"""Exponentials and logarithms in compiled code: the arithmetic of ``numerics``, bit for bit."""

import math

import numpy as np

from flowsched_gym.arrays import FloatArray
from flowsched_gym.model.rules import numerics
from flowsched_gym.model.rules.compile import inlined_part, rule

__all__ = ["natural_log", "sum_of_logs", "take_exponentials"]

_exp_of_parts = inlined_part(numerics.exp_of_parts)
_log_of_parts = inlined_part(numerics.log_of_parts)
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
