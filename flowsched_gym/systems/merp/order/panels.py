"""What a picture of an ordering episode shows: the flows that compete, their links, and the slowdowns so far."""

import numpy as np
import numpy.typing as npt

from flowsched_gym.envs.drawing import Scene, View
from flowsched_gym.envs.drawing.formats import count_text, duration_text, ratio_text, shortened, size_share, size_text
from flowsched_gym.envs.drawing.panels import Bar, Column, Key, Row, Rows, Stack, Table, Text, Tone
from flowsched_gym.fluid.decision import OrderDecision
from flowsched_gym.systems.merp.order.config import DEFAULT_WORKLOADS, MERPOrderConfig, OrderTopology
from flowsched_gym.systems.merp.order.rules import LARGEST_KEPT


def order_panels(config: MERPOrderConfig, scene: Scene, pending: object) -> View:
    """Lists what a picture shows.

    Args:
        config: The arguments of the environment.
        scene: The episode as it stands.
        pending: What waits for a decision: an ``OrderDecision``, or nothing.
    """
    competing = pending.rows if isinstance(pending, OrderDecision) else np.zeros(0, dtype=np.int64)
    workload = DEFAULT_WORKLOADS[config.topology] if config.workload is None else config.workload
    load = "" if config.load is None else f", load {config.load:g}"
    largest = np.sort(scene.records.slowdown[scene.delivered])[::-1][:LARGEST_KEPT].tolist()
    _, mean, slowdown = scene.results(scene.delivered)
    return View(
        banner=scene.banner(
            "MERP order",
            f"{shortened(workload, 40)} on {config.topology}{load}, {config.link_gbps:g} Gbit/s, f = {config.f}",
            f"{count_text(len(competing))} compete: which of them goes first?",
            headline=("Largest slowdown so far", ratio_text(largest[0]) if largest else "none yet"),
        ),
        stacks=(
            Stack(560, (_contest(config, scene, competing),)),
            Stack(
                396,
                (
                    _slowdowns(largest),
                    scene.links(height=164 if config.topology is OrderTopology.TREE9 else 0),
                    scene.finished(note=f"mean {mean}, x {slowdown}" if largest else ""),
                ),
            ),
        ),
        legend=(
            Key(Tone.GOOD, "> has sent until now"),
            Key(Tone.FAINT, "waits"),
            Key(Tone.MUTED, "length of a bar: its size; the filled part is left to send"),
        ),
    )


def _contest(config: MERPOrderConfig, scene: Scene, competing: npt.NDArray[np.int64]) -> Table:
    """Lists the flows that compete."""
    records, backlog, capacity = scene.records, scene.loads[1], scene.network.capacity

    def contender(_: int, row: int) -> Row:
        size, waiting, sends = (
            float(records.size[row]),
            scene.now - float(records.arrival_time[row]),
            scene.rate[row] > 0.0,
        )
        left = float(scene.remaining[row]) / size
        links = scene.links_of(row)
        if_last = float(((waiting * capacity[links] + backlog[links]) / size).max())
        return (
            Text(">" if sends else "", Tone.GOOD, bold=True),
            scene.flow(row),
            Text(scene.hosts(row), Tone.MUTED),
            Bar(left, Tone.GOOD if sends else Tone.FAINT, length=size_share(size, scene.size_range)),
            f"{100 * left:.0f} %",
            size_text(size),
            duration_text(waiting),
            ratio_text(waiting / float(records.ideal_fct[row])),
            ratio_text(if_last),
        )

    return Table(
        title="Flows that compete, oldest first",
        columns=(
            Column("", 16, "left"),
            Column("flow", 74, "left"),
            Column("hosts" if scene.num_hosts else "", 56, "left"),
            Column("bytes left", 116, "left"),
            Column(),
            Column("size", 64),
            Column("waiting", 66),
            Column("slowdown", 62),
            Column("if last", 60),
        ),
        rows=Rows(competing, contender),
        slots=config.f,
        shows_hidden=True,
    )


def _slowdowns(largest: list[float]) -> Table:
    """Lists the slowdowns that the reward is about."""
    return Table(
        title="Largest slowdowns of finished flows",
        height=176,
        columns=(Column("", 20), Column("", 280, "left"), Column("", 54)),
        rows=tuple(
            (Text(str(number), Tone.MUTED), Bar(value / largest[0]), ratio_text(value))
            for number, value in enumerate(largest, 1)
        ),
        row_height=17,
    )
