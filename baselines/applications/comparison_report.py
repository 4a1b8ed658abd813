"""What a comparison of policies leaves behind: result files, a table with verdicts, a figure."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from flowsched_gym.baselines.applications.comparison import Comparison
from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.files import replace_when_written, write_text
from flowsched_gym.core.units import SECONDS_PER_MILLISECOND
from flowsched_gym.evaluation import BOUND_POLICY, result_name, write_result
from flowsched_gym.evaluation.figures import CURVES, LEARNED, draw_intervals
from flowsched_gym.evaluation.plots import DOTS_PER_INCH, FAINT, INK, dress
from flowsched_gym.flows.metrics import merit
from flowsched_gym.leaderboard import ComparisonRow, column_of, compare, comparison_table, curves_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RESULTS_FOLDER: Final = "results"
TABLE_FILE: Final = "comparison.md"
FIGURE_FILE: Final = "comparison.png"

FIGURE_INCHES: Final = (12.0, 5.2)
CURVE_POINTS: Final = 400
"""Points of a curve: more would not show."""
SHOWN_SHARE: Final = 0.995
"""Share of the flows that the axis of times covers; the longest few would squeeze the rest."""
RESAMPLES: Final = 400
"""Bootstrap resamples of the episodes behind the bands of curves."""
BAND: Final = (2.5, 97.5)
"""Percentiles of the resamples between which a band lies."""
LABELLED: Final = (0.08, 0.7)
"""Shares of flows between which lines lead from the curves to their names."""


def decisions_text(made: int, asked: int) -> str:
    """Writes the decisions of a training, and those requested where they differ."""
    return f"{made:,} decisions" + f", {asked:,} requested" * (made != asked)


def verdicts(rows: Sequence[ComparisonRow], metric: str) -> list[str]:
    """Tells for each trained model whether it is better than the best rule with its actions and information."""
    shown, found = column_of(metric), []
    for row in rows:
        difference = row.difference
        if not row.learned or difference is None:
            continue
        figures = shown.write(difference, signed=True)
        rule = f"{row.reference}, the best rule with its actions and information"
        if difference.mean == difference.low == difference.high == 0:
            found.append(f"no significant difference between {row.policy} and {rule}: equal in every episode")
        elif not difference.known or difference.low <= 0 <= difference.high:
            found.append(f"no significant difference between {row.policy} and {rule}: {shown.label} {figures}")
        else:
            ahead = merit(metric, difference.mean) > 0
            found.append(f"{row.policy} is {'better' if ahead else 'worse'} than {rule}: {shown.label} {figures}")
    return found


def write_comparison(
    comparison: Comparison, folder: Path, *, metric: str, title: str, notes: Sequence[str] = ()
) -> tuple[str, list[ComparisonRow]]:
    """Writes result files, the table and the figure into a folder.

    The metric orders the table and has its intervals in the figure; the title says what was played; notes are lines
    below the table. Returns the table and the lines below it as text, and what it was made of.

    Raises:
        ConfigError: There is no such metric.
        OSError: A file cannot be written.
    """
    for result in comparison.results:
        name = result_name(result.environment, result.kwargs, result.policy)
        write_result(result, folder / RESULTS_FOLDER / name)
    # Equals keep their order: a model stands before a heuristic only where it is better.
    ordered = sorted(comparison.results, key=lambda result: result.policy in comparison.learned)
    rows = compare(ordered, metric=metric)
    table = comparison_table(ordered, metric=metric, rows=rows)
    lines = [*notes, *verdicts(rows, metric)]
    write_text(table.markdown() + "".join(f"\n{line}\n" for line in lines), folder / TABLE_FILE)
    draw_comparison(comparison, folder / FIGURE_FILE, metric=metric, title=title)
    return table.text() + "".join(f"{line}\n" for line in lines), rows


def draw_comparison(comparison: Comparison, path: Path, *, metric: str, title: str) -> None:
    """Draws the distribution of completion times, and the metric with its intervals.

    Raises:
        ConfigError: There is no such metric.
        OSError: The file cannot be written.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - takes half a second that other commands need not spend

    order = sorted(
        comparison.fct,
        key=lambda name: (-merit(metric, comparison.result(name).interval(metric).mean), name in comparison.learned),
    )
    curves = curves_of(order, comparison.learned)
    heuristics = [name for name in curves if name not in comparison.learned]
    colours = dict.fromkeys(order, FAINT) | dict(zip(heuristics, CURVES, strict=False))
    colours |= dict.fromkeys(comparison.learned, LEARNED)
    figure = Figure(figsize=FIGURE_INCHES, layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold", color=INK)
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
    _draw_times(left, comparison, curves, colours)
    _draw_intervals(right, comparison, order, colours, metric)
    with replace_when_written(path) as temporary:
        figure.savefig(temporary, dpi=DOTS_PER_INCH)


def _draw_times(axes: "Axes", comparison: Comparison, curves: Sequence[str], colours: dict[str, str]) -> None:
    """Draws the cumulative distributions of the flow completion times, their names beside them."""
    finished = {name: np.concatenate(comparison.fct[name]) / SECONDS_PER_MILLISECOND for name in curves}
    finished = {name: times[np.isfinite(times)] for name, times in finished.items()}
    drawn = sorted((name for name in curves if len(finished[name])), key=lambda name: float(np.median(finished[name])))
    levels = np.linspace(LABELLED[1], LABELLED[0], max(len(drawn), 2))
    for name, level in zip(drawn, levels, strict=False):
        times = np.unique(np.quantile(finished[name], np.linspace(0.0, SHOWN_SHARE, CURVE_POINTS)))
        share, low, high = _shares(comparison.fct[name], times * SECONDS_PER_MILLISECOND)
        learned = name in comparison.learned
        colour, zorder = colours[name], 3 if learned else 2
        axes.plot(times, share, linewidth=2.6 if learned else 1.3, color=colour, zorder=zorder)
        axes.fill_between(times, low, high, alpha=0.12, linewidth=0, color=colour, zorder=zorder)
        at = min(int(np.searchsorted(share, level)), len(times) - 1)
        axes.plot(times[at], share[at], "o", markersize=5, color=colour, zorder=zorder)
        axes.annotate(
            name,
            (float(times[at]), float(share[at])),
            xytext=(0.99, float(share[at])),
            textcoords=("axes fraction", "data"),
            ha="right",
            va="center",
            fontsize=9,
            fontweight="bold" if learned else "normal",
            color=colour,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.8},
        )
    axes.set_xscale("log")
    if drawn:
        axes.set_xlim(right=max(float(np.quantile(finished[name], SHOWN_SHARE)) for name in drawn))
    axes.set_ylim(0, 1)
    axes.set_xlabel("flow completion time (ms)", color=INK)
    axes.set_ylabel("share of flows", color=INK)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    dress(axes)


def _shares(episodes: Sequence[FloatArray], times: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Counts the share of flows that have finished by each time, and its 95 % interval over episodes."""
    # A flow that did not finish is NaN, which is sorted behind all others.
    done = np.array([np.searchsorted(np.sort(fct), times, side="right") for fct in episodes], dtype=np.float64)
    flows = np.array([len(fct) for fct in episodes], dtype=np.float64)
    draws = np.random.default_rng(0).multinomial(len(episodes), np.full(len(episodes), 1 / len(episodes)), RESAMPLES)
    low, high = np.percentile((draws @ done) / (draws @ flows)[:, None], BAND, axis=0)
    return done.sum(axis=0) / flows.sum(), low, high


def _draw_intervals(
    axes: "Axes", comparison: Comparison, order: Sequence[str], colours: dict[str, str], metric: str
) -> None:
    """Draws the metric of every policy with its interval, best on top, and the bound as a line."""
    shown, bounds = column_of(metric), [each for each in comparison.results if each.policy == BOUND_POLICY]
    draw_intervals(
        axes,
        {name: comparison.result(name).interval(metric) for name in order},
        colours=colours,
        bound=bounds[0].interval(metric) if bounds and metric in bounds[0].metric_names else None,
        scale=shown.scale,
        digits=shown.digits,
    )
    for label, name in zip(axes.get_yticklabels(), order, strict=True):
        label.set(color=colours[name], fontweight="bold" if name in comparison.learned else "normal")
    axes.margins(x=0.08)
    episodes = len(comparison.results[0].episodes)
    axes.set_xlabel(f"{shown.label}: mean and 95 % interval, {episodes} episodes", color=INK)
