"""Draws a view as a picture of 1000 by 600 pixels."""

import functools
import threading
from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.envs.drawing.canvas import Box, Canvas, Colours, text_width
from flowsched_gym.envs.drawing.cards import draw_panel, draw_parts
from flowsched_gym.envs.drawing.formats import shortened
from flowsched_gym.envs.drawing.panels import Banner, Key, Panel, Tiles, Tone, View
from flowsched_gym.envs.drawing.tables import TONES

WIDTH: Final = 1000
HEIGHT: Final = 600
MARGIN: Final = 16
GAP: Final = 12
TOP: Final = 92
"""Row at which the cards begin."""
FOOT: Final = 570
"""Row at which they end."""
LEGEND: Final = 585
"""Row in the middle of the legend."""
RESULTS: Final = 640
"""Column at which the results in the head begin."""


def draw_frame(view: View) -> npt.NDArray[np.uint8]:
    """Draws a view, a new (600, 1000, 3) uint8 picture."""
    boxes = _layout(view)
    canvas = _sheet(threading.get_ident())
    cards = tuple(box for panel, box in boxes if not isinstance(panel, Tiles))
    canvas.cover(_background(view.banner.title, view.banner.setting, cards, view.legend))
    _draw_banner(canvas, view.banner)
    for panel, box in boxes:
        draw_panel(canvas, panel, box)
    return canvas.array()


@functools.lru_cache(maxsize=4)
def _sheet(thread: int) -> Canvas:
    """Returns a canvas of this thread: new memory for every frame takes longer than the drawing."""
    return Canvas(WIDTH, HEIGHT)


@functools.lru_cache(maxsize=8)
def _background(title: str, setting: str, cards: tuple[Box, ...], legend: tuple[Key, ...]) -> Canvas:
    canvas = Canvas(WIDTH, HEIGHT)
    canvas.text(MARGIN, 24, title, size=22, bold=True)
    room = len(setting)
    while text_width(shortened(setting, room)) > RESULTS - GAP - MARGIN:
        room -= 1
    canvas.text(MARGIN, 50, shortened(setting, room), colour=Colours.MUTED)
    for card in cards:
        canvas.card(card)
    x = MARGIN
    for key in legend:
        _draw_key(canvas, x, key)
        x += key.width + 8
        if key.name:
            x = canvas.text(x, LEGEND, key.name, size=12, bold=True) + 6
        x = canvas.text(x, LEGEND, key.meaning, size=12, colour=Colours.MUTED) + 26
    return canvas


def _draw_key(canvas: Canvas, x: int, key: Key) -> None:
    colour = Colours.TRACK if key.tone is Tone.MUTED else TONES[key.tone]
    top = LEGEND - key.thickness // 2
    box = Box(x, top, x + key.width, top + key.thickness)
    if key.dashed:
        canvas.line((x, LEGEND), (x + key.width, LEGEND), colour, width=key.thickness, dashed=True)
    else:
        canvas.bar(box, 1.0, colour, hatched=key.tone is Tone.BAD and key.width > key.thickness)


def _layout(view: View) -> list[tuple[Panel, Box]]:
    left, right, top, foot = MARGIN, WIDTH - MARGIN, TOP, FOOT
    boxes: list[tuple[Panel, Box]] = []
    if view.top is not None:
        boxes.append((view.top, Box(left, top, right, top + view.top.height)))
        top += view.top.height + GAP
    if view.bottom is not None:
        boxes.append((view.bottom, Box(left, foot - view.bottom.height, right, foot)))
        foot -= view.bottom.height + GAP
    space = right - left - GAP * (len(view.stacks) - 1)
    whole = max(sum(stack.width for stack in view.stacks), 1)
    for number, stack in enumerate(view.stacks):
        end = right if number == len(view.stacks) - 1 else left + space * stack.width // whole
        panels = [panel for panel in stack.panels if panel.in_frame]
        fixed = sum(panel.height for panel in panels) + GAP * (len(panels) - 1)
        each = (foot - top - fixed) // max(sum(not panel.height for panel in panels), 1)
        y = top
        for panel in panels:
            height = panel.height or each
            last = panel is panels[-1]
            boxes.append((panel, Box(left, y, end, foot if last else y + height)))
            y += height + GAP
        left = end + GAP
    return boxes


def _draw_banner(canvas: Canvas, banner: Banner) -> None:
    left = MARGIN + text_width(banner.title, size=22, bold=True) + 18
    canvas.text(left, 24, f"t = {banner.now:.4f} s", size=22)
    canvas.text(MARGIN, 73, banner.question, size=14)
    label, value = banner.headline
    canvas.text(WIDTH - MARGIN, 24, value, size=28, bold=True, align="right")
    canvas.text(RESULTS, 24, label, size=15, bold=True)
    x = RESULTS
    for count in banner.counts:
        if isinstance(count, str):
            x = canvas.text(x, 50, count, colour=Colours.MUTED) + 18
            continue
        colour = Colours.TRACK if count.tone is Tone.MUTED else TONES[count.tone]
        canvas.rectangle(Box(x, 45, x + 10, 55), colour, outline=Colours.GREY if colour is Colours.TRACK else None)
        x = canvas.text(x + 16, 50, count.text, colour=Colours.MUTED) + 18
    draw_parts(canvas, Box(RESULTS, 66, WIDTH - MARGIN, 76), banner.parts)
