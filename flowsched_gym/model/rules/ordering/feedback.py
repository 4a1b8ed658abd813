"""Sorts flows into levels: by the bytes they have attained (LAS, multi-level feedback) or by their size (QSJF)."""

from typing import Final

import numpy as np

from flowsched_gym.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.model.rules.compile import rule
from flowsched_gym.model.rules.transport.progress import TIME_TOLERANCE

__all__ = [
    "LEVEL_TOLERANCE",
    "catch_up_time",
    "head_of_each_level",
    "level_by_attained",
    "level_of_size",
    "share_least_attained",
    "weigh_queues",
]

LEVEL_TOLERANCE: Final = 1e-10
"""Flows whose attained bytes differ by less than this part count as equal; it absorbs rounding of event times."""


@rule
def share_least_attained(
    now: float, active: IntArray, count: int, attained: FloatArray, rate: FloatArray, priority: IntArray
) -> None:
    """Serves the least attained bytes first; equals share (LAS).

    Equal means within ``LEVEL_TOLERANCE``, and within what the fastest flow sends in the rounding of the time.

    Args:
        now: Time in s.
        active: Rows of the active flows in its first ``count`` entries; reordered by attained bytes.
        count: Number of active flows.
        attained: Bytes sent.
        rate: Rates in B/s up to now.
        priority: Receives the levels, 0, 1, ...
    """
    for index in range(1, count):
        row = active[index]
        hole = index
        while hole > 0 and (
            attained[active[hole - 1]] > attained[row]
            or (attained[active[hole - 1]] == attained[row] and active[hole - 1] > row)
        ):
            active[hole] = active[hole - 1]
            hole -= 1
        active[hole] = row
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
    """Returns the absolute time in s at which a level of ``share_least_attained`` reaches the next; inf for never.

    Args:
        now: Time in s.
        active: Rows of the active flows in its first ``count`` entries, in the order of priority.
        count: Number of active flows.
        attained: Bytes sent.
        priority: Levels, 0, 1, ...
        rate: Rates in B/s.
    """
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
    return now + soonest


@rule
def level_by_attained(
    now: float,
    n: int,
    active: IntArray,
    count: int,
    attained: FloatArray,
    thresholds: FloatArray,
    num_groups: int,
    group: IntArray,
    pinned: IntArray,
    level: IntArray,
    entered: FloatArray,
    unknown: IntArray,
    review_at: FloatArray,
    priority: IntArray,
) -> None:
    """Finds the level of each flow, the number of thresholds with attained >= threshold, and when it will change.

    After new thresholds a flow may find itself in a higher queue again, as its next packets would.

    Args:
        now: Time in s.
        n: Number of the network.
        active: Rows of the active flows in its first ``count`` entries.
        count: Number of active flows.
        attained: Bytes sent.
        thresholds: Demotion thresholds in B of each group of hosts, increasing, (num_groups of all, num_queues - 1).
        num_groups: Groups of hosts in a network.
        group: Group of each flow's source.
        pinned: Level at which a flow is held whatever it has attained, -1 for none.
        level: Level of each flow; updated.
        entered: Time in s at which the flow entered its level; updated.
        unknown: Whether flows of a network may have other levels than their attained bytes tell, for thresholds or
            levels that are held have changed: 1 or 0, (num_networks,); updated.
        review_at: Next threshold, inf in the last level and at a level that is held, 0 for a new flow; updated.
        priority: Levels; updated.
    """
    last = thresholds.shape[1]
    any_unknown = unknown[n] > 0
    unknown[n] = 0
    for index in range(count):
        row = active[index]
        if attained[row] < review_at[row] and not any_unknown:
            continue
        new_level = pinned[row]
        if new_level < 0:
            limits = n * num_groups + group[row]
            new_level = level[row]
            while new_level < last and attained[row] >= thresholds[limits, new_level]:
                new_level += 1
            while new_level > 0 and attained[row] < thresholds[limits, new_level - 1]:
                new_level -= 1
            review_at[row] = thresholds[limits, new_level] if new_level < last else np.inf
        else:
            review_at[row] = np.inf
        priority[row] = new_level
        if new_level != level[row]:
            level[row] = new_level
            entered[row] = now


@rule
def level_of_size(size: float, limits: FloatArray) -> int:
    """Returns the level of a flow by its original size: 0 for size <= limits[0], 1 for size <= limits[1], ..."""
    level = 0
    while level < len(limits) and size > limits[level]:
        level += 1
    return level


@rule
def head_of_each_level(
    active: IntArray, count: int, level: IntArray, entered: FloatArray, priority: IntArray, share: bool
) -> None:
    """Converts levels to priorities: equals share inside a level, or they are served in the order of entry.

    Args:
        active: Rows of the active flows in its first ``count`` entries; if they do not share, reordered by
            (level, entered, row).
        count: Number of active flows.
        level: Level of each flow, 0 is the highest.
        entered: Time in s at which the flow entered its level.
        priority: Receives the priorities.
        share: True to share inside a level, False to serve in the order of entry.
    """
    if share:
        for index in range(count):
            priority[active[index]] = level[active[index]]
        return
    for index in range(1, count):
        row = active[index]
        hole = index
        while hole > 0:
            other = active[hole - 1]
            if level[other] != level[row]:
                later = level[other] > level[row]
            elif entered[other] != entered[row]:
                later = entered[other] > entered[row]
            else:
                later = other > row
            if not later:
                break
            active[hole] = other
            hole -= 1
        active[hole] = row
    for index in range(count):
        priority[active[index]] = index


@rule
def weigh_queues(
    active: IntArray,
    count: int,
    queue: IntArray,
    queue_weight: FloatArray,
    entered: FloatArray,
    share: bool,
    admitted: BoolArray,
    weight: FloatArray,
    occupancy: IntArray,
) -> None:
    """Shares a link among queues by weight, and inside a queue equally or first in, first out (weighted fair queueing).

    Args:
        active: Rows of the active flows in its first ``count`` entries.
        count: Number of active flows.
        queue: Queue of each flow.
        queue_weight: Weights of the queues, > 0.
        entered: Time in s at which each flow joined its queue.
        share: True to share a queue's part among its flows, False to serve its oldest alone.
        admitted: Receives who may send.
        weight: Receives the weights.
        occupancy: Scratch, (num_queues,) int64: flows per queue, or the row of its oldest.
    """
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
            weight[row] = queue_weight[queue[row]] / occupancy[queue[row]]
        else:
            weight[row] = queue_weight[queue[row]]
            admitted[row] = occupancy[queue[row]] == row
