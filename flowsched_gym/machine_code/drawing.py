"""Lets loops in machine code draw flows in place of NumPy, to the same bits, where that pays.

Drawing flows needs no Numba, whose import takes as long as a thousand draws. So NumPy draws until Numba has been
imported for something else, as either engine does, and the loops are on disk; or until ``CALLS_OF_NUMPY`` calls.
"""

import sys
import zlib
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numpy.random.bit_generator import ISpawnableSeedSequence, SeedSequence

from flowsched_gym.core import numerics, seeding
from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.seeding import SeedStreams

CALLS_OF_NUMPY: Final = 1_000
"""Calls after which Numba is imported and compiles what it must: a draw makes some five of them."""
SEEDS: Final = 2**63
"""Seeds that the loops know, from 0 on."""
LONGEST_ROW: Final = 64
"""Entries of a row up to which to compare each with each is faster than to sort."""


class _Calls:
    """How often NumPy has been called, whether the disk has been looked at, and the loops once they are taken."""

    count = 0
    looked = False
    loops: ModuleType | None = None


def loops() -> Any:
    """Returns the module ``loops`` where it takes the place of NumPy, and otherwise ``None``."""
    if _Calls.loops is None:
        _Calls.count += 1
        if _Calls.count == CALLS_OF_NUMPY:
            take_loops()
        elif not _Calls.looked and "numba" in sys.modules:
            take_loops(compiling=False)
    return _Calls.loops


def take_loops(*, compiling: bool = True) -> None:
    """Lets loops draw from now on, unless machine code is off, or, without ``compiling``, not all are on disk."""
    # They import Numba, and are no part of the machine code of others: stamps leave them out.
    decorators, loops = (import_module(f"flowsched_gym.machine_code.{name}") for name in ("decorators", "loops"))
    _Calls.looked = True
    if decorators.compiles() and (compiling or loops.on_disk()):
        loops.compile_all()
        _Calls.loops = loops


class FlowStreams(SeedStreams):
    """The streams of ``SeedStreams``, seeded by a loop."""

    __slots__ = ()

    def __getitem__(self, purpose: str) -> np.random.Generator:
        if self._seed >= SEEDS or loops() is None:
            return super().__getitem__(purpose)
        sequence: Any = _MixedSeed(self._seed, zlib.crc32(purpose.encode()))
        return np.random.Generator(np.random.PCG64(sequence))


class _MixedSeed(ISpawnableSeedSequence):
    """What ``SeedSequence(seed, spawn_key=(key,))`` is, for one that only seeds a PCG64 in a tenth of the time."""

    def __init__(self, seed: int, key: int) -> None:
        self._arguments = seed, key

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> npt.NDArray[Any]:
        """Generates the state of a PCG64, or any other."""
        if n_words != loops().POOL or dtype is not np.uint64:
            return self._whole.generate_state(n_words, dtype)
        state = np.empty(n_words, dtype=np.uint64)
        loops().mix_seed(*self._arguments, state)
        return state

    def spawn(self, n_children: int) -> Any:
        """Makes the sequences that follow from this one."""
        return self._whole.spawn(n_children)

    @cached_property
    def _whole(self) -> SeedSequence:
        return SeedSequence(self._arguments[0], spawn_key=self._arguments[1:])


def exp(values: FloatArray) -> FloatArray:
    """Computes ``numerics.exp``."""
    return numerics.exp(values) if loops() is None else _replaced(loops().take_exp, values)


def log1p(values: FloatArray) -> FloatArray:
    """Computes ``numerics.log1p`` of numbers >= -1, < inf."""
    return numerics.log1p(values) if loops() is None else _replaced(loops().take_log1p, values)


def power(bases: FloatArray, exponent: float) -> FloatArray:
    """Computes ``numerics.power`` of numbers >= 0, < inf, none subnormal."""
    return numerics.power(bases, exponent) if loops() is None else _replaced(loops().take_power, bases, exponent)


def interpolate(values: FloatArray, points: FloatArray, heights: FloatArray, *, least: float) -> FloatArray:
    """Computes ``numerics.interpolate`` from the first height on, raised to the least."""
    if loops() is None:
        return np.maximum(numerics.interpolate(values, points, heights, below=heights[0]), least)
    scratch = np.empty(values.size, np.int64), np.empty(values.size, np.bool_)
    return _replaced(loops().interpolate, values, points, heights, least, *scratch)


def _replaced(loop: Callable[..., None], values: FloatArray, *arguments: object) -> FloatArray:
    """Lets a loop replace numbers of any shape."""
    found = np.array(values, order="C")
    loop(found.reshape(-1), *arguments)
    return found[()]


def orders(rng: np.random.Generator, shape: tuple[int, int]) -> IntArray:
    """Draws ``seeding.orders``."""
    if loops() is None or shape[1] > LONGEST_ROW:
        return seeding.orders(rng, shape)
    order = np.empty(shape, dtype=np.int64)
    loops().order_rows(rng.random(shape), order)
    return order
