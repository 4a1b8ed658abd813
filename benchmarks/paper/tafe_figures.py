"""Draws TAFE's Figures 4, 5 and 7 to 12 from what ``tafe.py`` measured."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.paper.merp import Runs
from benchmarks.paper.merp_figures import DOTS_PER_INCH, HERE, headline, panel_title, panels, plain_numbers
from benchmarks.paper.merp_tables import MS
from benchmarks.paper.tafe import AT_ONCE, CLOSED, PERCENTS, QUEUES, TASKS
from flowsched_gym.evaluation import bootstrap_interval
from flowsched_gym.files import replace_when_written

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES: Final = {
    "D2TCP": ("tab:blue", "-"),
    "FIFO-LM": ("0.5", "-"),
    "TAFE": ("tab:red", "-"),
    "TAFE, 3 queues": ("tab:red", "--"),
    "STF": ("black", ":"),
}
"""Colour and line of each scheme."""
SHADES: Final = ("tab:blue", "tab:orange", "tab:green", "tab:purple")
MODES: Final = (AT_ONCE, "load 0.9")


def draw(results: dict[str, Any], folder: Path = HERE) -> list[Path]:
    """Draws all figures; returns where they are."""
    found = results["tafe"]
    drawn = {"tafe_queues.png": draw_queues(found["studies"]), "tafe_times.png": draw_times(found["percentiles"])}
    for name, figure in drawn.items():
        with replace_when_written(folder / name) as temporary:
            figure.savefig(temporary, dpi=DOTS_PER_INCH)
    return [folder / name for name in drawn]


def draw_queues(studies: dict[str, Runs]) -> "Figure":
    """Draws Figures 4 and 5: thresholds and number of queues, against one queue."""
    figure, rows = panels(len(MODES), 3, (13, 7))
    for row, mode in zip(rows, MODES, strict=True):
        runs = studies[f"thresholds, {mode}"]
        curves(row[0], runs, {"paper": "mean, 3/4 of the largest", "thirds": "1/3, 2/3 of the largest"})
        panel_title(row[0], f"{mode}, three queues")
        for axes, kind in zip(row[1:], ("spread", "quantiles"), strict=True):
            curves(axes, runs, {f"{kind}, {each}": f"{each} queues" for each in QUEUES[1:]})
            panel_title(axes, f"{mode}, thresholds: {kind}")
        row[0].set_ylabel("mean TCT against one queue (%)")
        low = min(axes.get_ylim()[0] for axes in row)
        high = max(axes.get_ylim()[1] for axes in row)
        for axes in row:
            axes.set(xlabel="tasks", ylim=(low, high))
    for axes in rows[0][:2]:
        axes.legend(fontsize=8, loc="lower left")
    headline(figure, "tafe-log with CPU work, shortest stage first, in this model (TAFE, Figures 4 and 5)")
    return figure


def curves(axes: "Axes", runs: Runs, names: dict[str, str]) -> None:
    """Draws mean TCT against one queue by number of tasks, with its interval over seeds."""
    for colour, (scheme, label) in zip(SHADES, names.items(), strict=False):
        estimates = [
            bootstrap_interval(against(runs[str(count)][scheme]["tct"], runs[str(count)]["spread, 1"]["tct"]))
            for count in TASKS
        ]
        axes.plot(TASKS, [each.mean for each in estimates], color=colour, marker="o", markersize=4, label=label)
        lows, highs = [each.low for each in estimates], [each.high for each in estimates]
        axes.fill_between(TASKS, lows, highs, color=colour, alpha=0.12, linewidth=0)
    axes.axhline(0.0, color="black", linewidth=0.8)


def against(values: Sequence[float], others: Sequence[float]) -> list[float]:
    """Returns by how many per cent values exceed others."""
    share: list[float] = (100 * (np.array(values) / np.array(others) - 1)).tolist()
    return share


def draw_times(spread: dict[str, dict[str, dict[str, list[float]]]]) -> "Figure":
    """Draws Figures 7 to 12: distributions of task completion times."""
    columns = [(count, mode) for count in (100, 500) for mode in (CLOSED, "load 0.9")]
    figure, rows = panels(2, len(columns), (15, 7))
    shares = np.array(PERCENTS) / 100
    for row, size in zip(rows, ("short", "long"), strict=True):
        for axes, (count, mode) in zip(row, columns, strict=True):
            for name, (colour, style) in STYLES.items():
                times = MS * np.array(spread[f"{size}, {count}"][mode][name])
                axes.plot(times, shares, style, color=colour, label=name)
            axes.set(xscale="log", ylim=(0, 1))
            plain_numbers(axes.xaxis, (1,))
            panel_title(axes, f"{count} {size} tasks, {mode}")
        row[0].set_ylabel("share of tasks")
    for axes in rows[-1]:
        axes.set_xlabel("task completion time (ms)")
    figure.legend(*rows[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=len(STYLES), fontsize=9)
    headline(figure, "One link of 1 Gbps, in this model (TAFE, Figures 6 to 12)")
    return figure
