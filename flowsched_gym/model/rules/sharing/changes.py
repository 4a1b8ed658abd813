"""Shares links anew after some flows have changed, with what is remembered of the last time (``memory``)."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.compile import chosen_by_type, inlined_rule, rule
from flowsched_gym.model.rules.sharing.memory import Memory, MemoryOfFewLinks, forget_links, take_in, take_out
from flowsched_gym.model.rules.sharing.refilling import refill
from flowsched_gym.model.rules.sharing.resharing import begin_members, join_members, quit_members, reshare

__all__ = ["leave", "share_changes"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


def _begin_few(n: int, capacity: FloatArray, memory: Memory) -> None:
    """Begins with few links."""
    begin_members(n, capacity, memory)


def _begin_many(n: int, capacity: FloatArray, memory: Memory) -> None:
    """Begins with many links."""
    forget_links(n, capacity, memory)


def _put_on_few(
    n: int, row: int, level: int, path: int, path_start: IntArray, path_links: IntArray, memory: Memory
) -> None:
    """Puts a flow on links that are few."""
    join_members(n, row, level, path, path_start, path_links, memory)


def _put_on_many(
    n: int, row: int, level: int, path: int, path_start: IntArray, path_links: IntArray, memory: Memory
) -> None:
    """Puts a flow on links that are many."""
    take_in(n, row, level, path, path_start, path_links, memory)


def _take_from_few(n: int, row: int, rate: FloatArray, served: IntArray, num_served: int, memory: Memory) -> int:
    """Takes a flow from links that are few."""
    quit_members(n, row, memory)
    return num_served


def _take_from_many(n: int, row: int, rate: FloatArray, served: IntArray, num_served: int, memory: Memory) -> int:
    """Takes a flow from links that are many."""
    return take_out(row, rate, memory, served, num_served)


def _fill_few(n: int, rate: FloatArray, served: IntArray, num_served: int, memory: Memory) -> int:
    """Fills links that are few."""
    return reshare(n, rate, memory, served)


def _fill_many(n: int, rate: FloatArray, served: IntArray, num_served: int, memory: Memory) -> int:
    """Fills links that are many."""
    return refill(n, rate, memory, served, num_served)


WAYS: Final[Mapping[str, tuple[Any, Any]]] = {
    "_begin_links": (_begin_few, _begin_many),
    "_put_on_links": (_put_on_few, _put_on_many),
    "_take_from_links": (_take_from_few, _take_from_many),
    "_fill": (_fill_few, _fill_many),
}
"""What is done where links are few, and where they are many."""


def _way(name: str, memory: type) -> Any:
    """Finds what is done with the links of a memory."""
    few, many = WAYS[name]
    return few if memory is MemoryOfFewLinks else many


@chosen_by_type(_way)
def _begin_links(n: int, capacity: FloatArray, memory: Memory) -> None:
    """Begins with links without flows."""


@chosen_by_type(_way)
def _put_on_links(
    n: int, row: int, level: int, path: int, path_start: IntArray, path_links: IntArray, memory: Memory
) -> None:
    """Puts a flow on the links of its path."""


@chosen_by_type(_way)
def _take_from_links(n: int, row: int, rate: FloatArray, served: IntArray, num_served: int, memory: Memory) -> int:
    """Takes a flow from its links; returns how many flows have a rate, or will have had one at the next sharing."""
    raise NotImplementedError


@chosen_by_type(_way)
def _fill(n: int, rate: FloatArray, served: IntArray, num_served: int, memory: Memory) -> int:
    """Sets the rates; returns how many flows have one."""
    raise NotImplementedError


@rule
def share_changes(
    n: int,
    rows: IntArray,
    count: int,
    admitted: BoolArray,
    priority: IntArray,
    path: IntArray,
    capacity: FloatArray,
    path_start: IntArray,
    path_links: IntArray,
    rate: FloatArray,
    memory: Memory,
    served: IntArray,
    num_served: int,
) -> int:
    """Sets the rates of the live flows of network ``n`` as ``share_links`` does; returns how many have one.

    Flows of one priority share as equals, without a largest rate; priorities are 0 to num_classes - 1. A flow that has
    finished has to be taken out with ``leave`` before.

    Args:
        n: Number of the network.
        rows: Rows of the live flows that may have changed since, in its first ``count`` places, in any order; of all
            live ones where nothing is remembered.
        count: Number of these.
        admitted: Whether a flow may send.
        priority: Smaller is served first.
        path: Path of each flow.
        capacity: Capacities in B/s, (num_links,); the same as at the last call if anything is remembered.
        path_start: Where each path begins in ``path_links``.
        path_links: Links of all paths.
        rate: Rates in B/s; updated.
        memory: What is remembered; updated.
        served: Rows of the flows that have a rate, in its first places; updated.
        num_served: Number of flows that have had a rate; the rates of all other live ones are 0.
    """
    net = memory.networks[n]
    if not net.known:
        _begin(n, rows, count, capacity, rate, memory, served, num_served)
        num_served = np.int64(0)  # type: ignore[assignment]  # the literal would be of another type
    for place in range(count):
        row = rows[place]
        flow = memory.flows[row]
        if admitted[row] and flow.level == priority[row] + 1 and flow.path == path[row]:
            continue
        if flow.level > 0:
            num_served = _take_from_links(n, row, rate, served, num_served, memory)
        if not admitted[row]:
            continue
        _put_on_links(n, row, priority[row], path[row], path_start, path_links, memory)
    net.num_altered = 0
    return _fill(n, rate, served, num_served, memory)


@rule
def leave(n: int, row: int, rate: FloatArray, memory: Memory, served: IntArray, num_served: int) -> int:
    """Takes out a flow of network ``n`` that has finished; returns how many flows have a rate."""
    if memory.networks[n].known and memory.flows[row].level > 0:
        num_served = _take_from_links(n, row, rate, served, num_served, memory)
    return num_served


@inlined_rule
def _begin(
    n: int,
    rows: IntArray,
    count: int,
    capacity: FloatArray,
    rate: FloatArray,
    memory: Memory,
    served: IntArray,
    num_served: int,
) -> None:
    """Begins with links without flows."""
    for at in range(num_served):
        rate[served[at]] = 0.0
    for place in range(count):
        memory.flows[rows[place]].level = 0
        memory.flows[rows[place]].place = 0
    _begin_links(n, capacity, memory)
    memory.networks[n].known = True
