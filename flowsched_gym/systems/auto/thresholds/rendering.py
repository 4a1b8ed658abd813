"""Draws an episode of AuTO's thresholds as it stands: the scale of sizes, the queues, and how flows have fared."""

import functools
import threading
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.envs.rendering import ACCENT, BLUE, GREY, MUTED, RED, WINDOW, Box, Canvas, shortened, size_text
from flowsched_gym.systems.auto.thresholds.config import AuTOThresholdsConfig
from flowsched_gym.systems.auto.thresholds.mapping import place_of_size
from flowsched_gym.systems.auto.thresholds.snapshot import ClassResult, Cluster, Snapshot, take_snapshot
from flowsched_gym.systems.auto.thresholds.text import (
    borders,
    count_text,
    question,
    result_rows,
    results,
    setting,
    write_frame,
)
from flowsched_gym.units import BYTES_PER_KILOBYTE

if TYPE_CHECKING:
    from flowsched_gym.systems.auto.thresholds.env import AuTOThresholdsEnv

__all__ = ["draw_frame", "write_frame"]

WIDTH: Final = 1000
HEIGHT: Final = 600
MARGIN: Final = 16
TOP: Final = 92
"""Row at which the cards begin."""
FOOT: Final = 570
"""Row at which they end."""
GAP: Final = 12
SCALE_FOOT: Final = 330
"""Row at which the card of sizes ends."""
QUEUES: Final = (MARGIN, 494)
RESULTS: Final = (506, WIDTH - MARGIN)
AXIS: Final = (MARGIN + 90, WIDTH - MARGIN - 24)
"""Columns of the scale of sizes."""
MOST_STRIPS: Final = 4
"""Clusters that are drawn; there is no room for more."""
NUM_BINS: Final = 60
"""Bars of the live flows along the scale."""
TICKS: Final = ("1 KB", "10 KB", "100 KB", "1 MB", "10 MB", "100 MB", "1 GB")
"""Names of the powers of ten along the scale."""
NUMBERS: Final = tuple(RESULTS[0] + x for x in (240, 350, 450))
"""Right ends of number of flows, mean completion time, mean slowdown."""


def draw_frame(env: "AuTOThresholdsEnv") -> npt.NDArray[np.uint8]:
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
    strips = _strips(config)
    for number, (cluster, box) in enumerate(zip(snapshot.clusters, strips, strict=False)):
        _draw_strip(canvas, cluster, box, f"cluster {number}" if config.clusters > 1 else "")
    _draw_queues(canvas, snapshot)
    _draw_results(canvas, snapshot)
    return canvas.array()


@functools.lru_cache(maxsize=4)
def _sheet(thread: int) -> Canvas:
    """Keeps a canvas for each thread: new memory for every frame takes longer than the drawing."""
    return Canvas(WIDTH, HEIGHT)


@functools.lru_cache(maxsize=8)
def _background(config: AuTOThresholdsConfig) -> Canvas:
    """Draws what stays."""
    canvas = Canvas(WIDTH, HEIGHT)
    canvas.text(MARGIN, 24, "AuTO thresholds", size=22, bold=True)
    canvas.text(MARGIN, 50, shortened(setting(config), 110), colour=MUTED)
    for left, top, right, foot in (
        (MARGIN, TOP, WIDTH - MARGIN, SCALE_FOOT),
        (QUEUES[0], SCALE_FOOT + GAP, QUEUES[1], FOOT),
        (RESULTS[0], SCALE_FOOT + GAP, RESULTS[1], FOOT),
    ):
        canvas.card(Box(left, top, right, foot))
    hidden = config.clusters - MOST_STRIPS
    more = f" (the first {MOST_STRIPS} of {config.clusters} clusters)" if hidden > 0 else ""
    canvas.text(MARGIN + 12, TOP + 18, f"Sizes of live flows, and thresholds{more}", size=15, bold=True)
    canvas.text(QUEUES[0] + 12, SCALE_FOOT + GAP + 18, "Queues, the highest first", size=15, bold=True)
    canvas.text(RESULTS[0] + 12, SCALE_FOOT + GAP + 18, "Finished flows", size=15, bold=True)
    for x, text in zip(NUMBERS, ("flows", "mean FCT", "slowdown"), strict=True):
        canvas.text(x, SCALE_FOOT + GAP + 18, text, size=12, colour=MUTED, align="right")
    for box in _strips(config):
        canvas.rectangle(box, WINDOW)
    for power, tick in enumerate(TICKS):
        x = _column(BYTES_PER_KILOBYTE * float(f"1e{power}"))
        canvas.text(x, SCALE_FOOT - 12, tick, size=12, colour=MUTED, align="center")
    canvas.bar(Box(MARGIN, 579, MARGIN + 22, 591), 1.0, GREY)
    x = canvas.text(MARGIN + 30, 585, "live flows of a size", size=12, colour=MUTED) + 26
    canvas.bar(Box(x, 579, x + 3, 591), 1.0, RED)
    canvas.text(x + 11, 585, "threshold: a flow that has sent so much is demoted", size=12, colour=MUTED)
    return canvas


def _strips(config: AuTOThresholdsConfig) -> list[Box]:
    """Returns where the scales of the clusters are drawn."""
    count = min(config.clusters, MOST_STRIPS)
    top, foot = TOP + 34, SCALE_FOOT - 24
    height = (foot - top) // count
    return [Box(AXIS[0], top + place * height + 16, AXIS[1], top + (place + 1) * height - 2) for place in range(count)]


def _column(size: float) -> int:
    """Returns where a size stands on the scale."""
    return AXIS[0] + round(float(place_of_size(np.array(size))) * (AXIS[1] - AXIS[0]))


def _draw_header(canvas: Canvas, snapshot: Snapshot) -> None:
    """Draws the time, what is asked, and how far the episode is."""
    canvas.text(230, 24, f"t = {snapshot.now:.4f} s", size=22)
    canvas.text(MARGIN, 73, question(snapshot), size=14)
    right = WIDTH - MARGIN
    canvas.text(right, 24, results(snapshot), size=15, align="right")
    canvas.bar(Box(640, 66, right, 76), snapshot.num_finished / snapshot.num_flows, ACCENT)


def _draw_strip(canvas: Canvas, cluster: Cluster, box: Box, name: str) -> None:
    """Draws the live flows and the thresholds of a cluster along the scale."""
    canvas.text(MARGIN + 12, box.middle, name, size=12, colour=MUTED)
    canvas.text(box.left, box.top - 8, f"thresholds  {borders(cluster)}", size=12)
    canvas.text(box.right, box.top - 8, f"{len(cluster.sizes)} live", size=12, colour=MUTED, align="right")
    counts = np.histogram(place_of_size(cluster.sizes), NUM_BINS, (0.0, 1.0))[0].tolist()
    most = max(*counts, 1)
    for place, count in enumerate(counts):
        if count:
            left, right = (box.left + box.width * at // NUM_BINS for at in (place, place + 1))
            height = max(round((box.height - 4) * count / most), 2)
            canvas.rectangle(Box(left + 1, box.bottom - height, right - 1, box.bottom), GREY)
    for threshold in cluster.thresholds:
        x = _column(threshold)
        canvas.rectangle(Box(x - 1, box.top, x + 2, box.bottom), RED)


def _draw_queues(canvas: Canvas, snapshot: Snapshot) -> None:
    """Draws how many flows each queue holds in all clusters, and what they have left."""
    left, right = QUEUES[0] + 12, QUEUES[1] - 12
    queues = [
        (sum(each.num_flows for each in same), sum(each.left for each in same))
        for same in zip(*(cluster.queues for cluster in snapshot.clusters), strict=True)
    ]
    most = max(queue[0] for queue in queues) or 1
    for number, (num_flows, bytes_left) in enumerate(queues):
        y = SCALE_FOOT + GAP + 48 + number * 22
        canvas.text(left, y, f"queue {number}", size=12)
        canvas.bar(Box(left + 64, y - 6, left + 270, y + 6), num_flows / most, BLUE)
        canvas.text(left + 350, y, count_text(num_flows), size=12, align="right")
        canvas.text(right, y, f"{size_text(bytes_left)} left", size=12, colour=MUTED, align="right")


def _draw_results(canvas: Canvas, snapshot: Snapshot) -> None:
    """Draws how the flows of each class have fared: since the last action, and in all."""
    top = SCALE_FOOT + GAP + 44
    for name, classes in (("since the last action", snapshot.in_period), ("in all", snapshot.in_all)):
        canvas.text(RESULTS[0] + 12, top, name, size=12, bold=True)
        _draw_classes(canvas, classes, top + 18)
        top += 98


def _draw_classes(canvas: Canvas, classes: tuple[ClassResult, ...], top: int) -> None:
    """Draws a line for each class."""
    for place, (name, *numbers) in enumerate(result_rows(classes)):
        y = top + 17 * place
        canvas.text(RESULTS[0] + 24, y, name, size=12, colour=MUTED)
        for x, text in zip(NUMBERS, numbers, strict=True):
            canvas.text(x, y, text, size=12, align="right")
