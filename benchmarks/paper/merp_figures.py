"""Draws MERP's Figures 5 to 11 and the study of failed links from what ``merp.py`` measured."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.paper.merp import PERCENTS, STUDIES, Runs
from benchmarks.paper.merp_tables import MIDDLE, MS
from flowsched_gym.evaluation import bootstrap_interval
from flowsched_gym.files import replace_when_written

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

HERE: Final = Path(__file__).resolve().parent
COLOURS: Final = {
    "MERP": "tab:red",
    "pFabric": "tab:blue",
    "pFabric by size": "tab:cyan",
    "TCP": "0.5",
    "MEMR": "tab:red",
    "ECMP": "tab:blue",
    "CONGA": "tab:green",
    "CONGA once": "tab:olive",
    "CONGA, TCP": "0.5",
}
SHADES: Final = ("#440154", "#3b528b", "#21918c", "#5ec962", "tab:orange", "0.5")
"""Colours of settings, which stand for no scheme."""
MARKERS: Final = "osD^vX"
DOTS_PER_INCH: Final = 110
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
    for name, figure in drawn.items():
        with replace_when_written(folder / name) as temporary:
            figure.savefig(temporary, dpi=DOTS_PER_INCH)
    return [folder / name for name in drawn]


def draw_rates(studies: dict[str, Runs]) -> "Figure":
    """Draws Figures 5 to 7: rate control on the tree."""
    figure, rows = panels(len(SIZES), len(RATE_PANELS), (13, 6))
    for row, (name, size) in zip(rows, SIZES.items(), strict=True):
        for axes, (title, metric, scale) in zip(row, RATE_PANELS, strict=True):
            _curves(axes, studies[name], list(STUDIES[name].schemes), metric, scale=scale)
            panel_title(axes, f"{title}, {size}")
            axes.set(xlabel="load", yscale="log")
            plain_numbers(axes.yaxis, (1, 2, 5))
    rows[0][0].legend(fontsize=8)
    headline(figure, "Nine-host tree: MERP, pFabric and TCP in this model (MERP, Figures 5 to 7)")
    return figure


def draw_settings(studies: dict[str, Runs]) -> "Figure":
    """Draws Figures 8 and 9: alpha, and the detecting rate threshold as a gap."""
    figure, ((left, right),) = panels(1, 2, (10, 4))
    for axes, name, title in ((left, "alpha", "by alpha, tree"), (right, "theta", "by threshold, one link")):
        _curves(axes, studies[name], list(STUDIES[name].schemes), "p999_fct", scale=MS)
        panel_title(axes, f"99.9th percentile FCT (ms) {title}")
        axes.set(xlabel="load")
        axes.legend(fontsize=8)
    headline(figure, "MERP's settings, mean size 150 KB, in this model (MERP, Figures 8 and 9)")
    return figure


def draw_routes(studies: dict[str, Runs]) -> "Figure":
    """Draws Figures 10 and 11, and the failures: route control on the fat-tree."""
    figure, ((times, slowdowns), (tail, failures)) = panels(2, 2, (11, 8))
    schemes = list(STUDIES["routes"].schemes)
    for axes, metric, scale, title in (
        (times, "mean_fct", MS, "mean FCT (ms)"),
        (slowdowns, "mean_slowdown", 1.0, "mean slowdown"),
    ):
        _curves(axes, studies["routes"], schemes, metric, scale=scale)
        panel_title(axes, title)
        axes.set(xlabel="load", yscale="log")
        plain_numbers(axes.yaxis, (1, 2, 5))
    times.legend(fontsize=8)
    for name, found in studies["distribution"][MIDDLE].items():
        percentiles = [MS * np.mean(found[str(percent)]) for percent in PERCENTS]
        tail.plot(percentiles, 1 - np.array(PERCENTS) / 100, color=COLOURS[name])
    panel_title(tail, f"share of flows that take longer, load {MIDDLE}")
    tail.set(xlabel="flow completion time (ms)", xscale="log", yscale="log")
    for axis in (tail.xaxis, tail.yaxis):
        plain_numbers(axis, (1,))
    _curves(failures, studies["failures"], list(STUDIES["failures"].schemes), "mean_fct", scale=MS)
    panel_title(failures, f"mean FCT (ms), load {MIDDLE}")
    failures.set(xlabel="failed cables of 16", xticks=range(len(studies["failures"])))
    headline(figure, "Fat-tree, k = 4: paths by MEMR, ECMP and CONGA in this model (MERP, section 6.2)")
    return figure


def panels(rows: int, columns: int, inches: tuple[float, float]) -> "tuple[Figure, list[list[Axes]]]":
    """Lays panels out."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - the document is made without it

    figure = Figure(figsize=inches, layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False)
    for axes in panels.flat:
        axes.grid(alpha=0.3)
    return figure, panels.tolist()


def _curves(axes: "Axes", runs: Runs, schemes: Sequence[str], metric: str, *, scale: float) -> None:
    """Draws a metric of each scheme with its interval as a band."""
    points = [float(point) for point in runs]
    for number, name in enumerate(schemes):
        intervals = [bootstrap_interval(found[name][metric]) for found in runs.values()]
        colour = COLOURS.get(name, SHADES[number])
        axes.plot(
            points,
            [scale * interval.mean for interval in intervals],
            color=colour,
            marker=MARKERS[number],
            markersize=4,
            label=name,
        )
        low, high = ([scale * end for end in ends] for ends in zip(*((i.low, i.high) for i in intervals), strict=True))
        axes.fill_between(points, low, high, color=colour, alpha=0.2, linewidth=0)


def headline(figure: "Figure", text: str) -> None:
    """Says on top what a figure is about."""
    figure.suptitle(text, x=0.01, ha="left", fontsize=12)


def panel_title(axes: "Axes", text: str) -> None:
    """Says what a panel shows."""
    axes.set_title(text, loc="left", fontsize=10)


def plain_numbers(axis: "Axis", steps: tuple[int, ...]) -> None:
    """Writes the numbers of a logarithmic axis as such, not as powers, at these steps of each decade."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: PLC0415 - as above

    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
