"""Numbers as text: sizes, times, rates and ratios with three digits and the unit that suits them."""

import math
from typing import Final

from flowsched_gym.core import numerics, units

LOGARITHMIC_FROM: Final = 100.0
"""Ratio of the largest to the smallest size from which bars show the logarithm of the size."""
LARGE: Final = 99_999.5
"""First ratio that is written in powers of ten."""
LONG: Final = 999_999.5
"""First time in s that is."""


def number_text(value: float) -> str:
    """Writes a number >= 0 with three digits."""
    if value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def ratio_text(ratio: float) -> str:
    """Writes a ratio, such as a slowdown, with three digits, or in powers of ten where it is very large."""
    return number_text(ratio) if ratio < LARGE or math.isinf(ratio) else f"{ratio:.0e}"


def count_text(count: int, thing: str = "flow") -> str:
    """Writes how many things there are."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


def duration_text(seconds: float) -> str:
    """Writes a time with three digits and the unit that suits it."""
    sign = "-" if seconds < 0 else ""
    length = abs(seconds)
    if math.isinf(length):
        return f"{sign}inf"
    if length >= 0.9995:
        return f"{sign}{number_text(length) if length < LONG else f'{length:.0e}'} s"
    if length >= 0.9995 * units.SECONDS_PER_MILLISECOND:
        return f"{sign}{number_text(length / units.SECONDS_PER_MILLISECOND)} ms"
    return f"{sign}{length / units.SECONDS_PER_MICROSECOND:.0f} us"


def size_text(size: float) -> str:
    """Writes bytes with the unit that suits them."""
    if size >= 999.5 * units.BYTES_PER_KILOBYTE:
        return f"{number_text(size / units.BYTES_PER_MEGABYTE)} MB"
    if size >= 99.5 * units.BYTES_PER_KILOBYTE:
        return f"{size / units.BYTES_PER_KILOBYTE:.0f} KB"
    return f"{number_text(size / units.BYTES_PER_KILOBYTE)} KB" if size >= 999.5 else f"{size:.0f} B"


def size_share(size: float, size_range: tuple[float, float]) -> float:
    """Returns the length of a size's bar in [0, 1], by its logarithm where sizes differ much."""
    smallest, largest = size_range
    if largest <= LOGARITHMIC_FROM * smallest:
        return size / largest
    return float((1.0 + numerics.log(size / smallest)) / (1.0 + numerics.log(largest / smallest)))


def rate_text(rate: float) -> str:
    """Writes a rate in B/s in bits per second."""
    gbps = rate / units.BYTES_PER_SECOND_PER_GBPS
    return f"{number_text(gbps)} Gbit/s" if gbps >= 0.9995 else f"{gbps * 1000:.0f} Mbit/s"


def shortened(named: object, length: int) -> str:
    """Cuts a text to a number of characters, the end of it kept."""
    return text if len(text := str(named)) <= length else "..." + text[3 - length :]
