"""Holds between which paths each flow may choose, and how paths can be chosen."""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Routes", "RoutingKind", "new_routes"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class RoutingKind(IntEnum):
    """Numbers the ways to choose a path; ``model/rules/routing.py`` says what each of them does."""

    ECMP = 0
    LEAST_LOADED = 1
    CONGA = 2
    MEMR = 3
    MEMR_HOP_BY_HOP = 4


class Routes(NamedTuple):
    """Says between which paths each flow may choose, (num_flows,) each.

    Attributes:
        first: Row of the first path in the network's path table.
        last: Row behind the last path.
        hash: Hash of the flow, >= 0.
        destination: Receiving host.
        quiet_since: Absolute time in s since which the flow has had no rate, inf while it sends.
    """

    first: IntArray
    last: IntArray
    hash: IntArray
    destination: IntArray
    quiet_since: FloatArray


def new_routes(*, first: IntArray, last: IntArray, hash: IntArray, destination: IntArray) -> Routes:
    """Builds the routes of flows none of which has been without a rate."""
    return Routes(first=first, last=last, hash=hash, destination=destination, quiet_since=np.full(len(first), np.inf))
