"""The growth of a TCP window by what is delivered, and what is left of it when it is cut, for packets and fluids alike.

RFC 5681, sections 3.1 and 3.2, in packets; DCTCP and its relatives (``packets.rules.tcp_windows``) cut by other parts.
"""

from typing import Final

from flowsched_gym.machine_code.decorators import inlined_part

HALF: Final = 0.5
"""Part by which a timeout cuts the end of slow start (RFC 5681, Eq. 4)."""
LEAST_IMMINENCE: Final = 0.5
MOST_IMMINENCE: Final = 2.0
"""Bounds of the imminence d (D2TCP, section 3.1)."""


@inlined_part
def window_growth(
    in_slow_start: bool, in_flight: float, slow_start_growth: float, later_growth: float, added_per_round: float
) -> float:
    """Returns the packets by which a window grows for each packet that is delivered, of those in flight in a round.

    In slow start it is 1 where each packet is acknowledged. After it, one part does not depend on the window, and some
    packets are added in each round trip, 1 in congestion avoidance.
    """
    return slow_start_growth if in_slow_start else later_growth + added_per_round / max(in_flight, 1.0)


@inlined_part
def cut_window(window: float, part: float, least: float) -> float:
    """Returns a window that has been cut by a part of it (TAFE, Eq. 5), at least so many packets."""
    return max(window * (1.0 - part), least)


@inlined_part
def imminence(needed: float, left: float) -> float:
    """Returns D2TCP's d: the time in s that a flow needs over the time left to its deadline, within bounds."""
    if needed >= MOST_IMMINENCE * left:
        return MOST_IMMINENCE
    return max(needed / left, LEAST_IMMINENCE)


@inlined_part
def average_share(share: float, fraction: float, gain: float) -> float:
    """Returns the average share of marks after a window of data of which this fraction was marked."""
    return share + gain * (fraction - share)


@inlined_part
def penalty(share: float, part_left: float, by_size: bool) -> float:
    """Returns the part by which marks cut a window: half the average share of marks (DCTCP), or by size (TAFE, Eq. 3).

    The part that is left are the bytes that the flow has left over the largest flow (1 / s of TAFE, Eq. 4).
    """
    return share * part_left if by_size else share / 2.0
