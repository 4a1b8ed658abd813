"""Orders flows by virtual deadlines, so that the largest expansion ratio (slowdown) is smallest (MERP, Algorithm 2).

On one link: the flow that would have the smallest ratio if it were served last goes last; then the same among the
others. Its ratio is ``((now - arrival) * capacity + remaining bytes of all, its own included) / size``, with the
original size below. Equal ratios: last goes the flow with the larger ``remaining * size``, then the later arrival, then
the higher row. The virtual deadline of a flow is when it would finish if served in that order.
"""

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.rules.compile import allocating_rule, rule

__all__ = ["NEW", "goes_later", "hold_until", "serve_by_virtual_deadline", "virtual_deadlines"]

NEW, WAITING, HEAD = 0, 1, 2
"""Standings of a flow: not ordered yet, ordered, ordered and the first of its network."""

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


@rule
def virtual_deadlines(
    now: float,
    capacity: float,
    rows: IntArray,
    size: FloatArray,
    arrival: FloatArray,
    remaining: FloatArray,
    virtual_deadline: FloatArray,
) -> None:
    """Orders the flows of one link, and finds when each would finish on it.

    Args:
        now: Time in s.
        capacity: Capacity of the link in B/s.
        rows: Rows of the flows on the link; reordered, first to be served first.
        size: Original sizes in B.
        arrival: Absolute arrival times in s.
        remaining: Bytes left.
        virtual_deadline: Receives absolute times in s.
    """
    total = 0.0
    for place in range(len(rows)):
        total += remaining[rows[place]]
    for last in range(len(rows) - 1, -1, -1):
        chosen, least = 0, np.inf
        for place in range(last + 1):
            row = rows[place]
            ratio = ((now - arrival[row]) * capacity + total) / size[row]
            if ratio < least or (ratio == least and goes_later(row, rows[chosen], size, arrival, remaining)):
                chosen, least = place, ratio
        row = rows[chosen]
        rows[chosen] = rows[last]
        rows[last] = row
        virtual_deadline[row] = now + total / capacity
        total -= remaining[row]


@rule
def goes_later(row: int, other: int, size: FloatArray, arrival: FloatArray, remaining: FloatArray) -> bool:
    """Breaks a tie of ratios: the larger ``remaining * size`` goes later, then the later arrival, the higher row."""
    work, other_work = remaining[row] * size[row], remaining[other] * size[other]
    if work != other_work:
        later = work > other_work
    elif arrival[row] != arrival[other]:
        later = arrival[row] > arrival[other]
    else:
        later = row > other
    return bool(later)


@allocating_rule
def serve_by_virtual_deadline(
    now: float,
    n: int,
    live: IntArray,
    count: int,
    size: FloatArray,
    arrival: FloatArray,
    remaining: FloatArray,
    path: IntArray,
    capacity: FloatArray,
    path_start: IntArray,
    path_links: IntArray,
    priority: IntArray,
    admitted: BoolArray,
    virtual_deadline: FloatArray,
    on_link: FloatArray,
    standing: IntArray,
    settings: FloatArray,
    held: FloatArray,
    strict: bool,
) -> None:
    """Serves the earliest effective virtual deadline first: the latest over the links of a flow's path.

    A link is ordered anew when a flow arrives that crosses it, and at every event where ``settings`` ask for it.

    Args:
        now: Time in s.
        n: Number of the network.
        live: Rows of its live flows in its first ``count`` places; reordered by deadline.
        count: Number of live flows.
        size: Original sizes in B.
        arrival: Absolute arrival times in s.
        remaining: Bytes left.
        path: Path of each flow.
        capacity: Capacities in B/s, (num_links,).
        path_start: Where each path begins in ``path_links``.
        path_links: Links of all paths.
        priority: Receives the places in the order.
        admitted: Receives who may send: nobody during a detection gap; in strict mode only flows that are first on
            every link of their path.
        virtual_deadline: Effective virtual deadlines in s; kept from event to event.
        on_link: Virtual deadlines in s on each link of a flow's path, (num_flows, longest path); kept likewise.
        standing: ``NEW``, ``WAITING`` or ``HEAD``; kept from event to event.
        settings: Gap in s when the next flow takes over from one that has finished; gap in s when a new order brings
            forward a flow that waited; 1 to order anew at every event.
        held: Until when, in s, nobody sends, (num_networks,); kept from event to event.
        strict: Whether flows send only where they are first.
    """
    fresh = False
    stale = np.full(len(capacity), settings[2] > 0.0)
    for place in range(count):
        row = live[place]
        if standing[row] == NEW:
            fresh = True
            for step in range(path_start[path[row]], path_start[path[row] + 1]):
                stale[path_links[step]] = True
    if fresh or settings[2] > 0.0:
        _order_links(
            now,
            live,
            count,
            size,
            arrival,
            remaining,
            path,
            capacity,
            path_start,
            path_links,
            stale,
            virtual_deadline,
            on_link,
        )
    for place in range(1, count):
        row = live[place]
        hole = place
        while hole > 0 and _is_behind(live[hole - 1], row, virtual_deadline, arrival):
            live[hole] = live[hole - 1]
            hole -= 1
        live[hole] = row
    first = standing[live[0]]
    if first != HEAD:
        gap = settings[0]
        for place in range(1, count):
            if standing[live[place]] == HEAD:
                gap = settings[1]
        held[n] = now + gap if first == WAITING else now
    taken = np.zeros(len(capacity), dtype=np.bool_)
    for place in range(count):
        row = live[place]
        standing[row] = HEAD if place == 0 else WAITING
        priority[row] = place
        admitted[row] = held[n] <= now
        if strict:
            for step in range(path_start[path[row]], path_start[path[row] + 1]):
                admitted[row] = admitted[row] and not taken[path_links[step]]
            for step in range(path_start[path[row]], path_start[path[row] + 1]):
                taken[path_links[step]] = True


@rule
def hold_until(now: float, n: int, held: FloatArray) -> float:
    """Returns the end of a network's detection gap in s, inf outside of one."""
    end: float = held[n]
    return end if end > now else np.inf


@rule
def _is_behind(row: int, other: int, virtual_deadline: FloatArray, arrival: FloatArray) -> bool:
    """Tells whether a flow is served after another: by deadline, arrival, row."""
    if virtual_deadline[row] != virtual_deadline[other]:
        behind = virtual_deadline[row] > virtual_deadline[other]
    elif arrival[row] != arrival[other]:
        behind = arrival[row] > arrival[other]
    else:
        behind = row > other
    return bool(behind)


@allocating_rule
def _order_links(
    now: float,
    live: IntArray,
    count: int,
    size: FloatArray,
    arrival: FloatArray,
    remaining: FloatArray,
    path: IntArray,
    capacity: FloatArray,
    path_start: IntArray,
    path_links: IntArray,
    stale: BoolArray,
    virtual_deadline: FloatArray,
    on_link: FloatArray,
) -> None:
    """Orders the flows of each stale link, and finds the effective virtual deadlines of all live flows."""
    place_of = np.zeros(len(capacity) + 1, dtype=np.int64)
    for place in range(count):
        for step in range(path_start[path[live[place]]], path_start[path[live[place]] + 1]):
            place_of[path_links[step] + 1] += 1
    for link in range(len(capacity)):
        place_of[link + 1] += place_of[link]
    rows_of = np.empty(place_of[-1], dtype=np.int64)
    filled = place_of[:-1].copy()
    for place in range(count):
        row = live[place]
        for step in range(path_start[path[row]], path_start[path[row] + 1]):
            rows_of[filled[path_links[step]]] = row
            filled[path_links[step]] += 1
    for link in range(len(capacity)):
        rows = rows_of[place_of[link] : place_of[link + 1]]
        if not stale[link] or len(rows) == 0:
            continue
        virtual_deadlines(now, capacity[link], rows, size, arrival, remaining, virtual_deadline)
        for row in rows:
            first = path_start[path[row]]
            for step in range(first, path_start[path[row] + 1]):
                if path_links[step] == link:
                    on_link[row, step - first] = virtual_deadline[row]
    for place in range(count):
        row = live[place]
        virtual_deadline[row] = 0.0
        for step in range(path_start[path[row] + 1] - path_start[path[row]]):
            virtual_deadline[row] = max(virtual_deadline[row], on_link[row, step])
