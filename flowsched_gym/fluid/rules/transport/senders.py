"""Senders that lose nothing: their windows, and what headers add."""

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.machine_code.decorators import rule


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
