"""The windows of TCP senders: DCTCP (RFC 8257) and its kin, NewReno (RFC 5681), Cubic with HyStart (RFC 8312); fixed.

Growth, reductions (PRR, RFC 6937) and their order are those of Linux, in packets. ``s`` is the state of a sender, see
``tcp.SENDER``. Cubic keeps the window before the last cut (``largest``), when its present climb began in s (``epoch``),
the window at which that is flat (``origin``) and after how many s (``climb``), and HyStart's train of acknowledgements.
"""

from typing import Any, Final

import numpy as np

from flowsched_gym.flows.windows import HALF, average_share, cut_window, imminence, penalty
from flowsched_gym.machine_code.decorators import inlined_part
from flowsched_gym.machine_code.numerics import power

OPEN, CWR, RECOVERY, LOSS = range(4)
"""States of a sender, as Linux names them: a window that is free, cut by marks, by losses, or by its timer."""
FIXED, DCTCP, NEWRENO, CUBIC, D2TCP, TAFE, RENO = range(7)
GAIN: Final = 0.0625
"""Part of the newest share of marks in DCTCP's average (g)."""
MEAN_WINDOW: Final = 0.75
"""Mean of a window that marks cut by half, over its largest value (D2TCP, section 3.1)."""
LEAST_WINDOW: Final = 1.0
LEAST_CUT: Final = 2.0
"""Least window that a cut leaves (RFC 5681, Eq. 4)."""
MOST_WINDOW: Final = 4096.0
"""Packets on their way at most: about the 6 MB of Linux's largest receive buffer."""
CUBIC_KEEPS: Final = 0.7
"""Part of a window that Cubic keeps after a loss (beta)."""
CUBIC_SCALE: Final = 0.4
"""Cubic's C in packets per s**3."""
THIRD: Final = 1.0 / 3.0
SLOWEST: Final = 100.0
"""A window at or beyond its target grows by one for so many windows (Linux)."""
FASTEST: Final = 2.0
UNKNOWN: Final = 20.0
"""Least packets for which a window grows by one, and most before the first loss (Linux)."""
TRAIN_WINDOW: Final = 16.0
TRAIN_GAP: Final = 2e-3
"""HyStart watches windows from so many packets on, and acknowledgements at most so many s apart."""
TRAIN_SAMPLES: Final = 8
TRAIN_DELAY: Final = 4e-3
"""Round trips of a train that are looked at, and least part in s by which they show a queue."""


@inlined_part
def reacts_to_marks(transport: int) -> bool:
    """Returns whether marks cut windows."""
    return transport in (DCTCP, D2TCP, TAFE)


@inlined_part
def average_marks(delivered: int, marked: bool, transport: int, s: Any) -> None:
    """Counts marks, and averages their share at the end of each window of data (RFC 8257, section 3.3).

    The first window is what has been sent when the first acknowledgement comes, where the RFC has one packet.
    """
    if not reacts_to_marks(transport):
        return
    if s.round_end == s.first:
        s.round_end = s.next
    s.round_acknowledged += delivered
    if marked:
        s.round_marked += delivered
    if s.una >= s.round_end:
        if s.round_acknowledged > 0:
            s.share = average_share(s.share, s.round_marked / s.round_acknowledged, GAIN)
        s.round_end = s.next
        s.round_acknowledged = s.round_marked = 0


@inlined_part
def cut_for_marks(now: float, transport: int, s: Any) -> float:
    """Returns what marks leave of a window: at least one packet, where Linux keeps two."""
    share, part_left = s.share, max(s.part - s.known * s.packet_part, 0.0)
    if transport == D2TCP:
        share = imminent_share(share, part_left / s.packet_part, s.window, s.srtt, s.due - now)
    return cut_window(s.window, penalty(share, part_left, transport == TAFE), LEAST_WINDOW)


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
def cut_for_loss(transport: int, s: Any) -> float:
    """Returns what a loss leaves of a window; DCTCP halves it as others do (RFC 8257, section 3.5)."""
    if transport == FIXED:
        return float(s.window)
    if transport != CUBIC:
        # The receiver's room may keep a window from being used (RFC 5681, Eq. 4).
        return cut_window(s.pipe if transport == RENO else s.window, HALF, LEAST_CUT)
    # Fast convergence (RFC 8312, section 4.6): who has less than before the last loss makes room for others.
    s.largest = s.window * (1.0 + CUBIC_KEEPS) / 2.0 if s.window < s.largest else s.window
    s.epoch = float("nan")
    kept: float = max(s.window * CUBIC_KEEPS, LEAST_CUT)
    return kept


@inlined_part
def begin_anew(transport: int, s: Any) -> None:
    """Lets a window begin anew at one packet after its timer has expired; Cubic knows of no window before (Linux)."""
    begin_reduction(cut_for_loss(transport, s) if s.state != LOSS else s.slow_start_end, s)
    if transport != FIXED:
        s.window = LEAST_WINDOW
    s.largest = 0.0


@inlined_part
def begin_reduction(end: float, s: Any) -> None:
    """Begins to bring a window down to this end."""
    s.flight = float(max(s.next - s.una, 1))
    s.prr_delivered = s.prr_out = 0
    s.credit = 0.0
    s.slow_start_end = end


@inlined_part
def reduce_window(delivered: int, lost: int, advanced: bool, transport: int, s: Any) -> None:
    """Lets a sender send in proportion to what is delivered, until as much is on its way as the window is to be.

    The proportion is of what was on its way when the reduction began (RFC 6937, and ns-3); Linux takes the window.
    """
    if transport == FIXED or delivered == 0:
        return
    s.prr_delivered += delivered
    room = s.slow_start_end - s.pipe
    if room < 0.0:
        allowed = float(np.ceil(s.slow_start_end * s.prr_delivered / s.flight)) - s.prr_out
    else:
        allowed = float(max(s.prr_delivered - s.prr_out, delivered))
        if advanced and lost == 0:
            allowed += 1.0
        allowed = min(room, allowed)
    s.window = s.pipe + max(allowed, 0.0 if s.prr_out > 0 else 1.0)


@inlined_part
def grow(now: float, delivered: int, rtt: float, transport: int, s: Any) -> None:
    """Lets a window grow by so many delivered packets; the round trip of the newest in s is NaN where unknown."""
    if transport == FIXED:
        return
    left = float(delivered)
    if s.window < s.slow_start_end:
        if transport == CUBIC:
            _watch_train(now, rtt, s)
        window = min(s.window + left, s.slow_start_end)
        left -= window - s.window
        s.window = window
    if left > 0.0:
        _climb(left, _packets_for_one(now, s) if transport == CUBIC else s.window, s)
    s.window = min(s.window, MOST_WINDOW)


@inlined_part
def _climb(delivered: float, needed: float, s: Any) -> None:
    """Adds one to the window for so many packets that were delivered (Linux's ``tcp_cong_avoid_ai``)."""
    if s.credit >= needed:
        s.credit = 0.0
        s.window += 1.0
    s.credit += delivered
    if s.credit >= needed:
        whole = s.credit // needed
        s.credit -= whole * needed
        s.window += whole


@inlined_part
def _packets_for_one(now: float, s: Any) -> float:
    """Returns after how many packets Cubic's window grows by one: RFC 8312, section 4.1, in whole packets as in Linux.

    There is no region in which it grows as Reno does (section 4.2); ns-3.37 has none either.
    """
    if s.epoch != s.epoch:
        s.epoch = now
        missing = s.largest - s.window
        s.climb = power(missing / CUBIC_SCALE, THIRD) if missing > 0.0 else 0.0
        s.origin = max(s.largest, s.window)
    least_rtt = s.least_rtt if s.least_rtt < np.inf else 0.0  # all that was acknowledged has been sent twice
    ahead = now + least_rtt - s.epoch - s.climb
    packets = float(int(CUBIC_SCALE * abs(ahead * ahead * ahead)))
    target = s.origin + packets if ahead > 0.0 else s.origin - packets
    needed: float = s.window / (target - s.window) if target > s.window else SLOWEST * s.window
    if s.largest == 0.0:
        needed = min(needed, UNKNOWN)
    return max(needed, FASTEST)


@inlined_part
def _watch_train(now: float, rtt: float, s: Any) -> None:
    """Ends slow start where a train of acknowledgements is as long as the path, or round trips grow (HyStart)."""
    if s.window >= TRAIN_WINDOW:
        if now - s.train_last <= TRAIN_GAP:
            s.train_last = now
            if now - s.train_begin > s.least_rtt:
                s.slow_start_end = s.window
        if rtt == rtt:
            if s.train_samples < TRAIN_SAMPLES:
                s.train_rtt = min(s.train_rtt, rtt)
                s.train_samples += 1
            elif s.train_rtt > s.least_rtt + max(TRAIN_DELAY, s.least_rtt / 8.0):
                s.slow_start_end = s.window
    if s.una > s.train_end:
        s.train_end = s.next
        s.train_begin = s.train_last = now
        s.train_rtt = float("inf")
        s.train_samples = 0
