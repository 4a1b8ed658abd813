"""Curves, each with its name beside it, and scores, a dot for each training, as SVG."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.leaderboard.scores import num_collapsed

WIDTH: Final = 400
HEIGHT: Final = 250
LEFT, RIGHT, TOP, BOTTOM = 42, 112, 10, 38
"""Margins: numbers, names of curves, nothing, and numbers with the name of the axis."""
TICKS: Final = 4
"""Numbers along an axis, about."""
STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
NAME_HEIGHT: Final = 15.0
"""Distance between names."""
MARGIN: Final = 0.15
"""Part of the range of curves that is shown beyond it, where there are others around them."""
LONGEST_NAME: Final = 16
"""Characters of a name for which there is room."""
SCORES: Final = (-0.25, 1.5)
"""Scores that are drawn; those beyond lie at the edge, as triangles."""
SCORES_LEFT: Final = 176
"""Where scores begin, to the right of the names of settings."""
SCORES_ROW: Final = 15
LONGEST_SETTING: Final = 28


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A curve, (num_points,), with thin ``others`` around it, (num_others, num_points).

    ``episodes`` are the seeds of those in which it was measured, where they are known.
    """

    name: str
    x: FloatArray
    y: FloatArray
    others: FloatArray
    episodes: range | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRow:
    """The scores of all trainings of the agents of a setting, (num_runs,) each, and the best rule's, NaN for none.

    ``instead`` stands in the place of the dots where there are none.
    """

    name: str
    address: str
    scores: Sequence[FloatArray]
    rule: float
    instead: str


def draw_chart(curves: Sequence[Curve], *, title: str, x_label: str, level: tuple[str, float] | None = None) -> str:
    """Draws curves, one at least, and a named ``level``, as an ``<svg>`` whose colours are classes of the page.

    The curves around another one run along the edge where they leave its range, a little enlarged: trainings that
    collapsed would squeeze all that matters.
    """
    x_low, x_high = _range([curve.x for curve in curves])
    levels = [np.array([level[1]])] if level else []
    y_low, y_high = _range([*(curve.y for curve in curves), *levels])
    if any(len(curve.others) for curve in curves):
        y_low, y_high = y_low - MARGIN * (y_high - y_low), y_high + MARGIN * (y_high - y_low)

    def across(x: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (x - x_low) / (x_high - x_low)

    def down(y: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (y_high - min(max(y, y_low), y_high)) / (y_high - y_low)

    def points(xs: FloatArray, ys: FloatArray) -> str:
        known = np.isfinite(ys)
        return " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in zip(xs[known], ys[known], strict=True))

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">']
    for y in _ticks(y_low, y_high):
        parts.append(f'<path class="grid" d="M{LEFT} {down(y):.1f}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text class="end" x="{LEFT - 5}" y="{down(y) + 4:.1f}">{y:g}</text>')
    for x in _ticks(x_low, x_high):
        parts.append(f'<text class="middle" x="{across(x):.1f}" y="{HEIGHT - BOTTOM + 15}">{_number(x)}</text>')
    parts.append(f'<path class="axis" d="M{LEFT} {HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>')
    middle = (LEFT + WIDTH - RIGHT) // 2
    parts.append(f'<text class="middle" x="{middle}" y="{HEIGHT - 6}">{escape(x_label)}</text>')
    names: list[tuple[float, float, float, str, str]] = []
    if level is not None:
        parts.append(f'<path class="level" d="M{LEFT} {down(level[1]):.1f}H{WIDTH - RIGHT}"/>')
        names.append((down(level[1]), across(x_high), down(level[1]), level[0], "level"))
    for curve in curves:
        parts += [f'<polyline class="curve thin learned" points="{points(curve.x, each)}"/>' for each in curve.others]
        parts.append(f'<polyline class="curve learned" points="{points(curve.x, curve.y)}"/>')
        end = across(float(curve.x[-1])), down(float(curve.y[-1]))
        names.append((end[1], *end, curve.name, "learned"))
    names.sort()
    for (_, x, y, name, colour), place in zip(names, _spread([each[0] for each in names]), strict=True):
        short = _short(name, LONGEST_NAME)
        edge = WIDTH - RIGHT + 6
        parts.append(f'<path class="lead {colour}" d="M{x:.1f} {y:.1f}L{edge - 3} {place:.1f}"/>')
        parts.append(f'<text class="name {colour}" x="{edge}" y="{place + 4:.1f}">{escape(short)}</text>')
    return "".join([*parts, "</svg>"])


def draw_scores(rows: Sequence[ScoreRow]) -> str:
    """Draws a row for each setting as an ``<svg>``: dots of trainings, and a bar for the best rule."""
    low, high = SCORES
    right, height = WIDTH - 8, SCORES_ROW * len(rows) + 34

    def across(score: float) -> float:
        return SCORES_LEFT + (right - SCORES_LEFT) * (min(max(score, low), high) - low) / (high - low)

    parts = [f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="Scores of all trainings">']
    for score, label in ((0.0, "random: 0"), (0.5, "0.5"), (1.0, "reference: 1")):
        kind = "grid" if score == 0.5 else "axis"
        parts.append(f'<path class="{kind}" d="M{across(score):.1f} 16V{height - 14}"/>')
        for place in (11, height - 3):
            parts.append(f'<text class="middle" x="{across(score):.1f}" y="{place}">{label}</text>')
    for number, row in enumerate(rows):
        y = 16 + SCORES_ROW * (number + 0.5)
        name = (
            f'<text class="end" x="{SCORES_LEFT - 8}" y="{y + 4:g}">{escape(_short(row.name, LONGEST_SETTING))}</text>'
        )
        parts.append(f'<a href="{escape(row.address)}">{name}</a>')
        if not math.isnan(row.rule):
            parts.append(f'<path class="rule" d="M{across(row.rule):.1f} {y - 6:g}v12"/>')
        if not row.scores:
            parts.append(f'<text x="{across(0.04):.1f}" y="{y + 4:g}">{escape(row.instead)}</text>')
        for scores in row.scores:
            # The lowest scores are those of the trainings that collapsed.
            collapsed = num_collapsed(scores)
            for rank, score in enumerate(np.sort(scores).tolist()):
                kind = "missed" if rank < collapsed else "learned"
                x = across(score)
                dot = f'<circle class="dot {kind}" cx="{x:.1f}" cy="{y:g}" r="3.2"/>'
                out = 5 if score > high else -5
                edge = f'<path class="dot {kind}" d="M{x:.1f} {y - 4:g}v8l{out} -4z"/>'
                parts.append(dot if low <= score <= high else edge)
    return "".join([*parts, "</svg>"])


def _short(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _range(arrays: Sequence[FloatArray]) -> tuple[float, float]:
    """Returns the least and the largest finite value, a little apart where they are equal."""
    values = np.concatenate(arrays)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    return (low, high) if high > low else (low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0))


def _ticks(low: float, high: float) -> list[float]:
    """Returns round numbers between two others."""
    size = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(size))
    step = next(each * power for each in STEPS if each * power >= size * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{number * step:.6g}") for number in range(first, last + 1)]


def _number(value: float) -> str:
    """Writes large numbers in thousands and millions."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _spread(wanted: Sequence[float]) -> list[float]:
    """Moves places of names, in ascending order, apart and into the picture."""
    places: list[float] = []
    for place in wanted:
        places.append(max(place, places[-1] + NAME_HEIGHT if places else TOP))
    most = float(HEIGHT - BOTTOM)
    for number in range(len(places) - 1, -1, -1):
        places[number] = min(places[number], most)
        most = places[number] - NAME_HEIGHT
    return places
