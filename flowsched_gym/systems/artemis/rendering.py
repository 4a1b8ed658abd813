"""Draws an Artemis episode as it stands: the queue, the tokens and the link of a destination, and its results.

A flow's way leads from left to right: it waits in the queue, it holds a token and sends, it has finished. Colours say
whether it can meet its deadline (`Outlook`); words and stripes say the same.
"""

import functools
import threading
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.envs.rendering import (
    ACCENT,
    BLUE,
    GREY,
    LINE,
    MUTED,
    PAPER,
    RED,
    TRACK,
    WHITE,
    WINDOW,
    Box,
    Canvas,
    duration_text,
    shortened,
    size_text,
    text_width,
)
from flowsched_gym.systems.artemis.config import ArtemisConfig
from flowsched_gym.systems.artemis.frame_plan import (
    CHART_HEIGHT,
    COLOURS,
    GAP,
    HEIGHT,
    LINK_HEIGHT,
    MARGIN,
    QUEUE,
    RESULTS,
    STRIP,
    TOKENS,
    TOP,
    WIDTH,
    Plan,
    divide,
    host_text,
)
from flowsched_gym.systems.artemis.queue_drawing import draw_queue
from flowsched_gym.systems.artemis.snapshot import (
    OUTCOMES_AVERAGED,
    OUTCOMES_SHOWN,
    FinishedFlow,
    Outlook,
    Snapshot,
    take_snapshot,
)
from flowsched_gym.systems.artemis.text import question, setting, write_frame
from flowsched_gym.systems.artemis.token_drawing import draw_link, draw_tokens

if TYPE_CHECKING:
    from flowsched_gym.systems.artemis.env import ArtemisEnv

__all__ = ["draw_frame", "write_frame"]

FINISHED_HEIGHT: Final = 22
CHIP_WIDTH: Final = 112
"""Width of a destination in the strip."""


def draw_frame(env: "ArtemisEnv") -> npt.NDArray[np.uint8]:
    """Draws the current episode.

    Args:
        env: The environment.

    Returns:
        A new (600, 1000, 3) uint8 picture.

    Raises:
        SimulationError: There is no episode yet.
        MissingDependencyError: Pillow is not installed.
    """
    snapshot = take_snapshot(env)
    many = len(snapshot.destinations) > 1
    plan = divide(env.config, many)
    canvas = _sheet(threading.get_ident())
    canvas.cover(_background(env.config, many))
    _draw_header(canvas, snapshot)
    draw_queue(canvas, snapshot, plan, env.config)
    draw_tokens(canvas, snapshot, plan, env.config)
    draw_link(canvas, snapshot, plan, env.line_rate)
    _draw_chart(canvas, snapshot)
    _draw_finished(canvas, snapshot, plan, many)
    if many:
        _draw_destinations(canvas, snapshot, plan, env.config.k)
    return canvas.array()


@functools.lru_cache(maxsize=4)
def _sheet(thread: int) -> Canvas:
    """Keeps a canvas for each thread: new memory for every frame takes longer than the drawing."""
    return Canvas(WIDTH, HEIGHT)


@functools.lru_cache(maxsize=8)
def _background(config: ArtemisConfig, many: bool) -> Canvas:
    """Draws what stays."""
    plan = divide(config, many)
    canvas = Canvas(WIDTH, HEIGHT)
    canvas.text(MARGIN, 24, "Artemis", size=22, bold=True)
    canvas.text(MARGIN, 50, shortened(setting(config), 76), colour=MUTED)
    canvas.card(Box(QUEUE[0], TOP, QUEUE[1], plan.foot))
    canvas.card(Box(TOKENS[0], TOP, TOKENS[1], plan.foot - LINK_HEIGHT - GAP))
    canvas.card(Box(TOKENS[0], plan.foot - LINK_HEIGHT, TOKENS[1], plan.foot))
    canvas.card(Box(RESULTS[0], TOP, RESULTS[1], TOP + CHART_HEIGHT))
    canvas.card(Box(RESULTS[0], TOP + CHART_HEIGHT + GAP, RESULTS[1], plan.foot))
    canvas.text(RESULTS[0] + 12, TOP + 18, "Recent deadlines", size=15, bold=True)
    canvas.text(RESULTS[0] + 12, TOP + CHART_HEIGHT + GAP + 18, "Just finished", size=15, bold=True)
    window_end = plan.hidden_top - 30
    canvas.rectangle(Box(QUEUE[0] + 6, plan.slot_top - 2, QUEUE[1] - 6, window_end), WINDOW)
    for place in range(plan.num_places):
        canvas.rectangle(plan.place(place), PAPER)
    meanings = {
        Outlook.SAFE: f"in time even at 1/{config.k} of the link",
        Outlook.TIGHT: "in time only with more than that",
        Outlook.LOST: "too late even alone on the link",
    }
    if config.k == 1:
        meanings = {Outlook.SAFE: "still in time", Outlook.LOST: "too late already"}
    x = MARGIN
    for outlook, meaning in meanings.items():
        canvas.bar(Box(x, 579, x + 22, 591), 1.0, COLOURS[outlook], hatched=outlook is Outlook.LOST)
        x = canvas.text(x + 30, 585, outlook.value, size=12, bold=True)
        x = canvas.text(x + 6, 585, meaning, size=12, colour=MUTED) + 26
    return canvas


def _draw_header(canvas: Canvas, snapshot: Snapshot) -> None:
    """Draws the time, what is asked, and the deadlines met so far."""
    canvas.text(118, 24, f"t = {snapshot.now:.4f} s", size=22)
    canvas.text(MARGIN, 73, question(snapshot), size=14)
    left, right = 640, WIDTH - MARGIN
    ratio, coming = snapshot.hit_ratio, snapshot.deadlines - snapshot.met - snapshot.missed
    if not snapshot.deadlines:
        coming = snapshot.num_flows - snapshot.num_finished
        mean = duration_text(snapshot.mean_fct) if snapshot.num_finished else "none yet"
        canvas.text(right, 24, f"mean completion time {mean}", size=18, bold=True, align="right")
        canvas.text(right, 50, f"{snapshot.num_finished} finished, {coming} to come", colour=MUTED, align="right")
        canvas.bar(Box(left, 66, right, 76), snapshot.num_finished / snapshot.num_flows, GREY)
        return
    text = "none yet" if ratio is None else f"{100 * ratio:.1f} %"
    canvas.text(right, 24, text, size=28, bold=True, align="right")
    canvas.text(left, 24, "Deadlines met so far", size=15, bold=True)
    x = left
    for colour, count, what in (
        (BLUE, snapshot.met, "met"),
        (RED, snapshot.missed, "missed"),
        (TRACK, coming, "to come"),
    ):
        canvas.rectangle(Box(x, 45, x + 10, 55), colour, outline=None if colour is not TRACK else GREY)
        x = canvas.text(x + 16, 50, f"{count} {what}", colour=MUTED) + 18
    bar = Box(left, 66, right, 76)
    decided = snapshot.met + snapshot.missed
    canvas.bar(bar, decided / snapshot.deadlines, RED, hatched=True)
    canvas.bar(bar, snapshot.met / snapshot.deadlines, BLUE, track=None)


def _draw_chart(canvas: Canvas, snapshot: Snapshot) -> None:
    """Draws the share of deadlines met lately, and the single outcomes below."""
    left, right = RESULTS[0] + 12, RESULTS[1] - 12
    if not snapshot.deadlines:
        canvas.text(left, TOP + 46, "These flows have no deadlines.", size=12, colour=MUTED)
        return
    area = Box(left, TOP + 58, right - 34, TOP + 138)
    canvas.text(left, TOP + 40, f"share met of the last {OUTCOMES_AVERAGED} finished", size=12, colour=MUTED)
    for value in (0, 50, 100):
        y = area.bottom - 1 - value * (area.height - 1) // 100
        canvas.rectangle(Box(area.left, y, area.right, y + 1), LINE)
        canvas.text(right, y, f"{value} %", size=11, colour=MUTED, align="right")
    canvas.curve(area, snapshot.recent, OUTCOMES_SHOWN, ACCENT)
    step = area.width / OUTCOMES_SHOWN
    first = area.right - step * len(snapshot.outcomes)
    for place, met in enumerate(snapshot.outcomes):
        x = round(first + place * step)
        end = round(first + (place + 1) * step)
        middle = TOP + 157
        box = Box(x, middle - 8, end, middle) if met else Box(x, middle, end, middle + 8)
        canvas.rectangle(box, BLUE if met else RED)
    canvas.text(right, TOP + 150, "met", size=11, colour=BLUE, align="right")
    canvas.text(right, TOP + 163, "late", size=11, colour=RED, align="right")


def _draw_finished(canvas: Canvas, snapshot: Snapshot, plan: Plan, many: bool) -> None:
    """Draws the last finished flows, latest first."""
    left, right = RESULTS[0] + 12, RESULTS[1] - 12
    top = TOP + CHART_HEIGHT + GAP + 34
    rows = (plan.foot - 6 - top) // FINISHED_HEIGHT
    if not snapshot.finished:
        canvas.text(left, top + 12, "Nothing yet.", size=12, colour=GREY)
    for place, flow in enumerate(snapshot.finished[:rows]):
        y = top + place * FINISHED_HEIGHT + FINISHED_HEIGHT // 2
        _draw_outcome(canvas, flow, left, right, y, many)


def _draw_outcome(canvas: Canvas, flow: FinishedFlow, left: int, right: int, y: int, many: bool) -> None:
    """Draws one finished flow."""
    where = f"{flow.source} to {flow.destination}" if many else host_text(flow.source)
    size = size_text(flow.size)
    if canvas.text(left + 20, y, where, size=12) + 6 <= left + 114 - text_width(size, size=12):
        canvas.text(left + 114, y, size, size=12, colour=MUTED, align="right")
    if flow.early == np.inf:
        canvas.check(left + 6, y, GREY)
        canvas.text(right, y, f"took {duration_text(flow.fct)}", size=12, colour=MUTED, align="right")
    elif flow.met:
        canvas.check(left + 6, y, BLUE)
        canvas.text(right, y, f"{duration_text(max(flow.early, 0.0))} early", size=12, colour=BLUE, align="right")
    else:
        canvas.cross(left + 6, y, RED)
        canvas.text(right, y, f"{duration_text(-flow.early)} late", size=12, colour=RED, align="right")


def _draw_destinations(canvas: Canvas, snapshot: Snapshot, plan: Plan, k: int) -> None:
    """Draws a strip of all destinations, the one that is shown marked."""
    top = plan.foot + GAP
    room = (WIDTH - 2 * MARGIN + 8) // (CHIP_WIDTH + 8)
    shown = snapshot.some_destinations(room)
    for place, (host, held, waiting) in enumerate(shown):
        left = MARGIN + place * (CHIP_WIDTH + 8)
        box = Box(left, top, left + CHIP_WIDTH, top + STRIP)
        asks = host == snapshot.host
        canvas.rectangle(box, WINDOW if asks else WHITE, outline=ACCENT if asks else LINE)
        canvas.text(left + 8, top + 13, f"host {host}", size=12, bold=asks)
        canvas.text(left + 8, top + 30, f"{waiting} waiting", size=12, colour=MUTED)
        canvas.text(box.right - 8, top + 13, f"{held}/{k}", size=12, colour=MUTED, align="right")
        canvas.bar(Box(left + 8, top + 42, box.right - 8, top + 49), held / k, ACCENT)
    more = len(snapshot.destinations) - len(shown)
    if more:
        text = f"+ {more} more"
        canvas.text(MARGIN + len(shown) * (CHIP_WIDTH + 8) + 8, top + STRIP // 2, text, colour=MUTED)
