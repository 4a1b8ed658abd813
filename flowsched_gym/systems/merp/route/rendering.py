"""Draws a routing episode as it stands: the fat-tree with its flows, the paths to choose from, and the results.

Core switches stand on top, hosts at the bottom. A line is a cable: thin and grey where no flow uses it, blue and wider
with flows, dashed and red when it has failed. The paths of the flow that waits are orange, with the numbers of their
slots on the switches that tell them apart.
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
    INK,
    LINE,
    MUTED,
    ORANGE,
    RED,
    WHITE,
    WINDOW,
    Box,
    Canvas,
    duration_text,
    size_text,
)
from flowsched_gym.systems.merp.route.config import MERPRouteConfig
from flowsched_gym.systems.merp.route.fabric_plan import FabricPlan, plan_fabric
from flowsched_gym.systems.merp.route.snapshot import Snapshot, take_snapshot
from flowsched_gym.systems.merp.route.text import (
    down_text,
    path_text,
    question,
    ratio_text,
    results,
    setting,
    write_frame,
)

if TYPE_CHECKING:
    from flowsched_gym.systems.merp.route.env import MERPRouteEnv

__all__ = ["draw_frame", "write_frame"]

WIDTH: Final = 1000
HEIGHT: Final = 600
MARGIN: Final = 16
TOP: Final = 92
"""Row at which the cards begin."""
FOOT: Final = 570
"""Row at which they end."""
FABRIC: Final = (MARGIN, 624)
SIDE: Final = (636, WIDTH - MARGIN)
PATHS_FOOT: Final = 348
"""Row at which the card of the paths ends."""
PATH_HEIGHTS: Final = (17, 34)
"""Smallest and largest height of a path's row."""
FINISHED_HEIGHT: Final = 22
CROWD: Final = 3
"""Flows on a cable from which its line is widest."""


def draw_frame(env: "MERPRouteEnv") -> npt.NDArray[np.uint8]:
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
    canvas = _sheet(threading.get_ident())
    canvas.cover(_background(env.config))
    _draw_header(canvas, snapshot)
    _draw_fabric(canvas, snapshot, plan_fabric(env.config.arity, FABRIC, TOP, FOOT))
    _draw_paths(canvas, snapshot)
    _draw_finished(canvas, snapshot)
    return canvas.array()


@functools.lru_cache(maxsize=4)
def _sheet(thread: int) -> Canvas:
    """Keeps a canvas for each thread: new memory for every frame takes longer than the drawing."""
    return Canvas(WIDTH, HEIGHT)


@functools.lru_cache(maxsize=8)
def _background(config: MERPRouteConfig) -> Canvas:
    """Draws what stays."""
    canvas = Canvas(WIDTH, HEIGHT)
    canvas.text(MARGIN, 24, "MERP routing", size=22, bold=True)
    canvas.text(MARGIN, 50, setting(config), colour=MUTED)
    canvas.card(Box(FABRIC[0], TOP, FABRIC[1], FOOT))
    canvas.card(Box(SIDE[0], TOP, SIDE[1], PATHS_FOOT))
    canvas.card(Box(SIDE[0], PATHS_FOOT + 12, SIDE[1], FOOT))
    canvas.text(FABRIC[0] + 12, TOP + 18, f"Fat-tree of {config.num_hosts} hosts", size=15, bold=True)
    canvas.text(SIDE[0] + 12, PATHS_FOOT + 30, "Just finished", size=15, bold=True)
    x = MARGIN
    for colour, width, dashed, meaning in (
        (GREY, 1, False, "cable without flows"),
        (BLUE, 2, False, "with a flow"),
        (BLUE, 4, False, f"with {CROWD} or more"),
        (RED, 2, True, "down"),
        (ORANGE, 3, False, "paths of the flow that waits"),
    ):
        canvas.line((x, 585), (x + 26, 585), colour, width=width, dashed=dashed)
        x = canvas.text(x + 34, 585, meaning, size=12, colour=MUTED) + 26
    return canvas


def _draw_header(canvas: Canvas, snapshot: Snapshot) -> None:
    """Draws the time, what is asked, and the results so far."""
    canvas.text(190, 24, f"t = {snapshot.now:.4f} s", size=22)
    canvas.text(MARGIN, 73, question(snapshot), size=14)
    left, right = SIDE[0], WIDTH - MARGIN
    mean = "none yet" if not snapshot.num_finished else f"{snapshot.mean_slowdown:.2f}"
    canvas.text(left, 24, "Mean slowdown so far", size=15, bold=True)
    canvas.text(right, 24, mean, size=28, bold=True, align="right")
    canvas.text(right, 50, results(snapshot), size=12, colour=MUTED, align="right")
    canvas.bar(Box(left, 66, right, 76), snapshot.num_finished / snapshot.num_flows, GREY)


def _draw_fabric(canvas: Canvas, snapshot: Snapshot, plan: FabricPlan) -> None:
    """Draws the network: cables first, then the paths in question, then hosts and switches."""
    sending = snapshot.num_live - snapshot.num_waiting
    text = f"{sending} flows send, {snapshot.num_waiting} wait, {down_text(snapshot)}"
    canvas.text(FABRIC[1] - 12, TOP + 18, text, colour=MUTED, align="right")
    for cable, (up, down) in enumerate(plan.cables):
        begin, end = plan.ends(cable)
        flows = int(snapshot.flows_on[up] + snapshot.flows_on[down])
        if not snapshot.is_up[up]:
            canvas.line(begin, end, RED, width=2, dashed=True)
        else:
            idle = GREY if plan.sparse else LINE
            width = 2 * min(flows, 1) + 2 * (flows >= CROWD)
            canvas.line(begin, end, BLUE if flows else idle, width=max(width if plan.sparse else width // 2, 1))
    cable_of = plan.cable_of_link
    for path in snapshot.paths:
        for link in path.links if path.live else ():
            canvas.line(*plan.ends(cable_of[link]), ORANGE, width=3)
    asked = () if snapshot.flow is None else (snapshot.flow.source, snapshot.flow.destination)
    for tier in plan.tiers:
        for number, box in enumerate(tier.boxes):
            marked = tier.name == "hosts" and number in asked
            canvas.rectangle(box, ORANGE if marked else WINDOW, outline=ACCENT)
            if tier.numbered:
                middle = (box.left + box.right) // 2
                canvas.text(middle, box.middle, str(number), size=11, colour=INK if marked else MUTED, align="center")
    _draw_slots(canvas, snapshot, plan)
    for tier in plan.tiers:
        canvas.text(FABRIC[0] + 12, tier.boxes[0].middle, tier.name, size=12, colour=MUTED)


def _draw_slots(canvas: Canvas, snapshot: Snapshot, plan: FabricPlan) -> None:
    """Writes the numbers of the slots on the switches that tell the paths apart."""
    flow = snapshot.flow
    if flow is None:
        return
    for slot, path in enumerate(snapshot.paths):
        box = plan.switch_of(flow.source, slot, flow.same_pod)
        canvas.rectangle(box, ACCENT if path.live else WHITE, outline=ACCENT if path.live else RED)
        if plan.roomy:
            middle = (box.left + box.right) // 2
            colour = WHITE if path.live else RED
            canvas.text(middle, box.middle, str(slot), size=12, colour=colour, bold=True, align="center")


def _draw_paths(canvas: Canvas, snapshot: Snapshot) -> None:
    """Draws the paths as the agent sees them."""
    left, right = SIDE[0] + 12, SIDE[1] - 12
    flow = snapshot.flow
    if flow is None:
        canvas.text(left, TOP + 18, "Nobody asks", size=15, bold=True)
        return
    canvas.text(left, TOP + 18, f"Paths of flow {flow.flow_id}", size=15, bold=True)
    text = f"alone: {duration_text(flow.ideal_fct)}"
    canvas.text(right, TOP + 18, text, colour=MUTED, align="right")
    columns = left + 136, left + 194, left + 244, right
    for x, word in zip(columns, ("flows", "left", "ratio", "rate"), strict=True):
        canvas.text(x, TOP + 42, word, size=11, colour=MUTED, align="right")
    canvas.text(left, TOP + 42, "slot", size=11, colour=MUTED)
    top, space = TOP + 54, PATHS_FOOT - TOP - 60
    height = min(max(space // len(snapshot.paths), PATH_HEIGHTS[0]), PATH_HEIGHTS[1])
    rows = min(len(snapshot.paths), space // height)
    shown = rows if rows == len(snapshot.paths) else rows - 1
    for slot, path in enumerate(snapshot.paths[:shown]):
        y = top + slot * height + height // 2
        half = min(height // 2 - 1, 10)
        number = Box(left, y - half, left + 26, y + half)
        canvas.rectangle(number, ACCENT if path.live else WHITE, outline=ACCENT if path.live else LINE)
        colour = WHITE if path.live else GREY
        canvas.text(left + 13, y, str(slot), size=12 if half >= 9 else 11, colour=colour, align="center")
        canvas.text(left + 34, y, path_text(slot, flow.same_pod), size=11, colour=INK if path.live else GREY)
        if not path.live:
            canvas.text(right, y, "down", size=12, colour=RED, bold=True, align="right")
            continue
        values = f"{path.num_flows:.0f}", size_text(path.bytes_left), ratio_text(path)
        for x, value in zip(columns, values, strict=False):
            canvas.text(x, y, value, size=12, align="right")
        canvas.bar(Box(left + 256, y - 4, right, y + 4), path.expected_rate, BLUE)
    if shown < len(snapshot.paths):
        y = top + shown * height + height // 2
        canvas.text(left, y, f"+ {len(snapshot.paths) - shown} more", size=12, colour=ACCENT)


def _draw_finished(canvas: Canvas, snapshot: Snapshot) -> None:
    """Draws the last finished flows, latest first."""
    left, right = SIDE[0] + 12, SIDE[1] - 12
    top = PATHS_FOOT + 46
    if not snapshot.finished:
        canvas.text(left, top + 12, "Nothing yet.", size=12, colour=GREY)
    for place, flow in enumerate(snapshot.finished[: (FOOT - 6 - top) // FINISHED_HEIGHT]):
        y = top + place * FINISHED_HEIGHT + FINISHED_HEIGHT // 2
        canvas.text(left, y, f"{flow.source} to {flow.destination}", size=12)
        canvas.text(left + 128, y, size_text(flow.size), size=12, colour=MUTED, align="right")
        took = f"took {duration_text(flow.fct)}"
        canvas.text(left + 226, y, took, size=12, colour=MUTED, align="right")
        canvas.text(right, y, f"x {flow.slowdown:.2f}", size=12, bold=True, align="right")
