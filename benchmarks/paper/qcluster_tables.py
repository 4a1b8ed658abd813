"""Lays QCluster's numbers beside what ``qcluster.py`` measured, and draws its Figures 6 to 13, 16 and 20 to 28."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.paper.figures import (
    GREY,
    HERE,
    band,
    curves,
    headline,
    label_all,
    logarithmic,
    panel_title,
    panels,
    save,
)
from benchmarks.paper.merp import Runs
from benchmarks.paper.qcluster_studies import FABRIC_LOADS, FLOWLETS, GOALS, PDA, QUEUES, TRANSPORTS
from benchmarks.paper.statements import MS, Statement, page, statements_table
from flowsched_gym.evaluation import Interval
from flowsched_gym.evaluation.figures import CURVES
from flowsched_gym.leaderboard import Table, format_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOCUMENT: Final = HERE / "qcluster.md"

ENDS: Final = {"largest": max, "least": min}
"""In place of a scheme: that of a study whose mean is largest, or least."""
KINDS: Final = {f"{name}{', PDA' if pda else ''}": (name, pda) for name in TRANSPORTS for pda in ("", PDA)}
"""Columns of statements: transport, and the ending of schemes."""
SUPPORT: Final = (
    ("SRPT", "yes", "`goal=srpt`", "`las`"),
    ("LAS", "yes", "`goal=las`", "`las`"),
    ("Fair queueing", "yes", "`goal=fq`", "`fq`"),
    ("Deadline-aware SRPT", "yes", "`goal=deadline`", "`las`"),
    ("Shortest job first", "yes", "`goal=sjf`", "`las`"),
    ("Deadline first, then LAS, SJF or fairness", "yes", "`goal=deadline` with `others=las`, `sjf` or `fq`", "`none`"),
    ("Coflow scheduling", "in part", "`goal=las` with `dequeue=drr` and `weights`; flows, no coflows", "`las`"),
    ("Minimum rate guarantees", "yes", "`min_rate`, one for all flows, with any `goal` and `others`", "`none`"),
    ("TSN", "in part", "`tagged`: queues that senders choose, no time windows", "`none`"),
    ("Hybrid", "yes", "`goal` for flows with deadlines, or below `min_rate`, and `others`", "`none`"),
)
"""Table 3: the problem, whether and how it can be had, and the default of ``disorder``, which is the paper's."""
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
    "QC-FQ with PDA": (CURVES[2], "--"),
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
PARTS: Final = (
    ("fairness", "jain", 1.0, "W6, fair queueing", "Jain's index of messages"),
    ("fairness", "mean", MS, "W6, fair queueing", "mean FCT (ms)"),
    ("deadlines", "of possible ones", 100.0, "W4, messages with deadlines", "deadlines met of possible ones (%)"),
    ("deadlines", "other", MS, "W4, messages without deadlines", "mean FCT (ms)"),
    ("W4", "disorder", 100.0, "W4, with and without PDA", "packets out of order (%)"),
    ("messages", "small", US, "W6, messages below 10 KB", "mean FCT (us)"),
    ("queues", "mean", MS, "W4, by number of queues", "mean FCT (ms)"),
)
"""Panels by load: study, metric, scale, title, and what is drawn."""


def qcluster_markdown(results: dict[str, Any]) -> str:
    """Returns the page."""
    studies: dict[str, Runs] = results["studies"]
    shares, thresholds = ends_apart(results["convergence"])

    def here(each: Statement, kind: str) -> str:
        return written(found_for(each, studies, *KINDS[kind]))

    return page(
        "qcluster",
        statements=statements_table("QCluster", here, [*KINDS]),
        disorder=disorder_table(studies),
        tried=statements_table("QCluster, tried", here, [*KINDS]),
        support=Table(columns=("problem", "supported", "how, or what is missing", "PDA"), rows=SUPPORT).markdown(
            numbers=False
        ),
        shares=shares,
        thresholds=thresholds,
    )


def means(runs: Runs, point: str, scheme: str, metric: str) -> float:
    """Returns the mean of a metric over the seeds."""
    return float(np.mean(runs[point][scheme][metric]))


def changes(runs: Runs, metric: str, schemes: Sequence[str], load: str = "", ending: str = "") -> list[float]:
    """Returns by how much the mean of one scheme exceeds another's at each load, in %.

    Of schemes that have a variant with the ending it is taken; the ends of ``ENDS`` are among all of these, but the
    other one.
    """
    found = []
    for key, compared in runs.items():
        names = [name + ending if name + ending in compared else name for name in schemes]
        of_kind = [name for name in compared if name.endswith(PDA) == bool(ending) and name not in names]
        one, other = (
            ENDS[name](means(runs, key, each, metric) for each in of_kind)
            if name in ENDS
            else means(runs, key, name, metric)
            for name in names
        )
        if load in ("", key):
            found.append(100 * (one / other - 1))
    return found


def written(values: Sequence[float]) -> str:
    """Writes changes: their mean, least and largest; none as nothing."""
    if not values:
        return ""
    low, high = (min(values), max(values)) if len(values) > 1 else (np.nan, np.nan)
    found = Interval(mean=float(np.mean(values)), low=low, high=high, num_samples=len(values))
    return format_interval(found, signed=True)


def found_for(each: Statement, studies: dict[str, Runs], transport: str, ending: str) -> list[float]:
    """Returns the changes of a statement at each load, or of each study; none where it was not run."""
    every = []
    for study in each.study.split("; "):
        runs = studies.get(f"{study}, {transport}", {})
        compared = next(iter(runs.values()), {})
        names = compared if each.schemes[0] in ENDS else [name + ending for name in each.schemes]
        if any(name in compared and name.endswith(ending) for name in names):
            every.append(changes(runs, each.metric, each.schemes, each.point, ending))
    return every[0] if len(every) == 1 else [float(np.mean(values)) for values in every]


def disorder_table(studies: dict[str, Runs]) -> Table:
    """Lays out what PDA costs and saves, by the silence after which a flowlet begins."""
    rows = []
    for transport in TRANSPORTS:
        for study in ("W4", "W6"):
            for load in map(str, FABRIC_LOADS):
                found = studies[f"{study}, {transport}"][load] | studies[f"flowlets {study}, {transport}"][load]
                for name in GOALS:
                    cells = []
                    for scheme in (name, name + PDA, *(f"{name}, {gap}" for gap in FLOWLETS)):
                        runs = {load: found}
                        saved = [changes(runs, metric, (scheme, "PIAS-WST"))[0] for metric in ("small", "mean")]
                        share = 100 * means(runs, load, scheme, "disorder")
                        cells.append(" / ".join((*(f"{each:+.0f}" for each in saved), f"{share:.1f}")))
                    rows.append((f"{study}, load {load}, {transport}: {name}", *cells))
    return Table(columns=("", "no PDA", "0.5 ms", *FLOWLETS), rows=tuple(rows))


def ends_apart(starts: dict[str, list[list[float]]]) -> tuple[float, float]:
    """Returns how far shares of packets in a queue lie apart in the end, in points, and by which factor thresholds."""
    _, *last = np.array([rows[-1] for rows in starts.values()]).T
    shares, thresholds = np.array(last[:8]), np.array(last[8:])
    return 100 * float(np.ptp(shares, axis=1).max()), float((thresholds.max(axis=1) / thresholds.min(axis=1)).max())


def draw(results: dict[str, Any], folder: Path = HERE) -> list[Path]:
    """Draws all figures; returns where they are."""
    studies: dict[str, Runs] = results["studies"]
    drawn = {
        "qcluster_times.png": draw_completion_times(studies),
        "qcluster_parts.png": draw_parts(studies),
        "qcluster_starts.png": draw_starts(results["convergence"]),
    }
    return save(drawn, folder)


def draw_completion_times(studies: dict[str, Runs]) -> "Figure":
    """Draws Figures 11 to 13, 20 and 22: mean FCT by load and size of messages."""
    figure, rows = panels(len(CLASSES), 4, (15, 7))
    for row, (name, metrics) in zip(rows, CLASSES.items(), strict=True):
        runs = studies[f"{name}, lossless"]
        for axes, (metric, size) in zip(row, metrics.items(), strict=True):
            longest = max(means(runs, load, scheme, metric) for load in runs for scheme in MAIN)
            unit, scale = ("ms", MS) if longest > 1.0 / MS else ("us", US)
            curves(axes, runs, MAIN, metric, styles=STYLES, scale=scale)
            axes.set_xticks([float(load) for load in runs])
            logarithmic(axes.yaxis, (1, 2, 3, 5, 7))
            panel_title(axes, f"{name}, messages {size}".replace("messages all", "all messages"))
            axes.set(xlabel="load", ylabel=f"mean FCT ({unit})")
    headline(figure, "One port, senders lossless, mean and range of three seeds (QCluster, Figures 11 to 13, 20, 22)")
    label_all(rows)
    return figure


def draw_parts(studies: dict[str, Runs]) -> "Figure":
    """Draws Figures 16 and 23 to 28: fairness, deadlines, disorder, messages, number of queues and sketches."""
    figure, rows = panels(2, 4, (18, 7))
    for axes, (study, metric, scale, title, what) in zip((*rows[0], *rows[1][:-1]), PARTS, strict=True):
        runs = studies[f"{study}, lossless"]
        goals = [name + ending for name in GOALS for ending in ("", PDA)]
        plain = [name for name in next(iter(runs.values())) if not name.endswith(PDA)]
        curves(axes, runs, goals if metric == "disorder" else plain, metric, styles=STYLES, scale=scale)
        axes.set_xticks([float(load) for load in runs])
        panel_title(axes, title)
        axes.set(xlabel="load", ylabel=what)
    sketches = rows[1][-1]
    sketch = {int(name): each for name, each in studies["sketch, lossless"][FULL].items() if not name.endswith(PDA)}
    for metric, label, colour in (("small", "below 10 KB", CURVES[1]), ("medium", "10 to 100 KB", CURVES[0])):
        band(sketches, [*sketch], [found[metric] for found in sketch.values()], color=colour, scale=US, label=label)
    logarithmic(sketches.xaxis, (1,))
    sketches.set(xlabel="buckets of the sketch", ylabel="mean FCT (us)", xticks=[*sketch])
    logarithmic(sketches.yaxis, (1, 2, 3, 5, 7))
    panel_title(sketches, f"W6, load {FULL}, QC-LAS")
    headline(figure, "Parts of QCluster, senders lossless, one port of 10 Gbps (QCluster, Figures 16 and 23 to 28)")
    label_all([[axes] for row in rows for axes in row])
    return figure


def draw_starts(starts: dict[str, list[list[float]]]) -> "Figure":
    """Draws Figures 6 to 9: thresholds, and the share of packets in each queue, over time from each start."""
    from matplotlib import colormaps  # noqa: PLC0415 - the page needs no pictures

    figure, (above, below) = panels(2, len(starts), (12, 6))
    colours = colormaps["viridis"](np.linspace(0, 1, QUEUES)).tolist()
    for upper, lower, (name, rows) in zip(above, below, starts.items(), strict=True):
        times, *numbers = np.array(rows).T
        for threshold, colour in zip(numbers[QUEUES:], colours, strict=False):
            upper.plot(MS * times, threshold, color=colour)
        shares = 100 * np.array(numbers[:QUEUES])
        lower.stackplot(MS * times, shares, colors=colours, labels=[f"queue {i}" for i in range(QUEUES)])
        lower.set(xlabel="time (ms)", ylim=(0, 100))
        for axes in (upper, lower):
            axes.set(xlim=(MS * times[0], MS * times[-1]))
            logarithmic(axes.xaxis, (1,))
        logarithmic(upper.yaxis, (1,))
        panel_title(upper, f"First all: {name}")
    above[0].set_ylabel("thresholds (B)")
    below[0].set_ylabel("packets (%)")
    figure.legend(*below[0].get_legend_handles_labels(), loc="outside lower center", ncols=QUEUES, fontsize=9)
    headline(figure, "QC-FQ on W6 at load 0.9: thresholds and packets in each queue (QCluster, Figures 6 to 9)")
    return figure
