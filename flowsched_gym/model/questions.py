"""Says what a simulation asks an agent, beside which request a destination grants."""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Asks", "OrderQuestion", "PathQuestion"]


class Asks(IntEnum):
    """Says about what an agent is asked."""

    NOTHING = 0
    """About nothing, or about tokens."""
    ORDER = 1
    """Which of the flows that compete goes first, when one of them has begun to send or has sent its last byte."""
    PATH = 2
    """Which path a flow takes that arrives, where two or more are there."""


class OrderQuestion(NamedTuple):
    """Asks which flow goes first.

    Attributes:
        rows: The flows that compete, earliest arrival first, (count,).
    """

    rows: npt.NDArray[np.int64]


class PathQuestion(NamedTuple):
    """Asks for a path.

    Attributes:
        row: The flow.
        first: Row of its first path in the path table.
        last: Row behind its last path.
    """

    row: int
    first: int
    last: int
