"""Looks at how pictures are drawn: whether what stands in them can be read."""

from itertools import combinations
from typing import Any, Final

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.envs.rendering import Box, Canvas, text_width

__all__ = ["Recorder"]

HEIGHT_OF_SMALL_LETTERS: Final = 0.5
"""Share of a line of text that its small letters fill, in the middle; only there can lines run into each other."""


class Recorder:
    """Notes where frames write and where they draw bars."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Listens to all canvases."""
        self.words: list[tuple[str, Box]] = []
        self.bars: list[Box] = []
        write, draw = Canvas.text, Canvas.bar

        def text(canvas: Canvas, x: int, y: int, text: str, **style: Any) -> int:
            right = write(canvas, x, y, text, **style)
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

    def clear(self) -> None:
        """Forgets the last frame."""
        self.words.clear()
        self.bars.clear()

    def look(self, env: gym.Env[Any, Any]) -> None:
        """Draws a frame, and refuses one whose words and bars meet each other or the edges."""
        self.clear()
        frame = env.render()

        assert isinstance(frame, np.ndarray)
        assert frame.shape == (600, 1000, 3)
        assert frame.dtype == np.uint8
        assert len(self.words) > 20
        for word, box in self.words:
            assert box.left >= 8, (word, box)
            assert box.right <= 992, (word, box)
            assert box.top >= 8, (word, box)
            assert box.bottom <= 596, (word, box)
        clashes = [(a, b) for (a, one), (b, other) in combinations(self.words, 2) if _meet(one, other)]
        covered = [(word, bar) for word, box in self.words for bar in self.bars if _meet(box, bar)]
        assert (clashes, covered) == ([], [])


def _meet(one: Box, other: Box) -> bool:
    """Tells whether two boxes share a pixel."""
    return one.left < other.right and other.left < one.right and one.top < other.bottom and other.top < one.bottom
