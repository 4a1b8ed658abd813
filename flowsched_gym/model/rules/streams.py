"""Draws random numbers in compiled code, bit for bit as NumPy's generators of ``SeedStreams`` do.

``SeedStreams(seed)[purpose]`` is a ``Generator`` over PCG64 (O'Neill, 2014: a linear congruential generator of 128 bits
with permuted output) whose state comes from a hash of the seed and the purpose, NumPy's ``SeedSequence``. Here a stream
is four numbers that are passed on by value, so a loop keeps them in registers: each draw gives the stream after it.

All arithmetic is on uint64, and constants are typed: Numba takes uint64 with a plain integer for a float.
"""

import math
import zlib
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.compile import rule
from flowsched_gym.model.rules.ziggurat import HEIGHT, SURE_BELOW, TAIL_START, WIDTH

__all__ = [
    "MULTIPLIER_HIGH",
    "MULTIPLIER_LOW",
    "UNIT",
    "ZERO",
    "Pool",
    "Stream",
    "advance_stream",
    "bounded_integer",
    "next_exponential",
    "open_stream",
    "seed_pool",
    "significand",
    "stream_key",
]

Pool = tuple[np.uint64, np.uint64, np.uint64, np.uint64]

UNIT: Final = 2.0**-53
"""Distance of two neighbouring uniform random numbers."""

WORD_BITS: Final = 32
MASK: Final = np.uint64(2**WORD_BITS - 1)
WORD: Final = np.uint64(WORD_BITS)
HALF_WORD: Final = np.uint64(WORD_BITS // 2)


POOL_FACTOR: Final = np.uint64(0x931E8875)
STATE_FACTOR: Final = np.uint64(0x58F38DED)
"""What the constants of NumPy's hashes are multiplied with from step to step (``MULT_A``, ``MULT_B``)."""


def _hash_constants(first: int, factor: np.uint64, count: int) -> npt.NDArray[np.uint64]:
    """Lists the constants of a hash: the first, and each times the factor modulo 2**32."""
    powers = (pow(int(factor), step, 2**WORD_BITS) for step in range(count))
    return np.array([first * power % 2**WORD_BITS for power in powers], dtype=np.uint64)


IN: Final = _hash_constants(0x43B0D7E5, POOL_FACTOR, 20)
"""Constants by which words are hashed into the pool (from ``INIT_A`` on): 4 of the seed, 12 of the pool, 4 times the
key."""
OUT: Final = _hash_constants(0x8B51F9DD, STATE_FACTOR, 8)
"""Constants by which the pool is hashed into 8 words of state (from ``INIT_B`` on)."""
MIX_LEFT: Final = np.uint64(0xCA01F9DD)
MIX_RIGHT: Final = np.uint64(0x4973F715)

MULTIPLIER_HIGH: Final = np.uint64(2549297995355413924)
MULTIPLIER_LOW: Final = np.uint64(4865540595714422341)
"""Upper and lower half of the multiplier of PCG64."""

ZERO: Final = np.uint64(0)
ONE: Final = np.uint64(1)
ROTATION_SHIFT: Final = np.uint64(58)
LAST_BIT: Final = np.uint64(63)
SIGNIFICAND_SHIFT: Final = np.uint64(11)
BOX_SHIFT: Final = np.uint64(3)
BOX_MASK: Final = np.uint64(255)


class Stream(NamedTuple):
    """Holds the state of one stream.

    Attributes:
        high: Upper half of the state.
        low: Lower half of the state.
        step_high: Upper half of the increment.
        step_low: Lower half of the increment.
    """

    high: np.uint64
    low: np.uint64
    step_high: np.uint64
    step_low: np.uint64


def stream_key(purpose: str) -> np.uint64:
    """Gives the spawn key of a purpose, as in ``SeedStreams``."""
    return np.uint64(zlib.crc32(purpose.encode()))


@rule
def _hash(word: np.uint64, constant: np.uint64, factor: np.uint64) -> np.uint64:
    """Hashes a word of 32 bits."""
    mixed = ((word ^ constant) * ((constant * factor) & MASK)) & MASK
    return mixed ^ (mixed >> HALF_WORD)


@rule
def _stir(word: np.uint64, other: np.uint64, constant: np.uint64) -> np.uint64:
    """Mixes the hash of another word into a word of the pool."""
    mixed = (MIX_LEFT * word - MIX_RIGHT * _hash(other, constant, POOL_FACTOR)) & MASK
    return mixed ^ (mixed >> HALF_WORD)


@rule
def seed_pool(seed: int) -> Pool:
    """Hashes a seed to four words, from which ``open_stream`` makes the streams of this seed.

    Args:
        seed: The seed, 0 <= seed < 2**63.
    """
    whole = np.uint64(seed)
    a = _hash(whole & MASK, IN[0], POOL_FACTOR)
    b = _hash(whole >> WORD, IN[1], POOL_FACTOR)
    c = _hash(ZERO, IN[2], POOL_FACTOR)
    d = _hash(ZERO, IN[3], POOL_FACTOR)
    b, c, d = _stir(b, a, IN[4]), _stir(c, a, IN[5]), _stir(d, a, IN[6])
    a, c, d = _stir(a, b, IN[7]), _stir(c, b, IN[8]), _stir(d, b, IN[9])
    a, b, d = _stir(a, c, IN[10]), _stir(b, c, IN[11]), _stir(d, c, IN[12])
    a, b, c = _stir(a, d, IN[13]), _stir(b, d, IN[14]), _stir(c, d, IN[15])
    return a, b, c, d


@rule
def _state(first: np.uint64, second: np.uint64, constant: np.uint64, next_constant: np.uint64) -> np.uint64:
    """Hashes two words of the pool to 64 bits of state."""
    return _hash(first, constant, STATE_FACTOR) | (_hash(second, next_constant, STATE_FACTOR) << WORD)


@rule
def open_stream(pool: Pool, key: np.uint64) -> Stream:
    """Gives the stream of a purpose at its start.

    Args:
        pool: Words of the seed (``seed_pool``).
        key: Spawn key of the purpose (``stream_key``).
    """
    a, b = _stir(pool[0], key, IN[16]), _stir(pool[1], key, IN[17])
    c, d = _stir(pool[2], key, IN[18]), _stir(pool[3], key, IN[19])
    start_high, start_low = _state(a, b, OUT[0], OUT[1]), _state(c, d, OUT[2], OUT[3])
    sequence_high, sequence_low = _state(a, b, OUT[4], OUT[5]), _state(c, d, OUT[6], OUT[7])
    step_high = (sequence_high << ONE) | (sequence_low >> LAST_BIT)
    step_low = (sequence_low << ONE) | ONE
    low = start_low + step_low
    carry = ONE if low < step_low else ZERO
    return advance_stream(Stream(start_high + step_high + carry, low, step_high, step_low))


@rule
def _multiply_high(left: np.uint64, right: np.uint64) -> np.uint64:
    """Gives the upper 64 bits of a product of 128 bits; LLVM sees that it is one instruction."""
    left_low, left_high = left & MASK, left >> WORD
    right_low, right_high = right & MASK, right >> WORD
    middle = left_high * right_low + ((left_low * right_low) >> WORD)
    other = left_low * right_high + (middle & MASK)
    return left_high * right_high + (middle >> WORD) + (other >> WORD)


@rule
def advance_stream(stream: Stream) -> Stream:
    """Moves a stream on by one draw."""
    product_low = stream.low * MULTIPLIER_LOW
    product_high = (
        _multiply_high(stream.low, MULTIPLIER_LOW) + stream.low * MULTIPLIER_HIGH + stream.high * MULTIPLIER_LOW
    )
    low = product_low + stream.step_low
    carry = ONE if low < product_low else ZERO
    return Stream(product_high + stream.step_high + carry, low, stream.step_high, stream.step_low)


@rule
def _bits(stream: Stream) -> np.uint64:
    """Gives the 64 random bits of a stream's present state, which are those of the draw that led to it."""
    rotation = stream.high >> ROTATION_SHIFT
    word = stream.high ^ stream.low
    return (word >> rotation) | (word << ((ZERO - rotation) & LAST_BIT))


@rule
def significand(stream: Stream) -> np.int64:
    """Gives the uniform random number of a stream's present state in units of ``UNIT``, 0 <= number < 2**53.

    ``Generator.random`` is ``advance_stream``, then ``significand`` times ``UNIT``.
    """
    return np.int64(_bits(stream) >> SIGNIFICAND_SHIFT)


@rule
def next_exponential(stream: Stream) -> tuple[Stream, float]:
    """Draws an exponential random number with mean 1, as ``Generator.standard_exponential`` does."""
    while True:
        stream = advance_stream(stream)
        bits = _bits(stream) >> BOX_SHIFT
        box = np.int64(bits & BOX_MASK)
        place = np.int64(bits >> np.uint64(8))
        value = place * WIDTH[box]
        if place < SURE_BELOW[box]:
            return stream, value
        stream = advance_stream(stream)
        uniform = significand(stream) * UNIT
        if box == 0:
            return stream, TAIL_START - math.log1p(-uniform)
        if (HEIGHT[box - 1] - HEIGHT[box]) * uniform + HEIGHT[box] < math.exp(-value):
            return stream, value


@rule
def bounded_integer(stream: Stream, half: int, bound: int) -> tuple[Stream, int, np.int64]:
    """Draws an integer below a bound, as ``Generator.integers(bound, size=...)`` does (Lemire, 2019).

    It takes 32 random bits at a time: the lower half of a draw, then the upper half.

    Args:
        stream: The stream.
        half: 1 if the upper half of the stream's present draw is still to be taken, else 0.
        bound: Number of possible integers, 1 <= bound < 2**32; 1 draws nothing.

    Returns:
        The stream, the new ``half``, and the integer.
    """
    if bound == 1:
        return stream, half, np.int64(0)
    range_ = np.uint64(bound)
    # 2**32 modulo the bound: so many of the products would make some integers likelier than others.
    surplus = (MASK - range_ + ONE) % range_
    while True:
        if half == 0:
            stream = advance_stream(stream)
            product = (_bits(stream) & MASK) * range_
        else:
            product = (_bits(stream) >> WORD) * range_
        half = 1 - half
        if (product & MASK) >= surplus:
            return stream, half, np.int64(product >> WORD)
