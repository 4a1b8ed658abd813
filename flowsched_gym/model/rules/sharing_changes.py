"""Shares links anew after some flows have changed, with what is remembered of the last time (``sharing_memory``)."""

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.compile import inlined_rule, rule
from flowsched_gym.model.rules.refilling import refill
from flowsched_gym.model.rules.resharing import begin_members, join_members, quit_members, reshare
from flowsched_gym.model.rules.sharing_memory import Memory, forget_links, take_in, take_out

__all__ = ["leave", "share_changes"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


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
            num_served = _take_out(n, row, rate, memory, served, num_served)
        if not admitted[row]:
            continue
        if memory.has_few_links:
            join_members(n, row, priority[row], path[row], path_start, path_links, memory)
        else:
            take_in(n, row, priority[row], path[row], path_start, path_links, memory)
    net.num_altered = 0
    if memory.has_few_links:
        return reshare(n, rate, memory, served)
    return refill(n, rate, memory, served, num_served)


@rule
def leave(n: int, row: int, rate: FloatArray, memory: Memory, served: IntArray, num_served: int) -> int:
    """Takes out a flow of network ``n`` that has finished; returns how many flows have a rate."""
    if memory.networks[n].known and memory.flows[row].level > 0:
        num_served = _take_out(n, row, rate, memory, served, num_served)
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
    if memory.has_few_links:
        begin_members(n, capacity, memory)
    else:
        forget_links(n, capacity, memory)
    memory.networks[n].known = True


@inlined_rule
def _take_out(n: int, row: int, rate: FloatArray, memory: Memory, served: IntArray, num_served: int) -> int:
    """Takes a flow from its links; returns how many flows have a rate, or will have had one at the next sharing."""
    if memory.has_few_links:
        quit_members(n, row, memory)
        return num_served
    return take_out(row, rate, memory, served, num_served)
