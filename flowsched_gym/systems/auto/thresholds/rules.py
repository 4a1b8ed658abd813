"""What the agent of AuTO's thresholds may do, sees and is rewarded with.

It sees clusters of hosts: flows finished, arrived and active. Numbers that may grow without limit are squashed; sizes
and completion times are shown on logarithmic scales. Of each cluster, columns are ``stride`` entries behind those of
the one before; ``cluster_of`` is the cluster of each host, (num_hosts,), increasing.
"""

import math
from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core import numerics
from flowsched_gym.core.arrays import FloatArray, IntArray, ObservationArray
from flowsched_gym.core.units import BYTES_PER_MEGABYTE, SECONDS_PER_MILLISECOND
from flowsched_gym.envs.columns import Column, Layout
from flowsched_gym.envs.thresholds import CLASS_ENDS, CLASSES, ThresholdScale, height_of, write_thresholds
from flowsched_gym.flows.fields import FlowColumns
from flowsched_gym.fluid.decision import AnyIntArray, Decision, Order
from flowsched_gym.machine_code.decorators import allocating_part, inlined_part, rule
from flowsched_gym.machine_code.numerics import natural_log, pairwise_sum, squash
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
QUANTILES: Final = (0.5, 0.9)
NUM_QUANTILES: Final = len(QUANTILES)
CLASS_STRIDE: Final = 1 + 2 * NUM_QUANTILES
"""Columns of a class of a cluster."""
TIME_RANGE: Final = (TIME_UNIT, 10_000 * SECONDS_PER_MILLISECOND)
"""Ends in s of the logarithmic scale of completion times: six powers of ten, as many as that of sizes."""
TIME_SPAN: Final = float(numerics.log(TIME_RANGE[1] / TIME_RANGE[0]))
FLOW: Final = (
    *five_tuple_columns(),
    Column.squashed("size", "bytes of the flow", "B", SIZE_SCALE),
    Column.squashed("fct", "its completion time", "s", TIME_SCALE),
)


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
        n, count = decision.number, self.num_clusters
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
    finished = Column.squashed("finished", "flows that finished in the step", "flows", FINISHED_SCALE)
    return Layout(context=(finished,), slot=_cluster_columns(config.queues), num_slots=config.clusters)


def _cluster_columns(num_queues: int) -> tuple[Column, ...]:
    """Describes a cluster."""
    classes: list[Column] = []
    for name, which in CLASSES.items():
        classes.append(Column.fraction(f"{name}_share", f"share of its flows {which} in all that finished in the step"))
        for what, of in (("size", "the size"), ("fct", "the completion time")):
            for percent in (round(100 * part) for part in QUANTILES):
                meaning = f"{percent} % quantile of {of} of flows {which} (log)"
                classes.append(Column.fraction(f"{name}_{what}_{percent}", meaning))
    return (
        *classes,
        Column.fraction("mean_fct", "mean completion time of its flows (log)"),
        Column.squashed("load", "bytes that arrived in the step over what its links could send", "1", 1.0),
        *(Column.squashed(f"live_{k}", f"active flows in queue {k}", "flows", ACTIVE_SCALE) for k in range(num_queues)),
        Column.squashed("left", "bytes left to send", "B", LEFT_SCALE),
        *(Column.fraction(f"threshold_{k}", f"threshold {k} (log)") for k in range(1, num_queues)),
    )


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
def _show_clusters(rules: ThresholdRules, decision: Decision, shown: ObservationArray) -> None:
    """Writes the columns of ``thresholds_layout``, cluster by cluster."""
    first, begun_at = decision.first_row, decision.episodes["acted_at"][decision.number]
    since = first + decision.episodes["num_before"][decision.number]
    rows = decision.delivered[since : first + decision.num_delivered]
    flows = flow_columns(decision)
    shown[0] = squash(float(len(rows)), FINISHED_SCALE)
    stride = (len(shown) - 1) // rules.num_clusters
    _show_finished(rows, flows, rules.cluster_of, stride, rules.scale, shown)
    could_send = rules.cluster_capacity * (decision.now - begun_at)
    sums = np.zeros(
        (rules.num_clusters, 1 + rules.num_queues + 1)
    )  # bytes that arrived; flows of each queue; bytes left
    is_active = decision.flows["is_active"]
    for index in range(decision.first_active, decision.first_active + decision.num_active):
        is_active[decision.active[index]] = 1
    for row in range(first, first + decision.num_flows):
        cluster = rules.cluster_of[flows.source[row]]
        if begun_at < flows.arrival_time[row] <= decision.now:
            sums[cluster, 0] += flows.size[row]
        if is_active[row] == 1:
            is_active[row] = 0
            sums[cluster, 1 + flows.queue[row]] += 1.0
            sums[cluster, 1 + rules.num_queues] += flows.remaining[row]
    for cluster in range(rules.num_clusters):
        at = 1 + cluster * stride + NUM_CLASSES * CLASS_STRIDE + 1
        shown[at] = squash(sums[cluster, 0] / could_send if could_send > 0.0 else 0.0, 1.0)
        for k in range(rules.num_queues):
            shown[at + 1 + k] = squash(sums[cluster, 1 + k], ACTIVE_SCALE)
        at += 1 + rules.num_queues
        shown[at] = squash(sums[cluster, 1 + rules.num_queues], LEFT_SCALE)
        thresholds = decision.record.thresholds[decision.number * rules.num_clusters + cluster]
        for k in range(rules.num_queues - 1):
            shown[at + 1 + k] = height_of(thresholds[k], rules.scale)


@allocating_part
def _show_finished(
    rows: AnyIntArray,
    flows: FlowColumns,
    cluster_of: IntArray,
    stride: int,
    scale: ThresholdScale,
    shown: ObservationArray,
) -> None:
    """Describes flows that have finished, by cluster and class of size.

    Shown are, of each class, its share in all of them, the quantiles of size and then those of completion time, and
    behind the classes the mean completion time of the cluster; nothing where there are no flows. A quantile is the
    smallest value that so large a share of the others does not exceed.
    """
    count, num_clusters = len(rows), cluster_of[-1] + 1
    sizes, fcts, fct_of = np.empty(count), np.empty(count), np.empty(count)
    group_of, ends = np.empty(count, dtype=np.int64), np.zeros(num_clusters * NUM_CLASSES, dtype=np.int64)
    for index in range(count):
        row = rows[index]
        group = cluster_of[flows.source[row]] * NUM_CLASSES
        for end in CLASS_ENDS:
            if end < flows.size[row]:
                group += 1
        group_of[index] = group
        ends[group] += 1
        fct_of[index] = flows.completion_time[row] - flows.arrival_time[row]
    for group in range(1, len(ends)):
        ends[group] += ends[group - 1]
    # Groups are filled from their ends, which become their beginnings.
    for index in range(count):
        group = group_of[index]
        ends[group] -= 1
        sizes[ends[group]] = flows.size[rows[index]]
        fcts[ends[group]] = fct_of[index]
    cluster_fcts = np.empty(count)
    for cluster in range(num_clusters):
        first_group, last_group = cluster * NUM_CLASSES, (cluster + 1) * NUM_CLASSES
        at, begin = 1 + cluster * stride, ends[first_group]
        last = begin
        for group in range(first_group, last_group):
            first, last = last, ends[group + 1] if group + 1 < len(ends) else count
            if first < last:
                shown[at] = (last - first) / count
                before = first
                for number in range(NUM_QUANTILES):
                    index = first + math.ceil(QUANTILES[number] * (last - first)) - 1
                    shown[at + 1 + number] = height_of(select(sizes, before, last, index), scale)
                    shown[at + 1 + NUM_QUANTILES + number] = _height_of_time(select(fcts, before, last, index))
                    before = index
            at += CLASS_STRIDE
        if begin < last:
            taken = 0
            for index in range(count):
                if first_group <= group_of[index] < last_group:
                    cluster_fcts[taken] = fct_of[index]
                    taken += 1
            shown[at] = _height_of_time(pairwise_sum(cluster_fcts, 0, taken) / (last - begin))


@inlined_part
def _height_of_time(seconds: float) -> float:
    """Returns where a time in s, > 0, stands on its logarithmic scale, from 0 to 1, cut to that."""
    return min(max(natural_log(seconds / TIME_UNIT) / TIME_SPAN, 0.0), 1.0)
