"""Random numbers that are the same with every version of NumPy and on every machine.

Each purpose has a generator of its own, so that one draw more for one never shifts another. Of a generator's methods
only ``random`` is used, 53 random bits over 2**53: NumPy may change all others from version to version, and some
depend on the C library.
"""

import math
import zlib
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.checks import check_integer

LEAST_UNIFORM: Final = 2.0**-54
"""Taken for a drawn 0: half of the next larger number that can be drawn."""
MOST_CHOICES: Final = 2**53
"""Integers that a draw can tell apart."""
FIRST_TRAINING_SEED: Final = 2**32
"""Seeds of episodes from here on are for training: no suite validates or tests by them."""


class SeedStreams:
    """Independent generators, one per named purpose: ``SeedStreams(seed)["sizes"]``; the seed is an integer >= 0.

    The same seed and name give the same stream in every process and on every machine. Asking twice for a name gives
    two generators at the same, initial state: ask once and keep it.
    """

    __slots__ = ("_seed",)

    def __init__(self, seed: int) -> None:
        self._seed = check_integer("seed", seed, at_least=0, below=math.inf)

    def __getitem__(self, purpose: str) -> np.random.Generator:
        key = zlib.crc32(purpose.encode())
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self._seed, spawn_key=(key,))))


def uniforms(rng: np.random.Generator, count: int) -> FloatArray:
    """Draws numbers that are uniform between 0 and 1 without its ends, (count,) float64."""
    return np.maximum(rng.random(count), LEAST_UNIFORM)


def integers(rng: np.random.Generator, bound: int, shape: int | tuple[int, ...]) -> IntArray:
    """Draws integers from 0 to ``bound - 1`` < ``MOST_CHOICES``; their probabilities differ by 2**-53."""
    return (rng.random(shape) * bound).astype(np.int64)


def orders(rng: np.random.Generator, shape: tuple[int, ...]) -> IntArray:
    """Draws random orders of 0 to ``shape[-1] - 1``, one along the last axis for each of the others.

    A further row leaves those before it as they are.
    """
    return np.argsort(rng.random(shape), axis=-1, kind="stable")


def draw_episode_seed(rng: np.random.Generator) -> int:
    """Draws the seed of an episode, from 0 to ``MOST_CHOICES - 1``."""
    return int(rng.random() * MOST_CHOICES)
