"""Sorts flows into levels, by the bytes they have attained (LAS, multi-level feedback) or by their size (QSJF).

Besides, it reads the demotion thresholds of levels: whether they may be, and those that an action spreads.
"""

from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import SimulationError
from flowsched_gym.flows.state import Controls
from flowsched_gym.fluid.rules.ordering.keys import number_rows, sort_rows
from flowsched_gym.fluid.rules.transport.progress import TIME_TOLERANCE, time_after
from flowsched_gym.machine_code.decorators import rule

LEVEL_TOLERANCE: Final = 1e-10
"""Flows whose attained bytes differ by less than this part count as equal; it absorbs rounding of event times."""


@rule
def share_least_attained(
    now: float, active: IntArray, count: int, attained: FloatArray, rate: FloatArray, priority: IntArray
) -> None:
    """Serves the least attained bytes first; equals share (LAS).

    Equal means within ``LEVEL_TOLERANCE``, and within what the fastest flow sends in the rounding of the time.
    ``priority`` receives the levels, 0, 1, ...
    """
    sort_rows(active, count, attained, attained, attained)
    fastest = 0.0
    for index in range(count):
        fastest = max(fastest, rate[active[index]])
    level = 0
    for index in range(count):
        if index > 0:
            behind, ahead = attained[active[index - 1]], attained[active[index]]
            if ahead - behind > fastest * (now * TIME_TOLERANCE) + behind * LEVEL_TOLERANCE:
                level += 1
        priority[active[index]] = level


@rule
def catch_up_time(
    now: float, active: IntArray, count: int, attained: FloatArray, priority: IntArray, rate: FloatArray
) -> float:
    """Returns the absolute time in s at which a level of ``share_least_attained`` reaches the next; inf for never."""
    soonest = np.inf
    first = 0
    while first < count:
        last = first
        fastest = 0.0
        while last < count and priority[active[last]] == priority[active[first]]:
            fastest = max(fastest, rate[active[last]])
            last += 1
        index = last
        while index < count and priority[active[index]] == priority[active[first]] + 1:
            gap = attained[active[index]] - attained[active[first]]
            if fastest > rate[active[index]]:
                soonest = min(soonest, gap / (fastest - rate[active[index]]))
            index += 1
        first = last
    return time_after(now, soonest)


class FeedbackQueues(NamedTuple):
    """Queues of flows by the bytes that they have attained.

    Attributes:
        thresholds: Demotion thresholds in B, increasing, (groups of all networks, num_queues - 1).
        level: Queue of each flow, (num_flows,).
        entered: Time in s at which each flow entered its queue, (num_flows,).
        group: Group of hosts of each flow's source, (num_flows,).
        pinned: Queue to which a flow is pinned whatever it attains, -1 for none, (num_flows,).
        changed: Whether thresholds or pins have changed since the last sharing of the links, 1 or 0, (num_networks,).
    """

    share: bool
    num_groups: int
    thresholds: FloatArray
    level: IntArray
    entered: FloatArray
    group: IntArray
    pinned: IntArray
    changed: IntArray


@rule
def level_by_attained(
    now: float, n: int, active: IntArray, count: int, attained: FloatArray, controls: Controls, record: FeedbackQueues
) -> None:
    """Finds the level of each flow, the number of thresholds with attained >= threshold, and when it will change.

    After new thresholds a flow may find itself in a higher queue again, as its next packets would. Writes the levels as
    ``priority`` and the next threshold as ``review_at``: inf in the last level and where it is pinned, 0 if it is new.
    Raises a ``SimulationError`` if a flow is pinned to a level that is not there.
    """
    thresholds, level, review_at = record.thresholds, record.level, controls.review_at
    last = thresholds.shape[1]
    any_changed = record.changed[n] > 0
    record.changed[n] = 0
    for index in range(count):
        row = active[index]
        if attained[row] < review_at[row] and not any_changed:
            continue
        new_level = record.pinned[row]
        if new_level < 0:
            limits = n * record.num_groups + record.group[row]
            new_level = level[row]
            while new_level < last and attained[row] >= thresholds[limits, new_level]:
                new_level += 1
            while new_level > 0 and attained[row] < thresholds[limits, new_level - 1]:
                new_level -= 1
            review_at[row] = thresholds[limits, new_level] if new_level < last else np.inf
        else:
            if new_level > last:
                raise SimulationError(
                    "pinned is beyond the last queue: it must be -1, or 0 to the number of thresholds"
                )
            review_at[row] = np.inf
        controls.priority[row] = new_level
        if new_level != level[row]:
            level[row] = new_level
            record.entered[row] = now


@rule
def head_of_each_level(
    active: IntArray, count: int, level: IntArray, entered: FloatArray, priority: IntArray, share: bool
) -> None:
    """Converts levels, 0 the highest, to priorities: equals share, or go by the time in s at which they entered."""
    if share:
        for index in range(count):
            priority[active[index]] = level[active[index]]
    else:
        sort_rows(active, count, level, level, entered)
        number_rows(active, count, priority)


class WeightedQueues(NamedTuple):
    """Queues of flows and their weights.

    Attributes:
        share: Whether the flows of a queue share its part; otherwise its oldest has it alone.
        occupancy: Scratch, (num_queues,): flows per queue, or the row of its oldest.
    """

    share: bool
    weights: FloatArray
    queue: IntArray
    occupancy: IntArray


@rule
def weigh_queues(active: IntArray, count: int, entered: FloatArray, controls: Controls, record: WeightedQueues) -> None:
    """Shares a link among queues by weight, and inside a queue equally or first in, first out (weighted fair queueing).

    Writes ``weight``, and ``admitted`` where the flows of a queue do not share; ``entered`` as above.
    """
    share, queue, occupancy = record.share, record.queue, record.occupancy
    occupancy[:] = 0 if share else -1
    for index in range(count):
        row = active[index]
        if share:
            occupancy[queue[row]] += 1
            continue
        head = occupancy[queue[row]]
        if head == -1 or entered[row] < entered[head] or (entered[row] == entered[head] and row < head):
            occupancy[queue[row]] = row
    for index in range(count):
        row = active[index]
        if share:
            controls.weight[row] = record.weights[queue[row]] / occupancy[queue[row]]
        else:
            controls.weight[row] = record.weights[queue[row]]
            controls.admitted[row] = occupancy[queue[row]] == row


@rule
def are_limits(limits: FloatArray) -> bool:
    """Returns whether each row of thresholds in B, (num_rows, count), is positive, finite and increasing."""
    allowed = True
    for row in range(limits.shape[0]):
        before = 0.0
        for index in range(limits.shape[1]):
            limit = limits[row, index]
            allowed = allowed and before < limit < np.inf
            before = limit
    return allowed


@rule
def are_within(values: FloatArray, most: float) -> bool:
    """Returns whether each of some values, (count,), is a number from ``-most`` to ``most``."""
    allowed = True
    for value in values:
        allowed = allowed and abs(value) <= most
    return allowed


@rule
def spread_limits(action: FloatArray, bottom: float, top: float, step: float, logarithm: FloatArray) -> None:
    """Chooses the logarithms of thresholds, each between the one before, a step further, and what leaves room below.

    An action, (num_rows, count), from -1 to 1, says where they stand between these; all from ``bottom`` to ``top``.
    ``logarithm`` receives them, increasing in each row.
    """
    num_rows, count = action.shape
    for row in range(num_rows):
        low = bottom
        for index in range(count):
            high = top - step * (count - 1 - index)
            logarithm[row, index] = low + (action[row, index] + 1.0) / 2.0 * (high - low)
            low = logarithm[row, index] + step
