"""What pictures of AuTO's environments show: of thresholds and of long flows."""

import math
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.envs.drawing import Scene, View
from flowsched_gym.envs.drawing.formats import count_text, duration_text, number_text, rate_text, shortened, size_text
from flowsched_gym.envs.drawing.panels import Bar, Charts, Column, Grid, Key, Row, Rows, Stack, Table, Text, Tone
from flowsched_gym.envs.thresholds import CLASSES, class_of_size
from flowsched_gym.fluid.decision import Decision
from flowsched_gym.systems.auto.long_flows.config import AuTOLongFlowsConfig
from flowsched_gym.systems.auto.long_flows.observation import ALL
from flowsched_gym.systems.auto.long_flows.rules import LongFlowRules, asked_server, list_seen, on_links
from flowsched_gym.systems.auto.thresholds.config import SCALE, AuTOThresholdsConfig

MOST_CHARTS: Final = 4
"""Clusters that are drawn; there is no room for more."""
MOST_CLUSTERS: Final = 6
"""Clusters whose queues are written out."""
COUNTS: Final = ("no long flow", "1", "2", "3", "4 or more on a link")
TONES: Final = (Tone.MUTED, Tone.GOOD, Tone.STRONG, Tone.WARNING, Tone.BAD)


def thresholds_panels(config: AuTOThresholdsConfig, scene: Scene, num_periods: int, decision: Decision) -> View:
    """Lists what a picture shows."""
    load = "" if config.load is None else f", load {config.load:g}"
    period = f"{config.period_flows} flows" if config.period_ms is None else f"{config.period_ms:g} ms"
    clusters = f", {config.clusters} clusters" if config.clusters > 1 else ""
    active = np.sort(decision.active[: decision.num_active]).astype(np.int64)
    finished = decision.delivered[decision.episodes["num_before"][0] : decision.num_delivered].astype(np.int64)
    cluster = decision.flows["source"][active] // config.hosts_per_cluster
    rows_of = [active[cluster == each] for each in range(config.clusters)]
    of_clusters = [
        _queues(config, decision, rows, f"Queues of cluster {number}", in_frame=False)
        for number, rows in enumerate(rows_of[: MOST_CLUSTERS if config.clusters > 1 else 0])
    ]
    sizes = decision.state.size[: decision.num_flows]
    return View(
        banner=scene.banner(
            "AuTO thresholds",
            f"{shortened(config.workload, 30)} on {config.topology}{load}, {config.link_gbps:g} Gbit/s, "
            f"{config.queues} queues{clusters}, period of {period}",
            f"Period {num_periods} begins: which thresholds from now on?",
            headline=scene.mean_completion_time,
        ),
        top=_sizes(config, decision, rows_of),
        stacks=(
            Stack(478, (_queues(config, decision, active, "Queues, the highest first"), *of_clusters)),
            Stack(478, (scene.fares(finished, tuple(CLASSES.values()), class_of_size(sizes)),)),
        ),
        legend=(
            Key(Tone.FAINT, "active flows of a size"),
            Key(Tone.BAD, "threshold: a flow that has sent so much is demoted", width=3),
        ),
    )


def _sizes(config: AuTOThresholdsConfig, decision: Decision, rows_of: list[IntArray]) -> Charts:
    size, thresholds = decision.state.size, decision.record.thresholds[: config.clusters]
    charts = [
        SCALE.chart(size[rows], borders, f"{len(rows)} active", f"cluster {number}" if config.clusters > 1 else "")
        for number, (rows, borders) in enumerate(zip(rows_of, thresholds, strict=True))
    ]
    hidden = config.clusters > MOST_CHARTS
    return Charts(
        title="Sizes of active flows, and thresholds",
        note=f"the first {MOST_CHARTS} of {config.clusters} clusters" if hidden else "",
        height=238,
        charts=tuple(charts[:MOST_CHARTS]),
        ticks=SCALE.ticks(),
    )


def _queues(
    config: AuTOThresholdsConfig, decision: Decision, rows: IntArray, title: str, *, in_frame: bool = True
) -> Table:
    queues, remaining = decision.record.level[rows], decision.state.remaining[rows]
    flows = np.bincount(queues, minlength=config.queues).tolist()
    left = np.bincount(queues, weights=remaining, minlength=config.queues).tolist()
    most = max(*flows, 1)
    return Table(
        title=title,
        in_frame=in_frame,
        columns=(Column("", 64, "left"), Column("", 210, "left"), Column("", 80), Column("", 100)),
        rows=tuple(
            (
                f"queue {number}",
                Bar(flows[number] / most, Tone.GOOD),
                count_text(flows[number]),
                Text(f"{size_text(left[number])} left", Tone.MUTED),
            )
            for number in range(config.queues)
        ),
        row_height=22,
    )


def long_flows_panels(config: AuTOLongFlowsConfig, scene: Scene, rules: LongFlowRules, decision: Decision) -> View:
    """Lists what a picture shows."""
    server, seen = asked_server(rules, decision), decision.flows["listed"][: list_seen(rules, decision)]
    long_on, all_on = on_links(rules, decision)
    # Each flow is on a link up and on one down.
    num_long, num_active = int(long_on.sum()) // 2, int(all_on.sum()) // 2
    delivered = decision.delivered[: decision.num_delivered].astype(np.int64)
    # Of just the size from which on flows are long none has been long.
    done = delivered[decision.state.size[delivered] > config.long_from]
    whose = "the network" if server == ALL else f"server {server}"
    thresholds = ", ".join(size_text(threshold) for threshold in config.thresholds)
    links = Grid(
        title="Long flows on the hosts' links",
        note=f"differ by {long_on.max() - long_on.min()}",
        height=214,
        rows=tuple(
            (f"path {path} {way}", tuple(counts.tolist()))
            for path, of_path in enumerate(long_on)
            for way, counts in zip(("up", "down"), of_path, strict=True)
        ),
    )
    finished = scene.finished(title="Finished long flows", note="", rows=done)
    return View(
        banner=scene.banner(
            "AuTO long flows",
            f"{shortened(config.workload, 30)}, {config.hosts} servers, {config.paths} paths of "
            f"{number_text(config.link_gbps)} Gbps, thresholds {thresholds}",
            f"Asked: queue, largest rate and path of {count_text(len(seen), 'long flow')} of {whose}",
        ),
        stacks=(
            Stack(584, (_slots(config, decision, seen),)),
            Stack(372, (links, _results(scene, num_active, num_long, delivered, done), finished)),
        ),
        legend=tuple(Key(tone, text, width=12) for tone, text in zip(TONES, COUNTS, strict=True)),
    )


def _slots(config: AuTOLongFlowsConfig, decision: Decision, seen: IntArray) -> Table:
    flows, state, controls = decision.flows, decision.state, decision.controls

    def flow(slot: int, row: int) -> Row:
        limit = float(controls.rate_cap[row])
        return (
            f"flow {flows['flow_id'][row]}",
            f"{flows['source'][row]} to {flows['destination'][row]}",
            size_text(float(state.attained[row])),
            duration_text(decision.now - float(state.arrival_time[row])),
            str(decision.record.level[row]),
            str(controls.path[row] % config.paths),
            rate_text(float(state.rate[row])),
            "none" if math.isinf(limit) else rate_text(limit),
        )

    return Table(
        title="Long flows that the agent sees, oldest first",
        columns=(
            *(Column("flow", 76, "left"), Column("hosts", 66, "left")),
            *(Column("sent", 62), Column("waiting", 64), Column("queue", 42)),
            *(Column("path", 38), Column("rate", 82), Column("limit", 82)),
        ),
        rows=Rows(seen, flow),
        slots=config.n_l,
        most_height=34,
        empty="No long flow is there.",
    )


def _results(scene: Scene, every: int, num_long: int, delivered: IntArray, done: IntArray) -> Table:
    short = np.setdiff1d(delivered, done)
    parts = ("long", num_long, done), ("short so far", every - num_long, short), ("all", every, delivered)
    return Table(
        height=88,
        columns=(
            Column("", 90, "left"),
            *(Column(head, 66) for head in ("active", "finished", "mean FCT", "slowdown")),
        ),
        rows=tuple((Text(name, Tone.MUTED), str(count), *scene.results(rows)) for name, count, rows in parts),
        row_height=18,
    )
