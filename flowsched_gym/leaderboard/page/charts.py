"""Curves as SVG, each with its band and its name beside it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray

WIDTH: Final = 400
HEIGHT: Final = 250
LEFT, RIGHT, TOP, BOTTOM = 42, 112, 10, 38
"""Margins: numbers, names of curves, nothing, and numbers with the name of the axis."""
TICKS: Final = 4
"""Numbers along an axis, about."""
STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
NAME_HEIGHT: Final = 15.0
"""Distance between names."""
LONGEST_NAME: Final = 16
"""Characters of a name for which there is room."""
HEURISTIC_COLOURS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A curve with a band around it; a line leads from its point ``named_at`` to its name."""

    name: str
    learned: bool
    x: FloatArray
    y: FloatArray
    low: FloatArray
    high: FloatArray
    named_at: int = -1


def draw_chart(
    curves: Sequence[Curve],
    *,
    title: str,
    x_label: str,
    y_range: tuple[float, float] | None = None,
    level: tuple[str, float] | None = None,
) -> str:
    """Draws curves, one at least, and a named ``level``, as an ``<svg>`` whose colours are classes of the page."""
    x_low, x_high = _range([curve.x for curve in curves])
    values = [end for curve in curves for end in (curve.low, curve.high, curve.y)]
    y_low, y_high = y_range or _range([*values, *([np.array([level[1]])] if level else [])])

    def across(x: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (x - x_low) / (x_high - x_low)

    def down(y: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (y_high - y) / (y_high - y_low)

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
    number = 0
    for curve in curves:
        colour = "learned" if curve.learned else f"c{number % HEURISTIC_COLOURS}"
        number += not curve.learned
        if np.isfinite(curve.low).any():
            band = points(np.concatenate([curve.x, curve.x[::-1]]), np.concatenate([curve.high, curve.low[::-1]]))
            parts.append(f'<polygon class="band {colour}" points="{band}"/>')
        parts.append(f'<polyline class="curve {colour}" points="{points(curve.x, curve.y)}"/>')
        at = across(float(curve.x[curve.named_at])), down(float(curve.y[curve.named_at]))
        parts.append(f'<circle class="dot {colour}" cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="2.6"/>')
        names.append((at[1], *at, curve.name, colour))
    names.sort()
    for (_, x, y, name, colour), place in zip(names, _spread([each[0] for each in names]), strict=True):
        short = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
        edge = WIDTH - RIGHT + 6
        parts.append(f'<path class="lead {colour}" d="M{x:.1f} {y:.1f}L{edge - 3} {place:.1f}"/>')
        parts.append(f'<text class="name {colour}" x="{edge}" y="{place + 4:.1f}">{escape(short)}</text>')
    return "".join([*parts, "</svg>"])


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
