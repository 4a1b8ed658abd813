"""Converts between the units at the edges (YAML, command line, plots) and SI units inside.

Inside the package: seconds, bytes, bytes per second, without suffix. 1 KB = 1000 B and 1 Gbps = 125 000 000 B/s.
"""

from typing import Final

BITS_PER_BYTE: Final = 8
BYTES_PER_KILOBYTE: Final = 1_000.0
BYTES_PER_MEGABYTE: Final = 1_000_000.0
BYTES_PER_SECOND_PER_GBPS: Final = 125_000_000.0
SECONDS_PER_MILLISECOND: Final = 1e-3
SECONDS_PER_MICROSECOND: Final = 1e-6
NANOSECONDS_PER_SECOND: Final = 1e9
SECONDS_PER_MINUTE: Final = 60
SECONDS_PER_HOUR: Final = 3600


def time_left(share: float, elapsed: float) -> str:
    """Writes how long the rest takes where a share, > 0, took so many seconds, as ``1:05 left``."""
    seconds = max(0, round(elapsed * (1 - share) / share))
    hours, minutes = seconds // SECONDS_PER_HOUR, seconds % SECONDS_PER_HOUR // SECONDS_PER_MINUTE
    return f"{hours}:{minutes:02d}:{seconds % 60:02d} left" if hours else f"{minutes}:{seconds % 60:02d} left"


def gbps_to_capacity(gbps: float) -> float:
    """Converts gigabits per second to bytes per second."""
    return gbps * BYTES_PER_SECOND_PER_GBPS
