"""The hash of the sketch, ``((A f + B) mod (2^61 - 1)) mod buckets``, exact although products have 122 bits."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import IntArray

PRIME: Final = 2**61 - 1
"""A Mersenne prime: numbers are reduced by it with shifts."""

HALF: Final = np.uint64(31)
"""Bits of the lower part of a number below the prime."""
BITS: Final = np.uint64(61)
LOW_HALF: Final = np.uint64(2**31 - 1)
LOW_REST: Final = np.uint64(2**30 - 1)
MODULUS: Final = np.uint64(PRIME)

Words = npt.NDArray[np.uint64]


def bucket_positions(ids: IntArray, pairs: Sequence[tuple[int, int]], num_buckets: int) -> IntArray:
    """Finds the bucket of each key in each array of the sketch.

    Args:
        ids: Numbers of the keys, (num_keys,) int64.
        pairs: (A, B) of each array, whole numbers.
        num_buckets: Buckets of each array.

    Returns:
        Buckets, (num_keys, num_arrays) int64.
    """
    reduced = (ids % PRIME).astype(np.uint64)
    positions = np.empty((len(ids), len(pairs)), dtype=np.int64)
    for array, (factor, offset) in enumerate(pairs):
        hashed = (_product(reduced, np.uint64(factor % PRIME)) + np.uint64(offset % PRIME)) % MODULUS
        positions[:, array] = (hashed % np.uint64(num_buckets)).astype(np.int64)
    return positions


def _product(a: Words, b: np.uint64) -> Words:
    """Multiplies numbers below the prime, modulo it: products of halves fit into 64 bits, and 2^61 counts as 1."""
    a_high, a_low = a >> HALF, a & LOW_HALF
    b_high, b_low = b >> HALF, b & LOW_HALF
    middle = a_high * b_low + a_low * b_high
    low = a_low * b_low
    parts = (a_high * b_high << np.uint64(1)) + (middle >> np.uint64(30)) + ((middle & LOW_REST) << HALF)
    product: Words = (parts % MODULUS + low % MODULUS) % MODULUS
    return product
