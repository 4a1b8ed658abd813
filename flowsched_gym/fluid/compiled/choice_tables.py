"""Lays out what networks need besides, in which paths are chosen, an order is asked for, or links fail."""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.periods import Period
from flowsched_gym.fluid.pending_decisions import DecisionKind
from flowsched_gym.fluid.routes import Chooser, Routes, new_chooser, new_routes
from flowsched_gym.topology import Routing

IntArray = npt.NDArray[np.int64]
Rows = npt.NDArray[Any]

ROW: Final = np.uint32
"""Type of rows, paths and links: an unsigned index needs no look at whether it counts from the end."""

CHOICES: Final = np.dtype(
    [
        ("next_change", "i8"),  # index of the next change of a link among those of the network
        ("num_changes", "i8"),
        ("first_asked", "i8"),  # index of the first flow that is asked about
        ("periods", "i8"),  # periods that have begun
        ("counted", "i8"),  # flows that had been delivered when the last one began
        ("num_asked", "i8"),  # flows that are asked about: which goes first, or, one after the other, by which path
        ("last_asked", "i8"),  # index behind the last flow that competes, on the network or on a CPU
    ],
    align=True,
)
"""What a network keeps of its choices."""

LINK_CHANGE: Final = np.dtype([("time", "f8"), ("link", "i8"), ("up", "?")], align=True)
"""A link fails or comes up again."""


class Choosing(NamedTuple):
    """What choices are made from.

    Attributes:
        choices: (num_networks,) CHOICES.
        asked: Rows that are asked about, (num_networks * num_rows,).
        changes: Changes of links, (num_networks * most_changes,) LINK_CHANGE.
        routes: Between which paths flows may choose, (num_networks * num_rows,) each; (0,) where paths stay.
        touched: Scratch, (num_links,), all 0 before and after.
        moved: Scratch, (num_active,).
        most_changes: Changes that a network can have.
        chooser: How paths are chosen; ``None`` where paths stay.
        asks: About what an agent is asked, an ``DecisionKind``.
        seconds: Length of a period in s, inf where flows are counted.
        flows: Flows that finish in a period, 0 where time is measured.
    """

    choices: Rows
    asked: IntArray
    changes: Rows
    routes: Routes
    touched: IntArray
    moved: IntArray
    most_changes: int
    chooser: Chooser | None
    asks: int
    seconds: float
    flows: int


def new_choosing(
    *,
    num_networks: int,
    num_rows: int,
    num_active: int,
    num_links: int,
    most_changes: int,
    routing: Routing | None,
    asks: DecisionKind,
    period: Period | None,
) -> Choosing:
    """Makes room for networks without flows; see ``Choosing``. Without a routing, paths stay."""
    moves = routing is not None
    nowhere = np.zeros(num_networks * num_rows if moves else 0, dtype=np.int64)
    return Choosing(
        choices=np.zeros(num_networks, dtype=CHOICES),
        asked=np.zeros(num_networks * num_rows, dtype=ROW),
        changes=np.zeros(num_networks * most_changes, dtype=LINK_CHANGE),
        routes=new_routes(first=nowhere, last=nowhere.copy(), hash=nowhere.copy(), destination=nowhere.copy()),
        touched=np.zeros(num_links, dtype=np.int64),
        moved=np.zeros(num_active, dtype=np.int64),
        most_changes=most_changes,
        chooser=None if routing is None else new_chooser(routing.kind, routing.flowlet_gap),
        asks=int(asks),
        seconds=np.inf if period is None or period.seconds is None else float(period.seconds),
        flows=0 if period is None or period.flows is None else int(period.flows),
    )
