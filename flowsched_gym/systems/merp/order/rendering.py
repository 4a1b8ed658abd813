"""Draws an ordering episode as it stands: the flows that compete, their links, and the slowdowns so far."""

import functools
import threading
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.envs.rendering import (
    ACCENT,
    BLUE,
    GREY,
    MUTED,
    PAPER,
    WHITE,
    WINDOW,
    Box,
    Canvas,
    duration_text,
    shortened,
    size_share,
    size_text,
)
from flowsched_gym.systems.merp.order.config import MERPOrderConfig, OrderTopology
from flowsched_gym.systems.merp.order.snapshot import Contender, Snapshot, take_snapshot
from flowsched_gym.systems.merp.order.text import question, ratio_text, results, setting, write_frame

if TYPE_CHECKING:
    from flowsched_gym.systems.merp.order.env import MERPOrderEnv

__all__ = ["draw_frame", "write_frame"]

WIDTH: Final = 1000
HEIGHT: Final = 600
MARGIN: Final = 16
TOP: Final = 92
"""Row at which the cards begin."""
FOOT: Final = 570
"""Row at which they end."""
GAP: Final = 12
COMPETING: Final = (MARGIN, 576)
RESULTS: Final = (588, WIDTH - MARGIN)
CHART_HEIGHT: Final = 184
LINKS_HEIGHTS: Final = {OrderTopology.ONE_LINK: 76, OrderTopology.TREE9: 172}
LINK_COLUMNS: Final = 3
LINK_HEIGHT: Final = 16
FLOW_TOP: Final = TOP + 58
"""Row at which the visible flows begin."""
FLOW_HEIGHTS: Final = (18, 34)
"""Smallest and largest height of one."""
FINISHED_HEIGHT: Final = 20
BAR: Final = (COMPETING[0] + 178, COMPETING[0] + 290)
NUMBERS: Final = tuple(COMPETING[0] + x for x in (356, 424, 488, 548))
"""Right ends of size, waiting time, slowdown so far, slowdown if last."""


def draw_frame(env: "MERPOrderEnv") -> npt.NDArray[np.uint8]:
    """Draws the current episode.

    Args:
        env: The environment.

    Returns:
        A new (600, 1000, 3) uint8 picture.

    Raises:
        SimulationError: There is no episode yet.
        MissingDependencyError: Pillow is not installed.
    """
    snapshot, config = take_snapshot(env), env.config
    canvas = _sheet(threading.get_ident())
    canvas.cover(_background(config))
    _draw_header(canvas, snapshot)
    _draw_competing(canvas, snapshot, config)
    _draw_largest(canvas, snapshot)
    _draw_links(canvas, snapshot)
    _draw_finished(canvas, snapshot, config)
    return canvas.array()


@functools.lru_cache(maxsize=4)
def _sheet(thread: int) -> Canvas:
    """Keeps a canvas for each thread: new memory for every frame takes longer than the drawing."""
    return Canvas(WIDTH, HEIGHT)


@functools.lru_cache(maxsize=8)
def _background(config: MERPOrderConfig) -> Canvas:
    """Draws what stays."""
    canvas = Canvas(WIDTH, HEIGHT)
    canvas.text(MARGIN, 24, "MERP order", size=22, bold=True)
    canvas.text(MARGIN, 50, shortened(setting(config), 84), colour=MUTED)
    links_top, finished_top = _tops(config)
    canvas.card(Box(COMPETING[0], TOP, COMPETING[1], FOOT))
    canvas.card(Box(RESULTS[0], TOP, RESULTS[1], links_top - GAP))
    canvas.card(Box(RESULTS[0], links_top, RESULTS[1], finished_top - GAP))
    canvas.card(Box(RESULTS[0], finished_top, RESULTS[1], FOOT))
    for x, y, text in (
        (COMPETING[0], TOP, "Flows that compete, oldest first"),
        (RESULTS[0], TOP, "Largest slowdowns of finished flows"),
        (RESULTS[0], links_top, "Bytes left on the links"),
        (RESULTS[0], finished_top, "Just finished"),
    ):
        canvas.text(x + 12, y + 18, text, size=15, bold=True)
    for x, text in zip(NUMBERS, ("size", "waiting", "slowdown", "if last"), strict=True):
        canvas.text(x, TOP + 44, text, size=12, colour=MUTED, align="right")
    canvas.text(BAR[0], TOP + 44, "bytes left", size=12, colour=MUTED)
    _, height, count = _rows(config)
    canvas.rectangle(Box(COMPETING[0] + 6, FLOW_TOP - 2, COMPETING[1] - 6, FLOW_TOP + count * height + 2), WINDOW)
    x = MARGIN
    for sends, meaning in ((True, "> has sent until now"), (False, "waits")):
        canvas.bar(Box(x, 579, x + 22, 591), 1.0, BLUE if sends else GREY)
        x = canvas.text(x + 30, 585, meaning, size=12, colour=MUTED) + 26
    canvas.text(x, 585, "length of a bar: its size; the filled part is left to send", size=12, colour=MUTED)
    return canvas


def _tops(config: MERPOrderConfig) -> tuple[int, int]:
    """Returns the rows at which the cards of the links and of the finished flows begin."""
    links = TOP + CHART_HEIGHT + GAP
    return links, links + LINKS_HEIGHTS[config.topology] + GAP


def _rows(config: MERPOrderConfig) -> tuple[int, int, int]:
    """Returns how many visible flows have a row, the height of one, and how many rows there are."""
    space = FOOT - 30 - FLOW_TOP
    height = min(max(space // config.f, FLOW_HEIGHTS[0]), FLOW_HEIGHTS[1])
    count = min(config.f, space // height)
    return (count if count == config.f else count - 1), height, count


def _draw_header(canvas: Canvas, snapshot: Snapshot) -> None:
    """Draws the time, what is asked, and how the flows have fared."""
    canvas.text(164, 24, f"t = {snapshot.now:.4f} s", size=22)
    canvas.text(MARGIN, 73, question(snapshot), size=14)
    right = WIDTH - MARGIN
    largest = ratio_text(snapshot.largest[0]) if snapshot.largest else "none yet"
    canvas.text(right, 24, f"largest slowdown {largest}", size=22, bold=True, align="right")
    canvas.text(right, 50, results(snapshot), colour=MUTED, align="right")
    canvas.bar(Box(640, 66, right, 76), snapshot.num_finished / snapshot.num_flows, ACCENT)


def _draw_competing(canvas: Canvas, snapshot: Snapshot, config: MERPOrderConfig) -> None:
    """Draws the flows among which the agent chooses."""
    num_rows, height, count = _rows(config)
    visible = snapshot.competing[: config.f]
    for slot in range(min(num_rows, config.f)):
        y = FLOW_TOP + slot * height + height // 2
        canvas.text(COMPETING[0] + 34, y, str(slot), bold=slot < len(visible), colour=MUTED, align="right")
        if slot < len(visible):
            _draw_contender(canvas, visible[slot], y, min(height - 8, 12), snapshot.size_range)
    if len(visible) > num_rows:
        y = FLOW_TOP + (count - 1) * height + height // 2
        canvas.text(COMPETING[0] + 54, y, f"+ {len(visible) - num_rows} more that the agent sees", colour=MUTED)
    hidden = len(snapshot.competing) - len(visible)
    if hidden:
        y = FLOW_TOP + count * height + 16
        canvas.text(COMPETING[0] + 54, y, f"+ {hidden} hidden from the agent", colour=MUTED)


def _draw_contender(canvas: Canvas, flow: Contender, y: int, thickness: int, size_range: tuple[float, float]) -> None:
    """Draws one flow on one line."""
    if flow.sends:
        canvas.text(COMPETING[0] + 40, y, ">", bold=True, colour=BLUE)
    canvas.text(COMPETING[0] + 54, y, f"flow {flow.flow_id}")
    canvas.text(COMPETING[0] + 130, y, flow.route, size=12, colour=MUTED)
    length = max(round((BAR[1] - BAR[0]) * size_share(flow.size, size_range)), 2)
    top = y - thickness // 2
    canvas.rectangle(Box(BAR[0], top, BAR[1], top + thickness), PAPER)
    bar = Box(BAR[0], top, BAR[0] + length, top + thickness)
    canvas.bar(bar, flow.share_left, BLUE if flow.sends else GREY, track=WHITE)
    texts = size_text(flow.size), duration_text(flow.waiting), ratio_text(flow.so_far), ratio_text(flow.if_last)
    for x, text in zip(NUMBERS, texts, strict=True):
        canvas.text(x, y, text, size=12, align="right")


def _draw_largest(canvas: Canvas, snapshot: Snapshot) -> None:
    """Draws the slowdowns that the reward is about, the largest first."""
    left, right = RESULTS[0] + 12, RESULTS[1] - 12
    if not snapshot.largest:
        canvas.text(left, TOP + 44, "None has finished yet.", size=12, colour=MUTED)
    for place, value in enumerate(snapshot.largest):
        y = TOP + 42 + place * 18
        canvas.text(left + 12, y, str(place + 1), size=12, colour=MUTED, align="right")
        canvas.bar(Box(left + 22, y - 5, right - 54, y + 5), value / snapshot.largest[0], ACCENT)
        canvas.text(right, y, ratio_text(value), size=12, align="right")


def _draw_links(canvas: Canvas, snapshot: Snapshot) -> None:
    """Draws what is left to send on each link."""
    left, right = RESULTS[0] + 12, RESULTS[1] - 12
    top = TOP + CHART_HEIGHT + GAP
    most = max(link.backlog for link in snapshot.links)
    if len(snapshot.links) == 1:
        link = snapshot.links[0]
        text = f"{size_text(link.backlog)} of {link.num_flows} flows: busy for {duration_text(link.busy_for)}"
        canvas.text(left, top + 48, text)
        return
    canvas.text(right, top + 18, f"{size_text(most)} at most", size=12, colour=MUTED, align="right")
    per_column = -(-len(snapshot.links) // LINK_COLUMNS)
    width = (right - left + 12) // LINK_COLUMNS
    for place, link in enumerate(snapshot.links):
        x = left + place // per_column * width
        y = top + 42 + place % per_column * LINK_HEIGHT
        canvas.text(x, y, link.name, size=11, colour=MUTED)
        bar = Box(x + 74, y - 4, x + width - 12, y + 4)
        canvas.bar(bar, link.backlog / most if most else 0.0, ACCENT)


def _draw_finished(canvas: Canvas, snapshot: Snapshot, config: MERPOrderConfig) -> None:
    """Draws the last finished flows, latest first."""
    left, right = RESULTS[0] + 12, RESULTS[1] - 12
    top = _tops(config)[1] + 32
    if not snapshot.finished:
        canvas.text(left, top + 12, "Nothing yet.", size=12, colour=GREY)
    for place, flow in enumerate(snapshot.finished[: (FOOT - 6 - top) // FINISHED_HEIGHT]):
        y = top + place * FINISHED_HEIGHT + FINISHED_HEIGHT // 2
        canvas.text(left, y, f"flow {flow.flow_id}", size=12)
        canvas.text(left + 76, y, flow.route, size=12, colour=MUTED)
        canvas.text(left + 190, y, size_text(flow.size), size=12, colour=MUTED, align="right")
        canvas.text(left + 280, y, f"took {duration_text(flow.fct)}", size=12, colour=MUTED, align="right")
        canvas.text(right, y, f"x {ratio_text(flow.slowdown)}", size=12, bold=True, align="right")
