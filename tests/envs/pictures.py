"""Looks at how pictures are drawn: whether what stands in them can be read."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any, Final

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.envs import FlowSchedEnv
from flowsched_gym.envs.drawing import View
from flowsched_gym.envs.drawing.canvas import Box, Canvas, text_width
from flowsched_gym.envs.drawing.panels import Panel, Row, Table, Text

HEIGHT_OF_SMALL_LETTERS: Final = 0.5
"""Share of a line of text that its small letters fill, in the middle; only there can lines run into each other."""


class Recorder:
    """Notes where frames write and where they draw bars."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.words: list[tuple[str, Box]] = []
        self.bars: list[Box] = []
        write, draw = Canvas.text, Canvas.bar

        def text(canvas: Canvas, x: int, y: int, text: str, **style: Any) -> int:
            right = write(canvas, x, y, text, **style)
            if text:
                size = style.get("size", 13)
                half = round(size * HEIGHT_OF_SMALL_LETTERS / 2)
                left = right - text_width(text, size=size, bold=style.get("bold", False))
                self.words.append((text, Box(left, y - half, right, y + half)))
            return right

        def bar(canvas: Canvas, box: Box, *rest: Any, **style: Any) -> None:
            self.bars.append(box)
            draw(canvas, box, *rest, **style)

        monkeypatch.setattr(Canvas, "text", text)
        monkeypatch.setattr(Canvas, "bar", bar)

    def look(self, env: gym.Env[Any, Any]) -> list[str]:
        """Draws a frame, refuses one whose words and bars meet each other or the edges, and returns its words."""
        self.words.clear()
        self.bars.clear()
        frame = env.render()

        assert isinstance(frame, np.ndarray)
        assert frame.shape == (600, 1000, 3)
        assert frame.dtype == np.uint8
        for word, box in self.words:
            assert box.left >= 8, (word, box)
            assert box.right <= 992, (word, box)
            assert box.top >= 8, (word, box)
            assert box.bottom <= 596, (word, box)
        clashes = [(a, b) for (a, one), (b, other) in combinations(self.words, 2) if _meet(one, other)]
        covered = [(word, bar) for word, box in self.words for bar in self.bars if _meet(box, bar)]
        assert (clashes, covered) == ([], [])
        return [word for word, _ in self.words]


def moments(env: FlowSchedEnv[Any], count: int = 8, *, every: int = 25) -> Iterator[int]:
    """Plays the start of an episode with any actions, and stops at its reset and at some of its decisions."""
    env.reset(seed=5)
    env.action_space.seed(6)
    yield 0
    for step in range(1, count * every):
        over = env.step(env.action_space.sample())[2]
        if over or step % every == 0:
            yield step
        if over:
            return


def panel(view: View, title: str) -> Any:
    """Finds the panel whose title begins so."""
    (found,) = (one for one in view.panels if one.title.startswith(title))
    assert isinstance(found, Panel)
    return found


def table(view: View, title: str) -> list[list[str]]:
    """Returns what stands in the words of a table, row by row."""
    found = panel(view, title)
    assert isinstance(found, Table)
    return [cells(row) for row in found.rows]


def cells(row: Row) -> list[str]:
    return [cell.text if isinstance(cell, Text) else cell for cell in row if isinstance(cell, str | Text)]


def _meet(one: Box, other: Box) -> bool:
    return one.left < other.right and other.left < one.right and one.top < other.bottom and other.top < one.bottom
