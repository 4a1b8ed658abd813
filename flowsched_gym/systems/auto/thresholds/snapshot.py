"""Gathers what a picture of an episode of AuTO's thresholds shows; changes nothing in it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.systems.auto.thresholds.observation import CLASSES, class_of_size

if TYPE_CHECKING:
    from flowsched_gym.systems.auto.thresholds.env import AuTOThresholdsEnv

__all__ = ["ClassResult", "Cluster", "Queue", "Snapshot", "take_snapshot"]


class Queue(NamedTuple):
    """Describes a queue.

    Attributes:
        num_flows: Live flows in it.
        left: Bytes that they have left to send.
    """

    num_flows: int
    left: float


class Cluster(NamedTuple):
    """Describes the flows that the servers of a cluster send.

    Attributes:
        thresholds: Their thresholds in B.
        sizes: Sizes of the live ones in B.
        queues: Its queues, the highest first.
    """

    thresholds: tuple[float, ...]
    sizes: npt.NDArray[np.float64]
    queues: tuple[Queue, ...]


class ClassResult(NamedTuple):
    """Tells how the flows of one class of size have fared.

    Attributes:
        name: What they are, such as ``up to 100 KB``.
        num_finished: How many have finished.
        mean_fct: Their mean completion time in s; NaN before the first.
        mean_slowdown: Their mean slowdown, likewise.
    """

    name: str
    num_finished: int
    mean_fct: float
    mean_slowdown: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Holds what a picture shows.

    Attributes:
        now: Time in s.
        num_flows: Flows of the episode.
        num_live: Flows that have arrived and not sent their last byte.
        num_finished: Flows that have finished.
        num_periods: Periods that have begun.
        clusters: The clusters.
        in_period: How the flows have fared that finished since the last action, by class and, at the end, all of them.
        in_all: The same of all flows that have finished.
        over: Whether all flows have finished.
    """

    now: float
    num_flows: int
    num_live: int
    num_finished: int
    num_periods: int
    clusters: tuple[Cluster, ...]
    in_period: tuple[ClassResult, ...]
    in_all: tuple[ClassResult, ...]
    over: bool


def take_snapshot(env: "AuTOThresholdsEnv") -> Snapshot:
    """Looks at the current episode.

    Raises:
        SimulationError: There is no episode yet.
    """
    view, config = env.view(), env.config
    live = view.live
    of_live, queues, thresholds = view.source[live] // config.hosts_per_cluster, view.queues_of(live), view.thresholds()

    def queue(cluster: int, number: int) -> Queue:
        rows = live[(of_live == cluster) & (queues == number)]
        return Queue(len(rows), float(view.remaining[rows].sum()))

    def results(rows: npt.NDArray[np.int64]) -> tuple[ClassResult, ...]:
        kind, fct = class_of_size(view.size[rows]), view.fct(rows)
        slowdown = fct / view.ideal_fct[rows]
        parts = [*((which, kind == place) for place, which in enumerate(CLASSES.values())), ("all", kind >= 0)]
        return tuple(
            ClassResult(
                name=name,
                num_finished=int(mine.sum()),
                mean_fct=float(fct[mine].mean()) if mine.any() else np.nan,
                mean_slowdown=float(slowdown[mine].mean()) if mine.any() else np.nan,
            )
            for name, mine in parts
        )

    return Snapshot(
        now=view.now,
        num_flows=view.num_flows,
        num_live=len(live),
        num_finished=len(view.delivered),
        num_periods=view.num_periods,
        clusters=tuple(
            Cluster(
                thresholds=tuple(thresholds[cluster].tolist()),
                sizes=view.size[live[of_live == cluster]],
                queues=tuple(queue(cluster, number) for number in range(config.queues)),
            )
            for cluster in range(config.clusters)
        ),
        in_period=results(view.finished),
        in_all=results(view.delivered),
        over=env.simulation.finished,
    )
