"""Lays out what ``resharing`` keeps of networks of few links: the flows of each priority side by side."""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["BLOCK", "NO_LINK", "Members", "new_members"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Records = npt.NDArray[Any]

PRIORITY: Final = np.dtype([("first", "u4"), ("served", "u4")])
"""The place of its first member, and how many flows of higher priorities have a rate."""

FEW_LINK: Final = np.dtype(
    [
        ("open_flows", "i4"),  # flows whose rates are not fixed yet
        ("crossing", "u4"),  # one of its crossings, plus 1; 0 for none
        ("at", "u4"),  # its place among the open links
    ]
)
"""Scratch for a link."""

SHARER: Final = np.dtype(
    [
        ("least", "f8"),  # capacity in B/s of the tightest link of its path
        ("place", "u4"),  # among the members
        ("company", "i4"),  # flows on the link of its path that has most
        ("is_open", "?"),  # whether its rate is not fixed yet
    ],
    align=True,
)
"""Scratch for a member."""

CROSSING: Final = np.dtype([("sharer", "u4"), ("next", "u4")])
"""Scratch: a flow on a link, and the next crossing there, plus 1."""

NO_LINK: Final = 1
"""Links beside those of the network: one that is never full stands behind the end of short paths."""
BLOCK: Final = 16
"""Open links whose shares are compared in one go."""


class Members(NamedTuple):
    """Lists the flows that send, by priority.

    Attributes:
        priorities: (num_networks * (num_classes + 1),) PRIORITY; behind the last of a network its flows end.
        rows: Flows by network and priority, (num_flows,).
        paths: Links of each of these, (longest path, num_flows).
        given: Capacities in B/s that higher priorities leave, (as many as priorities, num_links + 1).
        links: (num_links + 1,) FEW_LINK.
        sharers: (flows of a network,) SHARER: members that are not shut out.
        crossings: (longest path * flows of a network,) CROSSING: those of all first links, of all second links, ...
    """

    priorities: Records
    rows: IntArray
    paths: IntArray
    given: FloatArray
    links: Records
    sharers: Records
    crossings: Records


def new_members(num_networks: int, num_classes: int, num_links: int, num_flows: int, longest: int) -> Members:
    """Makes room for networks without flows; the numbers are those of ``new_memory``."""
    num_priorities = num_networks * (num_classes + 1)
    most = num_flows // max(num_networks, 1)
    crossings = np.zeros((longest, most), dtype=CROSSING)
    crossings["sharer"] = np.arange(most)
    return Members(
        priorities=np.zeros(num_priorities, dtype=PRIORITY),
        rows=np.zeros(num_flows, dtype=np.uint32),
        paths=np.zeros((longest, num_flows), dtype=np.uint32),
        given=np.full((num_priorities, num_links + NO_LINK), np.inf),
        links=np.zeros(num_links + NO_LINK, dtype=FEW_LINK),
        sharers=np.zeros(most, dtype=SHARER),
        crossings=crossings.ravel(),
    )
