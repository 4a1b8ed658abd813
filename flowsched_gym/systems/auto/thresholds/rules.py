"""What the agent of AuTO's thresholds may do, sees and is rewarded with.

It sees clusters of hosts: flows finished, arrived and active. Numbers that may grow without limit are squashed; sizes
and completion times are shown on logarithmic scales. Of each cluster, columns are ``stride`` entries behind those of
the one before; ``cluster_of`` is the cluster of each host, (num_hosts,), increasing.
"""

import math
from typing import Final

import numpy as np
from gymnasium import spaces

from flowsched_gym.core import numerics
from flowsched_gym.core.arrays import FloatArray, IntArray, ObservationArray
from flowsched_gym.core.units import BYTES_PER_MEGABYTE, SECONDS_PER_MILLISECOND
from flowsched_gym.envs import FluidControl, NetworkView
from flowsched_gym.envs.actions import read_numbers
from flowsched_gym.envs.columns import Column, Layout
from flowsched_gym.envs.thresholds import CLASS_ENDS, CLASSES
from flowsched_gym.flows.fields import FlowColumns
from flowsched_gym.fluid.disciplines import Mlfq
from flowsched_gym.machine_code.decorators import allocating_rule, rule
from flowsched_gym.machine_code.numerics import natural_log, pairwise_sum, squash
from flowsched_gym.systems.auto.flows import five_tuple_columns, mean_fares, show_finished, squashed_units
from flowsched_gym.systems.auto.thresholds.config import (
    SCALE,
    AuTOThresholdsConfig,
    ThresholdsObservation,
    ThresholdsReward,
)

TERMS: Final = tuple(str(term) for term in ThresholdsReward)
LAST_FCT, LAST_LOG_SLOWDOWN, LAST_LOG_FCT, MEMORY_SIZE = range(4)
"""Indices in the memory: mean completion time in s of the last step in which a flow finished, 0 before the first, and
what two terms were then."""
FIRST_RATIO: Final = 1.0
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
TIME_RANGE: Final = (TIME_UNIT, 10_000 * SECONDS_PER_MILLISECOND)
"""Ends in s of the logarithmic scale of completion times: six powers of ten, as many as that of sizes."""
FLOW: Final = (
    *five_tuple_columns(),
    Column.squashed("size", "bytes of the flow", "B", SIZE_SCALE),
    Column.squashed("fct", "its completion time", "s", TIME_SCALE),
)


class ThresholdsControl(FluidControl[FloatArray]):
    """Control of the thresholds of each cluster, with those until the first action, (num_clusters, num_queues - 1)."""

    memory_size = MEMORY_SIZE
    terms = TERMS

    def __init__(self, config: AuTOThresholdsConfig, initial_thresholds: FloatArray) -> None:
        self.layout = thresholds_layout(config)
        self.action_space = spaces.Box(-1.0, 1.0, (config.clusters * config.num_thresholds,), np.float32)
        self._config, self._initial_thresholds = config, initial_thresholds
        self._summary = None if config.observation is ThresholdsObservation.PAPER else _Summary(config)
        self._units = squashed_units(config.hosts, SIZE_SCALE, TIME_SCALE)

    def new_discipline(self) -> Mlfq:
        """Makes the queues, in which flows obey the thresholds of their source's cluster."""
        config = self._config
        groups = np.arange(config.hosts) // config.hosts_per_cluster
        return Mlfq(self._initial_thresholds, config.within, groups if config.clusters > 1 else None)

    def check(self, action: object, name: str = "action") -> FloatArray:
        """Reads an action, and refuses what is not so many numbers in [-1, 1]."""
        return read_numbers(action, self._config.clusters * self._config.num_thresholds, name)

    def act(self, view: NetworkView, memory: FloatArray, action: FloatArray) -> None:
        """Sets the thresholds."""
        view.set_thresholds(SCALE.thresholds_of(action.reshape(self._config.clusters, -1)))

    def reward(self, view: NetworkView, memory: FloatArray) -> tuple[float, dict[str, float]]:
        """Rewards for the flows that finished."""
        terms = reward_terms(view, memory)
        return terms[self._config.reward], terms

    def observe(self, view: NetworkView, memory: FloatArray) -> ObservationArray:
        """Describes the clusters, or shows the flows that finished last, the last one first."""
        if self._summary is not None:
            return self._summary(view)
        shown = np.zeros(self.layout.size, dtype=np.float32)
        rows = view.delivered_between(max(view.num_delivered - self._config.m_s, 0), view.num_delivered)
        show_finished(rows[::-1].copy(), view.columns, self._units, 0, shown)
        return shown


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


def reward_terms(view: NetworkView, memory: FloatArray) -> dict[str, float]:
    """Returns the terms for a step, and remembers what the next one needs; see ``ThresholdsReward``.

    Where no flow finished, the ratio is 1, and the others are what they were in the step before, 0 in the first.
    """
    ratio = FIRST_RATIO
    rows = view.finished
    if len(rows):
        mean_fct, mean_slowdown, mean_ideal = mean_fares(rows, view.columns)
        if memory[LAST_FCT] > 0:
            ratio = float(memory[LAST_FCT]) / mean_fct
        memory[LAST_FCT] = mean_fct
        memory[LAST_LOG_SLOWDOWN] = -natural_log(mean_slowdown)
        memory[LAST_LOG_FCT] = -natural_log(mean_fct / mean_ideal)
    return {
        str(ThresholdsReward.LOG_FCT): float(memory[LAST_LOG_FCT]),
        str(ThresholdsReward.LOG_SLOWDOWN): float(memory[LAST_LOG_SLOWDOWN]),
        str(ThresholdsReward.FCT_RATIO): ratio,
    }


class _Summary:
    """An observation of the clusters: where shares, loads, active flows and heights on logarithmic scales are shown."""

    def __init__(self, config: AuTOThresholdsConfig) -> None:
        self._config = config
        names = [column.name for column in _cluster_columns(config.queues)]
        self._stride = len(names)
        self._load_at, self._active_at = (1 + names.index(name) for name in ("load", "live_0"))
        shares = np.array([1 + names.index(f"{name}_share") for name in CLASSES])
        self._share_at = (shares + self._stride * np.arange(config.clusters)[:, np.newaxis]).ravel()
        logarithmic = "_size_", "_fct_", "mean_fct", "threshold_"
        heights = [name for name in names if any(part in name for part in logarithmic)]
        self._height_at = np.array([1 + names.index(name) for name in heights])
        of_time = np.array(["fct" in name for name in heights])
        self._low = np.where(of_time, 0.0, SCALE.bottom)
        self._span = np.where(of_time, numerics.log(TIME_RANGE[1] / TIME_RANGE[0]), SCALE.top - SCALE.bottom)
        self._cluster_of = np.arange(config.hosts) // config.hosts_per_cluster
        self._cluster_capacity = config.cluster_capacity
        # The logarithm of 1 is at the bottom of both scales, or below: so it stands for flows that are not there.
        self._nothing = np.ones((config.clusters, len(heights)))

    def __call__(self, view: NetworkView) -> ObservationArray:
        config, finished, flows = self._config, view.finished, view.columns
        shown = np.zeros(1 + config.clusters * self._stride, dtype=np.float32)
        shown[0] = len(finished) / (len(finished) + FINISHED_SCALE)
        heights = self._nothing.copy()
        heights[:, -config.num_thresholds :] = view.thresholds()
        cluster_of, stride = self._cluster_of, self._stride
        summarise_finished(finished, flows, cluster_of, self._share_at, shown, heights)
        could_send = self._cluster_capacity * view.period
        summarise_arrived(view.arrived, flows, cluster_of, could_send, self._load_at, stride, shown)
        summarise_active(view.active, flows, config.queues, cluster_of, self._active_at, stride, shown)
        show_heights(heights, self._low, self._span, self._height_at, stride, shown)
        return shown


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


@allocating_rule
def summarise_finished(
    rows: IntArray,
    flows: FlowColumns,
    cluster_of: IntArray,
    share_at: IntArray,
    shown: ObservationArray,
    heights: FloatArray,
) -> None:
    """Describes flows that have finished, by cluster and class of size.

    Args:
        share_at: Where the share of each cluster and class in all flows is shown, (num_clusters * num_classes,).
        heights: Receives of each cluster, for each class, the quantiles of size in B and then those of completion time,
            and behind the classes the mean completion time; nothing where there are no flows. A quantile is the
            smallest value that so large a share of the others does not exceed.
    """
    count = len(rows)
    sizes, fcts, fct_of = np.empty(count), np.empty(count), np.empty(count)
    group_of, ends = np.empty(count, dtype=np.int64), np.zeros(len(share_at), dtype=np.int64)
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
    for cluster in range(len(heights)):
        first_group, last_group = cluster * NUM_CLASSES, (cluster + 1) * NUM_CLASSES
        at, begin = 0, ends[first_group]
        last = begin
        for group in range(first_group, last_group):
            first, last = last, ends[group + 1] if group + 1 < len(ends) else count
            if first < last:
                shown[share_at[group]] = (last - first) / count
                before = first
                for number in range(NUM_QUANTILES):
                    index = first + math.ceil(QUANTILES[number] * (last - first)) - 1
                    heights[cluster, at + number] = select(sizes, before, last, index)
                    fct = select(fcts, before, last, index)
                    heights[cluster, at + NUM_QUANTILES + number] = fct / TIME_UNIT
                    before = index
            at += 2 * NUM_QUANTILES
        if begin < last:
            taken = 0
            for index in range(count):
                if first_group <= group_of[index] < last_group:
                    cluster_fcts[taken] = fct_of[index]
                    taken += 1
            heights[cluster, at] = pairwise_sum(cluster_fcts, 0, taken) / (last - begin) / TIME_UNIT


@allocating_rule
def summarise_arrived(
    rows: IntArray,
    flows: FlowColumns,
    cluster_of: IntArray,
    could_send: float,
    first: int,
    stride: int,
    shown: ObservationArray,
) -> None:
    """Shows the bytes of flows that have arrived over what each cluster could send, squashed, from ``first`` on."""
    arrived = np.zeros(cluster_of[-1] + 1)
    for index in range(len(rows)):
        arrived[cluster_of[flows.source[rows[index]]]] += flows.size[rows[index]]
    for cluster in range(len(arrived)):
        load = arrived[cluster] / could_send if could_send > 0.0 else 0.0
        shown[first + cluster * stride] = squash(load, 1.0)


@allocating_rule
def summarise_active(
    rows: IntArray,
    flows: FlowColumns,
    num_queues: int,
    cluster_of: IntArray,
    first: int,
    stride: int,
    shown: ObservationArray,
) -> None:
    """Shows the number of active flows in each queue of each cluster, and the bytes that they have left."""
    waiting = np.zeros((cluster_of[-1] + 1, num_queues + 1))
    for index in range(len(rows)):
        row = rows[index]
        cluster = cluster_of[flows.source[row]]
        waiting[cluster, flows.queue[row]] += 1.0
        waiting[cluster, num_queues] += flows.remaining[row]
    for cluster in range(len(waiting)):
        at = first + cluster * stride
        for k in range(num_queues):
            shown[at + k] = squash(waiting[cluster, k], ACTIVE_SCALE)
        shown[at + num_queues] = squash(waiting[cluster, num_queues], LEFT_SCALE)


@rule
def show_heights(
    values: FloatArray, low: FloatArray, span: FloatArray, column: IntArray, stride: int, shown: ObservationArray
) -> None:
    """Shows the heights of values > 0 on logarithmic scales, (num_clusters, count), from 0 to 1, cut to that.

    Args:
        low: Logarithm at which the scale of each begins, (count,).
        span: Length of that scale, (count,).
        column: Where each is shown for the first cluster, (count,).
    """
    for cluster in range(values.shape[0]):
        for number in range(values.shape[1]):
            height = (natural_log(values[cluster, number]) - low[number]) / span[number]
            shown[cluster * stride + column[number]] = min(max(height, 0.0), 1.0)
