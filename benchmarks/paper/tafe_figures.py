"""Draws TAFE's Figures 4, 5 and 7 to 12 from what ``tafe.py`` measured."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.paper.figures import GREY, HERE, band, headline, label_all, logarithmic, panel_title, panels, save
from benchmarks.paper.merp import Runs
from benchmarks.paper.merp_tables import MS
from benchmarks.paper.tafe import AT_ONCE, CLOSED, PERCENTS, QUEUES, TASKS
from flowsched_gym.evaluation.figures import CURVES, label_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES: Final = {
    "D2TCP": (CURVES[0], "-"),
    "FIFO-LM": (GREY, "-"),
    "TAFE": (CURVES[1], "-"),
    "TAFE, 3 queues": (CURVES[1], "--"),
    "STF": (CURVES[3], "-"),
}
"""Colour and line of each scheme."""
LAST: Final = -1
"""End of the percentiles that are drawn: without the largest time, at which all curves are steep."""
MODES: Final = (AT_ONCE, "load 0.9")


def draw(results: dict[str, Any], folder: Path = HERE) -> list[Path]:
    """Draws all figures; returns where they are."""
    found = results["tafe"]
    drawn = {"tafe_queues.png": draw_queues(found["studies"]), "tafe_times.png": draw_times(found["percentiles"])}
    return save(drawn, folder)


def draw_queues(studies: dict[str, Runs]) -> "Figure":
    """Draws Figures 4 and 5: thresholds and number of queues, against one queue."""
    figure, rows = panels(len(MODES), 3, (14, 7.5), sharey=True)
    for row, mode in zip(rows, MODES, strict=True):
        runs = studies[f"thresholds, {mode}"]
        curves(row[0], runs, {"paper": "mean, 3/4", "thirds": "1/3, 2/3"})
        panel_title(row[0], f"{mode.capitalize()}: three queues, by thresholds")
        for axes, kind in zip(row[1:], ("spread", "quantiles"), strict=True):
            curves(axes, runs, {f"{kind}, {each}": f"{each} queues" for each in QUEUES[1:]})
            panel_title(axes, f"{mode.capitalize()}: thresholds by {kind}")
        row[0].set_ylabel("mean TCT against one queue (%)")
        for axes in row:
            axes.set_xlabel("tasks")
    headline(figure, "tafe-log with CPU work, shortest stage first, in this model (TAFE, Figures 4 and 5)")
    label_all(rows)
    return figure


def curves(axes: "Axes", runs: Runs, names: dict[str, str]) -> None:
    """Draws mean TCT against one queue by number of tasks, with its interval over seeds."""
    for colour, (scheme, label) in zip(CURVES, names.items(), strict=False):
        shares = [against(runs[str(count)][scheme]["tct"], runs[str(count)]["spread, 1"]["tct"]) for count in TASKS]
        band(axes, TASKS, shares, color=colour, label=label)
    axes.axhline(0.0, color="black", linewidth=0.8)


def against(values: Sequence[float], others: Sequence[float]) -> list[float]:
    """Returns by how many per cent values exceed others."""
    share: list[float] = (100 * (np.array(values) / np.array(others) - 1)).tolist()
    return share


def draw_times(spread: dict[str, dict[str, dict[str, list[float]]]]) -> "Figure":
    """Draws Figures 7 to 12: quantiles of task completion times, whose curves end apart."""
    columns = [(count, mode) for count in (100, 500) for mode in (CLOSED, "load 0.9")]
    figure, rows = panels(2, len(columns), (15, 8))
    for row, size in zip(rows, ("short", "long"), strict=True):
        for axes, (count, mode) in zip(row, columns, strict=True):
            for name, (colour, style) in STYLES.items():
                times = MS * np.array(spread[f"{size}, {count}"][mode][name])
                axes.plot(PERCENTS[:LAST], times[:LAST], style, color=colour, label=name)
            axes.set(xlim=(0, 100))
            logarithmic(axes.yaxis, (1,))
            panel_title(axes, f"{count} {size} tasks, {mode}")
        row[0].set_ylabel("task completion time (ms)")
        label_curves(row[-1])
    for axes in rows[-1]:
        axes.set_xlabel("percentile of tasks")
    headline(figure, "One link of 1 Gbps, in this model (TAFE, Figures 6 to 12)")
    return figure
