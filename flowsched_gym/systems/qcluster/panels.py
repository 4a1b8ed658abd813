"""What a picture of an episode of QCluster shows: messages and thresholds, the queues, and how messages have fared."""

from typing import Final

from flowsched_gym.envs.drawing import Scene, View
from flowsched_gym.envs.drawing.formats import duration_text, shortened
from flowsched_gym.envs.drawing.panels import Bar, Charts, Column, Key, Stack, Table, Text, Tone
from flowsched_gym.packets.decision import PacketDecision
from flowsched_gym.systems.qcluster.config import QClusterConfig
from flowsched_gym.systems.qcluster.rules import CLASSES, SCALE, class_of_size, finished_since

MOST_QUEUES: Final = 16
"""Queues for which there is room."""


def qcluster_panels(config: QClusterConfig, scene: Scene, decision: PacketDecision) -> View:
    """Lists what a picture shows."""
    size = decision.flows["size"]
    load = "" if config.load is None else f", load {config.load:g}"
    return View(
        banner=scene.banner(
            "QCluster",
            f"{shortened(config.workload, 30)} for {config.goal.value}{load}, {config.link_gbps:g} Gbit/s, "
            f"{config.queues} queues, {config.senders.transport} windows, period of {config.period_us / 1e3:g} ms",
            f"Period {decision.num_periods} begins: which {config.action.value} from now on?",
        ),
        top=Charts(
            title="Sizes of messages on their way, and thresholds",
            height=170,
            charts=(
                SCALE.chart(size[scene.active], decision.record.clusters.thresholds[0], f"{len(scene.active)} active"),
            ),
            ticks=SCALE.ticks(),
        ),
        stacks=(
            Stack(478, (_queues(decision),)),
            Stack(478, (scene.fares(finished_since(decision), tuple(CLASSES.values()), class_of_size(size)),)),
        ),
        legend=(
            Key(Tone.FAINT, "messages on their way, by size"),
            Key(Tone.BAD, "threshold between two queues", width=3),
        ),
    )


def _queues(decision: PacketDecision) -> Table:
    counts = decision.counts
    of_queues = [each[0].tolist() for each in (counts.waiting, counts.packets, counts.waited, counts.started)]
    most = max(*of_queues[0], 1)
    rows = tuple(
        (
            f"queue {number}",
            Bar(waiting / most, Tone.GOOD),
            f"{waiting:,}",
            Text(f"{entered:,}", Tone.MUTED),
            Text(duration_text(waited / started) if started else "-", Tone.MUTED),
        )
        for number, (waiting, entered, waited, started) in enumerate(zip(*of_queues, strict=True))
    )
    hidden = len(rows) - MOST_QUEUES
    return Table(
        title="Queues, the highest first" if hidden <= 0 else f"Queues, the highest {MOST_QUEUES} of {len(rows)}",
        columns=(
            *(Column("", 64, "left"), Column("", 150, "left")),
            *(Column("waiting", 70), Column("entered", 90), Column("mean delay", 80)),
        ),
        rows=rows[:MOST_QUEUES],
        row_height=22,
    )
