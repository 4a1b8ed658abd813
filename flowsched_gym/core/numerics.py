"""Exponentials, logarithms, powers and interpolated values whose last bit is the same on every machine.

The functions of NumPy and of the C library differ in their last bits from processor to processor and from build to
build. These are made of ``+ - * /``, comparisons and exact scaling by powers of two alone, which IEEE 754 fixes to the
last bit. ``exp``, ``log`` and ``power`` are within 1 unit in the last place (ulp) of the true value, ``log1p``
within 2 and ``expm1`` within 3.

Where one float64 is not enough, a value is a pair: a float64 and the much smaller float64 that it misses (Dekker, 1971;
Knuth, The Art of Computer Programming, volume 2, section 4.2.2). All functions take what NumPy makes an array of, and
return float64 of its shape.
"""

from math import factorial
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray

Number = TypeVar("Number", FloatArray, float)

INVERSE_LOG_2: Final = float.fromhex("0x1.71547652b82fep+0")
LOG_2_HIGH: Final = float.fromhex("0x1.62e42fefa3800p-1")
"""The first 42 bits of the logarithm of 2: products with exponents are exact."""
LOG_2_LOW: Final = float.fromhex("0x1.ef35793c76730p-45")
HALF_LOG_2: Final = float.fromhex("0x1.62e42fefa39efp-2")
ROOT_HALF: Final = float.fromhex("0x1.6a09e667f3bcdp-1")
ROOT_2_PI: Final = float.fromhex("0x1.40d931ff62706p+1")
TWO_THIRDS: Final = float.fromhex("0x1.5555555555555p-1")
TWO_THIRDS_LOW: Final = float.fromhex("0x1.5555555555555p-55")

SPLITTER: Final = 2.0**27 + 1.0
"""Cuts a float64 into two of 26 bits, whose products are exact (Veltkamp, 1968)."""
LEAST_EXPONENT: Final = -746.0
MOST_EXPONENT: Final = 710.0
"""The exponential is 0 below the least and infinite above the most."""
EXTREME: Final = 2.0**100
"""Exponents beyond it make any power 0 or infinite, unless the base is 1."""

EXP_TERMS: Final = tuple(1.0 / factorial(order) for order in range(2, 15))
"""Coefficients of ``(exp(x) - 1 - x) / x**2``."""
LOG_TERMS: Final = tuple(2.0 / order for order in range(3, 29, 2))
"""Coefficients of ``(log((1 + s) / (1 - s)) - 2 s) / s**3`` by powers of ``s**2``."""

SERIES_END: Final = 2.0
"""Normal probabilities are a series up to here, in standard deviations, and a continued fraction from here on."""
SERIES_LENGTH: Final = 40
FRACTION_LENGTH: Final = 100
FARTHEST: Final = 40.0
"""Standard deviations beyond which nothing is left in float64."""
QUANTILE_START: Final = ((2.515517, 0.802853, 0.010328), (1.0, 1.432788, 0.189269, 0.001308))
"""Numerator and denominator of Hastings (1955), sheet 68, which is within 4.5e-4 of the normal quantile."""
QUANTILE_STEPS: Final = 2
"""Each step of Halley's method multiplies the number of right digits by three."""


def exp(exponent: npt.ArrayLike) -> FloatArray:
    """Computes the exponential function."""
    x = np.asarray(exponent, dtype=np.float64)
    return _exp_of_pair(x, np.zeros_like(x))[()]


def expm1(exponent: npt.ArrayLike) -> FloatArray:
    """Computes ``exp(x) - 1``, near 0 without cancellation."""
    x = np.asarray(exponent, dtype=np.float64)
    near = np.clip(x, -HALF_LOG_2, HALF_LOG_2)
    return np.where(near == x, near + near * near * polynomial(near, EXP_TERMS), exp(x) - 1.0)[()]


def log(value: npt.ArrayLike) -> FloatArray:
    """Computes the natural logarithm; -inf of 0, NaN of negative numbers."""
    x = np.asarray(value, dtype=np.float64)
    regular = (x > 0.0) & (x < np.inf)
    excess, exponent = _reduced(np.where(regular, x, 1.0))
    return np.where(regular, log_of_parts(excess, exponent), _log_of_irregular(x))[()]


def log1p(value: npt.ArrayLike) -> FloatArray:
    """Computes ``log(1 + x)``, near 0 without cancellation."""
    x = np.asarray(value, dtype=np.float64)
    total = 1.0 + x
    with np.errstate(divide="ignore", invalid="ignore"):
        missing = (x - (total - 1.0)) / total
    return (log(total) + np.where(np.isfinite(missing), missing, 0.0))[()]


def power(base: npt.ArrayLike, exponent: npt.ArrayLike) -> FloatArray:
    """Computes powers of bases >= 0; NaN for negative ones. Any base to the power 0 is 1."""
    x, y = np.broadcast_arrays(np.asarray(base, dtype=np.float64), np.asarray(exponent, dtype=np.float64))
    regular = (x > 0.0) & (x < np.inf)
    high, low = log_pair_of_parts(*_reduced(np.where(regular, x, 1.0)))
    bounded = np.clip(y, -EXTREME, EXTREME)
    product, missing = product_pair(high, bounded)
    missing = np.where(np.abs(product) < 2.0 * MOST_EXPONENT, missing + low * bounded, 0.0)
    finite = _exp_of_pair(product, missing)
    with np.errstate(invalid="ignore"):
        result = np.where(regular, finite, exp(_log_of_irregular(x) * y))
    return np.where((y == 0.0) | (x == 1.0), 1.0, result)[()]


def normal_cdf(value: npt.ArrayLike) -> FloatArray:
    """Computes the cumulative distribution function of the standard normal distribution, within 1e-15."""
    x = np.asarray(value, dtype=np.float64)
    below = _lower_tail(np.minimum(np.abs(x), FARTHEST))
    return np.where(x < 0.0, below, 1.0 - below)[()]


def normal_quantile(probability: npt.ArrayLike) -> FloatArray:
    """Computes the inverse of ``normal_cdf``: -inf for 0, inf for 1, NaN outside of 0 to 1."""
    p = np.asarray(probability, dtype=np.float64)
    below = np.minimum(p, 1.0 - p)
    inside = np.where(below > 0.0, below, 0.5)
    start = np.sqrt(-2.0 * log(inside))
    numerator, denominator = (polynomial(start, terms) for terms in QUANTILE_START)
    distance = start - numerator / denominator
    for _ in range(QUANTILE_STEPS):
        error = (inside - _lower_tail(distance)) / _normal_density(distance)
        distance = distance - error / (1.0 + 0.5 * distance * error)
    distance = np.where(below > 0.0, distance, np.where(below == 0.0, np.inf, np.nan))
    return np.where(p < 0.5, -distance, distance)[()]


def interpolate(x: FloatArray, points: FloatArray, heights: FloatArray, *, below: float = 0.0) -> FloatArray:
    """Interpolates linearly between points; of points at one value, the last counts.

    NumPy's own may round otherwise on processors that multiply and add in one instruction.
    """
    index = np.searchsorted(points, x, side="right") - 1
    left = np.clip(index, 0, len(points) - 2)
    width = points[left + 1] - points[left]
    part = np.divide(np.clip(x, points[0], points[-1]) - points[left], width, out=np.zeros_like(x), where=width > 0)
    between = heights[left] + part * (heights[left + 1] - heights[left])
    return np.where(index < 0, below, np.where(x >= points[-1], heights[-1], between))


def exp_of_parts(x: Number, missing: Number, exponent: Number) -> Number:
    """Computes ``exp(x + missing) / 2**exponent`` for the nearest exponent; for arrays and for compiled code."""
    high, low = x - exponent * LOG_2_HIGH, missing - exponent * LOG_2_LOW
    near = high + low
    near_low = (high - near) + low
    total = 1.0 + near
    total_low = near - (total - 1.0)
    return total + (total_low + (near_low + near * near * polynomial(near, EXP_TERMS)))


def log_of_parts(excess: Number, exponent: Number) -> Number:
    """Computes the logarithm of ``(1 + excess) * 2**exponent``; for arrays and for compiled code."""
    ratio = excess / (2.0 + excess)
    square = ratio * ratio
    half = 0.5 * excess * excess
    rest = ratio * (half + square * polynomial(square, LOG_TERMS))
    return exponent * LOG_2_HIGH - ((half - (rest + exponent * LOG_2_LOW)) - excess)


def log_pair_of_parts(excess: Number, exponent: Number) -> tuple[Number, Number]:
    """Computes the logarithm of ``(1 + excess) * 2**exponent`` to about 64 bits; for arrays and for compiled code."""
    divisor, divisor_low = sum_pair(2.0 + 0.0 * excess, excess)
    ratio = excess / divisor
    product, product_low = product_pair(ratio, divisor)
    ratio_low = (((excess - product) - product_low) - ratio * divisor_low) / divisor
    square, square_low = product_pair(ratio, ratio)
    square_low = square_low + 2.0 * ratio * ratio_low
    cube, cube_low = product_pair(square, ratio)
    cube_low = cube_low + (square_low * ratio + square * ratio_low)
    third, third_low = product_pair(cube, 0.0 * cube + TWO_THIRDS)
    third_low = third_low + (cube_low * TWO_THIRDS + cube * TWO_THIRDS_LOW)
    rest = cube * square * polynomial(square, LOG_TERMS[1:])
    near, near_low = sum_pair(2.0 * ratio, third)
    high, high_low = sum_pair(exponent * LOG_2_HIGH, near)
    low = high_low + (near_low + (2.0 * ratio_low + (third_low + (rest + exponent * LOG_2_LOW))))
    total = high + low
    return total, (high - total) + low


def sum_pair(a: Number, b: Number) -> tuple[Number, Number]:
    """Adds two numbers without error; for arrays and for compiled code."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def product_pair(a: Number, b: Number) -> tuple[Number, Number]:
    """Multiplies two numbers without error, unless the product is tiny or huge; for arrays and for compiled code."""
    product = a * b
    a_high, a_low = halves(a)
    b_high, b_low = halves(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def halves(a: Number) -> tuple[Number, Number]:
    """Cuts numbers into two of 26 bits; for arrays and for compiled code."""
    scaled = SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high


def polynomial(x: Number, terms: tuple[float, ...]) -> Number:
    """Evaluates a polynomial whose coefficients begin with the constant one."""
    result = 0.0 * x + terms[-1]
    for order in range(len(terms) - 2, -1, -1):
        result = result * x + terms[order]
    return result


def _reduced(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Writes positive numbers as ``(1 + excess) * 2**exponent`` with ``1 + excess`` from about 0.7 to 1.4."""
    fraction, exponent = np.frexp(x)
    small = fraction < ROOT_HALF
    return np.where(small, 2.0 * fraction, fraction) - 1.0, (exponent - small).astype(np.float64)


def _log_of_irregular(x: FloatArray) -> FloatArray:
    return np.where(x == 0.0, -np.inf, np.where(x > 0.0, np.inf, np.nan))


def _exp_of_pair(x: FloatArray, missing: FloatArray) -> FloatArray:
    """Computes the exponential of a number and what it misses."""
    within = np.where(np.isnan(x), 0.0, np.clip(x, LEAST_EXPONENT, MOST_EXPONENT))
    exponent = np.rint(within * INVERSE_LOG_2)
    fraction = exp_of_parts(within, missing, exponent)
    with np.errstate(over="ignore"):
        return np.where(np.isnan(x), x, np.ldexp(fraction, exponent.astype(np.int32)))


def _normal_density(x: FloatArray) -> FloatArray:
    return exp(-0.5 * x * x) / ROOT_2_PI


def _lower_tail(distance: FloatArray) -> FloatArray:
    """Computes the probability of a value at least that many standard deviations below the mean; distances are >= 0."""
    near = np.minimum(distance, SERIES_END)
    # The sum of x, x**3 over 3, x**5 over 3 times 5, and so on; over x.
    series = np.ones_like(near)
    for order in range(2 * SERIES_LENGTH + 1, 1, -2):
        series = 1.0 + near * near / order * series
    # The continued fraction x + 1 over (x + 2 over (x + 3 over (x + ...))), from its end.
    far = np.maximum(distance, SERIES_END)
    fraction = far
    for order in range(FRACTION_LENGTH, 0, -1):
        fraction = far + order / fraction
    density = _normal_density(distance)
    return np.where(distance < SERIES_END, 0.5 - density * near * series, density / fraction)
