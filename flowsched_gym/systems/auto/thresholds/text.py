"""Writes an episode of AuTO's thresholds as plain text: what the drawn frame shows, in at most 100 columns."""

from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.envs.rendering import aligned, duration_text, number_text, shortened, size_text, text_bar
from flowsched_gym.systems.auto.thresholds.config import AuTOThresholdsConfig
from flowsched_gym.systems.auto.thresholds.mapping import place_of_size
from flowsched_gym.systems.auto.thresholds.snapshot import ClassResult, Cluster, Snapshot, take_snapshot

if TYPE_CHECKING:
    from flowsched_gym.systems.auto.thresholds.env import AuTOThresholdsEnv

__all__ = ["borders", "count_text", "question", "result_rows", "results", "setting", "write_frame"]

COLUMNS: Final = 100
"""Longest line."""
SCALE: Final = 60
"""Characters of the scale of sizes."""
BAR: Final = 30
"""Characters of a bar."""
CLUSTER_ROWS: Final = 6
"""Most clusters that are written out."""
SHADES: Final = ".:*#"
"""Marks of few and of many flows."""


def setting(config: AuTOThresholdsConfig) -> str:
    """Says in what setting an episode runs."""
    load = "" if config.load is None else f", load {config.load:g}"
    period = f"{config.period_flows} flows" if config.period_ms is None else f"{config.period_ms:g} ms"
    clusters = f", {config.clusters} clusters" if config.clusters > 1 else ""
    return (
        f"{shortened(config.workload, 30)} on {config.topology}{load}, {config.link_gbps:g} Gbit/s, "
        f"{config.queues} queues{clusters}, period of {period}"
    )


def question(snapshot: Snapshot) -> str:
    """Says what the agent is asked."""
    if snapshot.over:
        return f"The episode is over: all {snapshot.num_flows} flows have finished."
    return f"Period {snapshot.num_periods} begins: which thresholds from now on?"


def results(snapshot: Snapshot) -> str:
    """Says what has become of the flows."""
    coming = snapshot.num_flows - snapshot.num_finished - snapshot.num_live
    return f"{snapshot.num_finished} finished, {snapshot.num_live} live, {coming} to come"


def count_text(num_flows: int) -> str:
    """Writes a number of flows."""
    return f"{num_flows} flow{'' if num_flows == 1 else 's'}"


def borders(cluster: Cluster) -> str:
    """Lists the thresholds of a cluster."""
    return "  ".join(size_text(threshold) for threshold in cluster.thresholds)


def result_rows(classes: tuple[ClassResult, ...]) -> list[tuple[str, ...]]:
    """Writes how flows have fared, class by class: name, number, mean completion time, mean slowdown."""
    return [
        (
            each.name,
            str(each.num_finished),
            duration_text(each.mean_fct) if each.num_finished else "-",
            number_text(each.mean_slowdown) if each.num_finished else "-",
        )
        for each in classes
    ]


def write_frame(env: "AuTOThresholdsEnv") -> str:
    """Writes the current episode as text.

    Args:
        env: The environment.

    Returns:
        Lines of at most 100 characters.

    Raises:
        SimulationError: There is no episode yet.
    """
    snapshot, config = take_snapshot(env), env.config
    lines = [
        f"AuTO thresholds  t = {snapshot.now:.4f} s",
        setting(config),
        results(snapshot),
        question(snapshot),
        "",
        "Live flows by size, from 1 KB to 1 GB; | is a threshold",
        *(line for number, cluster in _shown(snapshot) for line in _cluster(number, cluster, snapshot)),
        "",
        "Finished since the last action",
        *aligned([("", "flows", "mean FCT", "slowdown"), *result_rows(snapshot.in_period)], "lrrr"),
        "Finished in all",
        *aligned(result_rows(snapshot.in_all), "lrrr"),
    ]
    return "\n".join(line[:COLUMNS].rstrip() for line in lines)


def _shown(snapshot: Snapshot) -> list[tuple[int, Cluster]]:
    """Returns the clusters that are written out, with their numbers."""
    return list(enumerate(snapshot.clusters))[:CLUSTER_ROWS]


def _cluster(number: int, cluster: Cluster, snapshot: Snapshot) -> list[str]:
    """Writes the scale and the queues of a cluster."""
    name = f"cluster {number}  " if len(snapshot.clusters) > 1 else ""
    most = max(queue.left for queue in cluster.queues) or 1.0
    rows = [
        (f"queue {k}", count_text(queue.num_flows), text_bar(queue.left / most, BAR), f"{size_text(queue.left)} left")
        for k, queue in enumerate(cluster.queues)
    ]
    return [f"  {name}{borders(cluster)}", f"  {_scale(cluster)}", *aligned(rows, "lrlr")]


def _scale(cluster: Cluster) -> str:
    """Draws the scale of sizes with the live flows and the thresholds."""
    counts = np.bincount(_column(cluster.sizes), minlength=SCALE)
    marks = [" " if not count else SHADES[min(int(count) - 1, len(SHADES) - 1)] for count in counts.tolist()]
    for column in _column(np.array(cluster.thresholds)).tolist():
        marks[column] = "|"
    return f"[{''.join(marks)}]"


def _column(sizes: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Returns the columns of sizes on the scale."""
    return np.minimum(place_of_size(sizes) * SCALE, SCALE - 1).astype(np.int64)
