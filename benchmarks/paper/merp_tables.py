"""Sets MERP's statements beside what ``merp.py`` measured, and draws its Figures 5 to 11 and the failures.

``run.py`` puts the text into the README of this folder.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.paper.figures import GREY, HERE, curves, headline, label_all, logarithmic, panel_title, panels, save
from benchmarks.paper.merp import FAT_TREE_FLOWS, PERCENTS, STUDIES, TREE_FLOWS, Runs
from benchmarks.paper.statements import MS, Column, at_points, columns_of, page, points, statements_table, table
from flowsched_gym.evaluation.figures import CURVES
from flowsched_gym.leaderboard import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATES: Final = ("MERP", "pFabric")
MIDDLE: Final = "0.6"
"""Load of the distribution of completion times."""
SHARES: Final = (
    ("99th percentile slowdown", RATES, "p99_slowdown"),
    ("99.9th", RATES, "p999_slowdown"),
    ("largest", RATES, "max_slowdown"),
    ("99.9th percentile FCT", RATES, "p999_fct"),
    ("mean FCT", RATES, "mean_fct"),
)
INCAST_COLUMNS: Final = (
    ("mean FCT, ms", "mean_fct", MS),
    ("largest FCT, ms", "largest", MS),
    ("link time lost, %", "lost", 100.0),
)
FIGURES_5_TO_7: Final = (
    ("99th percentile slowdown", "p99_slowdown", 1.0),
    ("largest slowdown", "max_slowdown", 1.0),
    ("99.9th percentile FCT, ms", "p999_fct", MS),
    ("mean FCT, ms", "mean_fct", MS),
)

COLOURS: Final = {"MERP": CURVES[1], "pFabric": CURVES[0], "pFabric by size": CURVES[3], "TCP": GREY} | {
    name: CURVES[shade] for name, shade in {"MEMR": 1, "ECMP": 0, "CONGA": 2, "CONGA once": 4}.items()
}
SIZES: Final = {"tree": "1,500 KB", "tree, 150 KB": "150 KB"}

PAPERS_EXAMPLE: Final = {"PS": ("8", "2.375"), "SRPT": ("5.33", "2.5"), "MERP": ("5.67", "2.33")}
"""Mean FCT and largest expansion ratio as printed; 2.375 under PS is C's, A's is larger."""


def merp_markdown(results: dict[str, Any]) -> str:
    """Returns the part of the document on MERP."""
    studies: dict[str, Runs] = results["studies"] | {name: results[name] for name in ("balance", "paths")}

    def rates(name: str, figures: Sequence[tuple[str, str, float]] = FIGURES_5_TO_7) -> Table:
        columns = [each for figure in figures for each in columns_of(*figure, schemes=list(STUDIES[name].schemes))]
        return table("flows" if name == "incast" else "load", points(studies[name]), columns)

    def settings(name: str) -> Table:
        columns = [Column(scheme, (scheme,), "p999_fct", MS) for scheme in STUDIES[name].schemes]
        return table("load", points(studies[name]), columns)

    def lengths(name: str, schemes: tuple[str, str]) -> Table:
        columns = [each for figure in FIGURES_5_TO_7[3:0:-2] for each in columns_of(*figure, schemes=schemes)]
        return table("flows, load", points(studies[name]), columns)

    return page(
        "merp",
        seeds=len(results["seeds"]),
        tree_flows=TREE_FLOWS,
        fat_tree_flows=FAT_TREE_FLOWS,
        command=results["command"],
        version=results["package_version"],
        example=example_table(results["example"]),
        statements=statements_table("MERP", at_points(studies)),
        tree=rates("tree"),
        small=rates("tree, 150 KB"),
        packets=rates("packets"),
        incast=rates("incast", INCAST_COLUMNS),
        shapes=table("shape", points(studies["shapes"]), [Column(*each, digits=0) for each in SHARES]),
        alpha=settings("alpha"),
        theta=settings("theta"),
        routes=rates("routes", (FIGURES_5_TO_7[3], ("mean slowdown", "mean_slowdown", 1.0))),
        failures=failures_table(studies["failures"]),
        lengths=lengths("lengths", RATES),
        fat_tree_lengths=lengths("lengths, fat-tree", ("MEMR", "ECMP")),
    )


def example_table(example: dict[str, Any]) -> Table:
    """Lays the motivating example out."""
    rows = []
    for name, found in example.items():
        mean_fct, largest = PAPERS_EXAMPLE[name]
        done = " / ".join(f"{time:g}" for time in found["completion_time"])
        rows.append((name, done, f"{found['mean_fct']:.2f}", mean_fct, f"{max(found['slowdown']):.2f}", largest))
    columns = ("", "A / B / C finish at", "mean FCT", "paper", "largest slowdown", "paper")
    return Table(columns=columns, rows=tuple(rows))


def failures_table(runs: Runs) -> Table:
    """Lays the failures out."""
    found = table("failed", points(runs), columns_of("mean FCT, ms", "mean_fct", MS, ("MEMR", "ECMP", "CONGA")))
    drawn = [np.array(each["MEMR"]["mean_fct"]) / np.array(each["ECMP"]["mean_fct"]) for each in runs.values()]
    rows = tuple((*row, f"{100 * (np.median(each) - 1):+.0f}") for row, each in zip(found.rows, drawn, strict=True))
    return Table(columns=(*found.columns, "in the middle draw"), rows=rows)


def draw(results: dict[str, Any], folder: Path = HERE) -> list[Path]:
    """Draws all figures; returns where they are."""
    studies: dict[str, Runs] = results["studies"]
    return save({"merp_rates.png": draw_rates(studies), "merp_routes.png": draw_routes(studies)}, folder)


def draw_rates(studies: dict[str, Runs]) -> "Figure":
    """Draws Figures 5 to 7: rate control on the tree."""
    figure, rows = panels(len(SIZES), len(FIGURES_5_TO_7), (14, 6.5))
    for row, (name, size) in zip(rows, SIZES.items(), strict=True):
        panel_title(row[0], f"Mean flow size {size}")
        for axes, (what, metric, scale) in zip(row, FIGURES_5_TO_7, strict=True):
            curves(axes, studies[name], STUDIES[name].schemes, metric, styles=COLOURS, scale=scale)
            axes.set(xlabel="load", ylabel=what)
            logarithmic(axes.yaxis, (1, 2, 5))
    headline(figure, "Nine-host tree: MERP, pFabric and TCP in this model (MERP, Figures 5 to 7)")
    label_all(rows)
    return figure


def draw_routes(studies: dict[str, Runs]) -> "Figure":
    """Draws Figures 10 and 11, and the failures: route control on the fat-tree."""
    figure, rows = panels(2, 2, (12, 8))
    (times, slowdowns), (tail, failures) = rows
    for axes, metric, scale, what in (
        (times, "mean_fct", MS, "mean FCT (ms)"),
        (slowdowns, "mean_slowdown", 1.0, "mean slowdown"),
    ):
        curves(axes, studies["routes"], STUDIES["routes"].schemes, metric, styles=COLOURS, scale=scale)
        axes.set(xlabel="load", ylabel=what)
        logarithmic(axes.yaxis, (1, 2, 5))
    for name, found in studies["distribution"][MIDDLE].items():
        percentiles = [MS * np.mean(found[str(percent)]) for percent in PERCENTS]
        tail.plot(percentiles, 1 - np.array(PERCENTS) / 100, color=COLOURS.get(name, GREY), label=name)
    panel_title(tail, f"Load {MIDDLE}")
    tail.set(xlabel="flow completion time (ms)", ylabel="share of flows that take longer")
    for axis in (tail.xaxis, tail.yaxis):
        logarithmic(axis, (1,))
    curves(failures, studies["failures"], STUDIES["failures"].schemes, "mean_fct", styles=COLOURS, scale=MS)
    panel_title(failures, f"Load {MIDDLE}")
    failures.set(xlabel="failed cables of 16", ylabel="mean FCT (ms)", xticks=range(len(studies["failures"])))
    headline(figure, "Fat-tree, k = 4: paths by MEMR, ECMP and CONGA in this model (MERP, section 6.2)")
    label_all(rows)
    return figure
