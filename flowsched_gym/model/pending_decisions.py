"""The decisions that a simulation asks of an agent, besides the grant of a token."""

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from flowsched_gym.arrays import IntArray
from flowsched_gym.errors import ConfigError, shown

__all__ = ["DecisionKind", "OrderDecision", "PathDecision", "Period", "PeriodDecision"]


class DecisionKind(IntEnum):
    """Kinds of decisions that an agent is asked for."""

    NOTHING = 0
    """About nothing, or about tokens."""
    ORDER = 1
    """Which of the flows that compete goes first, when one of them has begun to send or has sent its last byte."""
    PATH = 2
    """Which path a flow takes that arrives, where two or more are there."""
    PERIOD = 3
    """How flows are to be controlled from now on, at the beginning and after each period."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """Length of a period: so much time, or so many flows. Exactly one is given.

    Attributes:
        seconds: Length in s, > 0.
        flows: Flows that finish in it, >= 1.

    Raises:
        ConfigError: Neither or both are given, or a value is not allowed.
    """

    seconds: float | None = None
    flows: int | None = None

    def __post_init__(self) -> None:
        if (self.seconds is None) == (self.flows is None):
            raise ConfigError(
                f"a period has seconds {shown(self.seconds)} and flows {shown(self.flows)}: exactly one is needed"
            )
        if self.seconds is not None and not 0 < self.seconds < math.inf:
            raise ConfigError(f"seconds of a period is {shown(self.seconds)}: it must be finite and > 0")
        if self.flows is not None and not self.flows >= 1:
            raise ConfigError(f"flows of a period is {shown(self.flows)}: it must be >= 1")


class PeriodDecision(NamedTuple):
    """A decision at the beginning of a period.

    Attributes:
        number: Number of the period that begins, from 0.
    """

    number: int

    @property
    def candidates(self) -> IntArray:
        """Flows to choose from: none."""
        return np.zeros(0, dtype=np.int64)


class OrderDecision(NamedTuple):
    """A decision which flow goes first.

    Attributes:
        rows: The flows that compete, earliest arrival first, (count,).
    """

    rows: IntArray

    @property
    def candidates(self) -> IntArray:
        """Flows to choose from."""
        return self.rows


class PathDecision(NamedTuple):
    """A decision which path a flow takes.

    Attributes:
        row: The flow.
        first: Row of its first path in the path table.
        last: Row behind its last path.
    """

    row: int
    first: int
    last: int

    @property
    def candidates(self) -> IntArray:
        """The flow, as an array of one row."""
        return np.array([self.row])
