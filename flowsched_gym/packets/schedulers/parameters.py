"""Checks of parameters that several schedulers take."""

import math
from enum import StrEnum
from typing import Final, TypeVar

import numpy as np

from flowsched_gym.core.arrays import FloatArray, as_numbers, is_whole, to_float
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.suggestions import listed
from flowsched_gym.packets.rules.queues import DEFICIT, ROUND, STRICT

NUM_QUEUES: Final = 8
"""Queues of a port of a commodity switch."""
MOST_QUEUES: Final = 1024
FULL_PACKET: Final = 1500.0
"""Bytes of a full packet on the wire: quantum of a deficit round where none is given."""
LEAST_QUANTUM: Final = 1.0
"""With smaller quanta a packet would wait for thousands of rounds."""

Choice = TypeVar("Choice", bound=StrEnum)


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


def check_choice(name: str, value: object, allowed: type[Choice]) -> Choice:
    """Finds a choice by its name."""
    if not isinstance(value, str) or value not in tuple(allowed):
        raise ConfigError(f"{name} is {shown(value)}: it must be one of {listed(value, allowed)}")
    return allowed(value)


def check_flag(name: str, value: object) -> bool:
    """Refuses what is neither true nor false."""
    if not isinstance(value, (bool, np.bool_)):
        raise ConfigError(f"{name} is {shown(value)}: it must be true or false")
    return bool(value)


def check_integer(name: str, value: object, *, at_least: int, at_most: int) -> int:
    """Refuses what is not a whole number in its bounds."""
    if not is_whole(value) or not at_least <= value <= at_most:
        raise ConfigError(f"{name} is {shown(value)}: it must be a whole number from {at_least} to {at_most}")
    return int(value)


def check_number(name: str, value: object, *, at_least: float = 0.0, above: float = -math.inf) -> float:
    """Refuses what is not a finite number in its bounds."""
    bound = f"> {above:g}" if above > -math.inf else f">= {at_least:g}"
    number = to_float(value)
    if not (math.isfinite(number) and number >= at_least and number > above):
        raise ConfigError(f"{name} is {shown(value)}: it must be a finite number {bound}")
    return number


def check_gap(name: str, value: object) -> float:
    """Refuses what is no silence in s; ``None`` and inf are one that never comes."""
    if value is None:
        return math.inf
    gap = to_float(value)
    if not gap > 0:
        raise ConfigError(f"{name} is {shown(value)}: it must be a time in s > 0, or none for never")
    return gap


def check_numbers(name: str, values: object, *, count: int | None = None, at_least: float = 0.0) -> FloatArray:
    """Makes an array of a list of finite numbers."""
    numbers = as_numbers(values)
    if numbers is None:
        raise ConfigError(f"{name} is {shown(values)}: it must be a list of numbers, such as [1, 2.5]")
    if not (np.isfinite(numbers) & (numbers >= at_least)).all():
        raise ConfigError(f"{name} is {shown(values)}: each must be finite and >= {at_least:g}")
    if count is not None and len(numbers) != count:
        raise ConfigError(f"{name} has {len(numbers)} numbers: it must have {count}")
    return numbers


def check_thresholds(thresholds: object, queues: object) -> FloatArray:
    """Refuses thresholds that do not increase, or are not one fewer than the queues.

    Args:
        thresholds: Thresholds in B between neighbouring queues.
        queues: Number of queues; ``None``: one more than thresholds.
    """
    limits = check_numbers("thresholds", thresholds)
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
