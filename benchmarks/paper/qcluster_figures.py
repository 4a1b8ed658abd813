"""Draws QCluster's Figures 8, 10 to 13, 16 and 20 to 28 from what ``qcluster.py`` measured."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.paper.figures import GREY, HERE, band, headline, label_all, logarithmic, panel_title, panels, save
from benchmarks.paper.merp import Runs
from benchmarks.paper.merp_tables import MS
from benchmarks.paper.qcluster_studies import QUEUES, TRANSPORTS
from benchmarks.paper.qcluster_tables import means
from flowsched_gym.evaluation.figures import CURVES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

US: Final = 1e6
STYLES: Final = {
    "FIFO": (GREY, "-"),
    "PIAS-OPT": (CURVES[0], "-"),
    "QC-LAS": (CURVES[1], "-"),
    "QC-FQ": (CURVES[2], "-"),
    "QC-SRPT": (CURVES[5], "-"),
    "pFabric": (CURVES[3], "-"),
    "ideal": (CURVES[4], "-"),
    "AFQ": (CURVES[0], "-"),
    "QC-DDL": (CURVES[1], "-"),
    "pFabric-EDF": (CURVES[3], "-"),
    "QC-LAS with PDA": (CURVES[1], "--"),
    "QC-SRPT with PDA": (CURVES[5], "--"),
    "QC-LAS-Ideal": (CURVES[1], "-"),
    "QC-LAS-Real": (CURVES[1], "--"),
    "PIAS-Ideal": (CURVES[0], "-"),
    "PIAS-Real": (CURVES[0], "--"),
} | {
    f"{name}, {queues} queues": (colour, style)
    for name, colour in (("QC-LAS", CURVES[1]), ("QC-SRPT", CURVES[5]))
    for queues, style in ((2, ":"), (4, "--"), (8, "-"))
}
"""Colour and line of each scheme."""
MAIN: Final = ("FIFO", "PIAS-OPT", "QC-LAS", "QC-FQ", "QC-SRPT", "pFabric")
"""Schemes of the figures by load; the tables have all."""
CLASSES: Final = {
    "W4": {"small": "below 1 KB", "medium": "1 to 10 KB", "large": "above 10 KB", "mean": "all"},
    "W6": {"small": "below 10 KB", "medium": "10 to 100 KB", "large": "above 100 KB", "mean": "all"},
}
FULL: Final = "0.9"


def draw(results: dict[str, Any], folder: Path = HERE) -> list[Path]:
    """Draws all figures; returns where they are."""
    studies: dict[str, Runs] = results["studies"]
    drawn = {
        **{f"qcluster_{name.lower()}.png": draw_completion_times(studies, name) for name in TRANSPORTS},
        "qcluster_goals.png": draw_goals(studies),
        "qcluster_parts.png": draw_parts(studies),
        "qcluster_starts.png": draw_starts(results["convergence"]),
    }
    return save(drawn, folder)


def draw_completion_times(studies: dict[str, Runs], transport: str) -> "Figure":
    """Draws Figures 11 to 13, 20 and 22: mean FCT by load and size of messages."""
    figure, rows = panels(len(CLASSES), 4, (15, 7))
    for row, (name, metrics) in zip(rows, CLASSES.items(), strict=True):
        runs = studies[f"{name}, {transport}"]
        for axes, (metric, size) in zip(row, metrics.items(), strict=True):
            longest = max(means(runs, load, scheme, metric) for load in runs for scheme in MAIN)
            unit, scale = ("ms", MS) if longest > 1.0 / MS else ("us", US)
            curves(axes, runs, MAIN, metric, scale)
            logarithmic(axes.yaxis, (1, 2, 3, 5, 7))
            panel_title(axes, f"{name}, messages {size}".replace("messages all", "all messages"))
            axes.set(xlabel="load", ylabel=f"mean FCT ({unit})")
    headline(
        figure,
        f"One port of 10 Gbps, senders {transport}, mean and range of three seeds (QCluster, Figures 11 to 13, 20, 22)",
    )
    label_all(rows)
    return figure


def draw_goals(studies: dict[str, Runs]) -> "Figure":
    """Draws Figures 16, 23 and 24: fairness and deadlines."""
    figure, rows = panels(2, 2, (12, 8))
    fair, due = studies["fairness, DCTCP"], studies["deadlines, DCTCP"]
    for axes, metric, scale, what in zip(
        rows[0], ("jain", "mean"), (1.0, MS), ("Jain's index of messages", "mean FCT (ms)"), strict=True
    ):
        curves(axes, fair, ("QC-FQ", "ideal", "AFQ", "FIFO"), metric, scale)
        panel_title(axes, "W6, fair queueing")
        axes.set_ylabel(what)
    for axes, metric, scale, title, what in (
        (rows[1][0], "of possible ones", 100.0, "W4, messages with deadlines", "deadlines met of possible ones (%)"),
        (rows[1][1], "other", MS, "W4, messages without deadlines", "mean FCT (ms)"),
    ):
        curves(axes, due, ("QC-DDL", "pFabric-EDF", "FIFO"), metric, scale)
        panel_title(axes, title)
        axes.set_ylabel(what)
    for axes in (*rows[0], *rows[1]):
        axes.set_xlabel("load")
    headline(figure, "Fairness and deadlines, senders DCTCP, one port of 10 Gbps, in this model (QCluster)")
    label_all(rows)
    return figure


def draw_parts(studies: dict[str, Runs]) -> "Figure":
    """Draws Figures 25 to 28: disorder, messages, number of queues and sketches."""
    figure, rows = panels(2, 2, (12, 8))
    (disorder, messages), (queues, sketches) = rows
    for axes, study, metric, scale, title, what in (
        (disorder, "PDA", "disorder", 100.0, "W6, with and without PDA", "packets out of order (%)"),
        (messages, "messages", "small", US, "W6, messages below 10 KB", "mean FCT (us)"),
        (queues, "queues W4", "mean", MS, "W4, by number of queues", "mean FCT (ms)"),
    ):
        runs = studies[f"{study}, DCTCP"]
        curves(axes, runs, next(iter(runs.values())), metric, scale)
        panel_title(axes, title)
        axes.set(xlabel="load", ylabel=what)
    sketch = studies["sketch, DCTCP"][FULL]
    buckets = [int(number) for number in sketch]
    for metric, label, colour in (("small", "below 10 KB", CURVES[1]), ("medium", "10 to 100 KB", CURVES[0])):
        band(sketches, buckets, [found[metric] for found in sketch.values()], color=colour, scale=US, label=label)
    logarithmic(sketches.xaxis, (1,))
    sketches.set(xlabel="buckets of the sketch", ylabel="mean FCT (us)", xticks=buckets)
    logarithmic(sketches.yaxis, (1, 2, 3, 5, 7))
    panel_title(sketches, f"W6, load {FULL}, QC-LAS")
    headline(figure, "Parts of QCluster, senders DCTCP, one port of 10 Gbps, in this model (QCluster)")
    label_all(rows)
    return figure


def draw_starts(starts: dict[str, list[list[float]]]) -> "Figure":
    """Draws Figure 8: the share of packets in each queue over time, from each start."""
    from matplotlib import colormaps  # noqa: PLC0415 - the page needs no pictures

    figure, (row,) = panels(1, len(starts), (14, 4))
    colours = colormaps["viridis"](np.linspace(0, 1, QUEUES)).tolist()
    for axes, (name, rows) in zip(row, starts.items(), strict=True):
        times, *shares = np.array(rows).T
        axes.stackplot(MS * times, 100 * np.array(shares), colors=colours, labels=[f"queue {i}" for i in range(QUEUES)])
        axes.set(xlabel="time (ms)", ylim=(0, 100), xlim=(MS * times[0], MS * times[-1]))
        logarithmic(axes.xaxis, (1,))
        panel_title(axes, f"First all: {name}")
    row[0].set_ylabel("packets (%)")
    figure.legend(*row[0].get_legend_handles_labels(), loc="outside lower center", ncols=QUEUES, fontsize=9)
    headline(figure, "QC-FQ on W6 at load 0.9: packets in each queue, in this model (QCluster, Figures 8 and 9)")
    return figure


def curves(axes: "Axes", runs: Runs, schemes: Iterable[str], metric: str, scale: float) -> None:
    """Draws a metric of each scheme by load, with its interval over seeds."""
    points = [float(load) for load in runs]
    axes.set_xticks(points)
    for name in schemes:
        colour, style = STYLES[name]
        samples = [found[name][metric] for found in runs.values()]
        band(axes, points, samples, color=colour, scale=scale, label=name, style=style)
