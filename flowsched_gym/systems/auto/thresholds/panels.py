"""What a picture of an episode of AuTO's thresholds shows: the scale of sizes, the queues, and how flows have fared."""

from typing import Final

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.envs import NetworkView
from flowsched_gym.envs.drawing import Scene, View
from flowsched_gym.envs.drawing.formats import count_text, shortened, size_text
from flowsched_gym.envs.drawing.panels import Bar, Charts, Column, Key, Stack, Table, Text, Tone
from flowsched_gym.envs.thresholds import CLASSES, class_of_size
from flowsched_gym.systems.auto.thresholds.config import SCALE, AuTOThresholdsConfig

MOST_CHARTS: Final = 4
"""Clusters that are drawn; there is no room for more."""
MOST_CLUSTERS: Final = 6
"""Clusters whose queues are written out."""


def thresholds_panels(config: AuTOThresholdsConfig, scene: Scene, view: NetworkView) -> View:
    """Lists what a picture shows."""
    load = "" if config.load is None else f", load {config.load:g}"
    period = f"{config.period_flows} flows" if config.period_ms is None else f"{config.period_ms:g} ms"
    clusters = f", {config.clusters} clusters" if config.clusters > 1 else ""
    rows_of = [
        view.active[view.source[view.active] // config.hosts_per_cluster == each] for each in range(config.clusters)
    ]
    of_clusters = tuple(
        _queues(config, view, rows, f"Queues of cluster {number}", in_frame=False)
        for number, rows in enumerate(rows_of[:MOST_CLUSTERS])
    )
    return View(
        banner=scene.banner(
            "AuTO thresholds",
            f"{shortened(config.workload, 30)} on {config.topology}{load}, {config.link_gbps:g} Gbit/s, "
            f"{config.queues} queues{clusters}, period of {period}",
            f"Period {view.num_periods} begins: which thresholds from now on?",
            headline=scene.mean_completion_time,
        ),
        top=_sizes(config, view, rows_of),
        stacks=(
            Stack(
                478,
                (
                    _queues(config, view, view.active, "Queues, the highest first"),
                    *(of_clusters if config.clusters > 1 else ()),
                ),
            ),
            Stack(478, (scene.fares(view.finished, tuple(CLASSES.values()), class_of_size(view.size)),)),
        ),
        legend=(
            Key(Tone.FAINT, "active flows of a size"),
            Key(Tone.BAD, "threshold: a flow that has sent so much is demoted", width=3),
        ),
    )


def _sizes(config: AuTOThresholdsConfig, view: NetworkView, rows_of: list[IntArray]) -> Charts:
    """Shows how many active flows of each size there are, and the thresholds."""
    charts = [
        SCALE.chart(view.size[rows], borders, f"{len(rows)} active", f"cluster {number}" if config.clusters > 1 else "")
        for number, (rows, borders) in enumerate(zip(rows_of, view.thresholds(), strict=True))
    ]
    hidden = config.clusters > MOST_CHARTS
    return Charts(
        title="Sizes of active flows, and thresholds",
        note=f"the first {MOST_CHARTS} of {config.clusters} clusters" if hidden else "",
        height=238,
        charts=tuple(charts[:MOST_CHARTS]),
        ticks=SCALE.ticks(),
    )


def _queues(
    config: AuTOThresholdsConfig, view: NetworkView, rows: IntArray, title: str, *, in_frame: bool = True
) -> Table:
    """Lists how many flows each queue holds, and what they have left."""
    queues = view.queues_of(rows)
    flows = np.bincount(queues, minlength=config.queues).tolist()
    left = np.bincount(queues, weights=view.remaining[rows], minlength=config.queues).tolist()
    most = max(*flows, 1)
    return Table(
        title=title,
        in_frame=in_frame,
        columns=(Column("", 64, "left"), Column("", 210, "left"), Column("", 80), Column("", 100)),
        rows=tuple(
            (
                f"queue {number}",
                Bar(flows[number] / most, Tone.GOOD),
                count_text(flows[number]),
                Text(f"{size_text(left[number])} left", Tone.MUTED),
            )
            for number in range(config.queues)
        ),
        row_height=22,
    )
