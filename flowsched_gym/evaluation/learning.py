"""Learning curves of trainings: the median of an agent's training seeds, and the half of them in the middle."""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.files import read_json, replace_when_written
from flowsched_gym.core.packed import folders_in, is_file, read_bytes
from flowsched_gym.evaluation.figures import CURVES, HEURISTIC, LEARNED, label_curves, styles
from flowsched_gym.evaluation.plots import DOTS_PER_INCH, check_plot, dress_panel
from flowsched_gym.evaluation.written import column_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PROGRESS: Final = "progress.csv"
"""Curves of a run of ``flowsched-train``, with its configuration, ``run.json``, beside it."""
KEPT: Final = "curve.csv"
"""Curves of several trainings of an agent of the leaderboard."""
EVALUATION: Final = "evaluation/"
RATIO: Final = "evaluation/ratio_to_"
AGENTS: Final = (LEARNED, *(colour for colour in CURVES if colour != HEURISTIC))
"""Colours of agents; rules, which do not learn, are dashed lines in theirs."""
MIDDLE_HALF: Final = (25.0, 75.0)
FIGURE_INCHES: Final = (8.0, 4.5)
MUCH_LONGER: Final = 5.0
"""Ratio of the longest and the shortest training from which decisions after the shortest have a logarithmic scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningCurve:
    """The trainings of an agent, measured on the same validation episodes now and then.

    Attributes:
        name: The agent.
        setting: Workload in which it was trained.
        metric: What was measured (`flowsched_gym.flows.metrics.Metrics`).
        decisions: Decisions that each training had made, (num_points,) float64.
        values: Mean of the metric, (num_trainings, num_points) float64.
        rules: Mean of the metric that rules reach in the same episodes, by name.
    """

    name: str
    setting: str
    metric: str
    decisions: FloatArray
    values: FloatArray
    rules: Mapping[str, float]


class _Training(NamedTuple):
    """What a file tells of a training; ``agent`` is the same for all seeds."""

    agent: tuple[str, ...]
    folder: str
    name: str
    setting: str
    metric: str
    means: dict[float, float]
    rules: dict[str, float]


def read_runs(paths: Sequence[str | PathLike[str]]) -> list[LearningCurve]:
    """Reads folders of runs or of sweeps, or of an agent's ``curve.csv``; the seeds of an agent are one curve.

    Raises:
        ConfigError: A folder has no curves, or curves show different metrics.
    """
    agents: dict[tuple[str, ...], list[_Training]] = {}
    for path in map(Path, paths):
        folders = [path] if _has_curves(path) else [each for each in folders_in(path) if _has_curves(each)]
        if not folders:
            raise ConfigError(f"{path} has no {PROGRESS}: it must be the folder of a run, or of several runs")
        for training in (each for folder in folders for each in _trainings(folder)):
            agents.setdefault(training.agent, []).append(training)
    curves, named_alike = [], Counter((each.name, each.setting) for each, *_ in agents.values())
    for first, *others in agents.values():
        name = first.name + f" ({first.folder})" * (named_alike[first.name, first.setting] > 1)
        decisions, values = on_one_grid([first.means, *(each.means for each in others)])
        named: Any = {"name": name, "setting": first.setting, "metric": first.metric, "rules": first.rules}
        curves.append(LearningCurve(decisions=decisions, values=values, **named))
    if len(metrics := {curve.metric for curve in curves}) > 1:
        raise ConfigError(f"runs were measured by {', '.join(sorted(metrics))}: plot those of one metric at a time")
    return curves


def on_one_grid(trainings: Sequence[Mapping[float, float]]) -> tuple[FloatArray, FloatArray]:
    """Returns the decisions at which any training was measured, (num_points,), and values there, a row for each.

    Trainings are measured after different numbers of decisions. The grid ends where the first has ended: a median
    would jump there.
    """
    end = min(max(means) for means in trainings)
    grid = np.array(sorted({at for means in trainings for at in means if at <= end}))
    rows = [np.interp(grid, sorted(means), [means[at] for at in sorted(means)]) for means in trainings]
    return grid, np.array(rows)


def plot_learning(curves: Sequence[LearningCurve], path: str | PathLike[str]) -> None:
    """Draws learning curves into a picture file, whole or not at all; its extension says the format."""
    check_plot(path)
    from matplotlib.figure import Figure  # noqa: PLC0415 - optional

    figure = Figure(figsize=FIGURE_INCHES, layout="constrained")
    draw_learning(figure.add_subplot(), curves)
    with replace_when_written(path) as temporary:
        figure.savefig(temporary, dpi=DOTS_PER_INCH)


def draw_learning(axes: "Axes", curves: Sequence[LearningCurve]) -> None:
    """Draws the median of each agent's trainings, with a band between their quartiles, and rules as dashed lines."""
    from matplotlib.ticker import EngFormatter  # noqa: PLC0415 - optional

    column, settings = column_of(curves[0].metric), list(dict.fromkeys(curve.setting for curve in curves))
    ends = [float(curve.decisions[-1]) for curve in curves]
    rules: dict[str, float] = {}
    for curve, style in zip(curves, styles(len(curves), AGENTS), strict=True):
        where, seeds = f", {curve.setting}" * (len(settings) > 1), len(curve.values)
        values = column.scale * curve.values
        label = f"{curve.name}{where}{f' ({seeds} seeds)' * (seeds > 1)}"
        axes.plot(curve.decisions, np.median(values, axis=0), linewidth=2, label=label, zorder=3, **style)
        low, high = np.percentile(values, MIDDLE_HALF, axis=0)
        axes.fill_between(curve.decisions, low, high, color=style["color"], alpha=0.2, linewidth=0)
        rules |= {f"{name}{where}": column.scale * level for name, level in curve.rules.items()}
    for name, level in rules.items():
        axes.plot([0, max(ends)], [level, level], color=HEURISTIC, linewidth=1.2, linestyle=(0, (5, 3)), label=name)
    notes = ["validation episodes"]
    notes += ["median and middle half of the seeds"] * any(len(curve.values) > 1 for curve in curves)
    notes += ["dashed: rules"] * bool(rules)
    dress_panel(axes, ", ".join(settings), "; ".join(notes), "decisions", column.label)
    if max(ends) > MUCH_LONGER * min(ends) > 0:
        axes.set_xscale("symlog", linthresh=min(ends))
    axes.xaxis.set_major_formatter(EngFormatter())
    axes.set_xlim(0, max(ends))
    label_curves(axes)


def _has_curves(folder: Path) -> bool:
    return is_file(folder / PROGRESS) or is_file(folder / KEPT)


def _rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(read_bytes(path).decode(), newline="")))


def _trainings(folder: Path) -> list[_Training]:
    """Reads the trainings in a folder; refuses files that are not as commands of the package write them."""
    try:
        return list(_read(folder))
    except ConfigError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{folder} does not hold the curves of a training: {shown(error)}") from None


def _read(folder: Path) -> Iterator[_Training]:
    if is_file(folder / KEPT):
        of_seeds: dict[tuple[str, str], dict[float, float]] = {}
        for row in _rows(folder / KEPT):
            of_seeds.setdefault((row["seed"], row["metric"]), {})[float(row["decisions"])] = float(row["mean"])
        for (_, metric), means in of_seeds.items():
            yield _Training((str(folder), metric), folder.name, folder.name, folder.parent.name, metric, means, {})
        return
    rows, run = _rows(folder / PROGRESS), read_json(folder / "run.json")
    heads = [head for head in (rows[0] if rows else ()) if head.startswith(EVALUATION)]
    columns = [head for head in heads if not head.startswith(RATIO)]
    measured = [row for row in rows if columns and row[columns[0]]]
    if not measured:
        raise ConfigError(f"{folder / PROGRESS} has no evaluation yet: there is nothing to draw")
    means = {float(row["timesteps"]): float(row[columns[0]]) for row in measured}
    first = measured[0]
    rules = {
        head.removeprefix(RATIO): float(first[columns[0]]) / float(first[head])
        for head in heads
        if head.startswith(RATIO) and first[head] and float(first[head])
    }
    setting, name = run["env"].get("workload"), str(run["algorithm"]["name"])
    setting = setting if isinstance(setting, str) else str(run["env"]["environment_id"]).rpartition("/")[2]
    agent = json.dumps({key: value for key, value in run.items() if key != "seed"}, sort_keys=True)
    yield _Training((agent,), folder.name, name, setting, columns[0].removeprefix(EVALUATION), means, rules)
