"""The windows of senders that are told of their losses: fixed ones, DCTCP's, D2TCP's and TAFE's.

DCTCP: Alizadeh et al., SIGCOMM 2010, and RFC 8257; D2TCP: Vamanan, Hasan, Vijaykumar, SIGCOMM 2012; TAFE: section IV-B.
"""

from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.flows.windows import HALF, average_share, cut_window, imminence, penalty, window_growth
from flowsched_gym.machine_code.decorators import inlined_part
from flowsched_gym.machine_code.numerics import power

GAIN: Final = 0.0625
"""Part of the newest share of marks in DCTCP's average (g)."""
LEAST_WINDOW: Final = 1.0
FIRST_SHARE: Final = 1.0
"""First average share of marks (RFC 8257, section 3.3)."""
MEAN_WINDOW: Final = 0.75
"""Mean of a window that marks cut by half, over its largest value (D2TCP, section 3.1)."""


class Deadlines(NamedTuple):
    """What D2TCP's senders know besides.

    Attributes:
        due: Absolute deadline of each flow in s, (num_flows,) float64, inf where there is none.
        round_start: When the present window of data began, in s, (num_flows,) float64; NaN for not yet.
        round_time: Time that the last one took, its round trip, in s, (num_flows,) float64; NaN before it ended.
    """

    due: FloatArray
    round_start: FloatArray
    round_time: FloatArray


class Windows(NamedTuple):
    """Windows of all senders, one for each flow; arrays are (num_flows,).

    Attributes:
        reacts: Whether they react to marks; fixed otherwise.
        by_size: Whether they are TAFE's, cut by what is left to send; DCTCP's otherwise.
        window: Packets that may be on their way, >= 1.
        slow_start_end: Window from which on it grows by one in each round trip.
        share: Average share of marked packets (DCTCP's alpha), from 0 to 1.
        outstanding: Packets on their way, or lost and not known to be.
        round_left: Packets whose fate ends the present window of data; of it so many are acknowledged, or marked.
        cut_left: Packets whose fate ends the window of data in which the window was last cut.
        part_left: Bytes not acknowledged over the largest flow, from 0 to 1.
        packet_part: Bytes of a full packet over the largest flow.
    """

    reacts: bool
    by_size: bool
    window: FloatArray
    slow_start_end: FloatArray
    share: FloatArray
    outstanding: IntArray
    round_left: IntArray
    round_acknowledged: IntArray
    round_marked: IntArray
    cut_left: IntArray
    part_left: FloatArray
    packet_part: FloatArray
    deadlines: Deadlines | None


@inlined_part
def may_send(row: int, windows: Windows) -> bool:
    """Returns whether the window of a flow has room for a packet."""
    room: bool = windows.outstanding[row] + 1 <= windows.window[row]
    return room


@inlined_part
def note_sent(row: int, windows: Windows) -> None:
    """Counts a packet that a flow sends."""
    windows.outstanding[row] += 1


@inlined_part
def acknowledge(now: float, row: int, marked: bool, windows: Windows) -> None:
    """Counts a packet that is acknowledged, and lets a window that reacts grow, or cuts it by the penalty of marks.

    A window of data is cut at most once.
    """
    if windows.reacts:
        windows.part_left[row] = max(windows.part_left[row] - windows.packet_part[row], 0.0)
        windows.round_acknowledged[row] += 1
        if marked:
            windows.round_marked[row] += 1
            if windows.cut_left[row] == 0:
                share = _estimate(windows.share[row], now, row, windows, windows.deadlines)
                part = penalty(share, windows.part_left[row], windows.by_size)
                window = cut_window(windows.window[row], part, LEAST_WINDOW)
                windows.window[row] = windows.slow_start_end[row] = window
                windows.cut_left[row] = windows.outstanding[row]
        else:
            window = windows.window[row]
            windows.window[row] += window_growth(window < windows.slow_start_end[row], window, 1.0, 0.0, 1.0)
    _settle(now, row, windows)


@inlined_part
def time_out(now: float, row: int, windows: Windows) -> None:
    """Notes that a packet was lost: a window that reacts begins anew at one packet, once in a window of data."""
    if windows.reacts and windows.cut_left[row] == 0:
        windows.slow_start_end[row] = cut_window(windows.window[row], HALF, LEAST_WINDOW)
        windows.window[row] = LEAST_WINDOW
        windows.cut_left[row] = windows.outstanding[row]
    _settle(now, row, windows)


@inlined_part
def _settle(now: float, row: int, windows: Windows) -> None:
    """Counts a packet whose fate is known; at the end of a window of data, averages the share of marks."""
    windows.outstanding[row] -= 1
    if not windows.reacts:
        return
    windows.cut_left[row] = max(windows.cut_left[row] - 1, 0)
    windows.round_left[row] -= 1
    if windows.round_left[row] <= 0:
        acknowledged = windows.round_acknowledged[row]
        if acknowledged > 0:
            windows.share[row] = average_share(windows.share[row], windows.round_marked[row] / acknowledged, GAIN)
        windows.round_left[row] = max(windows.outstanding[row], 1)
        windows.round_acknowledged[row] = 0
        windows.round_marked[row] = 0
        _note_round(now, row, windows.deadlines)


@inlined_part
def _estimate(share: float, now: float, row: int, windows: Windows, deadlines: Deadlines | None) -> float:
    """Returns the share of marks by which a window is cut, D2TCP's where there are deadlines."""
    if deadlines is None:
        return share
    packets_left = windows.part_left[row] / windows.packet_part[row]
    return imminent_share(share, packets_left, windows.window[row], deadlines.round_time[row], deadlines.due[row] - now)


@inlined_part
def imminent_share(share: float, packets_left: float, window: float, round_trip: float, left: float) -> float:
    """Returns the share of marks to the power of how imminent a deadline is, in so many s (D2TCP, section 3.1).

    The windows of data that are left, as large as they are in the mean that marks cut by half, each take a round trip
    in s. Without a deadline, or while that is NaN, the power is 1.
    """
    if left == np.inf or np.isnan(round_trip):
        return share
    return power(share, imminence(packets_left / (MEAN_WINDOW * window) * round_trip, left))


@inlined_part
def _note_round(now: float, row: int, deadlines: Deadlines | None) -> None:
    if deadlines is not None:
        deadlines.round_time[row] = now - deadlines.round_start[row]
        deadlines.round_start[row] = now
