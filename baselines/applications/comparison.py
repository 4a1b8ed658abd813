"""Comparisons of policies on the same episodes: result files, a table, a figure."""

import logging
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from flowsched_gym.arrays import FloatArray
from flowsched_gym.baselines.applications.kept_results import KeptResults
from flowsched_gym.baselines.applications.progress import progress_bar
from flowsched_gym.errors import ConfigError
from flowsched_gym.evaluation import (
    BOUND_POLICY,
    EvaluationResult,
    ModelFile,
    evaluate,
    evaluate_bound,
    make_environment,
    plays_the_same,
    resolve_policy,
    result_name,
    write_result,
)
from flowsched_gym.evaluation.plots import DOTS_PER_INCH, INK, dress
from flowsched_gym.files import replace_when_written, write_text
from flowsched_gym.integrations.batched_model import batched
from flowsched_gym.integrations.sb3 import load_policy
from flowsched_gym.leaderboard import (
    ComparisonRow,
    column_of,
    compare,
    comparison_table,
    curves_of,
    format_interval,
)
from flowsched_gym.leaderboard.play import model_digest
from flowsched_gym.metrics import merit
from flowsched_gym.model import Records
from flowsched_gym.policies import Policy
from flowsched_gym.registration import heuristic_arguments, is_named, planner_specs, policy_specs, system_of
from flowsched_gym.suggestions import listed
from flowsched_gym.units import SECONDS_PER_MILLISECOND

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "FIGURE_FILE",
    "TABLE_FILE",
    "Comparison",
    "Contestant",
    "decisions_text",
    "draw_comparison",
    "heuristics_of",
    "play_all",
    "verdicts",
    "write_comparison",
]

logger = logging.getLogger(__name__)

RESULTS_FOLDER: Final = "results"
TABLE_FILE: Final = "comparison.md"
FIGURE_FILE: Final = "comparison.png"

FIGURE_INCHES: Final = (12.0, 5.2)
LEARNED: Final = "#d1495b"
"""Colour of learned agents, which no heuristic has."""
HEURISTIC: Final = "#9aa1ab"
"""Colour of heuristics without a curve of their own."""
HEURISTIC_COLOURS: Final = ("#1b7f9c", "#c98a1b", "#5b8c5a", "#7a5195", "#4a5a7a")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """A policy in a comparison.

    Attributes:
        name: Its name in tables.
        source: Name of a heuristic or planner, or path of a model file (``.zip``).
        trust: Whether a model is loaded that brings code.
        seed: Training seed of a model; ``None`` where it is not known.
    """

    name: str
    source: str
    trust: bool = False
    seed: int | None = None

    @property
    def learned(self) -> bool:
        """Whether it is a trained model."""
        return self.source.endswith(".zip") and not is_named(self.source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Results of several policies on the same episodes.

    Attributes:
        results: One result for each policy, that of the bound among them where there is one.
        fct: Flow completion times in s of each episode, (num_flows,), by policy; NaN where not finished.
        learned: Names of the trained models.
    """

    results: tuple[EvaluationResult, ...]
    fct: dict[str, tuple[FloatArray, ...]]
    learned: tuple[str, ...]

    def result(self, policy: str) -> EvaluationResult:
        """Returns the result of a policy.

        Raises:
            ConfigError: It is not among them.
        """
        for result in self.results:
            if result.policy == policy:
                return result
        raise ConfigError(f"policy is {policy!r}: there are results of {', '.join(r.policy for r in self.results)}")


def heuristics_of(env_id: str, names: Sequence[str] = ()) -> list[Contestant]:
    """Lists heuristics and planners of an environment as contestants; all of its heuristics by default.

    Raises:
        ConfigError: A name is unknown.
    """
    known, planners = policy_specs(env_id), planner_specs(env_id)
    for name in names:
        if not is_named(name, env_id):
            spec = system_of(env_id)[1]
            raise ConfigError(f"policies has {name!r}: {spec.id} has {listed(name, (*known, *planners))}")
    return [Contestant(name=name, source=name) for name in (names or known)]


def play_all(
    env_id: str,
    kwargs: dict[str, Any],
    contestants: Sequence[Contestant],
    *,
    episodes: int,
    seed: int,
    bound: bool,
    command: str | None = None,
    show_progress: bool = False,
    kept: Path | None = None,
) -> Comparison:
    """Plays every contestant on the same episodes.

    Heuristics see what they need, whatever the models see.

    Args:
        env_id: Id of the environment.
        kwargs: Its arguments.
        contestants: Who plays.
        episodes: Episodes of each; one where the flows are given and nobody draws, as all would be the same.
        seed: Seed of the first episode.
        bound: Whether the clairvoyant bound is worked out too, where the environment's flows have deadlines.
        command: Command line to keep with the results.
        show_progress: Whether a bar is shown.
        kept: Folder in which results of rules are kept, and taken from where they are there (`KeptResults`).

    Raises:
        ConfigError: A model cannot be read, or an argument is not allowed.
        SpaceMismatchError: A model was trained with other spaces.
    """
    bound = bound and system_of(env_id)[1].bounded
    players = [
        (
            contestant,
            _policy_of(contestant, env_id, kwargs),
            kwargs if contestant.learned else heuristic_arguments(env_id, kwargs, contestant.source),
        )
        for contestant in contestants
    ]
    if episodes > 1 and all(_plays_the_same(env_id, *player[1:], seed=seed) for player in players):
        logger.warning("The flows are given and nobody draws: one episode is played, as all would be the same")
        episodes = 1
    results: list[EvaluationResult] = []
    times: dict[str, tuple[FloatArray, ...]] = {}
    times_of: dict[int, FloatArray] = {}
    total = (len(players) + bound) * episodes
    shelf, found = KeptResults(kept), 0
    with closing(progress_bar(total=total, unit="episodes", shown=show_progress)) as bar:

        def tell(done: int, _: int) -> None:
            bar.update(len(results) * episodes + done - bar.n)

        def keep(episode: int, records: Records) -> None:
            times_of[episode] = records.fct

        for contestant, policy, arguments in players:
            bar.set_postfix_str(contestant.name, refresh=False)
            before = None
            if not contestant.learned:
                before = shelf.find(env_id, arguments, contestant.source, episodes=episodes, seed=seed)
            if before is not None:
                result, times[contestant.name] = before
                results.append(result)
                tell(0, episodes)
                found += 1
                continue
            result = evaluate(
                env_id,
                policy,
                episodes=episodes,
                seed=seed,
                kwargs=arguments,
                label=contestant.name,
                command=command,
                progress=tell,
                on_records=keep,
                repeat=True,
            )
            times[contestant.name] = tuple(times_of[episode] for episode in range(episodes))
            if contestant.learned:
                path = Path(contestant.source)
                model = ModelFile(name=path.name, digest=model_digest(path), seed=contestant.seed)
                result = replace(result, runs=(replace(result.runs[0], model=model),))
            else:
                shelf.keep((result, times[contestant.name]), env_id, arguments, contestant.source, seed=seed)
            results.append(result)
        if bound:
            bar.set_postfix_str(BOUND_POLICY, refresh=False)
            before = shelf.find(env_id, kwargs, BOUND_POLICY, episodes=episodes, seed=seed)
            if before is None:
                result = evaluate_bound(
                    env_id, episodes=episodes, seed=seed, kwargs=kwargs, command=command, progress=tell
                )
                shelf.keep((result, ()), env_id, kwargs, BOUND_POLICY, seed=seed)
            else:
                result, _ = before
                found += 1
            results.append(result)
    if found:
        logger.info("%d of %d results are those of earlier runs, kept in %s", found, len(results), kept)
    learned = tuple(contestant.name for contestant in contestants if contestant.learned)
    return Comparison(results=tuple(results), fct=times, learned=learned)


def _plays_the_same(env_id: str, policy: str | Policy, kwargs: dict[str, Any], *, seed: int) -> bool:
    """Returns whether all episodes of a policy are equal."""
    env = make_environment(env_id, kwargs)
    try:
        return plays_the_same(resolve_policy(policy, env, seed=seed) if isinstance(policy, str) else policy, env)
    finally:
        env.close()


def _policy_of(contestant: Contestant, env_id: str, kwargs: dict[str, Any]) -> str | Policy:
    """Loads a model that fits the environment; a heuristic goes by its name."""
    if not contestant.learned:
        return contestant.source
    env = make_environment(env_id, kwargs)
    try:
        return batched(load_policy(contestant.source, env, trust=contestant.trust))
    finally:
        env.close()


def decisions_text(made: int, asked: int) -> str:
    """Writes the decisions of a training, and those asked for where they differ."""
    return f"{made:,} decisions" + f", {asked:,} asked for" * (made != asked)


def verdicts(rows: Sequence[ComparisonRow], metric: str) -> list[str]:
    """Tells for each trained model whether it is better than the best rule with its actions and information.

    Args:
        rows: What `compare` gave.
        metric: What is compared.
    """
    shown, found = column_of(metric), []
    for row in rows:
        difference = row.difference
        if not row.learned or difference is None:
            continue
        figures = format_interval(difference, scale=shown.scale, digits=shown.digits, signed=True)
        rule = f"{row.reference}, the best rule with its actions and information"
        if difference.mean == difference.low == difference.high == 0:
            found.append(f"{row.policy} and {rule}, are not told apart: they are equal in every episode")
        elif not difference.known or difference.low <= 0 <= difference.high:
            found.append(f"{row.policy} and {rule}, are not told apart: {shown.label} {figures}")
        else:
            ahead = merit(metric, difference.mean) > 0
            found.append(f"{row.policy} is {'better' if ahead else 'worse'} than {rule}: {shown.label} {figures}")
    return found


def write_comparison(
    comparison: Comparison, folder: Path, *, metric: str, title: str, notes: Sequence[str] = ()
) -> tuple[str, list[ComparisonRow]]:
    """Writes result files, the table and the figure into a folder.

    Args:
        comparison: What the policies did.
        folder: Where to.
        metric: Metric that the table is ordered by, and of the figure's intervals.
        title: What was played, for the figure.
        notes: Lines below the table, before those that tell models and heuristics apart.

    Returns:
        The table and the lines below it as text, and what it was made of.

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

    Args:
        comparison: What the policies did.
        path: The picture.
        metric: Metric of the intervals.
        title: What was played.

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
    colours = dict.fromkeys(order, HEURISTIC) | dict(zip(heuristics, HEURISTIC_COLOURS, strict=False))
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
    shown = column_of(metric)
    scale, digits = shown.scale, shown.digits
    for row, name in enumerate(order):
        interval = comparison.result(name).interval(metric)
        mean = interval.mean * scale
        if interval.known:
            axes.plot([interval.low * scale, interval.high * scale], [row, row], color=colours[name], linewidth=2)
        axes.plot(mean, row, "o", color=colours[name], markersize=8 if name in comparison.learned else 6)
        axes.annotate(
            f"{mean:.{digits}f}",
            (mean, row),
            xytext=(0, 7),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            color=INK,
        )
    bounds = [result for result in comparison.results if result.policy == BOUND_POLICY]
    if bounds and metric in bounds[0].metric_names:
        value = bounds[0].interval(metric).mean * scale
        axes.axvline(value, color=INK, linestyle=(0, (4, 3)), linewidth=1)
        axes.annotate(
            f"no scheduler exceeds {value:.{digits}f}",
            (value, len(order) - 0.6),
            xytext=(-4, 0),
            textcoords="offset points",
            ha="right",
            fontsize=8,
            color=INK,
        )
    axes.set_yticks(range(len(order)), order)
    dress(axes)
    for label, name in zip(axes.get_yticklabels(), order, strict=True):
        label.set(color=colours[name], fontweight="bold" if name in comparison.learned else "normal")
    axes.set_ylim(len(order) - 0.4, -0.7)
    axes.margins(x=0.08)
    episodes = len(comparison.results[0].episodes)
    axes.set_xlabel(f"{shown.label}: mean and 95 % interval, {episodes} episodes", color=INK)
