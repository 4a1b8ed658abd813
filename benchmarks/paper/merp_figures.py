"""Draws MERP's Figures 5 to 11 and the study of failed links from what ``merp.py`` measured."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.paper.figures import GREY, HERE, band, headline, label_all, logarithmic, panel_title, panels, save
from benchmarks.paper.merp import PERCENTS, STUDIES, Runs
from benchmarks.paper.merp_tables import MIDDLE, MS
from flowsched_gym.evaluation.figures import CURVES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS: Final = {
    "MERP": CURVES[1],
    "pFabric": CURVES[0],
    "pFabric by size": CURVES[3],
    "TCP": GREY,
    "MEMR": CURVES[1],
    "ECMP": CURVES[0],
    "CONGA": CURVES[2],
    "CONGA once": CURVES[4],
    "CONGA, TCP": GREY,
}
RATE_PANELS: Final = (
    ("99th percentile slowdown", "p99_slowdown", 1.0),
    ("largest slowdown", "max_slowdown", 1.0),
    ("99.9th percentile FCT (ms)", "p999_fct", MS),
    ("mean FCT (ms)", "mean_fct", MS),
)
SIZES: Final = {"tree": "1,500 KB", "tree, 150 KB": "150 KB"}


def draw(results: dict[str, Any], folder: Path = HERE) -> list[Path]:
    """Draws all figures; returns where they are."""
    studies: dict[str, Runs] = results["studies"]
    drawn = {
        "merp_rates.png": draw_rates(studies),
        "merp_settings.png": draw_settings(studies),
        "merp_routes.png": draw_routes(studies),
    }
    return save(drawn, folder)


def draw_rates(studies: dict[str, Runs]) -> "Figure":
    """Draws Figures 5 to 7: rate control on the tree."""
    figure, rows = panels(len(SIZES), len(RATE_PANELS), (14, 6.5))
    for row, (name, size) in zip(rows, SIZES.items(), strict=True):
        panel_title(row[0], f"Mean flow size {size}")
        for axes, (what, metric, scale) in zip(row, RATE_PANELS, strict=True):
            _curves(axes, studies[name], list(STUDIES[name].schemes), metric, scale=scale)
            axes.set(xlabel="load", ylabel=what)
            logarithmic(axes.yaxis, (1, 2, 5))
    headline(figure, "Nine-host tree: MERP, pFabric and TCP in this model (MERP, Figures 5 to 7)")
    label_all(rows)
    return figure


def draw_settings(studies: dict[str, Runs]) -> "Figure":
    """Draws Figures 8 and 9: alpha, and the detecting rate threshold as a gap."""
    figure, (row,) = panels(1, 2, (11, 4))
    for axes, name, title in zip(row, ("alpha", "theta"), ("Tree, by alpha", "One link, by threshold"), strict=True):
        _curves(axes, studies[name], list(STUDIES[name].schemes), "p999_fct", scale=MS)
        panel_title(axes, title)
        axes.set(xlabel="load", ylabel="99.9th percentile FCT (ms)")
    headline(figure, "MERP's settings, mean size 150 KB, in this model (MERP, Figures 8 and 9)")
    label_all([row])
    return figure


def draw_routes(studies: dict[str, Runs]) -> "Figure":
    """Draws Figures 10 and 11, and the failures: route control on the fat-tree."""
    figure, rows = panels(2, 2, (12, 8))
    (times, slowdowns), (tail, failures) = rows
    schemes = list(STUDIES["routes"].schemes)
    for axes, metric, scale, what in (
        (times, "mean_fct", MS, "mean FCT (ms)"),
        (slowdowns, "mean_slowdown", 1.0, "mean slowdown"),
    ):
        _curves(axes, studies["routes"], schemes, metric, scale=scale)
        axes.set(xlabel="load", ylabel=what)
        logarithmic(axes.yaxis, (1, 2, 5))
    for name, found in studies["distribution"][MIDDLE].items():
        percentiles = [MS * np.mean(found[str(percent)]) for percent in PERCENTS]
        tail.plot(percentiles, 1 - np.array(PERCENTS) / 100, color=COLOURS[name], label=name)
    panel_title(tail, f"Load {MIDDLE}")
    tail.set(xlabel="flow completion time (ms)", ylabel="share of flows that take longer")
    for axis in (tail.xaxis, tail.yaxis):
        logarithmic(axis, (1,))
    _curves(failures, studies["failures"], list(STUDIES["failures"].schemes), "mean_fct", scale=MS)
    panel_title(failures, f"Load {MIDDLE}")
    failures.set(xlabel="failed cables of 16", ylabel="mean FCT (ms)", xticks=range(len(studies["failures"])))
    headline(figure, "Fat-tree, k = 4: paths by MEMR, ECMP and CONGA in this model (MERP, section 6.2)")
    label_all(rows)
    return figure


def _curves(axes: "Axes", runs: Runs, schemes: Sequence[str], metric: str, *, scale: float) -> None:
    """Draws a metric of each scheme with its interval as a band."""
    for name, shade in zip(schemes, CURVES, strict=False):
        samples = [found[name][metric] for found in runs.values()]
        points = [float(point) for point in runs]
        band(axes, points, samples, color=COLOURS.get(name, shade), scale=scale, label=name)
