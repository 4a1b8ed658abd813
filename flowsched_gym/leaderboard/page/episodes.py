"""An episode of an agent beside the same one of a rule: who is ahead, and what became of some flows, as a film.

Both are taken from the actions of result files, or, of a rule without them, played again. The episode is that in which
the two differ about as much as on average. The film shows a few of its flows, or tasks, in a row: those with which the
better one gains most, or those around the largest slowdown where that is compared.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from html import escape
from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.units import SECONDS_PER_MILLISECOND
from flowsched_gym.evaluation import EvaluationResult, make_environment, repeat_actions, rollout
from flowsched_gym.evaluation.engines import with_faster_engine
from flowsched_gym.flows.records import Records
from flowsched_gym.leaderboard.page.charts import WIDTH
from flowsched_gym.players import make_policy

COMPARED: Final = ("deadline_hit_ratio", "mean_fct", "mean_tct", "mean_slowdown", "max_slowdown")
"""Metrics to which each flow or task adds a value of its own."""
SHOWN: Final = 20
"""Flows or tasks of a film."""
LEFT, RIGHT, HEAD, ROW, FOOT = 8, 392, 26, 6, 20
"""Where time begins and ends, heights of the line above a policy's flows, of a flow, and of the axis."""
FULL: Final = 0.9
"""Share of the ends of flows that lie within the axis: the longest would squeeze all others."""


class Outcome(NamedTuple):
    """What became of flows or tasks, in the order of their arrival: times in s, and the value that is compared.

    Attributes:
        start: When it was allowed to send.
        alone: When it would have ended alone on the empty network; the end, where that is not known.
        due: Its deadline, infinite for none, and where deadlines are not compared.
        value: 1 for a deadline that was met and 0 for one that was not, else a completion time in s or a slowdown.
    """

    begin: FloatArray
    start: FloatArray
    alone: FloatArray
    end: FloatArray
    due: FloatArray
    value: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Player:
    """A policy of a film: its name, whether it has learned, and what became of its flows."""

    name: str
    learned: bool
    outcome: Outcome


def typical_episode(ours: EvaluationResult, theirs: EvaluationResult, metric: str) -> tuple[int, int]:
    """Returns the middle training, and its episode whose difference from the other policy is nearest the mean."""
    samples = ours.samples(metric)
    run = int(np.argsort(samples.mean(axis=1), kind="stable")[(len(samples) - 1) // 2])
    apart = np.abs(samples[run] - theirs.values(metric) - (samples[run] - theirs.values(metric)).mean())
    return run, int(np.argmin(np.nan_to_num(apart, nan=np.inf)))


def outcome_of(result: EvaluationResult, metric: str, *, run: int, number: int) -> Outcome | None:
    """Plays an episode again; ``None`` where nobody can."""
    episode, spec, source = result.runs[run].episodes[number], result.spec, result.source
    if episode.actions is None and (result.learned or source is None or not spec.names(source)):
        return None
    with closing(make_environment(spec, with_faster_engine(spec, result.kwargs))) as env:
        if episode.actions is not None:
            repeat_actions(env, episode.actions, seed=episode.seed)
        else:
            rollout(env, make_policy(str(source), env, seed=episode.seed), seed=episode.seed)
        records: Records = env.get_wrapper_attr("records")()
    return _outcome(records, metric)


def _outcome(records: Records, metric: str) -> Outcome:
    begin, end = records.arrival_time, records.completion_time
    due = np.full(len(begin), np.inf)
    if metric.endswith("tct"):
        tasks, index = np.unique(records.task_id, return_inverse=True)
        begin, end = np.full(len(tasks), np.inf), np.zeros(len(tasks))
        np.minimum.at(begin, index, records.ready_time)
        np.maximum.at(end, index, records.completion_time)
        outcome = Outcome(begin, begin, end, end, np.full(len(tasks), np.inf), end - begin)
    elif metric == "deadline_hit_ratio":
        due, met = begin + records.deadline_span, records.deadline_met.astype(np.float64)
        outcome = Outcome(begin, records.grant_time, end, end, due, met)
        outcome = Outcome(*(each[np.isfinite(due)] for each in outcome))
    else:
        value = records.fct if metric.endswith("fct") else records.slowdown
        outcome = Outcome(begin, records.grant_time, begin + records.ideal_fct, end, due, value)
    return Outcome(*(each[np.argsort(outcome.begin, kind="stable")] for each in outcome))


def lead(ours: Outcome, theirs: Outcome, metric: str) -> FloatArray:
    """Returns the metric of the first outcomes minus that of the others, so far, (num_values,)."""
    if metric.startswith("max"):
        largest: FloatArray = np.maximum.accumulate(ours.value) - np.maximum.accumulate(theirs.value)
        return largest
    total: FloatArray = np.cumsum(ours.value - theirs.value) / len(ours.value)
    return total


def _window(first: Outcome, second: Outcome, metric: str) -> slice:
    """Returns which outcomes are shown: around the largest value, or those with which the better policy gains most."""
    gains = first.value - second.value
    gains *= np.sign(gains.sum())
    count = min(SHOWN, len(gains))
    if metric.startswith("max"):
        at = int(np.argmax(np.maximum(first.value, second.value))) - count // 2
        at = min(max(at, 0), len(gains) - count)
    else:
        # A single outlier must not decide where the film begins.
        most = float(np.quantile(np.abs(gains[gains != 0.0]), FULL)) if gains.any() else 0.0
        at = int(np.argmax(np.convolve(np.clip(gains, -most, most), np.ones(count), "valid")))
    return slice(at, at + count)


def draw_film(players: Sequence[Player], metric: str, *, title: str) -> str:
    """Draws some flows under each of two players, one below the other, as an ``<svg>`` that time passes over."""
    window = _window(players[0].outcome, players[1].outcome, metric)
    shown = [Outcome(*(field[window] for field in each.outcome)) for each in players]
    count = len(shown[0].begin)
    ends = np.concatenate([each.end for each in shown])
    zero = float(shown[0].begin[0])
    # What arrives last is seen too.
    span = max(float(np.quantile(ends, FULL)), 1.05 * float(shown[0].begin[-1]) - 0.05 * zero) - zero
    height = len(players) * (HEAD + ROW * count) + FOOT
    parts = [f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">']

    def across(time: float) -> float:
        return LEFT + (RIGHT - LEFT) * min(max((time - zero) / span, 0.0), 1.0)

    for number, (player, each, other) in enumerate(zip(players, shown, reversed(shown), strict=True)):
        top = number * (HEAD + ROW * count) + HEAD
        limited = bool(np.isfinite(each.due).all())
        ahead = each.value > 0.0 if limited else each.end < other.end
        behind = ~ahead if limited else each.end > other.end
        words = f"{player.name}{' (learned)' * player.learned}: {int(ahead.sum())} of {count} "
        words += "in time" if limited else "sooner"
        kind = "learned" if player.learned else "level"
        parts.append(f'<text class="name {kind}" x="{LEFT}" y="{top - 8}">{escape(words)}</text>')
        strokes: dict[str, list[str]] = {}
        ticks = each.due if limited else other.end
        for row in range(count):
            y = top + ROW * row + ROW / 2
            begin, start, alone, end, tick = (
                across(times[row]) for times in (each.begin, each.start, each.alone, each.end, ticks)
            )
            done = "met" if ahead[row] else "missed" if behind[row] else "level"
            for name, left, right in (("waits", begin, start), (done, start, alone), (f"{done} late", alone, end)):
                if right > left:
                    strokes.setdefault(name, []).append(f"M{left:.1f} {y:g}h{max(right - left, 0.8):.1f}")
            if done != "level":
                strokes.setdefault("due", []).append(f"M{tick:.1f} {y - ROW / 2:g}v{ROW}")
        parts += [f'<path class="bar {name}" d="{"".join(paths)}"/>' for name, paths in sorted(strokes.items())]
    parts.append(f'<g class="sweep"><path class="cover" d="M{LEFT} 0H{WIDTH}V{height - FOOT}H{LEFT}z"/>')
    parts.append(f'<path class="now" d="M{LEFT} {HEAD - 4}V{height - FOOT}"/></g>')
    parts.append(f'<path class="axis" d="M{LEFT} {height - FOOT}H{RIGHT}"/>')
    for share, place in ((0.0, ""), (0.5, "middle"), (1.0, "end")):
        label = f"{share * span / SECONDS_PER_MILLISECOND:.3g} ms"
        x = LEFT + share * (RIGHT - LEFT)
        parts.append(f'<text class="{place}" x="{x:g}" y="{height - 5}">{label}</text>')
    return "".join([*parts, "</svg>"])
