"""Loops that draw flows: each does in one pass what a chain of NumPy's operations does, to the same bits.

``drawing`` says when they take the place of NumPy.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.core import numerics
from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.machine_code.decorators import compiled_for, inlined_part, is_compiled, rule
from flowsched_gym.machine_code.numerics import _exp_of_parts, _log_of_parts, _log_pair_of_parts, _product_pair

WORD: Final = np.uint64(0xFFFFFFFF)
HALF: Final = np.uint64(16)
WHOLE: Final = np.uint64(32)
"""A word of 32 bits, and how far it and its half are shifted."""
POOL: Final = 4
"""Words that ``numpy.random.SeedSequence`` mixes."""
INIT_A: Final = np.uint64(0x43B0D7E5)
MULT_A: Final = np.uint64(0x931E8875)
INIT_B: Final = np.uint64(0x8B51F9DD)
MULT_B: Final = np.uint64(0x58F38DED)
MIX_MULT_L: Final = np.uint64(0xCA01F9DD)
MIX_MULT_R: Final = np.uint64(0x4973F715)
"""Constants by the names that NumPy's ``bit_generator.pyx`` gives them."""
MANTISSA: Final = 52
BIAS: Final = 1023
"""Bits of a float64 below those of its exponent, and what is added to that."""
ROOT_HALF_BITS: Final = np.float64(numerics.ROOT_HALF).view(np.int64)


@rule
def mix_seed(seed: int, key: int, state: npt.NDArray[np.uint64]) -> None:
    """Fills the state, (POOL,), of ``SeedSequence(seed, spawn_key=(key,))``; seeds are < 2**63, keys < 2**32."""
    const = INIT_A
    for index in range(POOL):
        shift = WHOLE * np.uint64(index)
        word = (np.uint64(seed) >> shift) & WORD if index < POOL // 2 else np.uint64(0)
        state[index], const = _hash(word, const, MULT_A)
    for source in range(POOL + 1):
        for target in range(POOL):
            if source != target:
                word = state[source] if source < POOL else np.uint64(key)
                hashed, const = _hash(word, const, MULT_A)
                mixed = (MIX_MULT_L * state[target] - MIX_MULT_R * hashed) & WORD
                state[target] = mixed ^ (mixed >> HALF)
    pool = (state[0], state[1], state[2], state[3])
    const = INIT_B
    for index in range(POOL):
        low, const = _hash(pool[2 * index % POOL], const, MULT_B)
        high, const = _hash(pool[(2 * index + 1) % POOL], const, MULT_B)
        state[index] = low | (high << WHOLE)


@inlined_part
def _hash(word: np.uint64, const: np.uint64, factor: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Hashes a word; returns it and the next constant."""
    following = (const * factor) & WORD
    hashed = ((word ^ const) * following) & WORD
    return hashed ^ (hashed >> HALF), following


@inlined_part
def _reduced(value: float) -> tuple[float, float]:
    """Writes a number > 0, not subnormal, as ``core.numerics`` reduces it: by its bits, which vector code can do."""
    bits = np.float64(value).view(np.int64)
    exponent = (bits - ROOT_HALF_BITS) >> MANTISSA
    return np.int64(bits - (exponent << MANTISSA)).view(np.float64) - 1.0, float(np.int32(exponent))


@inlined_part
def _exponential(x: float, missing: float) -> float:
    """Computes what ``core.numerics`` does of a number and what it misses, with powers of two made of bits."""
    within = min(max(x, numerics.LEAST_EXPONENT), numerics.MOST_EXPONENT)
    nearest = np.rint(within * numerics.INVERSE_LOG_2)
    whole = np.int64(np.int32(nearest))
    half = whole >> 1  # two powers, as that of the whole may be subnormal or infinite
    low = np.int64((half + BIAS) << MANTISSA).view(np.float64)
    high = np.int64((whole - half + BIAS) << MANTISSA).view(np.float64)
    return float(_exp_of_parts(within, missing, nearest) * low * high)


@rule
def take_exp(values: FloatArray) -> None:
    """Replaces numbers by what ``numerics.exp`` gives, (count,)."""
    for index in range(len(values)):
        values[index] = _exponential(values[index], 0.0)


@rule
def take_log1p(values: FloatArray) -> None:
    """Replaces numbers >= -1, < inf, by what ``numerics.log1p`` gives, (count,)."""
    for index in range(len(values)):
        x = values[index]
        total = 1.0 + x
        logarithm = _log_of_parts(*_reduced(total)) + (x - (total - 1.0)) / total
        values[index] = logarithm if total > 0.0 else -np.inf


@rule
def take_power(values: FloatArray, exponent: float) -> None:
    """Replaces numbers >= 0, < inf, none subnormal, by what ``numerics.power`` gives, (count,)."""
    bounded = min(max(exponent, -numerics.EXTREME), numerics.EXTREME)
    of_zero = 0.0 if exponent > 0.0 else np.inf
    for index in range(len(values)):
        base = values[index]
        high, low = _log_pair_of_parts(*_reduced(base))
        product, missing = _product_pair(high, bounded)
        missing = missing + low * bounded if abs(product) < 2.0 * numerics.MOST_EXPONENT else 0.0
        result = of_zero if base == 0.0 else _exponential(product, missing)
        values[index] = 1.0 if base == 1.0 or exponent == 0.0 else result


@rule
def interpolate(
    values: FloatArray, points: FloatArray, heights: FloatArray, least: float, before: IntArray, reached: BoolArray
) -> None:
    """Replaces numbers by what ``numerics.interpolate`` gives, (count,), from the first height on, raised to the least.

    ``before`` and ``reached``, (count,), are overwritten. All numbers search in step, by a loop that compares and one
    that moves on: a processor could not foresee the branches of each number's own search.
    """
    last = len(points) - 1
    before[:] = 0
    rest = last + 1
    while rest > 0:
        half = (rest + 1) // 2
        for index in range(len(values)):
            reached[index] = points[before[index] + half - 1] <= values[index]
        for index in range(len(values)):
            before[index] += half * reached[index]
        rest -= half
    for index in range(len(values)):
        x = values[index]
        left = min(max(before[index] - 1, 0), last - 1)
        width = points[left + 1] - points[left]
        part = (x - points[left]) / width if width > 0.0 else 0.0
        height = heights[left] + part * (heights[left + 1] - heights[left])
        height = heights[last] if x >= points[last] else height
        values[index] = max(heights[0] if before[index] == 0 else height, least)


@rule
def order_rows(values: FloatArray, order: IntArray) -> None:
    """Finds the stable ``numpy.argsort`` of short rows, (rows, length), by counting what goes before each index."""
    length = values.shape[1]
    for row in range(values.shape[0]):
        for index in range(length):
            x, rank = values[row, index], 0
            for other in range(length):
                y = values[row, other]
                rank += (y < x) | ((y == x) & (other < index))
            order[row, rank] = index


@rule
def are_allowed(whole: tuple[IntArray, ...], real: tuple[FloatArray, ...]) -> bool:
    """Returns whether a ``Workload`` may have these columns, (num_flows,) each, in its order."""
    flow_id, source, destination, task_id = whole
    size, arrival_time, deadline_span, cpu_time = real
    allowed = True
    for i in range(len(flow_id)):  # with ``&``, as branches would keep it from becoming vector code
        allowed &= (source[i] >= 0) & (destination[i] >= 0) & (source[i] != destination[i]) & (task_id[i] >= -1)
        allowed &= (size[i] > 0.0) & (size[i] < np.inf) & (arrival_time[i] >= 0.0) & (arrival_time[i] < np.inf)
        allowed &= (deadline_span[i] > 0.0) & (cpu_time[i] >= 0.0) & (cpu_time[i] < np.inf) & (flow_id[i] >= 0)
    for i in range(1, len(flow_id)):
        allowed &= flow_id[i] > flow_id[i - 1]
    return allowed


def on_disk() -> bool:
    """Returns whether all of them have been compiled on this machine."""
    return all(is_compiled(each) for each, _ in _EXAMPLES)


def compile_all() -> None:
    """Compiles what is not on disk."""
    for each, arguments in _EXAMPLES:
        compiled_for(each, *arguments)


_FLOATS: Final = np.ones(2)
_INTEGERS: Final = np.arange(2)
_EXAMPLES: Final[tuple[tuple[Callable[..., object], tuple[object, ...]], ...]] = (
    (mix_seed, (0, 0, np.zeros(POOL, dtype=np.uint64))),
    (take_exp, (_FLOATS,)),
    (take_log1p, (_FLOATS,)),
    (take_power, (_FLOATS, 1.0)),
    (interpolate, (_FLOATS, _FLOATS, _FLOATS, 1.0, _INTEGERS, _INTEGERS > 0)),
    (order_rows, (np.ones((1, 1)), np.ones((1, 1), dtype=np.int64))),
    (are_allowed, ((_INTEGERS,) * 4, (_FLOATS,) * 4)),
)
"""The loops, and arguments of the types that they take."""
