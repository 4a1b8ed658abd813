"""The decisions that a simulation asks of an agent, besides the grant of a token."""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import IntArray


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
