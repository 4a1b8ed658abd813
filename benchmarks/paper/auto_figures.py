"""Draws AuTO's Figures 9 to 12 and 16 from what ``auto.py`` measured."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.paper.auto import FIXED, PHASES, SEARCHED_TOLD, SIZES, TOLD, TOLD_MIXTURE
from benchmarks.paper.auto_tables import LONGEST, MIXED
from benchmarks.paper.merp import Runs
from benchmarks.paper.merp_figures import DOTS_PER_INCH, HERE, SHADES, headline, panel_title, panels
from benchmarks.paper.merp_tables import MS, mean
from flowsched_gym.files import replace_when_written

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS: Final = {name: f"{name}, load 0.8" for name in SIZES} | {MIXED: "four clusters"}
METRICS: Final = (("mean FCT (ms)", "mean_fct"), ("99th percentile FCT (ms)", "p99_fct"))
DRAWN: Final = (*FIXED, TOLD, TOLD_MIXTURE, SEARCHED_TOLD, "SRPT")
COLOURS: Final = dict(zip(DRAWN, (*SHADES[:5], "tab:brown", "tab:red", "black", "tab:pink", "0.5"), strict=True))
LINKS: Final = {"ecmp": "tab:blue", "least-loaded": "tab:green", "least-attained": "tab:red"}
"""Colours of the policies that count long flows; agents are black."""


def draw(results: dict[str, Any], folder: Path = HERE) -> list[Path]:
    """Draws all figures; returns where they are."""
    runs: Runs = results["studies"]["figures 9 to 12"]
    drawn = {
        "auto_schedulers.png": draw_schedulers(runs),
        "auto_changing.png": draw_changing(runs),
        "auto_long_flows.png": draw_long_flows(results["imbalance"]),
    }
    for name, figure in drawn.items():
        with replace_when_written(folder / name) as temporary:
            figure.savefig(temporary, dpi=DOTS_PER_INCH)
    return [folder / name for name in drawn]


def draw_schedulers(runs: Runs) -> "Figure":
    """Draws Figures 9 and 10: a bar for each scheduler, with its interval."""
    figure, rows = panels(len(METRICS), len(POINTS), (14, 6.5))
    for row, (title, metric) in zip(rows, METRICS, strict=True):
        for axes, (point, name) in zip(row, POINTS.items(), strict=True):
            intervals = [mean(runs, point, scheme, metric) for scheme in runs[point]]
            heights = np.array([each.mean for each in intervals])
            ends = np.array([[each.mean - each.low, each.high - each.mean] for each in intervals]).T
            axes.barh(list(runs[point]), MS * heights, xerr=MS * np.maximum(ends, 0.0), color="tab:blue", alpha=0.7)
            axes.invert_yaxis()
            axes.tick_params(labelsize=8)
            panel_title(axes, f"{title}, {name}")
    headline(figure, "Schedulers on traffic that stays, in this model (AuTO, Figures 9 and 10)")
    return figure


def draw_changing(runs: Runs) -> "Figure":
    """Draws Figures 11 and 12: the phases of the first seed, as each has other traffic."""
    figure, (row,) = panels(1, len(METRICS), (11, 4.5))
    for axes, (title, metric) in zip(row, METRICS, strict=True):
        for name in DRAWN:
            by_phase = [MS * runs[LONGEST][name][f"{metric}, phase {phase}"][0] for phase in range(PHASES)]
            axes.plot(range(1, PHASES + 1), by_phase, marker="o", markersize=4, color=COLOURS[name], label=name)
        panel_title(axes, title)
        axes.set(xlabel="phase of arrival", ylim=(0, None))
    figure.legend(*row[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8)
    headline(figure, f"Traffic {LONGEST}, one seed, in this model (AuTO, Figures 11 and 12)")
    return figure


def draw_long_flows(imbalance: dict[str, dict[str, list[list[float]]]]) -> "Figure":
    """Draws Figure 16: differences between links over time, of the first seed."""
    figure, (row,) = panels(1, len(imbalance), (11, 4))
    for axes, (point, found) in zip(row, imbalance.items(), strict=True):
        for name, pairs in found.items():
            time, difference = zip(*pairs, strict=True)
            axes.step(time, difference, where="post", color=LINKS.get(name, "black"), label=name, linewidth=1)
        panel_title(axes, f"long from {point}")
        axes.set(xlabel="time (s)", ylim=(0, None))
    row[0].set_ylabel("most less fewest long flows on a link")
    row[0].legend(fontsize=8)
    headline(figure, "Long flows on links of three paths, one seed, in this model (AuTO, Figure 16)")
    return figure
