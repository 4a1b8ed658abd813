"""Draws QCluster's Figures 8, 10 to 13, 16 and 20 to 28 from what ``qcluster.py`` measured."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.paper.merp import Runs
from benchmarks.paper.merp_figures import DOTS_PER_INCH, HERE, headline, panel_title, panels
from benchmarks.paper.merp_tables import MS
from benchmarks.paper.qcluster import QUEUES, TRANSPORTS
from benchmarks.paper.qcluster_tables import means
from flowsched_gym.files import replace_when_written

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

US: Final = 1e6
STYLES: Final = {
    "FIFO": ("0.5", "o"),
    "PIAS-WST": ("tab:brown", "v"),
    "PIAS-OPT": ("tab:blue", "s"),
    "QC-LAS": ("tab:red", "D"),
    "QC-LAS, adaptive": ("tab:orange", "^"),
    "QC-FQ": ("tab:green", "P"),
    "QC-SRPT": ("black", "X"),
    "pFabric": ("tab:purple", "d"),
    "ideal": ("black", "s"),
    "AFQ": ("tab:blue", "v"),
    "QC-DDL": ("tab:red", "D"),
    "pFabric-EDF": ("tab:purple", "d"),
}
"""Colour and marker of each scheme."""
MAIN: Final = ("FIFO", "PIAS-WST", "PIAS-OPT", "QC-LAS", "QC-LAS, adaptive", "QC-FQ", "QC-SRPT", "pFabric")
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
        "qcluster_starts.png": draw_starts(results["convergence"]),
    }
    for name, figure in drawn.items():
        with replace_when_written(folder / name) as temporary:
            figure.savefig(temporary, dpi=DOTS_PER_INCH)
    return [folder / name for name in drawn]


def draw_completion_times(studies: dict[str, Runs], transport: str) -> "Figure":
    """Draws Figures 11 to 13, 20 and 22: mean FCT by load and size of messages."""
    figure, rows = panels(len(CLASSES), 4, (14, 7))
    for row, (name, metrics) in zip(rows, CLASSES.items(), strict=True):
        runs = studies[f"{name}, {transport}"]
        for axes, (metric, size) in zip(row, metrics.items(), strict=True):
            longest = max(means(runs, load, scheme, metric) for load in runs for scheme in MAIN)
            unit, scale = ("ms", MS) if longest > 1.0 / MS else ("us", US)
            curves(axes, runs, MAIN, metric, scale)
            axes.set_yscale("log")
            plain_logarithms(axes)
            panel_title(axes, f"{name}, messages {size}: mean FCT ({unit})".replace("messages all", "all messages"))
    for axes in rows[-1]:
        axes.set_xlabel("load")
    figure.legend(*rows[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=len(MAIN), fontsize=9)
    headline(figure, f"One port of 10 Gbps, senders {transport}, in this model (QCluster, Figures 11 to 13, 20, 22)")
    return figure


def draw_goals(studies: dict[str, Runs]) -> "Figure":
    """Draws Figures 16 and 23 to 28: fairness, deadlines, disorder, messages, queues and sketches."""
    figure, (first, second) = panels(2, 4, (15, 7.5))
    fair, due = studies["fairness, DCTCP"], studies["deadlines, DCTCP"]
    schemes = ("QC-FQ", "ideal", "AFQ", "FIFO")
    curves(first[0], fair, schemes, "jain", 1.0, title="W6, Jain's index of messages")
    curves(first[1], fair, schemes, "mean", MS, title="W6, fair queueing: mean FCT (ms)")
    for axes, metric, scale, title in (
        (first[2], "of possible ones", 100.0, "W4, possible deadlines met (%)"),
        (first[3], "other", MS, "W4, messages without: mean FCT (ms)"),
    ):
        curves(axes, due, ("QC-DDL", "pFabric-EDF", "FIFO"), metric, scale, title=title)
    disorder = studies["PDA, DCTCP"]
    names = list(next(iter(disorder.values())))
    for name, colour in zip(names, ("tab:red", "tab:orange", "black", "0.6"), strict=True):
        values = [100 * means(disorder, load, name, "disorder") for load in disorder]
        second[0].plot([float(load) for load in disorder], values, color=colour, marker="o", markersize=4, label=name)
    panel_title(second[0], "W6, packets out of order (%)")
    told = studies["messages, DCTCP"]
    for name, colour, style in (
        ("QC-LAS-Ideal", "tab:red", "-"),
        ("QC-LAS-Real", "tab:red", "--"),
        ("PIAS-Ideal", "tab:blue", "-"),
        ("PIAS-Real", "tab:blue", "--"),
    ):
        values = [US * means(told, load, name, "small") for load in told]
        second[1].plot(
            [float(load) for load in told], values, style, color=colour, marker="o", markersize=4, label=name
        )
    panel_title(second[1], "W6, below 10 KB: mean FCT (us)")
    numbers = studies["queues W4, DCTCP"]
    for name, colour in (("QC-LAS", "tab:red"), ("QC-SRPT", "black")):
        for queues, style in ((2, ":"), (4, "--"), (8, "-")):
            values = [MS * means(numbers, load, f"{name}, {queues} queues", "mean") for load in numbers]
            second[2].plot([float(load) for load in numbers], values, style, color=colour, label=f"{name}, {queues}")
    panel_title(second[2], "W4, queues: mean FCT (ms)")
    sketch = studies["sketch, DCTCP"][FULL]
    buckets = [int(number) for number in sketch]
    for metric, title, colour in (("small", "below 10 KB", "tab:red"), ("medium", "10 to 100 KB", "tab:blue")):
        values = [US * float(np.mean(sketch[str(number)][metric])) for number in buckets]
        second[3].plot(buckets, values, color=colour, marker="o", markersize=4, label=title)
    second[3].set(xscale="log", yscale="log", xlabel="buckets of the sketch", xticks=buckets, xticklabels=buckets)
    second[3].minorticks_off()
    plain_logarithms(second[3])
    panel_title(second[3], f"W6, load {FULL}, QC-LAS: mean FCT (us)")
    for axes in (*first, *second):
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, fontsize=8)
        if axes is not second[3]:
            axes.set_xlabel("load", labelpad=0)
    headline(figure, "Senders DCTCP, one port of 10 Gbps, in this model (QCluster, Figures 16 and 23 to 28)")
    return figure


def draw_starts(starts: dict[str, list[list[float]]]) -> "Figure":
    """Draws Figure 8: the share of packets in each queue over time, from each start."""
    from matplotlib import colormaps  # noqa: PLC0415 - the page needs no pictures

    figure, (row,) = panels(1, len(starts), (14, 4))
    colours = colormaps["viridis"](np.linspace(0, 1, QUEUES)).tolist()
    for axes, (name, rows) in zip(row, starts.items(), strict=True):
        times, *shares = np.array(rows).T
        axes.stackplot(MS * times, 100 * np.array(shares), colors=colours, labels=[f"queue {i}" for i in range(QUEUES)])
        axes.set(xscale="log", xlabel="time (ms)", ylim=(0, 100), xlim=(MS * times[0], MS * times[-1]))
        panel_title(axes, f"first all: {name}")
    row[0].set_ylabel("packets (%)")
    figure.legend(*row[0].get_legend_handles_labels(), loc="outside lower center", ncols=QUEUES, fontsize=9)
    headline(figure, "QC-FQ on W6 at load 0.9: packets in each queue, in this model (QCluster, Figures 8 and 9)")
    return figure


def curves(
    axes: "Axes", runs: Runs, schemes: Sequence[str], metric: str, scale: float, *, title: str | None = None
) -> None:
    """Draws a metric of each scheme by load."""
    for name in schemes:
        colour, marker = STYLES[name]
        values = [scale * means(runs, load, name, metric) for load in runs]
        axes.plot([float(load) for load in runs], values, color=colour, marker=marker, markersize=4, label=name)
    if title is not None:
        panel_title(axes, title)


def plain_logarithms(axes: "Axes") -> None:
    """Writes the numbers of a logarithmic axis as such, not as powers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: PLC0415 - the page needs no pictures

    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5, 7)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
