"""Gives each random purpose a generator of its own, so that one draw more for one never shifts another."""

import zlib

import numpy as np

from flowsched_gym.errors import ConfigError

__all__ = ["SeedStreams"]


class SeedStreams:
    """Hands out one independent generator per named purpose: ``SeedStreams(seed)["sizes"]``.

    The same seed and name give the same stream in every process and on every machine. Asking twice for a name gives
    two generators at the same, initial state: ask once and keep it.

    Args:
        seed: Seed of all streams, an integer >= 0.

    Raises:
        ConfigError: The seed is not an integer >= 0.
    """

    __slots__ = ("_seed",)

    def __init__(self, seed: int) -> None:
        """Keeps the seed."""
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
            raise ConfigError(f"seed is {seed!r}: it must be an integer >= 0")
        self._seed = int(seed)

    def __getitem__(self, purpose: str) -> np.random.Generator:
        """Returns a new generator at the start of the purpose's stream."""
        key = zlib.crc32(purpose.encode())
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self._seed, spawn_key=(key,))))
