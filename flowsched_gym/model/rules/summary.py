"""What the agent of AuTO's thresholds sees, by clusters of hosts: flows finished, arrived and active.

Numbers that may grow without limit are squashed; sizes and completion times are shown on logarithmic scales.
"""

import math

import numpy as np
import numpy.typing as npt

from flowsched_gym.arrays import FloatArray, IntArray
from flowsched_gym.model.rules.compile import rule
from flowsched_gym.model.rules.numerics.compiled import natural_log
from flowsched_gym.model.rules.numerics.scaling import squash
from flowsched_gym.model.rules.numerics.sums import pairwise_sum
from flowsched_gym.model.rules.selection import select

__all__ = ["show_places", "summarise_active", "summarise_arrived", "summarise_finished"]

SeenArray = npt.NDArray[np.float32]


@rule
def summarise_finished(
    rows: IntArray,
    size: FloatArray,
    arrival_time: FloatArray,
    completion_time: FloatArray,
    source: IntArray,
    cluster_of: IntArray,
    class_ends: FloatArray,
    quantiles: FloatArray,
    time_unit: float,
    scratch: FloatArray,
    group_of: IntArray,
    ends: IntArray,
    share_at: IntArray,
    shown: SeenArray,
    heights: FloatArray,
) -> None:
    """Describes flows that have finished, by cluster and class of size.

    A quantile is the smallest value that so large a share of the others does not exceed. Of a cluster, ``heights``
    receives for each class the quantiles of size in B and then those of completion time, and behind the classes the
    mean completion time; nothing where there are no flows.

    Args:
        rows: The flows, (count,).
        cluster_of: Cluster of each host, (num_hosts,).
        class_ends: Largest sizes in B of all classes but the last, increasing, (num_classes - 1,).
        quantiles: Shares in (0, 1], increasing, (num_quantiles,).
        time_unit: Unit of the completion times that are received, in s.
        scratch: Room for sizes and completion times, (4 * count,).
        group_of: Room for the number of each flow's cluster and class among those of all clusters, (count,).
        ends: Room for counts of these, (num_clusters * num_classes,).
        share_at: Where the share of each cluster and class in all flows is shown, (num_clusters * num_classes,).
        shown: Receives these.
        heights: Receives the rest, (num_clusters, at least num_classes * 2 * num_quantiles + 1).
    """
    count, num_classes = len(rows), len(class_ends) + 1
    in_order, room = 2 * count, 3 * count
    for group in range(len(ends)):
        ends[group] = 0
    for index in range(count):
        row = rows[index]
        group = cluster_of[source[row]] * num_classes
        for end in class_ends:
            if end < size[row]:
                group += 1
        group_of[index] = group
        ends[group] += 1
        scratch[in_order + index] = completion_time[row] - arrival_time[row]
    for group in range(1, len(ends)):
        ends[group] += ends[group - 1]
    # Groups are filled from their ends, which become their beginnings.
    for index in range(count):
        group = group_of[index]
        ends[group] -= 1
        scratch[ends[group]] = size[rows[index]]
        scratch[count + ends[group]] = scratch[in_order + index]
    for cluster in range(len(heights)):
        first_group, last_group = cluster * num_classes, (cluster + 1) * num_classes
        at, begin = 0, ends[first_group]
        last = begin
        for group in range(first_group, last_group):
            first, last = last, ends[group + 1] if group + 1 < len(ends) else count
            if first < last:
                shown[share_at[group]] = (last - first) / count
                before = first
                for number in range(len(quantiles)):
                    index = first + math.ceil(quantiles[number] * (last - first)) - 1
                    heights[cluster, at + number] = select(scratch, before, last, index)
                    fct = select(scratch, count + before, count + last, count + index)
                    heights[cluster, at + len(quantiles) + number] = fct / time_unit
                    before = index
            at += 2 * len(quantiles)
        if begin < last:
            taken = room
            for index in range(count):
                if first_group <= group_of[index] < last_group:
                    scratch[taken] = scratch[in_order + index]
                    taken += 1
            heights[cluster, at] = pairwise_sum(scratch, room, taken) / (last - begin) / time_unit


@rule
def summarise_arrived(
    rows: IntArray,
    size: FloatArray,
    source: IntArray,
    cluster_of: IntArray,
    could_send: float,
    scratch: FloatArray,
    first: int,
    stride: int,
    shown: SeenArray,
) -> None:
    """Shows the bytes of flows that have arrived over what each cluster could send, squashed with the scale 1.

    Args:
        rows: The flows, (count,).
        cluster_of: Cluster of each host, (num_hosts,).
        could_send: Bytes that a cluster's links could send in this time; without any, there is no load.
        scratch: Room for the sums, (num_clusters,).
        first: Where the load of the first cluster is shown.
        stride: Places from one cluster's to the next one's.
        shown: Receives the loads.
    """
    for cluster in range(len(scratch)):
        scratch[cluster] = 0.0
    for index in range(len(rows)):
        scratch[cluster_of[source[rows[index]]]] += size[rows[index]]
    for cluster in range(len(scratch)):
        load = scratch[cluster] / could_send if could_send > 0.0 else 0.0
        shown[first + cluster * stride] = squash(load, 1.0)


@rule
def summarise_active(
    rows: IntArray,
    remaining: FloatArray,
    source: IntArray,
    queue: IntArray,
    num_queues: int,
    cluster_of: IntArray,
    live_scale: float,
    left_scale: float,
    scratch: FloatArray,
    first: int,
    stride: int,
    shown: SeenArray,
) -> None:
    """Shows the number of active flows in each queue of each cluster, and behind these the bytes that they have left.

    Args:
        rows: The active flows, (count,).
        remaining: Bytes left to send, (num_flows,).
        queue: Queues, (num_flows,).
        num_queues: Queues (K).
        cluster_of: Cluster of each host, (num_hosts,).
        live_scale: Number of flows that becomes one half.
        left_scale: Bytes that become one half.
        scratch: Room for the numbers, (num_clusters * (num_queues + 1),).
        first: Where those of the first cluster are shown.
        stride: Places from one cluster's to the next one's.
        shown: Receives them.
    """
    columns = num_queues + 1
    for index in range(len(scratch)):
        scratch[index] = 0.0
    for index in range(len(rows)):
        row = rows[index]
        cluster = cluster_of[source[row]]
        scratch[cluster * columns + queue[row]] += 1.0
        scratch[cluster * columns + num_queues] += remaining[row]
    for cluster in range(len(scratch) // columns):
        at = first + cluster * stride
        for k in range(num_queues):
            shown[at + k] = squash(scratch[cluster * columns + k], live_scale)
        shown[at + num_queues] = squash(scratch[cluster * columns + num_queues], left_scale)


@rule
def show_places(
    values: FloatArray, low: FloatArray, span: FloatArray, column: IntArray, stride: int, shown: SeenArray
) -> None:
    """Shows where values stand on logarithmic scales, from 0 to 1, cut to that.

    Args:
        values: The values of each cluster, > 0, (num_clusters, count).
        low: Logarithm at which the scale of each begins, (count,).
        span: How long it is, (count,).
        column: Where each is shown for the first cluster, (count,).
        stride: Places from one cluster's to the next one's.
        shown: Receives the indices.
    """
    for cluster in range(values.shape[0]):
        for number in range(values.shape[1]):
            height = (natural_log(values[cluster, number]) - low[number]) / span[number]
            shown[cluster * stride + column[number]] = min(max(height, 0.0), 1.0)
