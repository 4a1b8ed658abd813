"""Checks of parameters that several disciplines take."""

from enum import StrEnum
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray, as_numbers
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.suggestions import listed
from flowsched_gym.fluid.rules.ordering.feedback import are_limits

EXACT_END: Final = 2.0**53
"""Below it every float64 that is whole stands for one whole number."""


class Within(StrEnum):
    """Ways to serve the flows of one queue."""

    PS = "ps"
    FIFO = "fifo"


def check_limits(thresholds: object, *, may_be_empty: bool = False) -> FloatArray:
    """Checks thresholds, of which there must be one unless one queue is allowed."""
    limits = check_numbers("thresholds", thresholds)
    if not len(limits) and not may_be_empty:
        raise ConfigError("thresholds is []: there must be at least one, between two queues")
    if not are_limits(limits[np.newaxis]):
        raise ConfigError(f"thresholds is {limits.tolist()}: they must be finite, > 0 B and increasing")
    return limits


def check_numbers(name: str, values: object) -> FloatArray:
    """Makes an array of a list of numbers."""
    numbers = as_numbers(values)
    if numbers is None:
        raise ConfigError(f"{name} is {shown(values)}: it must be a list of numbers, such as [1, 2.5]")
    return numbers


def check_whole_numbers(name: str, values: object) -> IntArray:
    """Makes an array of a list of whole numbers."""
    numbers = check_numbers(name, values)
    if not ((np.floor(numbers) == numbers) & (np.abs(numbers) < EXACT_END)).all():
        raise ConfigError(f"{name} is {shown(values)}: it must be a list of whole numbers")
    return numbers.astype(np.int64)


def check_within(name: str) -> Within:
    """Finds how a queue is served."""
    if not isinstance(name, str) or name not in tuple(Within):
        raise ConfigError(f"within is {shown(name)}: it must be one of {listed(name, Within)}")
    return Within(name)
