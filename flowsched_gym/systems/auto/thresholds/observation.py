"""How flows have fared in the period that has ended, and how the queues stand."""

from collections.abc import Callable
from typing import Final

import numpy as np

from flowsched_gym.core import numerics
from flowsched_gym.core.arrays import FloatArray, IntArray, ObservationArray
from flowsched_gym.core.units import BYTES_PER_MEGABYTE, SECONDS_PER_MILLISECOND
from flowsched_gym.envs import NetworkView
from flowsched_gym.envs.columns import Column, Layout
from flowsched_gym.systems.auto.flows import squashed_units
from flowsched_gym.systems.auto.rules import show_finished
from flowsched_gym.systems.auto.thresholds.config import AuTOThresholdsConfig, ThresholdsObservation
from flowsched_gym.systems.auto.thresholds.mapping import BOTTOM, TOP
from flowsched_gym.systems.auto.thresholds.rules import (
    ACTIVE_SCALE,
    CLASS_ENDS,
    LEFT_SCALE,
    QUANTILES,
    TIME_UNIT,
    show_heights,
    summarise_active,
    summarise_arrived,
    summarise_finished,
)

SIZE_SCALE: Final = BYTES_PER_MEGABYTE
"""Size in B that becomes one half: that of a flow of medium size."""
TIME_SCALE: Final = 10 * SECONDS_PER_MILLISECOND
"""Time in s that becomes one half: such a flow takes 8 ms alone at 1 Gbps."""
FINISHED_SCALE: Final = 500.0
"""Number of finished flows that becomes one half: those of a period, unless told otherwise."""
TIME_RANGE: Final = (TIME_UNIT, 10_000 * SECONDS_PER_MILLISECOND)
"""Ends in s of the logarithmic scale of completion times: six powers of ten, as many as that of sizes."""
CLASSES: Final = {"small": "up to 100 KB", "medium": "of 100 KB to 10 MB", "large": "above 10 MB"}


FLOW: Final = (
    Column.fraction("source", "sending host, counted from 1, over the number of hosts"),
    Column.fraction("source_port", "port that it is sent from, over 65535"),
    Column.fraction("destination", "receiving host, counted from 1, over the number of hosts"),
    Column.fraction("destination_port", "port that it is sent to, by its id, over 65535"),
    Column.fraction("protocol", "protocol number, that of TCP, over 255"),
    Column.squashed("size", "bytes of the flow", "B", SIZE_SCALE),
    Column.squashed("fct", "its completion time", "s", TIME_SCALE),
)
FINISHED: Final = Column.squashed("finished", "flows that finished in the step", "flows", FINISHED_SCALE)


def _class_columns(name: str, which: str) -> tuple[Column, ...]:
    """Describes the flows of one class of size."""
    quantiles = tuple(
        Column.fraction(
            f"{name}_{what}_{round(100 * part)}", f"{round(100 * part)} % quantile of {of} of flows {which} (log)"
        )
        for what, of in (("size", "the size"), ("fct", "the completion time"))
        for part in QUANTILES
    )
    return (
        Column.fraction(f"{name}_share", f"share of its flows {which} in all that finished in the step"),
        *quantiles,
    )


def _cluster_columns(num_queues: int) -> tuple[Column, ...]:
    """Describes a cluster."""
    return (
        *(column for name, which in CLASSES.items() for column in _class_columns(name, which)),
        Column.fraction("mean_fct", "mean completion time of its flows (log)"),
        Column.squashed("load", "bytes that arrived in the step over what its links could send", "1", 1.0),
        *(Column.squashed(f"live_{k}", f"active flows in queue {k}", "flows", ACTIVE_SCALE) for k in range(num_queues)),
        Column.squashed("left", "bytes left to send", "B", LEFT_SCALE),
        *(Column.fraction(f"threshold_{k}", f"threshold {k} (log)") for k in range(1, num_queues)),
    )


def thresholds_layout(config: AuTOThresholdsConfig) -> Layout:
    """Lists the columns that the agent sees: of finished flows, or of clusters."""
    if config.observation is ThresholdsObservation.PAPER:
        return Layout(context=(), slot=FLOW, num_slots=config.m_s)
    return Layout(context=(FINISHED,), slot=_cluster_columns(config.queues), num_slots=config.clusters)


def new_observer(config: AuTOThresholdsConfig) -> Callable[[NetworkView], ObservationArray]:
    """Returns what tells the agent what it sees, (size,) float32."""
    return _FinishedFlows(config) if config.observation is ThresholdsObservation.PAPER else _Summary(config)


def class_of_size(size: FloatArray) -> IntArray:
    """Returns which flows are small (0), medium (1) and large (2)."""
    return np.searchsorted(CLASS_ENDS, size)


class _FinishedFlows:
    """An observation of the flows that finished last, the last one first.

    Args:
        config: The arguments of the environment.
    """

    def __init__(self, config: AuTOThresholdsConfig) -> None:
        """Takes the units from the configuration."""
        self._count = config.m_s
        self._units = squashed_units(config.hosts, SIZE_SCALE, TIME_SCALE)

    def __call__(self, view: NetworkView) -> ObservationArray:
        """Shows them."""
        shown = np.zeros(self._count * len(FLOW), dtype=np.float32)
        rows = view.delivered_between(max(view.num_delivered - self._count, 0), view.num_delivered)
        show_finished(rows[::-1].copy(), view.columns, self._units, 0, shown)
        return shown


class _Summary:
    """An observation of the clusters.

    Args:
        config: The arguments of the environment.
    """

    def __init__(self, config: AuTOThresholdsConfig) -> None:
        """Finds where everything is shown: shares, loads, active flows, and, of heights on logarithmic scales, each."""
        self._config = config
        names = [column.name for column in _cluster_columns(config.queues)]
        self._stride = len(names)
        first = {name: 1 + names.index(name) for name in ("load", "live_0")}
        self._load_at, self._active_at = first["load"], first["live_0"]
        shares = np.array([1 + names.index(f"{name}_share") for name in CLASSES])
        self._share_at = (shares + self._stride * np.arange(config.clusters)[:, np.newaxis]).ravel()
        logarithmic = "_size_", "_fct_", "mean_fct", "threshold_"
        heights = [name for name in names if any(part in name for part in logarithmic)]
        self._height_at = np.array([1 + names.index(name) for name in heights])
        of_time = np.array(["fct" in name for name in heights])
        self._low = np.where(of_time, 0.0, BOTTOM)
        self._span = np.where(of_time, numerics.log(TIME_RANGE[1] / TIME_RANGE[0]), TOP - BOTTOM)
        self._cluster_of = np.arange(config.hosts) // config.hosts_per_cluster
        self._cluster_capacity = config.cluster_capacity
        # The logarithm of 1 is at the bottom of both scales, or below: so it stands for flows that are not there.
        self._nothing = np.ones((config.clusters, len(heights)))

    def __call__(self, view: NetworkView) -> ObservationArray:
        """Describes them."""
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
