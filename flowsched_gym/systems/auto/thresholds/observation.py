"""Tells the agent how flows have fared in the period that has ended, and how the queues stand."""

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.encoders import Column, Encoding, Layout
from flowsched_gym.envs import NetworkView
from flowsched_gym.systems.auto.flows import PROTOCOL, SOURCE_PORT, destination_port
from flowsched_gym.systems.auto.thresholds.config import AuTOThresholdsConfig, ThresholdsObservation
from flowsched_gym.systems.auto.thresholds.mapping import place_of_size
from flowsched_gym.units import BYTES_PER_KILOBYTE, BYTES_PER_MEGABYTE, SECONDS_PER_MILLISECOND

__all__ = ["CLASS_ENDS", "QUANTILES", "TIME_RANGE", "class_of_size", "observe", "thresholds_layout"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

SIZE_SCALE: Final = BYTES_PER_MEGABYTE
"""Size in B that becomes one half: that of a flow of medium size."""
TIME_SCALE: Final = 10 * SECONDS_PER_MILLISECOND
"""Time in s that becomes one half: such a flow takes 8 ms alone at 1 Gbps."""
FINISHED_SCALE: Final = 500.0
"""Number of finished flows that becomes one half: those of a period, unless told otherwise."""
LIVE_SCALE: Final = 10.0
"""Number of live flows in a queue that becomes one half."""
LEFT_SCALE: Final = 100 * BYTES_PER_MEGABYTE
"""Bytes left in all queues of a cluster that become one half."""
TIME_RANGE: Final = (0.01 * SECONDS_PER_MILLISECOND, 10_000 * SECONDS_PER_MILLISECOND)
"""Ends in s of the logarithmic scale of completion times: six powers of ten, as many as that of sizes."""
CLASS_ENDS: Final = (100 * BYTES_PER_KILOBYTE, 10 * BYTES_PER_MEGABYTE)
"""Largest sizes in B of small and of medium flows, as in the figures of PIAS and AuTO."""
CLASSES: Final = {"small": "up to 100 KB", "medium": "of 100 KB to 10 MB", "large": "above 10 MB"}
QUANTILES: Final = (0.5, 0.9)
LAST_PORT: Final = 65_535
LAST_PROTOCOL: Final = 255


def _fraction(name: str, meaning: str) -> Column:
    """Describes a share."""
    return Column(name=name, meaning=meaning, unit="1", encoding=Encoding.FRACTION)


def _squashed(name: str, meaning: str, unit: str, scale: float) -> Column:
    """Describes a number without a bound."""
    return Column(name=name, meaning=meaning, unit=unit, encoding=Encoding.SQUASHED, scale=scale)


FLOW: Final = (
    _fraction("source", "sending host, counted from 1, over the number of hosts"),
    _fraction("source_port", "port that it is sent from, over 65535"),
    _fraction("destination", "receiving host, counted from 1, over the number of hosts"),
    _fraction("destination_port", "port that it is sent to, by its id, over 65535"),
    _fraction("protocol", "protocol number, that of TCP, over 255"),
    _squashed("size", "bytes of the flow", "B", SIZE_SCALE),
    _squashed("fct", "its completion time", "s", TIME_SCALE),
)
FINISHED: Final = _squashed("finished", "flows that finished in the step", "flows", FINISHED_SCALE)


def _class_columns(name: str, which: str) -> tuple[Column, ...]:
    """Describes the flows of one class of size."""
    quantiles = tuple(
        _fraction(
            f"{name}_{what}_{round(100 * part)}", f"{round(100 * part)} % quantile of {of} of flows {which} (log)"
        )
        for what, of in (("size", "the size"), ("fct", "the completion time"))
        for part in QUANTILES
    )
    return (_fraction(f"{name}_share", f"share of its flows {which} in all that finished in the step"), *quantiles)


def _cluster_columns(num_queues: int) -> tuple[Column, ...]:
    """Describes a cluster."""
    return (
        *(column for name, which in CLASSES.items() for column in _class_columns(name, which)),
        _fraction("mean_fct", "mean completion time of its flows (log)"),
        _squashed("load", "bytes that arrived in the step over what its links could send", "1", 1.0),
        *(_squashed(f"live_{k}", f"live flows in queue {k}", "flows", LIVE_SCALE) for k in range(num_queues)),
        _squashed("left", "bytes left to send", "B", LEFT_SCALE),
        *(_fraction(f"threshold_{k}", f"threshold {k} (log)") for k in range(1, num_queues)),
    )


def thresholds_layout(config: AuTOThresholdsConfig) -> Layout:
    """Lists the columns that the agent sees: of finished flows, or of clusters."""
    if config.observation is ThresholdsObservation.PAPER:
        return Layout(context=(), slot=FLOW, num_slots=config.m_s)
    return Layout(context=(FINISHED,), slot=_cluster_columns(config.queues), num_slots=config.clusters)


def observe(view: NetworkView, config: AuTOThresholdsConfig) -> npt.NDArray[np.float32]:
    """Returns what the agent sees, (size,) float32."""
    if config.observation is ThresholdsObservation.PAPER:
        return _show_flows(view, config).astype(np.float32)
    finished = len(view.finished) / (len(view.finished) + FINISHED_SCALE)
    return np.concatenate([[finished], _summarise(view, config).ravel()]).astype(np.float32)


def class_of_size(size: FloatArray) -> IntArray:
    """Returns which flows are small (0), medium (1) and large (2)."""
    return np.searchsorted(CLASS_ENDS, size)


def _show_flows(view: NetworkView, config: AuTOThresholdsConfig) -> FloatArray:
    """Shows the flows that finished last, the last one first."""
    rows = view.delivered_between(max(view.num_delivered - config.m_s, 0), view.num_delivered)[::-1]
    shown = np.zeros((config.m_s, len(FLOW)))
    flows = shown[: len(rows)]
    flows[:, 0] = (view.source[rows] + 1) / config.hosts
    flows[:, 1] = SOURCE_PORT / LAST_PORT
    flows[:, 2] = (view.destination[rows] + 1) / config.hosts
    flows[:, 3] = destination_port(view.flow_id[rows]) / LAST_PORT
    flows[:, 4] = PROTOCOL / LAST_PROTOCOL
    flows[:, 5] = _squash(view.size[rows], SIZE_SCALE)
    flows[:, 6] = _squash(view.fct(rows), TIME_SCALE)
    return shown.ravel()


def _summarise(view: NetworkView, config: AuTOThresholdsConfig) -> FloatArray:
    """Describes the clusters, (num_clusters, num_columns)."""
    clusters, per_cluster = config.clusters, config.hosts_per_cluster
    live, arrived = view.live, view.arrived
    offered = np.bincount(view.source[arrived] // per_cluster, view.size[arrived], clusters)
    could_send = config.cluster_capacity * view.period
    of_live = view.source[live] // per_cluster
    occupancy = np.bincount(of_live * config.queues + view.queues_of(live), minlength=clusters * config.queues)
    left = np.bincount(of_live, view.remaining[live], clusters)
    columns = [
        _of_finished(view, config),
        _squash(offered / could_send if could_send > 0 else np.zeros(clusters), 1.0)[:, np.newaxis],
        _squash(occupancy.reshape(clusters, config.queues), LIVE_SCALE),
        _squash(left, LEFT_SCALE)[:, np.newaxis],
        place_of_size(view.thresholds()),
    ]
    return np.concatenate(columns, axis=1)


def _of_finished(view: NetworkView, config: AuTOThresholdsConfig) -> FloatArray:
    """Describes the flows that finished, class by class, and their mean completion time; zeros where there are none.

    Quantiles are the smallest values that so large a share of the others does not exceed.
    """
    finished, clusters, classes = view.finished, config.clusters, len(CLASSES)
    if not len(finished):
        return np.zeros((clusters, classes * (1 + 2 * len(QUANTILES)) + 1))
    size, fct, cluster = view.size[finished], view.finished_fct, view.source[finished] // config.hosts_per_cluster
    group = cluster * classes + class_of_size(size)
    counts = np.bincount(group, minlength=clusters * classes)
    last = np.ceil(np.multiply.outer(QUANTILES, counts)).astype(np.int64)
    places = (counts.cumsum() - counts + last - 1).T
    sizes, times = (values[np.lexsort((values, group))][places] for values in (size, fct))
    described = np.concatenate(
        [counts[:, np.newaxis] / len(finished), place_of_size(sizes), _place_of_time(times)], axis=1
    )
    described[counts == 0] = 0.0
    mean_fct = np.full((clusters, 1), TIME_RANGE[0])
    for number in range(clusters):
        mine = fct[cluster == number]
        if len(mine):
            mean_fct[number] = mine.mean()
    return np.concatenate([described.reshape(clusters, -1), _place_of_time(mean_fct)], axis=1)


def _place_of_time(times: FloatArray) -> FloatArray:
    """Returns where times in s stand on the logarithmic scale, from 0 to 1, cut to that."""
    first, last = TIME_RANGE
    place: FloatArray = (np.log(times / first) / math.log(last / first)).clip(0.0, 1.0)
    return place


def _squash(values: npt.NDArray[np.floating | np.integer], scale: float) -> FloatArray:
    """Returns ``x / (x + scale)``."""
    squashed: FloatArray = values / (values + scale)
    return squashed
