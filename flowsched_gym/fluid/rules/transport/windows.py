"""Turns bytes of payload into bytes on the wire, and grows a sender's window from round to round."""

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.machine_code.decorators import rule


@rule
def wire_volume(size: FloatArray, segment: float, header: float, volume: FloatArray) -> None:
    """Adds one header to each begun segment.

    Args:
        size: Payloads in B, (num_flows,).
        segment: Payload of a full segment in B; 0 for a fluid without segments, whose volume is its size.
        header: Header of a segment in B.
        volume: Receives the bytes on the wire.
    """
    for row in range(len(size)):
        volume[row] = size[row]
        if segment > 0.0:
            volume[row] += np.ceil(size[row] / segment) * header


@rule
def next_window(window: float, exit_window: float, slow_start_growth: float, later_growth: float) -> float:
    """Returns the window of the next round, in the unit of the arguments.

    Args:
        window: Window of this round.
        exit_window: Window at which slow start ends.
        slow_start_growth: Factor per round in slow start, up to the exit window.
        later_growth: Factor per round after it.
    """
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

    Args:
        volume: Bytes on the wire, (num_flows,).
        capacity: Smallest capacity of each path in B/s.
        round_trip: Round-trip time of each path in s.
        window: Bytes on the wire of the first round; 0 for senders without a window.
        exit_window: Bytes at which slow start ends.
        slow_start_growth: Factor per round in slow start.
        later_growth: Factor per round after it.
        times: Receives the times in s from the first to the last byte sent.
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
