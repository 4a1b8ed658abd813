"""Senders that lose nothing: their windows, what headers add, and the queue of their token requests at a destination.

The queue (Artemis, section 3.4.1) is a row of an array between ``head`` and ``tail``; the scheduler sees a window of
its oldest requests.
"""

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.machine_code.decorators import inlined_rule, rule


@rule
def wire_volume(size: FloatArray, segment: float, header: float, volume: FloatArray) -> None:
    """Adds one header to each begun segment, all in B; the volume receives the bytes on the wire.

    A segment of 0 B stands for a fluid without segments, whose volume is its size.
    """
    for row in range(len(size)):
        volume[row] = size[row]
        if segment > 0.0:
            volume[row] += np.ceil(size[row] / segment) * header


@rule
def next_window(window: float, exit_window: float, slow_start_growth: float, later_growth: float) -> float:
    """Returns the window of the next round, in the unit of this one; after slow start it grows by another factor."""
    if window < exit_window:
        return min(window * slow_start_growth, exit_window)
    return window * later_growth


@rule
def isolated_times(
    volume: FloatArray,
    capacity: FloatArray,
    round_trip: FloatArray,
    window: float,
    exit_window: float,
    slow_start_growth: float,
    later_growth: float,
    times: FloatArray,
) -> None:
    """Finds how long flows send when they are alone on the network, pauses between rounds included.

    ``window`` is the bytes on the wire of the first round, 0 for senders without a window; it grows as in
    ``next_window``. Of each flow: the smallest capacity of its path in B/s, its round-trip time in s, and, received,
    the time in s from its first to its last byte sent, (num_flows,) each.
    """
    for row in range(len(volume)):
        left = volume[row]
        burst = window
        times[row] = 0.0
        while window > 0.0 and left > burst and burst < capacity[row] * round_trip[row]:
            times[row] += round_trip[row]
            left -= burst
            burst = next_window(burst, exit_window, slow_start_growth, later_growth)
        times[row] += left / capacity[row]


@inlined_rule
def take_request(requests: IntArray, head: int, slot: int) -> int:
    """Removes the request in a slot, counted from the oldest, from the queue at the indices head, head + 1, ...

    The others keep their order behind the new head, ``head + 1``. Returns the row of the flow whose request was taken.
    """
    row: int = requests[head + slot]
    for index in range(head + slot, head, -1):
        requests[index] = requests[index - 1]
    return row


@inlined_rule
def send_to_back(requests: IntArray, head: int, tail: int, slot: int) -> int:
    """Moves the request in a slot behind all others; the new queue is head + 1 to tail + 1. Returns its row."""
    row = take_request(requests, head, slot)
    requests[tail] = row
    return row


@inlined_rule
def take_out(rows: IntArray, first: int, count: int, row: int) -> int:
    """Removes a row from ``count`` entries at ``first``, the others keep their order; returns count - 1."""
    last = first + count - 1
    index = first
    while rows[index] != row:
        index += 1
    while index < last:
        rows[index] = rows[index + 1]
        index += 1
    return count - 1
