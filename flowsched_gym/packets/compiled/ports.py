"""A port in compiled code: a packet arrives and waits, or is dropped; a transmission begins, and ends."""

from typing import Final

import numpy as np

from flowsched_gym.machine_code.decorators import inlined_part
from flowsched_gym.packets.compiled.queues import arrive, make_room, put, take
from flowsched_gym.packets.compiled.state import NONE, Tables
from flowsched_gym.packets.contract import BEYOND
from flowsched_gym.packets.rules.queues import count_arrival, count_drop, count_start, counted_size

TRACED: Final = 0
"""Port whose packets have a trace, where one is kept."""


@inlined_part
def begin_transmission(now: float, port: int, t: Tables) -> float:
    """Begins a transmission, and returns when it ends, in s."""
    ports = t.ports
    p = _take_out(port, t)
    end: float = now + t.table.size[p] / ports.capacity[port]
    ports.sending[port] = p
    if t.queue_counts.kept:
        count_start(port, t.packets.queue[p], now - t.packets.time[p], t.queue_counts)
    if t.rows.kept and port == TRACED:
        trace = t.rows.trace[t.rows.row[p]]
        trace.start_time = now
        trace.departure_time = end
    return end


@inlined_part
def _take_out(port: int, t: Tables) -> int:
    """Takes the packet that is to be sent next, which waits no more."""
    p = take(port, t)
    t.ports.waiting[port] -= 1
    t.ports.fill[port] -= counted_size(t.table.size[p], t.ports.limits)
    return p


@inlined_part
def drop_first(port: int, t: Tables) -> int:
    """Drops the packet that is to be sent next, and returns it."""
    p = _take_out(port, t)
    if t.queue_counts.kept:
        count_drop(port, t.packets.queue[p], t.queue_counts)
    return _note_drop(port, p, NONE, t)


@inlined_part
def end_transmission(port: int, t: Tables) -> int:
    """Ends a transmission, and returns its packet."""
    p: int = t.ports.sending[port]
    t.ports.sending[port] = NONE
    return p


@inlined_part
def receive(now: float, port: int, p: int, t: Tables) -> int:
    """Lets a packet wait, and returns the one that is dropped, if any: where bytes are counted, the first of a list.

    A mark stays.
    """
    ports, rows = t.ports, t.rows
    arrival = arrive(now, port, p, t)
    size = counted_size(t.table.size[p], ports.limits)
    before = ports.fill[port] if ports.waiting[port] > 0 else 0.0  # not what rounded parts of bytes have left
    marked = before + (0.0 if ports.limits.by_bytes else size) > ports.limits.unmarked[port]
    t.packets.marked[p] |= marked
    if rows.kept and port == TRACED:
        row = rows.written[0]
        rows.written[0] = row + 1
        rows.row[p] = row
        trace = rows.trace[row]
        trace.flow_id = t.table.flow[p]
        trace.size = t.table.size[p]
        trace.arrival_time = now
        trace.queue = arrival.queue
        trace.weight = arrival.weight
        trace.last_seen = arrival.last_seen
        trace.new_message = arrival.new_message
        trace.start_time = trace.departure_time = np.nan
        trace.dropped = False
        trace.marked = marked
    if t.queue_counts.kept and arrival.queue != BEYOND:
        t.packets.queue[p] = arrival.queue
        t.packets.time[p] = now
        count_arrival(port, arrival.queue, t.table.size[p], arrival.weight, marked, t.queue_counts)
    dropped = NONE
    if arrival.queue == BEYOND or size > ports.limits.room[port]:
        dropped = _note_drop(port, p, NONE, t)
    while dropped != p and ports.waiting[port] > 0 and ports.fill[port] + size > ports.limits.room[port]:
        last = make_room(port, p, arrival, t)
        if last != p:
            ports.waiting[port] -= 1
            ports.fill[port] -= counted_size(t.table.size[last], ports.limits)
        dropped = _note_drop(port, last, dropped, t)
    if t.queue_counts.kept and arrival.queue != BEYOND and dropped != NONE:
        count_drop(port, t.packets.queue[dropped], t.queue_counts)
    if dropped != p:
        put(port, p, arrival, t)
        ports.waiting[port] += 1
        ports.fill[port] += size
    return dropped


@inlined_part
def _note_drop(port: int, p: int, before: int, t: Tables) -> int:
    """Puts a packet that is dropped in front of those that were before."""
    t.packets.after[p] = before
    if t.rows.kept and port == TRACED:
        trace = t.rows.trace[t.rows.row[p]]
        trace.dropped = True
        trace.marked = False
    return p
