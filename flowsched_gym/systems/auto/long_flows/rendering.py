"""Draws an episode of long flows as it stands: those that the agent sees, where long flows are, how all have fared."""

import functools
import threading
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.envs.rendering import (
    ACCENT,
    BLUE,
    MUTED,
    ORANGE,
    RED,
    TRACK,
    WINDOW,
    Box,
    Canvas,
    Colour,
    duration_text,
    number_text,
    shortened,
    size_text,
)
from flowsched_gym.systems.auto.long_flows.config import AuTOLongFlowsConfig
from flowsched_gym.systems.auto.long_flows.snapshot import Snapshot, take_snapshot
from flowsched_gym.systems.auto.long_flows.text import flow_cells, question, result_cells, setting, write_frame

if TYPE_CHECKING:
    from flowsched_gym.systems.auto.long_flows.env import AuTOLongFlowsEnv

__all__ = ["draw_frame", "write_frame"]

WIDTH: Final = 1000
HEIGHT: Final = 600
MARGIN: Final = 16
TOP: Final = 92
"""Row at which the cards begin."""
FOOT: Final = 570
"""Row at which they end."""
GAP: Final = 12
SLOTS: Final = (MARGIN, 600)
RESULTS: Final = (612, WIDTH - MARGIN)
LINKS_FOOT: Final = 318
TABLE_FOOT: Final = 426
"""Rows at which the cards of links and of results end."""
ROW_TOP: Final = TOP + 58
"""Row at which the slots begin."""
ROW_HEIGHTS: Final = (18, 34)
"""Smallest and largest height of one."""
CELLS: Final = tuple(SLOTS[0] + x for x in (104, 186, 260, 332, 376, 414, 488, 562))
"""Right ends of a long flow's id, hosts, bytes, waiting time, queue, path, rate and limit."""
RESULT_CELLS: Final = tuple(RESULTS[0] + x for x in (96, 152, 222, 296, 360))
FINISHED_HEIGHT: Final = 18
HEAT: Final[tuple[Colour, ...]] = (TRACK, BLUE, ACCENT, ORANGE, RED)
"""Colours of links with no long flow, one, two, three, and more."""
MOST_HOSTS: Final = 64
"""Hosts whose links are drawn."""


def draw_frame(env: "AuTOLongFlowsEnv") -> npt.NDArray[np.uint8]:
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
    _draw_slots(canvas, snapshot, config)
    _draw_links(canvas, snapshot, config)
    _draw_results(canvas, snapshot)
    _draw_finished(canvas, snapshot)
    return canvas.array()


@functools.lru_cache(maxsize=4)
def _sheet(thread: int) -> Canvas:
    """Keeps a canvas for each thread: new memory for every frame takes longer than the drawing."""
    return Canvas(WIDTH, HEIGHT)


@functools.lru_cache(maxsize=8)
def _background(config: AuTOLongFlowsConfig) -> Canvas:
    """Draws what stays."""
    canvas = Canvas(WIDTH, HEIGHT)
    canvas.text(MARGIN, 24, "AuTO long flows", size=22, bold=True)
    canvas.text(MARGIN, 50, shortened(setting(config), 110), colour=MUTED)
    canvas.card(Box(SLOTS[0], TOP, SLOTS[1], FOOT))
    canvas.card(Box(RESULTS[0], TOP, RESULTS[1], LINKS_FOOT))
    canvas.card(Box(RESULTS[0], LINKS_FOOT + GAP, RESULTS[1], TABLE_FOOT))
    canvas.card(Box(RESULTS[0], TABLE_FOOT + GAP, RESULTS[1], FOOT))
    for x, y, text in (
        (SLOTS[0], TOP, "Long flows that the agent sees, oldest first"),
        (RESULTS[0], TOP, "Long flows on the hosts' links"),
        (RESULTS[0], TABLE_FOOT + GAP, "Finished long flows"),
    ):
        canvas.text(x + 12, y + 18, text, size=15, bold=True)
    heads = ("flow", "hosts", "sent", "waiting", "queue", "path", "rate", "limit")
    for x, text in zip(CELLS, heads, strict=True):
        canvas.text(x, TOP + 44, text, size=12, colour=MUTED, align="right")
    _, height, count = _rows(config)
    canvas.rectangle(Box(SLOTS[0] + 6, ROW_TOP - 2, SLOTS[1] - 6, ROW_TOP + count * height + 2), WINDOW)
    for x, text in zip(RESULT_CELLS, ("", "live", "finished", "mean FCT", "slowdown"), strict=True):
        canvas.text(x, LINKS_FOOT + GAP + 16, text, size=12, colour=MUTED, align="right")
    x = MARGIN
    for colour, text in zip(HEAT, ("no long flow", "1", "2", "3", "4 or more on a link"), strict=True):
        canvas.rectangle(Box(x, 580, x + 12, 592), colour)
        x = canvas.text(x + 18, 586, text, size=12, colour=MUTED) + 20
    return canvas


def _rows(config: AuTOLongFlowsConfig) -> tuple[int, int, int]:
    """Returns how many slots have a row, the height of one, and how many rows there are."""
    space = FOOT - 12 - ROW_TOP
    height = min(max(space // config.n_l, ROW_HEIGHTS[0]), ROW_HEIGHTS[1])
    count = min(config.n_l, space // height)
    return (count if count == config.n_l else count - 1), height, count


def _draw_header(canvas: Canvas, snapshot: Snapshot) -> None:
    """Draws the time, what is asked, and how far the episode is."""
    canvas.text(230, 24, f"t = {snapshot.now:.4f} s", size=22)
    canvas.text(MARGIN, 73, question(snapshot), size=14)
    right = WIDTH - MARGIN
    canvas.text(right, 24, f"difference between links {snapshot.imbalance}", size=18, bold=True, align="right")
    finished = f"{snapshot.num_finished} of {snapshot.num_flows} flows finished"
    canvas.text(right, 50, finished, colour=MUTED, align="right")
    canvas.bar(Box(690, 66, right, 76), snapshot.num_finished / snapshot.num_flows, ACCENT)


def _draw_slots(canvas: Canvas, snapshot: Snapshot, config: AuTOLongFlowsConfig) -> None:
    """Draws the flows that the agent decides about."""
    num_rows, height, count = _rows(config)
    for slot in range(min(num_rows, config.n_l)):
        y = ROW_TOP + slot * height + height // 2
        taken = slot < len(snapshot.slots)
        canvas.text(SLOTS[0] + 34, y, str(slot), bold=taken, colour=MUTED, align="right")
        if taken:
            for x, text in zip(CELLS, flow_cells(snapshot.slots[slot]), strict=True):
                canvas.text(x, y, text, size=12, align="right")
    if len(snapshot.slots) > num_rows:
        y = ROW_TOP + (count - 1) * height + height // 2
        canvas.text(SLOTS[0] + 54, y, f"+ {len(snapshot.slots) - num_rows} more that the agent sees", colour=MUTED)


def _draw_links(canvas: Canvas, snapshot: Snapshot, config: AuTOLongFlowsConfig) -> None:
    """Draws a row of cells, one for each host, for each path and direction."""
    left, right, top = RESULTS[0] + 92, RESULTS[1] - 12, TOP + 36
    lines = [(path, way) for path in range(config.paths) for way in (0, 1)]
    shown = min(len(lines), (LINKS_FOOT - 12 - top) // 16)
    height = min((LINKS_FOOT - 8 - top) // shown, 30)
    hosts = min(config.hosts, MOST_HOSTS)
    width = (right - left) / hosts
    for place, (path, way) in enumerate(lines[:shown]):
        y = top + place * height
        name = f"path {path} {('up', 'down')[way]}"
        canvas.text(RESULTS[0] + 12, y + height // 2, name, size=12, colour=MUTED)
        for host, number in enumerate(snapshot.on_links[path, way, :hosts].tolist()):
            x = left + host * width
            box = Box(round(x), y + 2, round(x + width) - 1, y + height - 2)
            canvas.rectangle(box, HEAT[min(number, len(HEAT) - 1)])


def _draw_results(canvas: Canvas, snapshot: Snapshot) -> None:
    """Draws how flows have fared."""
    for place, result in enumerate(snapshot.results):
        y = LINKS_FOOT + GAP + 38 + place * 20
        for x, text in zip(RESULT_CELLS, result_cells(result), strict=True):
            canvas.text(x, y, text, size=12, align="right")


def _draw_finished(canvas: Canvas, snapshot: Snapshot) -> None:
    """Draws the long flows that have finished, latest first."""
    left, right, top = RESULTS[0] + 12, RESULTS[1] - 12, TABLE_FOOT + GAP + 32
    if not snapshot.finished:
        canvas.text(left, top + 10, "None yet.", size=12, colour=MUTED)
    for place, flow in enumerate(snapshot.finished[: (FOOT - 4 - top) // FINISHED_HEIGHT]):
        y = top + place * FINISHED_HEIGHT + FINISHED_HEIGHT // 2
        canvas.text(left, y, f"flow {flow.flow_id}", size=12)
        canvas.text(left + 80, y, flow.route, size=12, colour=MUTED)
        canvas.text(left + 210, y, size_text(flow.size), size=12, colour=MUTED, align="right")
        canvas.text(left + 290, y, duration_text(flow.fct), size=12, colour=MUTED, align="right")
        canvas.text(right, y, f"x {number_text(flow.slowdown)}", size=12, bold=True, align="right")
