"""A canvas for cards, text, bars and marks.

A frame is drawn many times with little change, so the parts that cost are kept: the letters of the font, whole words,
and, by the renderer, the background. Pillow is imported when the first frame is drawn; text needs none of it.
"""

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.envs.drawing.render_modes import PILLOW

if TYPE_CHECKING:
    from PIL import Image as PillowImage


Colour = tuple[int, int, int]


class Colours:
    """Colours of pictures.

    Blue, orange and vermilion of Okabe and Ito (2008) stay apart for colour-blind readers, in lightness too.
    """

    PAPER: Final[Colour] = (241, 243, 246)
    CARD: Final[Colour] = (255, 255, 255)
    WHITE: Final[Colour] = (255, 255, 255)
    INK: Final[Colour] = (27, 35, 48)
    MUTED: Final[Colour] = (98, 108, 123)
    LINE: Final[Colour] = (214, 219, 227)
    TRACK: Final[Colour] = (229, 233, 239)
    WINDOW: Final[Colour] = (236, 242, 250)
    GREY: Final[Colour] = (138, 148, 163)
    ACCENT: Final[Colour] = (44, 62, 92)
    BLUE: Final[Colour] = (0, 114, 178)
    ORANGE: Final[Colour] = (240, 173, 38)
    DARK_ORANGE: Final[Colour] = (158, 104, 0)
    RED: Final[Colour] = (196, 61, 24)


HATCH_STEP: Final = 7
"""Pixels between the lines of a hatched bar."""
DASH: Final = 5
"""Pixels of a dash, and of the gap behind it."""
SPACE_STRETCH: Final = 1.35
"""Widening of the space between words, which Pillow's own font draws very narrow."""
BOLD_WEIGHT: Final = 0.65
"""Strength of the second impression, one pixel to the right, that makes a letter bold."""
STRIP_HEIGHT: Final = 40
"""Rows copied at a time: small blocks stay in the allocator's hands, large ones would be new pages for every frame."""
WORDS_KEPT: Final = 8192
GLYPHS_KEPT: Final = 1024


class Box(NamedTuple):
    """A part of a picture in pixels; the column ``right`` and the row ``bottom`` lie outside."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.right - self.left

    @property
    def height(self) -> int:
        """Number of rows."""
        return self.bottom - self.top

    @property
    def middle(self) -> int:
        """Row in the middle."""
        return (self.top + self.bottom) // 2

    @property
    def center(self) -> int:
        """Column in the middle."""
        return (self.left + self.right) // 2


class Canvas:
    """An image to draw on, with a background in a colour."""

    def __init__(self, width: int, height: int, colour: Colour = Colours.PAPER) -> None:
        self._image: PillowImage.Image = PILLOW.load(".Image").new("RGB", (width, height), colour)
        self._draw = PILLOW.load(".ImageDraw").Draw(self._image)

    def cover(self, other: "Canvas") -> None:
        """Copies the picture of a canvas of the same size over its own; cheaper than a new canvas for each frame."""
        self._image.paste(other._image)

    def array(self) -> npt.NDArray[np.uint8]:
        """Returns the picture, a new (height, width, 3) uint8 array."""
        width, height = self._image.size
        pixels = np.empty((height, width, 3), dtype=np.uint8)
        for top in range(0, height, STRIP_HEIGHT):
            strip = pixels[top : top + STRIP_HEIGHT]
            part = self._image.crop((0, top, width, top + len(strip)))
            strip[:] = np.frombuffer(part.tobytes(), dtype=np.uint8).reshape(strip.shape)
        return pixels

    def text(
        self,
        x: int,
        y: int,
        text: str,
        *,
        size: int = 13,
        colour: Colour = Colours.INK,
        bold: bool = False,
        align: str = "left",
    ) -> int:
        """Writes a line with its middle in row ``y``, aligned at column ``x``; returns the column behind it."""
        if not text:
            return x
        word = _word(text, size, bold)
        left = x - {"left": 0, "right": word.width, "center": word.width // 2}[align]
        self._draw.bitmap((left + word.inset, y - word.above), word.mask, fill=colour)
        return left + word.width

    def rectangle(self, box: Box, colour: Colour | None, *, outline: Colour | None = None) -> None:
        """Fills a rectangle, outlines it, or both."""
        if box.width > 0 and box.height > 0:
            self._draw.rectangle((box.left, box.top, box.right - 1, box.bottom - 1), fill=colour, outline=outline)

    def card(self, box: Box) -> None:
        """Draws a sheet that others are drawn on."""
        self._draw.rounded_rectangle(
            (box.left, box.top, box.right - 1, box.bottom - 1), radius=6, fill=Colours.CARD, outline=Colours.LINE
        )

    def bar(
        self, box: Box, share: float, colour: Colour, *, hatched: bool = False, track: Colour | None = Colours.TRACK
    ) -> None:
        """Draws a horizontal bar, filled up to a share, cut to [0, 1]; what is not 0 shows two pixels at least."""
        share = min(max(share, 0.0), 1.0)
        filled = max(round(box.width * share), 2) if share > 0.0 else 0
        if track is not None:
            self.rectangle(box, track)
        part = Box(box.left, box.top, box.left + filled, box.bottom)
        self.rectangle(part, colour)
        if hatched and filled > 0:
            self._image.paste(Colours.WHITE, (part.left, part.top), _stripes(part.width, part.height))

    def line(
        self, begin: tuple[int, int], end: tuple[int, int], colour: Colour, *, width: int = 1, dashed: bool = False
    ) -> None:
        """Draws a straight line from one point to another, in dashes if asked for."""
        count = max(round(math.dist(begin, end) / DASH), 1) if dashed else 1
        (x, y), (right, down) = begin, (end[0] - begin[0], end[1] - begin[1])
        for dash in range(0, count, 2):
            ends = [(x + right * each / count, y + down * each / count) for each in (dash, dash + 1)]
            self._draw.line(ends, fill=colour, width=width)

    def mark(self, x: int, y: int, colour: Colour, *, good: bool) -> None:
        """Draws a check mark or a cross around a point."""
        check, cross = [[(-5, 0), (-2, 4), (5, -4)]], [[(-4, -4), (4, 4)], [(-4, 4), (4, -4)]]
        for line in check if good else cross:
            self._draw.line([(x + right, y + down) for right, down in line], fill=colour, width=2)

    def curve(self, box: Box, values: Sequence[float], num_values: int, colour: Colour) -> None:
        """Draws values in [0, 1] as a line, the last one at the right edge; ``num_values`` of them fill the width."""
        if not values:
            return
        step = box.width / max(num_values - 1, 1)
        first = box.right - 1 - step * (len(values) - 1)
        bottom, height = box.bottom - 1, box.height - 1
        points = [(first + step * index, bottom - value * height) for index, value in enumerate(values)]
        if len(points) > 1:
            self._draw.line(points, fill=colour, width=2, joint="curve")
        x, y = points[-1]
        self._draw.ellipse((x - 3, y - 3, x + 3, y + 3), fill=colour)


def text_width(text: str, *, size: int = 13, bold: bool = False) -> int:
    """Returns the columns that a line takes on a canvas."""
    return _word(text, size, bold).width


@functools.lru_cache(maxsize=64)
def _font(size: int) -> Any:
    return PILLOW.load(".ImageFont").load_default(size=size)


@functools.lru_cache(maxsize=GLYPHS_KEPT)
def _glyph(letter: str, size: int, bold: bool) -> tuple["PillowImage.Image", int]:
    """Draws one letter; returns its mask and the width that it takes."""
    font = _font(size)
    ascent, descent = font.getmetrics()
    advance = font.getlength(letter)
    if letter == " ":
        advance *= SPACE_STRETCH
    plain = PILLOW.load(".Image").new("L", (math.ceil(advance) + 2, ascent + descent))
    PILLOW.load(".ImageDraw").Draw(plain).text((0, 0), letter, font=font, fill=255)
    if not bold:
        return plain, round(advance)
    second = plain.point(lambda strength: round(strength * BOLD_WEIGHT))
    heavy = plain.copy()
    heavy.paste(255, (1, 0), second)
    return heavy, round(advance + BOLD_WEIGHT)


class _Word(NamedTuple):
    """A word: its letters, its width, and where letters begin, from the left and up from the middle of the line."""

    mask: "PillowImage.Image"
    width: int
    inset: int
    above: int


@functools.lru_cache(maxsize=WORDS_KEPT)
def _word(text: str, size: int, bold: bool) -> _Word:
    glyphs = [_glyph(letter, size, bold) for letter in text]
    height = glyphs[0][0].height if glyphs else 1
    width = max(sum(advance for _, advance in glyphs), 1)
    mask: PillowImage.Image = PILLOW.load(".Image").new("L", (width, height))
    x = 0
    for glyph, advance in glyphs:
        mask.paste(255, (x, 0), glyph)
        x += advance
    box = mask.getbbox() or (0, 0, 1, 1)
    return _Word(mask.crop(box), width, box[0], height // 2 - box[1])


@functools.lru_cache(maxsize=1024)
def _stripes(width: int, height: int) -> "PillowImage.Image":
    """Draws slanted lines; returns the mask."""
    mask: PillowImage.Image = PILLOW.load(".Image").new("L", (width, height))
    draw = PILLOW.load(".ImageDraw").Draw(mask)
    for x in range(-height, width + HATCH_STEP, HATCH_STEP):
        draw.line([(x, height), (x + height, 0)], fill=170, width=2)
    return mask
