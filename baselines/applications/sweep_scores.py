"""The scores of all policies of a sweep on one workload: a table, and a panel of a figure."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from flowsched_gym.core.files import replace_when_written
from flowsched_gym.evaluation import BOUND_POLICY, Interval
from flowsched_gym.evaluation.figures import draw_intervals
from flowsched_gym.evaluation.plots import DOTS_PER_INCH, INK
from flowsched_gym.leaderboard import Table, column_of

PANEL_WIDTH: Final = 5.4
ROW_HEIGHT: Final = 0.3
FRAME_HEIGHT: Final = 1.1
"""Inches of a panel, of a policy's line, and of what is above and below the lines."""
MOST_BESIDE: Final = 2
"""Panels beside each other; more would not fit on a page."""
LONGEST_NAME: Final = 28
LONGEST_TITLE: Final = 44
"""Letters of an agent's and a workload's name; the tables have them whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyScore:
    """The score of a policy.

    Attributes:
        runs: Its trainings; 0 for a heuristic.
        decisions: Decisions that each of them made, and those requested where they differ; empty for a heuristic.
        estimate: The metric, with an interval over episodes and training seeds.
        over_best: The metric minus that of `SettingScores.best`, on the same episodes; ``None`` for that rule.
    """

    name: str
    learned: bool
    runs: int
    decisions: str
    estimate: Interval
    over_best: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingScores:
    """The scores of all policies on one workload, best first.

    Attributes:
        workload: Its name, and what of the environment was swept over.
        best: The best rule with the actions and the information of the agents.
        episodes: Episodes that each policy and each training played.
        bound: The metric of the clairvoyant bound; ``None`` where there is none.
    """

    workload: str
    metric: str
    best: str
    episodes: int
    scores: tuple[PolicyScore, ...]
    bound: Interval | None

    @property
    def title(self) -> str:
        """Workload, metric, and how the intervals were made."""
        return (
            f"{self.workload}: {column_of(self.metric).label}, mean and 95% interval over {self.episodes} episodes "
            "and the training seeds"
        )

    def table(self) -> Table:
        """Lays the policies out, the bound first."""
        shown = column_of(self.metric)
        rows = [
            (
                score.name,
                str(score.runs) if score.learned else "",
                score.decisions,
                shown.write(score.estimate),
                shown.write(score.over_best, signed=True),
            )
            for score in self.scores
        ]
        if self.bound is not None:
            rows.insert(0, (BOUND_POLICY, "", "", shown.write(self.bound), ""))
        columns = ("policy", "training seeds", "decisions", shown.label, f"over {self.best}")
        return Table(columns=columns, rows=tuple(rows))


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
        shown = column_of(setting.metric)
        draw_intervals(
            axes,
            {score.name: score.estimate for score in setting.scores},
            learned=[score.name for score in setting.scores if score.learned],
            bound=setting.bound,
            scale=shown.scale,
            digits=shown.digits,
        )
        seeds = (f" ({score.runs} seeds)" * (score.runs > 1) for score in setting.scores)
        names = [_short(score.name, LONGEST_NAME) + run for score, run in zip(setting.scores, seeds, strict=True)]
        axes.set_yticks(range(len(names)), names)
        axes.set_xlabel(f"{_short(setting.workload, LONGEST_TITLE)}: {shown.label}", color=INK)
    for axes in panels[len(settings) :]:
        axes.set_axis_off()
    with replace_when_written(path) as temporary:
        figure.savefig(temporary, dpi=DOTS_PER_INCH)


def _short(name: str, longest: int) -> str:
    return name if len(name) <= longest else name[: longest - 1] + "…"
