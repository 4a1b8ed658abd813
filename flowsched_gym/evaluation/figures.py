"""Figures of comparisons and timelines, drawn on axes of the caller's: in notebooks, reports and pages."""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.files import replace_when_written
from flowsched_gym.core.units import SECONDS_PER_MILLISECOND
from flowsched_gym.evaluation.plots import (
    DOTS_PER_INCH,
    INK,
    LABEL_SIZE,
    MET,
    MISSED,
    PLAIN,
    WAITING,
    check_plot,
    distribution,
    dress,
    dress_panel,
    note,
)
from flowsched_gym.evaluation.statistics import Interval
from flowsched_gym.fluid import Records

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis


CURVES: Final = (MET, "#822b44", "#2fa684", "#b57fd8", "#d4911a", PLAIN)
"""Colours of curves, which colour-blind readers tell apart; where there are more than six, lines differ too."""
LINES: Final = ("-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)))
"""Solid, dashed, dotted, and both in turns."""
LEARNED: Final = "#b9551a"
"""Colour of learned agents."""
HEURISTIC: Final = PLAIN
"""Colour of heuristics."""

LABEL_HEIGHT: Final = 13.0
"""Least distance of two labels in points."""
POINTS_PER_INCH: Final = 72.0
FINE_TICKS: Final = 2_000.0
"""Ratio of the ends of a logarithmic axis below which three ticks fit into a power of ten."""
DISTRIBUTIONS_INCHES: Final = (8.0, 4.8)
LABELLED_FLOWS: Final = 20
"""Flows whose lateness can be written beside them."""


def draw_flows(
    axes: "Axes", records: Records, *, first: int = 0, count: int | None = None, names: Sequence[str] | None = None
) -> None:
    """Draws each flow as a bar from its arrival to its completion, joined by a line to its deadline, a diamond.

    The time before a flow was allowed to send is grey. All flows have finished; ``count`` of them are shown from the
    ``first`` on, in the order of arrival; ``names`` are in the order of the records, ids by default.
    """
    names = [str(flow) for flow in records.flow_id] if names is None else names
    if len(names) != records.num_flows:
        raise ConfigError(f"names has {len(names)} entries: {records.num_flows} flows need one each")
    order = np.lexsort((records.flow_id, records.arrival_time))[first : None if count is None else first + count]
    if not len(order):
        raise ConfigError(f"first is {first}, count {count}: there are {records.num_flows} flows, and none is shown")
    arrival, grant, completion = (
        times[order] / SECONDS_PER_MILLISECOND
        for times in (records.arrival_time, records.grant_time, records.completion_time)
    )
    due = arrival + records.deadline_span[order] / SECONDS_PER_MILLISECOND
    limited, met = np.isfinite(due), records.deadline_met[order]
    colours = np.where(limited, np.where(met, MET, MISSED), PLAIN)
    rows = np.arange(len(order))
    axes.barh(rows, grant - arrival, left=arrival, height=0.7, color=WAITING)
    axes.barh(rows, completion - grant, left=grant, height=0.7, color=colours)
    if limited.any():
        axes.hlines(rows[limited], completion[limited], due[limited], color=INK, linewidth=0.8)
        axes.plot(due[limited], rows[limited], "D", color="white", markeredgecolor=INK, markersize=5, clip_on=False)
    if len(order) <= LABELLED_FLOWS:
        for row in np.flatnonzero(limited & ~met):
            late = f"{completion[row] - due[row]:.1f} ms late"
            note(axes, late, (completion[row], row), (4, 0), MISSED, va="center")
    dress(axes)
    axes.grid(visible=False, axis="y")
    axes.set_yticks(rows, labels=[names[row] for row in order])
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.set_xlabel("time, ms")


def draw_intervals(
    axes: "Axes",
    estimates: Mapping[str, Interval],
    *,
    learned: Collection[str] = (),
    colours: Mapping[str, str] | None = None,
    bound: Interval | None = None,
    scale: float = 1.0,
    digits: int = 1,
) -> None:
    """Draws a dot with its interval and its number for each policy, in the order given, from the top.

    Those of ``learned`` agents have a colour of their own, where no ``colours`` of policies are given; ``bound``, which
    no policy can exceed, is a line. Numbers are multiplied by ``scale``, 100 for per cent.
    """
    for row, (name, estimate) in enumerate(estimates.items()):
        colour = (colours or {}).get(name, LEARNED if name in learned else HEURISTIC)
        mean = scale * estimate.mean
        if estimate.known:
            axes.plot([scale * estimate.low, scale * estimate.high], [row, row], color=colour, linewidth=3, alpha=0.4)
        axes.plot(mean, row, "o", color=colour, markersize=7)
        note(axes, f"{mean:.{digits}f}", (mean, row), (0, 7), colour, ha="center")
    if bound is not None:
        most = scale * bound.mean
        axes.axvline(most, color=INK, linewidth=1.5)
        at_bottom: Any = {"xycoords": ("data", "axes fraction"), "ha": "right", "va": "bottom"}
        note(axes, f"no scheduler can exceed {most:.{digits}f}", (most, 0), (-5, 0), INK, **at_bottom)
    dress(axes)
    axes.set_yticks(range(len(estimates)), labels=list(estimates))
    axes.set_ylim(len(estimates) - 0.4, -0.7)


def draw_tails(axes: "Axes", samples: Mapping[str, FloatArray]) -> None:
    """Draws which share of values, > 0, is larger than a value, on logarithmic scales, as labelled curves."""
    for (name, values), style in zip(samples.items(), styles(len(samples)), strict=True):
        ordered = np.sort(values)
        share = 1.0 - np.arange(len(ordered)) / len(ordered)
        axes.step(ordered, share, where="post", linewidth=2, label=name, **style)
        axes.plot(ordered[-1], share[-1], "o", color=style["color"], markersize=5)
    axes.set(xscale="log", yscale="log")
    plain_ticks(axes.xaxis)
    dress(axes)
    label_curves(axes)


def plot_distributions(found: Mapping[str, Records], path: str | PathLike[str]) -> None:
    """Draws the distributions of completion times of several disciplines, by name, into a picture file."""
    check_plot(path)
    from matplotlib.figure import Figure  # noqa: PLC0415 - optional

    figure = Figure(figsize=DISTRIBUTIONS_INCHES, layout="constrained")
    axes = figure.add_subplot()
    for (name, records), style in zip(found.items(), styles(len(found)), strict=True):
        times = np.sort(records.fct[np.isfinite(records.fct)]) / SECONDS_PER_MILLISECOND
        if len(times):
            axes.step(*distribution(times, records.num_flows), where="post", linewidth=2, label=name, **style)
    flows = f"{max(records.num_flows for records in found.values()):,} flows"
    dress_panel(axes, "Flow completion times", flows, "completion time (ms)", "share of flows")
    axes.set(xscale="log", ylim=(0, 1.02))
    plain_ticks(axes.xaxis)
    axes.legend(loc="lower right", frameon=False, fontsize=LABEL_SIZE)
    with replace_when_written(path) as temporary:
        figure.savefig(temporary, dpi=DOTS_PER_INCH)


def styles(count: int, colours: Sequence[str] = CURVES) -> list[dict[str, Any]]:
    """Returns colour and line of each curve, as ``plot`` takes them, no two alike; refuses more than there are."""
    most = len(colours) * len(LINES)
    if count > most:
        raise ConfigError(f"there are {count} curves: at most {most} can be told apart")
    return [{"color": colour, "linestyle": line} for line in LINES for colour in colours][:count]


def plain_ticks(axis: "Axis") -> None:
    """Gives a logarithmic axis, of final limits, plain numbers at powers of ten, 2 and 5 times these if they fit."""
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter  # noqa: PLC0415 - optional

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < FINE_TICKS * low else (1.0,)))
    axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axis.set_minor_locator(NullLocator())


def label_curves(axes: "Axes") -> None:
    """Writes the label of each curve to the right of the axes, whose limits and scales are final, joined to its end."""
    curves = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    if not curves:
        return
    # Of curves that end at one height, the leftmost has the highest label: the lines to the labels do not cross.
    curves.sort(key=lambda line: -np.asarray(line.get_xydata())[-1, 0])
    figure: Any = axes.get_figure(root=True)
    figure.draw_without_rendering()
    box = axes.get_window_extent()
    ends = np.array([np.asarray(line.get_xydata())[-1] for line in curves])
    heights = (axes.transData.transform(ends)[:, 1] - box.y0) / box.height
    apart = LABEL_HEIGHT * figure.dpi / POINTS_PER_INCH / box.height
    for line, end, height in zip(curves, ends, _spread(heights, apart), strict=True):
        lead = {"arrowstyle": "-", "color": line.get_color(), "linewidth": 0.6, "alpha": 0.6}
        place: Any = {"textcoords": "axes fraction", "va": "center", "annotation_clip": False, "arrowprops": lead}
        note(axes, str(line.get_label()), end, (1.02, height), line.get_color(), **place)


def _spread(heights: FloatArray, apart: float) -> FloatArray:
    """Moves heights apart, so that no two of them are closer than a distance, and keeps their mean."""
    order = np.argsort(heights, kind="stable")
    spread = heights.copy()
    for below, above in pairwise(order):
        spread[above] = max(spread[above], spread[below] + apart)
    moved: FloatArray = spread - (spread - heights).mean()
    # Labels stay beside the axes: those below would hide the ticks.
    return moved - min(0.0, float(moved.min()))
