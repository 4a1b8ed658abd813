"""Lists what the compiled engine keeps of networks, hosts, flows, events and choices: records, side by side in memory.

What choices need is there only where paths are chosen, an order or a period is asked for, or links fail.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.core.periods import Period
from flowsched_gym.flows.decisions import DecisionKind
from flowsched_gym.fluid.rules.sharing import BLOCK
from flowsched_gym.topology import Routing
from flowsched_gym.topology.routes import Chooser, Routes, new_chooser, new_routes

Rows = npt.NDArray[Any]

ROW: Final = np.uint32
"""Type of rows, paths and links: an unsigned index needs no look at whether it counts from the end."""
NETWORK: Final = np.dtype(
    [
        ("now", "f8"),  # time in s
        ("advanced_to", "f8"),  # time up to which attained and remaining bytes are known
        ("wake", "f8"),  # when the next flow that sends needs attention
        ("request_time", "f8"),  # when the next request arrives
        ("num_flows", "i8"),
        ("arrived", "i8"),  # requests that have arrived
        ("delivered", "i8"),  # flows whose last byte has arrived
        ("num_active", "i8"),  # flows that have begun to send and not ended
        ("served", "i8"),  # those of them that have a rate
        ("timer_head", "i8"),  # index of the next timer
        ("timer_tail", "i8"),  # index behind the last timer
        ("num_destinations", "i8"),
        ("asking", "i8"),  # index of the destination that waits for a decision
        ("last_asking", "i8"),  # index of the one that waited last
        ("decision_due", "?"),  # whether destinations are looked at at the end of this instant
        ("sharing_due", "?"),  # whether links are shared at the end of this instant
        ("in_order", "?"),  # whether requests arrive in the order of rows
        ("logged", "i8"),  # events in the log
    ],
    align=True,
)
"""Two cache lines."""
TIMER: Final = np.dtype([("time", "f8"), ("kind", "i4"), ("row", ROW)], align=True)
"""Something that happens to a flow at a known time; sorted by (time, kind, row)."""
FLOW_FIELDS: Final = (
    # One line for flows that send,
    *((name, "f8") for name in ("attained", "remaining", "rate", "review_at", "weight")),
    ("priority", "i4"),
    ("path", ROW),
    *((name, BLOCK[name]) for name in BLOCK.names or ()),
    ("admitted", "?"),
    ("postponed", "?"),  # room for systems that keep it (``flow_fields``), where records have a gap
    ("destination_index", ROW),  # index of its destination among those of the network
    # and one for those that wait.
    *(
        (name, "f8")
        for name in ("volume", "rate_cap", "arrival_time", "deadline", "size", "grant_time", "completion_time")
    ),
)
"""What is kept of a flow, side by side: the arrays that rules see are columns of these records. A thousand networks do
not fit into the caches; so a flow takes two cache lines, and not one of each of twenty arrays."""
WINDOW: Final = np.dtype([("window", "f8"), ("round_end", "f8")], align=True)
"""Segments that a sender sends in this round, and the absolute time in s at which the round ends."""
PATH: Final = np.dtype([("delay", "f8"), ("round_trip", "f8")], align=True)
"""One-way delay and round-trip time of a path in s."""
SCRATCH: Final = np.dtype([("finished", ROW), ("crossed", ROW)])
LOG_ENTRY: Final = np.dtype([("time", "f8"), ("kind", "i4"), ("row", ROW)], align=True)
CACHE_LINE: Final = 64
"""Bytes that memory hands over at once."""
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
LINK_CHANGE: Final = np.dtype([("time", "f8"), ("link", "i8"), ("up", "?")], align=True)


class Choosing(NamedTuple):
    """What choices are made from.

    Attributes:
        choices: (num_networks,) CHOICES.
        asked: Rows that are asked about, (num_networks * num_rows,).
        routes: Between which paths flows may choose, (num_networks * num_rows,) each; (0,) where paths stay.
        touched: Scratch, (num_links,), all 0 before and after.
        moved: Scratch, (num_active,).
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
    num_networks: int,
    num_rows: int,
    num_active: int,
    num_links: int,
    most_changes: int,
    *,
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


def aligned_zeros(count: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Makes a structured array that begins where a cache line does."""
    size = count * dtype.itemsize
    block = np.zeros(size + CACHE_LINE, dtype=np.uint8)
    offset = -block.ctypes.data % CACHE_LINE
    return block[offset : offset + size].view(dtype)
