"""The figure of a sweep: a panel for each workload, a line for each policy."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from flowsched_gym.baselines.applications.comparison_report import LEARNED
from flowsched_gym.baselines.applications.sweep_results import SettingScores, score_column
from flowsched_gym.core.files import replace_when_written
from flowsched_gym.evaluation.plots import DOTS_PER_INCH, INK, dress

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEURISTIC: Final = "#7d8794"
PANEL_WIDTH: Final = 5.4
ROW_HEIGHT: Final = 0.3
FRAME_HEIGHT: Final = 1.1
"""Inches of a panel, of a policy's line, and of what is above and below the lines."""
MOST_BESIDE: Final = 2
"""Panels beside each other; more would not fit on a page."""
LONGEST_NAME: Final = 28
LONGEST_TITLE: Final = 44
"""Letters of an agent's and a workload's name; the tables have them whole."""


def draw_sweep(settings: Sequence[SettingScores], path: Path) -> None:
    """Draws the policies of every workload with their intervals, best on top, and the bound as a line.

    Raises:
        OSError: The file cannot be written.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - takes half a second that other commands need not spend

    columns = min(len(settings), MOST_BESIDE)
    rows = -(-len(settings) // columns)
    height = FRAME_HEIGHT + ROW_HEIGHT * max(len(setting.scores) for setting in settings)
    figure = Figure(figsize=(PANEL_WIDTH * columns, height * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, setting in zip(panels, settings, strict=False):
        _draw_setting(axes, setting)
    for axes in panels[len(settings) :]:
        axes.set_axis_off()
    with replace_when_written(path) as temporary:
        figure.savefig(temporary, dpi=DOTS_PER_INCH)


def _draw_setting(axes: "Axes", setting: SettingScores) -> None:
    label, scale, digits = score_column(setting.metric)
    for row, score in enumerate(setting.scores):
        colour = LEARNED if score.learned else HEURISTIC
        mean = score.estimate.mean * scale
        if score.estimate.known:
            axes.plot([score.estimate.low * scale, score.estimate.high * scale], [row, row], color=colour, linewidth=2)
        axes.plot(mean, row, "o", color=colour, markersize=7 if score.learned else 5)
        axes.annotate(
            f"{mean:.{digits}f}", (1.01, row), xycoords=("axes fraction", "data"), va="center", fontsize=8, color=INK
        )
    names = [_short(score.name, LONGEST_NAME) + f" ({score.runs} seeds)" * (score.runs > 1) for score in setting.scores]
    axes.set_yticks(range(len(names)), names)
    for text, score in zip(axes.get_yticklabels(), setting.scores, strict=True):
        text.set_color(LEARNED if score.learned else INK)
    axes.set_ylim(len(names) - 0.4, -0.9)
    if setting.bound is not None:
        bound = setting.bound.mean * scale
        axes.axvline(bound, color=INK, linestyle=(0, (4, 3)), linewidth=1)
        axes.annotate(
            "bound", (bound, -0.9), xytext=(-3, -2), textcoords="offset points", ha="right", va="top", fontsize=8,
            color=INK,
        )  # fmt: skip
    axes.set_xlabel(f"{_short(setting.workload, LONGEST_TITLE)}: {label}", color=INK)
    dress(axes)


def _short(name: str, longest: int) -> str:
    return name if len(name) <= longest else name[: longest - 1] + "…"
