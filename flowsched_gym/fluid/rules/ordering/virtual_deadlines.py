"""Orders the flows of one link, so that the largest expansion ratio (slowdown) is smallest (MERP, Algorithm 2).

The flow that would have the smallest ratio if it were served last goes last; then the same among the others. Its ratio
is ``((now - arrival) * capacity + remaining bytes of all, its own included) / size``, with the original size below.
Equal ratios: last goes the flow with the larger ``remaining * size``, then the later arrival, then the higher row. The
virtual deadline of a flow is when it would finish if served in that order.

As flows are placed, the bytes of all others fall, and each ratio falls along a line. Two lines cross at most once. So
of many flows a tournament finds the smallest ratio: each match is played anew only when its loser may have caught up,
which takes n log(n)^2 steps in all, where comparing all takes n^2.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.machine_code.decorators import inlined_part, rule

Records = npt.NDArray[Any]

MATCH: Final = np.dtype([("winner", "i8"), ("valid_above", "f8"), ("due", "i8")])
"""A match: the row that wins, the bytes of all above which it is known to, and, as scratch, the matches to play."""

NOBODY: Final = -1
SPLITTER: Final = 2.0**13 + 1.0
"""Rounds to 40 of the 53 bits of float64 (Dekker, 1971), so that equal ratios are equal whatever their last bits."""
ROUNDING: Final = 4e-12
"""Ratios that differ by less than this part may compare either way, four times what is rounded off."""


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
    """Orders the flows of one link of this capacity in B/s, and finds when each would finish on it.

    Their ``rows`` are reordered, first to be served first; ``virtual_deadline`` receives absolute times in s.
    """
    total = 0.0
    for index in range(len(rows)):
        total += remaining[rows[index]]
    for last in range(len(rows) - 1, -1, -1):
        chosen, least = 0, np.inf
        for index in range(last + 1):
            row = rows[index]
            ratio = _ratio(now, capacity, total, row, size, arrival)
            if ratio < least or (ratio == least and goes_later(row, rows[chosen], size, arrival, remaining)):
                chosen, least = index, ratio
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


@inlined_part
def _ratio(now: float, capacity: float, total: float, row: int, size: FloatArray, arrival: FloatArray) -> float:
    """Returns the expansion ratio of a flow that is served behind ``total`` bytes, its own included, to 40 bits."""
    ratio: float = ((now - arrival[row]) * capacity + total) / size[row]
    shifted = ratio * SPLITTER
    return shifted - (shifted - ratio)


@rule
def virtual_deadlines_of_many(
    now: float,
    capacity: float,
    rows: IntArray,
    size: FloatArray,
    arrival: FloatArray,
    remaining: FloatArray,
    virtual_deadline: FloatArray,
    matches: Records,
) -> None:
    """Computes the same as ``virtual_deadlines``, sooner for many flows.

    ``matches`` is scratch, at least (2 * number of flows,) MATCH: a binary tree with the root 1, whose leaves are the
    flows.
    """
    count = len(rows)
    winner, valid_above = matches["winner"], matches["valid_above"]
    total = 0.0
    for index in range(count):
        row = rows[index]
        total += remaining[row]
        winner[count + index] = row
        valid_above[index] = np.inf
        valid_above[count + index] = -np.inf
    for last in range(count - 1, -1, -1):
        _play(now, capacity, total, count, size, arrival, remaining, matches)
        row = winner[1]
        rows[last] = row
        virtual_deadline[row] = now + total / capacity
        total -= remaining[row]
        node = 1
        while node < count:
            valid_above[node] = np.inf
            node = 2 * node if winner[2 * node] == row else 2 * node + 1
        winner[node] = NOBODY


@inlined_part
def _play(
    now: float,
    capacity: float,
    total: float,
    count: int,
    size: FloatArray,
    arrival: FloatArray,
    remaining: FloatArray,
    matches: Records,
) -> None:
    """Plays the matches that may end otherwise now, each after those on which it depends."""
    winner, valid_above, due = matches["winner"], matches["valid_above"], matches["due"]
    num_due = 0
    if count > 1 and valid_above[1] >= total:
        due[0] = 1
        num_due = 1
    index = 0
    while index < num_due:
        for node in range(2 * due[index], 2 * due[index] + 2):
            if node < count and valid_above[node] >= total:
                due[num_due] = node
                num_due += 1
        index += 1
    for index in range(num_due - 1, -1, -1):
        node = due[index]
        one, other = winner[2 * node], winner[2 * node + 1]
        bound = -np.inf
        if one == NOBODY or other == NOBODY:
            winner[node] = max(one, other)
        else:
            mine = _ratio(now, capacity, total, one, size, arrival)
            theirs = _ratio(now, capacity, total, other, size, arrival)
            if theirs < mine or (theirs == mine and goes_later(other, one, size, arrival, remaining)):
                one, other = other, one
                mine, theirs = theirs, mine
            winner[node] = one
            bound = _caught_up(total, one, other, mine, theirs, size, arrival)
        valid_above[node] = max(bound, valid_above[2 * node], valid_above[2 * node + 1])


@inlined_part
def _caught_up(
    total: float, winner: int, loser: int, mine: float, theirs: float, size: FloatArray, arrival: FloatArray
) -> float:
    """Returns the bytes of all, at most ``total``, above which the smaller of two ratios certainly is the smaller one.

    The ratios of the winner and the loser are ``mine`` and ``theirs``.
    """
    if size[winner] == size[loser] and arrival[winner] == arrival[loser]:
        return -np.inf
    lead = theirs - mine - ROUNDING * (theirs + mine)
    if not lead > 0.0:
        return np.inf
    closing = 1.0 / size[loser] - 1.0 / size[winner]
    return total - lead / closing if closing > 0.0 else -np.inf
