"""Checks of parameters that several schedulers take."""

import math
from enum import StrEnum
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray, to_float
from flowsched_gym.core.checks import check_between, check_numbers
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.packets.rules.queue_choice import DEFICIT, ROUND, STRICT

NUM_QUEUES: Final = 8
"""Queues of a port of a commodity switch."""
MOST_QUEUES: Final = 1024
FULL_PACKET: Final = 1500.0
"""Bytes of a full packet on the wire: quantum of a deficit round where none is given."""
LEAST_QUANTUM: Final = 1.0
"""With smaller quanta a packet would wait for thousands of rounds."""


class Count(StrEnum):
    """Whether the bytes that a message has sent include the packet that arrives."""

    BEFORE = "before"
    AFTER = "after"


class Dequeue(StrEnum):
    """Ways in which a port serves its queues."""

    SP = "sp"
    WRR = "wrr"
    DRR = "drr"

    @property
    def way(self) -> int:
        """The same, as rules know it."""
        return {Dequeue.SP: STRICT, Dequeue.WRR: ROUND, Dequeue.DRR: DEFICIT}[self]


def check_integer(name: str, value: object, *, at_least: int, at_most: int) -> int:
    """Refuses what is not a whole number in its bounds."""
    return check_between(name, value, at_least, at_most, what="a whole number")


def check_gap(name: str, value: object) -> float:
    """Refuses what is no silence in s; ``None`` and inf are one that never comes."""
    if value is None:
        return math.inf
    gap = to_float(value)
    if not gap > 0:
        raise ConfigError(f"{name} is {shown(value)}: it must be a time in s > 0, or none for never")
    return gap


def check_thresholds(thresholds: object, queues: object) -> FloatArray:
    """Refuses thresholds that do not increase, or are not one fewer than the queues.

    Args:
        thresholds: Thresholds in B between neighbouring queues.
        queues: Number of queues; ``None``: one more than thresholds.
    """
    limits = check_numbers("thresholds", thresholds, at_least=0)
    if (np.diff(limits) < 0).any():
        raise ConfigError(f"thresholds is {limits.tolist()}: they must not decrease")
    if len(limits) >= MOST_QUEUES:
        raise ConfigError(f"thresholds has {len(limits)} numbers: it must have at most {MOST_QUEUES - 1}")
    if queues is not None and check_integer("queues", queues, at_least=1, at_most=MOST_QUEUES) != len(limits) + 1:
        raise ConfigError(f"thresholds has {len(limits)} numbers: {queues} queues need {int(str(queues)) - 1}")
    return limits


def check_quanta(weights: object, dequeue: Dequeue, num_queues: int) -> FloatArray:
    """Returns the packets, or bytes, that each queue sends in a round; ``None`` for one full packet each."""
    if weights is not None:
        if dequeue is Dequeue.SP:
            raise ConfigError(f"weights is {shown(weights)}: dequeue 'sp' has none; it must be 'wrr' or 'drr'")
        return check_numbers("weights", weights, count=num_queues, at_least=LEAST_QUANTUM)
    return np.full(num_queues, FULL_PACKET if dequeue is Dequeue.DRR else 1.0)
