"""A TCP sender and its receiver: what is acknowledged, what is lost, when the timer expires, what is sent next.

Loss detection is that of RFC 6675, reductions are proportional (PRR, RFC 6937), the timer is that of RFC 6298, as in
ns-3 and much as in Linux. Each acknowledgement tells all that its receiver had (SACK with room for every block). Those
of ``RENO`` tell the first segment that is missing alone: its sender repairs one loss in each round trip (RFC 6582), and
guesses by equal acknowledgements how many segments have left the network. Windows are in ``tcp_windows``.

The state of a sender, ``s``, has the fields of ``SENDER``: a row of that type in machine code, an object in SimPy.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.flows.state import FlowState
from flowsched_gym.machine_code.decorators import inlined_part
from flowsched_gym.packets.rules.tcp_windows import (
    CWR,
    LOSS,
    OPEN,
    RECOVERY,
    RENO,
    average_marks,
    begin_anew,
    begin_reduction,
    cut_for_loss,
    cut_for_marks,
    grow,
    reacts_to_marks,
    reduce_window,
)

UNSENT, SENT, LOST, RESENT, DELIVERED = range(5)
"""Fates of a segment as its sender knows them."""
NO_SEGMENT: Final = -1
REORDERED: Final = 3
"""Segments that must have been delivered behind one that counts as lost (DupThresh, RFC 6675)."""
SRTT_GAIN: Final = 0.125
VARIANCE_GAIN: Final = 0.25
VARIANCES: Final = 4.0
BACKOFF: Final = 2.0
MAX_RTO: Final = 120.0
"""Constants of the timer (RFC 6298); the longest one, in s, is Linux's."""

SENDER: Final = np.dtype(
    [
        *((name, "i8") for name in ("first", "last", "state", "una", "next", "pipe", "num_lost", "lost_from")),
        *((name, "i8") for name in ("known", "edge", "top1", "top2", "top3", "recover")),
        *((name, "f8") for name in ("window", "slow_start_end", "credit", "share", "flight")),
        *((name, "i8") for name in ("round_end", "round_acknowledged", "round_marked", "prr_delivered", "prr_out")),
        *((name, "f8") for name in ("srtt", "variance", "rto", "deadline", "syn_time", "largest", "epoch", "origin")),
        *((name, "f8") for name in ("climb", "least_rtt", "train_begin", "train_last", "train_rtt")),
        *((name, "f8") for name in ("due", "part", "packet_part")),
        *((name, "i8") for name in ("train_end", "train_samples", "connected", "received", "latest", "missing")),
        *((name, "i8") for name in ("unanswered", "equal", "guessed", "room")),
        *((name, "i8") for name in ("timeouts", "recoveries", "cuts", "marks", "disordered", "drops")),
    ],
    align=True,
)
"""The state of a sender, segments being numbered through all flows.

``first`` and behind the last ``last``: its segments; ``una``: first one not acknowledged; ``next``: next one never
sent; ``pipe``: those thought to be on their way; ``known``: deliveries that it knows of; ``top1`` to ``top3``: the last
three delivered. ``recover``: what ends a reduction, ``flight``: packets on their way when it began. ``due``: its
deadline; ``part`` and ``packet_part``: its bytes, and those of a full packet, over those of the largest flow. Windows
are in packets, times in s. From ``largest`` to ``train_samples``: see ``tcp_windows``. ``received``: deliveries;
``latest``: the last segment of these; ``missing``: the first one that is not among them; ``unanswered``: those since
the last acknowledgement. ``equal``: acknowledgements that told nothing new; ``guessed``: segments behind ``una`` that
these stand for. ``room``: segments from ``una`` on for which the receiver has room. Then counts.
"""


class Segments(NamedTuple):
    """The segments of all flows, (num_segments,) each.

    Attributes:
        fate: What the sender knows of each.
        sent_time: When it was sent last, in s.
        delivery: Segments of each flow in the order in which they were delivered first.
        is_there: Whether it has been delivered.
    """

    fate: npt.NDArray[np.int8]
    sent_time: FloatArray
    delivery: IntArray
    is_there: npt.NDArray[np.int8]


@inlined_part
def receive(q: int, marked: bool, most: int, s: Any, segments: Segments) -> bool:
    """Takes a segment at its receiver; returns whether it is acknowledged at once.

    At the latest the one behind ``most`` - 1 others is, each that is there already, and each while one is missing or
    that fills a gap (RFC 5681, section 4.2).
    """
    if marked:
        s.marks += 1
    expected = s.missing
    if segments.is_there[q] == 0:
        segments.is_there[q] = 1
        segments.delivery[s.first + s.received] = q
        s.received += 1
        if q < s.latest:
            s.disordered += 1
        else:
            s.latest = q
        while s.missing < s.last and segments.is_there[s.missing] != 0:
            s.missing += 1
    s.unanswered += 1
    if s.unanswered < most and s.missing == expected + 1 and s.received == s.missing - s.first:
        return False
    s.unanswered = 0
    return True


@inlined_part
def note_received(row: int, size: float, is_last: bool, state: FlowState) -> None:
    """Notes a segment of so many bytes on the wire that its receiver has now, the last that was missing or not."""
    state.attained[row] = state.volume[row] if is_last else state.attained[row] + size
    state.remaining[row] = state.volume[row] - state.attained[row]


@inlined_part
def told(transport: int, s: Any) -> int:
    """Returns what an acknowledgement tells: how many segments have been delivered, or of ``RENO`` which is missing."""
    number: int = s.missing if transport == RENO else s.received
    return number


@inlined_part
def has_to_send(s: Any) -> bool:
    """Returns whether a sender lacks acknowledgements: it may send again what its receiver has."""
    return bool(s.una < s.last)


@inlined_part
def left_to_send(q: int, last: int, size: Any, header: float) -> float:
    """Returns the bytes of payload from a segment on to the last one of its flow, of bytes on the wire by segment."""
    left: float = (last - q) * (size[q] - header) + (size[last] - header)
    return left


@inlined_part
def connect(now: float, s: Any) -> None:
    """Takes the answer to the SYN, or begins without one; a SYN that was repeated is no sample of the round trip."""
    s.connected = 1
    if s.syn_time == s.syn_time:
        _sample(now - s.syn_time, s)
    s.deadline = np.inf


@inlined_part
def repeat_syn(now: float, s: Any) -> None:
    """Notes that the timer of a SYN has expired: it is sent again, and the next one waits twice as long."""
    s.timeouts += 1
    s.syn_time = np.nan
    s.rto = min(s.rto * BACKOFF, MAX_RTO)
    s.deadline = now + s.rto


@inlined_part
def acknowledge(
    now: float, count: int, marked: bool, min_rto: float, transport: int, s: Any, segments: Segments
) -> None:
    """Takes an acknowledgement: so many segments had been delivered, and the newest had a mark or not; see ``told``."""
    if transport == RENO:
        _acknowledge_first(now, count, min_rto, s, segments)
        return
    before, delivered, rtt = s.una, 0, np.nan
    while s.known < count:
        q = segments.delivery[s.first + s.known]
        s.known += 1
        delivered += 1
        fate = segments.fate[q]
        if fate == LOST:
            s.num_lost -= 1
        else:
            s.pipe -= 1
        if fate == SENT:
            rtt = now - segments.sent_time[q]
        segments.fate[q] = DELIVERED
        _note_delivered(q, s)
    while s.una < s.next and segments.fate[s.una] == DELIVERED:
        s.una += 1
    advanced = s.una > before
    if rtt == rtt:
        _sample(rtt, s)
    average_marks(delivered, marked, transport, s)
    lost = _find_losses(s, segments)
    if (s.state == CWR and s.una > s.recover) or (s.state >= RECOVERY and s.una >= s.recover):
        if s.state != LOSS:
            s.window = s.slow_start_end
        s.state = OPEN
    if lost > 0 and s.state <= CWR:
        if s.state == OPEN:
            begin_reduction(cut_for_loss(transport, s), s)
        s.state, s.recover = RECOVERY, s.next
        s.recoveries += 1
    elif marked and s.state == OPEN and s.una < s.last and reacts_to_marks(transport):
        # A window that is as small as it may be is not cut, but does not grow either.
        begin_reduction(cut_for_marks(now, transport, s), s)
        s.state, s.recover = CWR, s.next
        s.cuts += 1
    if s.state == CWR or s.state == RECOVERY:
        reduce_window(delivered, lost, advanced, transport, s)
    elif advanced:
        grow(now, delivered, rtt, transport, s)
    if advanced:
        _restart_timer(now, min_rto, s)


@inlined_part
def _acknowledge_first(now: float, missing: int, min_rto: float, s: Any, segments: Segments) -> None:
    """Takes an acknowledgement of all segments before one that is missing (RFC 6582).

    Each recovery restarts the timer once ("impatient", section 3.2), and sends while it lasts as ns-3 does: a segment
    for each that has left the network, if there is room at the receiver, and by PRR when a hole is filled.
    """
    head, delivered, rtt = s.una, missing - s.una, np.nan
    if delivered < 0:
        return
    for q in range(head, missing):
        if segments.fate[q] == LOST:
            s.num_lost -= 1
        elif segments.fate[q] == SENT:
            rtt = now - segments.sent_time[q]
        segments.fate[q] = DELIVERED
    s.una = missing
    if rtt == rtt:
        _sample(rtt, s)
    if delivered == 0:
        if s.una < s.next and s.state != LOSS:
            s.equal += 1
            s.guessed = min(s.guessed + 1, s.next - s.una - 1)
            if s.state == RECOVERY:
                s.window = float(s.pipe)
            _count_pipe(s)
            if s.equal == REORDERED and s.state == OPEN:
                begin_reduction(cut_for_loss(RENO, s), s)
                s.state, s.recover, s.edge = RECOVERY, s.next, s.una
                s.recoveries += 1
                _repair_first(s, segments)
                s.window = s.pipe + 1.0
        return
    s.equal = 0
    s.guessed = max(min(s.guessed - (delivered - 1), s.next - s.una - 1), 0)
    _count_pipe(s)
    restarts = True
    if s.state == RECOVERY and s.una < s.recover:
        restarts = head == s.edge
        if s.guessed > 0:
            _repair_first(s, segments)
        reduce_window(delivered, 0, True, RENO, s)
        _repair_first(s, segments)
        s.window = max(s.window, s.pipe + 1.0)
    else:
        if s.state == RECOVERY:
            s.window = s.slow_start_end
        if s.una >= s.recover:
            s.state = OPEN
        grow(now, 1, rtt, RENO, s)
    if restarts:
        _restart_timer(now, min_rto, s)


@inlined_part
def _count_pipe(s: Any) -> None:
    s.pipe = s.next - s.una - s.guessed - s.num_lost


@inlined_part
def _repair_first(s: Any, segments: Segments) -> None:
    """Notes that the first segment that is not acknowledged is lost."""
    if segments.fate[s.una] != LOST:
        segments.fate[s.una] = LOST
        s.num_lost += 1
    s.lost_from = s.una
    _count_pipe(s)


@inlined_part
def _restart_timer(now: float, min_rto: float, s: Any) -> None:
    s.rto = _first_rto(min_rto, s)
    s.deadline = now + s.rto if s.una < s.next else np.inf


@inlined_part
def expire(now: float, transport: int, s: Any, segments: Segments) -> None:
    """Notes that the timer has expired: all that is not acknowledged is lost, and the window begins anew at 1."""
    s.timeouts += 1
    begin_anew(transport, s)
    for q in range(s.una, s.next):
        if segments.fate[q] != DELIVERED and segments.fate[q] != LOST:
            segments.fate[q] = LOST
            s.num_lost += 1
    s.pipe = s.equal = s.guessed = 0
    s.lost_from = s.una
    s.state, s.recover = LOSS, s.next
    s.rto = min(s.rto * BACKOFF, MAX_RTO)
    s.deadline = now + s.rto


@inlined_part
def next_segment(s: Any, segments: Segments) -> int:
    """Returns the segment that a sender may send now, or ``NO_SEGMENT``.

    Lost ones come first, then new ones, then in recovery those that others have overtaken (RFC 6675, NextSeg).
    """
    if s.pipe + 1 > s.window:
        return NO_SEGMENT
    if s.num_lost > 0:
        while segments.fate[s.lost_from] != LOST:
            s.lost_from += 1
        lost: int = s.lost_from
        return lost
    if s.next < s.last and s.next - s.una < s.room:
        new: int = s.next
        return new
    if s.state == RECOVERY:
        for q in range(s.una, s.top1):
            if segments.fate[q] == SENT:
                return q
    return NO_SEGMENT


@inlined_part
def note_segment(now: float, q: int, s: Any, segments: Segments) -> None:
    """Notes that a segment is sent."""
    fate = segments.fate[q]
    segments.fate[q] = SENT if fate == UNSENT else RESENT
    if fate == UNSENT:
        s.next += 1
    elif fate == LOST:
        s.num_lost -= 1
    if fate != SENT:
        s.pipe += 1
    segments.sent_time[q] = now
    s.prr_out += 1
    if s.deadline == np.inf:
        s.deadline = now + s.rto


@inlined_part
def _note_delivered(q: int, s: Any) -> None:
    if q > s.top1:
        s.top1, s.top2, s.top3 = q, s.top1, s.top2
    elif q > s.top2:
        s.top2, s.top3 = q, s.top2
    elif q > s.top3:
        s.top3 = q


@inlined_part
def _find_losses(s: Any, segments: Segments) -> int:
    """Finds segments that were sent once, and behind which ``REORDERED`` have been delivered; returns how many."""
    found = 0
    for q in range(max(s.edge, s.una), s.top3):
        if segments.fate[q] == SENT:
            segments.fate[q] = LOST
            s.lost_from = min(s.lost_from, q) if s.num_lost > 0 else q
            s.num_lost += 1
            s.pipe -= 1
            found += 1
    s.edge = max(s.edge, s.top3)
    return found


@inlined_part
def _sample(rtt: float, s: Any) -> None:
    if s.srtt == s.srtt:
        s.variance += VARIANCE_GAIN * (abs(s.srtt - rtt) - s.variance)
        s.srtt += SRTT_GAIN * (rtt - s.srtt)
    else:
        s.srtt, s.variance = rtt, rtt / 2.0
    s.least_rtt = min(s.least_rtt, rtt)


@inlined_part
def _first_rto(min_rto: float, s: Any) -> float:
    return max(min_rto, s.srtt + VARIANCES * s.variance) if s.srtt == s.srtt else min_rto


def new_sender(first: int, last: int, *, min_rto: float, can_lose: bool, **own: float) -> tuple[Any, ...]:
    """Makes the state of a sender that has sent nothing, in the order of ``SENDER``.

    Its ``own`` are ``window``, ``room``, ``due``, ``part`` and ``packet_part``. One that cannot lose anything looks for
    no losses behind others that have been delivered.
    """
    values: dict[str, Any] = dict.fromkeys(SENDER.names or (), 0)
    values |= {"first": first, "last": last, "una": first, "next": first, "lost_from": first}
    values |= {"top1": NO_SEGMENT, "top2": NO_SEGMENT, "top3": NO_SEGMENT, "latest": NO_SEGMENT, "share": 1.0}
    values |= {"round_end": first, "train_end": first, "missing": first, "rto": min_rto, **own}
    values |= {"edge": first if can_lose else last}
    values |= dict.fromkeys(("slow_start_end", "deadline", "least_rtt", "train_rtt"), np.inf)
    values |= {"train_last": -np.inf}
    values |= dict.fromkeys(("srtt", "variance", "syn_time", "epoch"), np.nan)
    floats = {name for name in SENDER.names or () if SENDER[name].kind == "f"}
    return tuple(float(value) if name in floats else int(value) for name, value in values.items())
