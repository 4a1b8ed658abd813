"""Checks of parameters that several disciplines take."""

from enum import StrEnum

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.checks import check_choice, check_numbers
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.fluid.rules.ordering.feedback import are_limits


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


def check_within(name: str) -> Within:
    """Finds how a queue is served."""
    return check_choice("within", name, Within)
