"""What the agent of AuTO's thresholds may do, sees and is rewarded with.

It sees clusters of hosts: flows finished, arrived and active. Numbers that may grow without limit are squashed; sizes
and completion times are shown on logarithmic scales.
"""

import math
from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core import numerics
from flowsched_gym.core.arrays import FloatArray, IntArray, ObservationArray
from flowsched_gym.core.units import BYTES_PER_MEGABYTE, SECONDS_PER_MILLISECOND
from flowsched_gym.envs.columns import Column, Layout, named, writer
from flowsched_gym.envs.thresholds import CLASS_ENDS, CLASSES, ThresholdScale, height_of, write_thresholds
from flowsched_gym.flows.decisions import Order
from flowsched_gym.flows.fields import FlowColumns
from flowsched_gym.fluid.decision import AnyIntArray, Decision
from flowsched_gym.machine_code.decorators import allocating_part, inlined_part, rule
from flowsched_gym.machine_code.numerics import natural_log, pairwise_sum
from flowsched_gym.systems.auto.flows import (
    FlowUnits,
    five_tuple_columns,
    flow_columns,
    mean_fares,
    show_finished,
    squashed_units,
)
from flowsched_gym.systems.auto.thresholds.config import (
    SCALE,
    AuTOThresholdsConfig,
    ThresholdsObservation,
    ThresholdsReward,
)

TERMS: Final = tuple(str(term) for term in ThresholdsReward)
LOG_FCT, LOG_SLOWDOWN, FCT_RATIO = (
    TERMS.index(each) for each in (ThresholdsReward.LOG_FCT, ThresholdsReward.LOG_SLOWDOWN, ThresholdsReward.FCT_RATIO)
)
GO_ON: Final = int(Order.GO_ON)
FLOW_FIELDS: Final = (
    *((name, "i8") for name in ("flow_id", "source", "destination")),
    ("ideal_fct", "f8"),
    ("is_active", "i8"),  # scratch of an observation
)
EPISODE_FIELDS: Final = (
    # Of the last step in which a flow finished: the mean completion time in s, 0 before the first, and two terms.
    *((name, "f8") for name in ("last_fct", "log_slowdown", "log_fct")),
)
# What becomes one half: active flows in a queue; bytes left in all queues of a cluster; finished flows, as in a period;
# size and time of a flow of medium size, which takes 8 ms alone at 1 Gbps.
ACTIVE_SCALE: Final = 10.0
LEFT_SCALE: Final = 100 * BYTES_PER_MEGABYTE
FINISHED_SCALE: Final = 500.0
SIZE_SCALE: Final = BYTES_PER_MEGABYTE
TIME_SCALE: Final = 10 * SECONDS_PER_MILLISECOND
TIME_UNIT: Final = 0.01 * SECONDS_PER_MILLISECOND
"""Unit of completion times in s, where their logarithmic scale begins."""
NUM_CLASSES: Final = len(CLASS_ENDS) + 1
MEDIAN: Final = 0.5
HIGH_QUANTILE: Final = 0.9
TIME_RANGE: Final = (TIME_UNIT, 10_000 * SECONDS_PER_MILLISECOND)
"""Ends in s of the logarithmic scale of completion times: six powers of ten, as many as that of sizes."""
TIME_SPAN: Final = float(numerics.log(TIME_RANGE[1] / TIME_RANGE[0]))
FLOW: Final = (
    *five_tuple_columns(),
    Column.squashed("size", "bytes of the flow", "B", SIZE_SCALE),
    Column.squashed("fct", "its completion time", "s", TIME_SCALE),
)
STEP: Final = (Column.squashed("finished", "flows that finished in the step", "flows", FINISHED_SCALE),)
CLASS: Final = (
    Column.fraction("{}_share", "share of its flows {} in all that finished in the step"),
    Column.fraction("{}_size_50", "50 % quantile of the size of flows {} (log)"),
    Column.fraction("{}_size_90", "90 % quantile of the size of flows {} (log)"),
    Column.fraction("{}_fct_50", "50 % quantile of the completion time of flows {} (log)"),
    Column.fraction("{}_fct_90", "90 % quantile of the completion time of flows {} (log)"),
)
CLUSTER: Final = (
    Column.fraction("mean_fct", "mean completion time of its flows (log)"),
    Column.squashed("load", "bytes that arrived in the step over what its links could send", "1", 1.0),
)
QUEUE: Final = (Column.squashed("live_{}", "active flows in queue {}", "flows", ACTIVE_SCALE),)
LEFT: Final = (Column.squashed("left", "bytes left to send", "B", LEFT_SCALE),)
THRESHOLD: Final = (Column.fraction("threshold_{}", "threshold {} (log)"),)
write_step, write_class, write_cluster = writer(STEP), writer(CLASS), writer(CLUSTER)
write_queue, write_left, write_threshold = writer(QUEUE), writer(LEFT), writer(THRESHOLD)


class ThresholdRules(NamedTuple):
    """The thresholds of each cluster of hosts, set for a period; see ``DecisionRules`` for the methods.

    Attributes:
        cluster_of: Cluster of each host, (num_hosts,), increasing.
        cluster_capacity: What the links of a cluster carry in B/s.
        num_shown: Finished flows that are observed; 0 where clusters are.
        units: Units in which their numbers are shown.
        rewarded: Index of the term that is the reward.
    """

    num_queues: int
    num_clusters: int
    cluster_of: IntArray
    cluster_capacity: float
    num_shown: int
    units: FlowUnits
    rewarded: int
    scale: ThresholdScale

    def act(self, decision: Decision, action: FloatArray) -> tuple[int, int, bool]:
        """Sets the thresholds, and begins the period."""
        n, count = decision.record_number, self.num_clusters
        thresholds = decision.record.thresholds[n * count : (n + 1) * count]
        write_thresholds(action.reshape(count, self.num_queues - 1), self.scale, thresholds)
        decision.record.changed[n] = 1
        return GO_ON, 0, False

    def observe(self, decision: Decision, observation: ObservationArray) -> None:
        """Describes the clusters, or shows the flows that finished last, the last one first."""
        observation[:] = 0.0
        if self.num_shown == 0:
            _show_clusters(self, decision, observation)
        else:
            first, count = decision.first_row, decision.num_delivered
            rows = decision.delivered[first + max(count - self.num_shown, 0) : first + count]
            show_finished(rows[::-1], flow_columns(decision), self.units, 0, observation)

    def reward(self, decision: Decision, num_before: int, terms: FloatArray) -> float:
        """Rewards for the flows that finished; ``ThresholdsReward`` has the terms.

        Where none did, the ratio is 1, and the others are what they were in the step before, 0 in the first.
        """
        n, episodes = decision.number, decision.episodes
        terms[FCT_RATIO] = 1.0
        if decision.num_delivered > num_before:
            rows = decision.delivered[decision.first_row + num_before : decision.first_row + decision.num_delivered]
            mean_fct, mean_slowdown, mean_ideal = mean_fares(rows, flow_columns(decision))
            if episodes["last_fct"][n] > 0.0:
                terms[FCT_RATIO] = episodes["last_fct"][n] / mean_fct
            episodes["last_fct"][n] = mean_fct
            episodes["log_slowdown"][n] = -natural_log(mean_slowdown)
            episodes["log_fct"][n] = -natural_log(mean_fct / mean_ideal)
        terms[LOG_SLOWDOWN], terms[LOG_FCT] = episodes["log_slowdown"][n], episodes["log_fct"][n]
        return float(terms[self.rewarded])


def threshold_rules(config: AuTOThresholdsConfig) -> ThresholdRules:
    """Makes the rules of an environment."""
    return ThresholdRules(
        num_queues=config.queues,
        num_clusters=config.clusters,
        cluster_of=np.arange(config.hosts) // config.hosts_per_cluster,
        cluster_capacity=config.cluster_capacity,
        num_shown=config.m_s if config.observation is ThresholdsObservation.PAPER else 0,
        units=squashed_units(config.hosts, SIZE_SCALE, TIME_SCALE),
        rewarded=TERMS.index(config.reward),
        scale=SCALE,
    )


def thresholds_layout(config: AuTOThresholdsConfig) -> Layout:
    """Lists the columns that the agent sees: of finished flows, or of clusters."""
    if config.observation is ThresholdsObservation.PAPER:
        return Layout(context=(), slot=FLOW, num_slots=config.m_s)
    queues, thresholds = ({k: k for k in range(first, config.queues)} for first in (0, 1))
    classes, last = named(CLASS, CLASSES), named(THRESHOLD, thresholds)
    slot = (*classes, *CLUSTER, *named(QUEUE, queues), *LEFT, *last)
    return Layout(context=STEP, slot=slot, num_slots=config.clusters)


@rule
def select(values: FloatArray, first: int, last: int, index: int) -> float:
    """Returns the value that would stand at ``index`` if those from ``first`` to ``last - 1`` were sorted.

    They are rearranged: no larger ones before it, no smaller ones behind (C. A. R. Hoare, "Algorithm 65: Find", 1961).
    None is NaN.
    """
    low, high = first, last - 1
    while low < high:
        pivot = values[index]
        left, right = low, high
        while left <= right:
            while values[left] < pivot:
                left += 1
            while values[right] > pivot:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left += 1
                right -= 1
        if right < index:
            low = left
        if left > index:
            high = right
    value: float = values[index]
    return value


@allocating_part
def _show_clusters(rules: ThresholdRules, decision: Decision, observation: ObservationArray) -> None:
    """Writes the columns of ``thresholds_layout``, cluster by cluster.

    A quantile is the smallest value that so large a share of the others does not exceed.
    """
    first, begun_at = decision.first_row, decision.episodes["acted_at"][decision.number]
    since = first + decision.episodes["num_before"][decision.number]
    rows = decision.delivered[since : first + decision.num_delivered]
    flows = flow_columns(decision)
    could_send = rules.cluster_capacity * (decision.now - begun_at)
    arrived, left = np.zeros(rules.num_clusters), np.zeros(rules.num_clusters)
    num_active = np.zeros((rules.num_clusters, rules.num_queues))
    is_active = decision.flows["is_active"]
    for index in range(decision.first_active, decision.first_active + decision.num_active):
        is_active[decision.active[index]] = 1
    for row in range(first, first + decision.num_flows):
        cluster = rules.cluster_of[flows.source[row]]
        if begun_at < flows.arrival_time[row] <= decision.now:
            arrived[cluster] += flows.size[row]
        if is_active[row] == 1:
            is_active[row] = 0
            num_active[cluster, flows.queue[row]] += 1.0
            left[cluster] += flows.remaining[row]
    sizes, fcts, mean_fcts = np.empty(len(rows)), np.empty(len(rows)), np.zeros(rules.num_clusters)
    begins = _group_finished(rules, rows, flows, sizes, fcts, mean_fcts)
    at = write_step(rules, observation, 0, finished=len(rows))
    for cluster in range(rules.num_clusters):
        for group in range(cluster * NUM_CLASSES, (cluster + 1) * NUM_CLASSES):
            first, last = begins[group], begins[group + 1]
            share = size_50 = size_90 = fct_50 = fct_90 = 0.0
            if first < last:
                share = (last - first) / len(rows)
                middle = first + math.ceil(MEDIAN * (last - first)) - 1
                high = first + math.ceil(HIGH_QUANTILE * (last - first)) - 1
                size_50 = height_of(select(sizes, first, last, middle), rules.scale)
                size_90 = height_of(select(sizes, middle, last, high), rules.scale)
                fct_50 = _height_of_time(select(fcts, first, last, middle))
                fct_90 = _height_of_time(select(fcts, middle, last, high))
            at = write_class(
                rules, observation, at, share=share, size_50=size_50, size_90=size_90, fct_50=fct_50, fct_90=fct_90
            )
        load = arrived[cluster] / could_send if could_send > 0.0 else 0.0
        at = write_cluster(rules, observation, at, mean_fct=mean_fcts[cluster], load=load)
        for k in range(rules.num_queues):
            at = write_queue(rules, observation, at, live=num_active[cluster, k])
        at = write_left(rules, observation, at, left=left[cluster])
        for threshold in decision.record.thresholds[decision.record_number * rules.num_clusters + cluster]:
            at = write_threshold(rules, observation, at, threshold=height_of(threshold, rules.scale))


@allocating_part
def _group_finished(
    rules: ThresholdRules, rows: AnyIntArray, flows: FlowColumns, sizes: FloatArray, fcts: FloatArray, means: FloatArray
) -> IntArray:
    """Groups flows that have finished by cluster and class of size.

    Writes their sizes and completion times, group by group, and the mean completion time of each cluster, on its scale.
    Returns where each group begins, (num_groups + 1,).
    """
    count = len(rows)
    fct_of, group_of = np.empty(count), np.empty(count, dtype=np.int64)
    begins = np.zeros(rules.num_clusters * NUM_CLASSES + 1, dtype=np.int64)
    for index in range(count):
        row = rows[index]
        group = rules.cluster_of[flows.source[row]] * NUM_CLASSES
        for end in CLASS_ENDS:
            if end < flows.size[row]:
                group += 1
        group_of[index] = group
        begins[group] += 1
        fct_of[index] = flows.completion_time[row] - flows.arrival_time[row]
    for group in range(1, len(begins)):
        begins[group] += begins[group - 1]
    # Groups are filled from their ends, which become their beginnings.
    for index in range(count):
        group = group_of[index]
        begins[group] -= 1
        sizes[begins[group]] = flows.size[rows[index]]
        fcts[begins[group]] = fct_of[index]
    cluster_fcts = np.empty(count)
    for cluster in range(rules.num_clusters):
        taken = 0
        for index in range(count):
            if group_of[index] // NUM_CLASSES == cluster:
                cluster_fcts[taken] = fct_of[index]
                taken += 1
        if taken > 0:
            means[cluster] = _height_of_time(pairwise_sum(cluster_fcts, 0, taken) / taken)
    return begins


@inlined_part
def _height_of_time(seconds: float) -> float:
    """Returns where a time in s, > 0, stands on its logarithmic scale, from 0 to 1, cut to that."""
    return min(max(natural_log(seconds / TIME_UNIT) / TIME_SPAN, 0.0), 1.0)
