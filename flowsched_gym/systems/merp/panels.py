"""What pictures of MERP's environments show: of an ordering episode, and of a routing one.

In the picture of a fat-tree core switches stand on top, hosts at the bottom. A line is a cable: thin and grey where no
flow uses it, blue and wider with flows, dashed and red when it has failed. The paths of the flow that waits are orange,
with the numbers of their slots on the switches that tell them apart.
"""

import functools

import numpy as np
import numpy.typing as npt

from flowsched_gym.envs.columns import Layout
from flowsched_gym.envs.drawing import Scene, View
from flowsched_gym.envs.drawing.formats import count_text, duration_text, ratio_text, shortened, size_share, size_text
from flowsched_gym.envs.drawing.panels import Bar, Column, Fabric, Key, Row, Rows, Stack, Table, Text, Tier, Tone
from flowsched_gym.flows.decisions import OrderDecision, PathDecision
from flowsched_gym.systems.merp.order.config import MERPOrderConfig, OrderTopology, default_workload
from flowsched_gym.systems.merp.order.rules import LARGEST_KEPT
from flowsched_gym.systems.merp.route.config import MERPRouteConfig

CORE, AGGREGATION, EDGE, HOSTS = range(4)
"""Tiers from top to bottom."""
COLUMNS = ("live", "num_flows", "bytes_left", "expansion_ratio", "expected_rate")


def order_panels(config: MERPOrderConfig, scene: Scene, pending: object) -> View:
    """Lists what a picture shows; what waits for a decision is an ``OrderDecision``, or nothing."""
    competing = pending.rows if isinstance(pending, OrderDecision) else np.zeros(0, dtype=np.int64)
    workload = default_workload(config) if config.workload is None else config.workload
    load = "" if config.load is None else f", load {config.load:g}"
    largest = np.sort(scene.records.slowdown[scene.delivered])[::-1][:LARGEST_KEPT].tolist()
    _, mean, slowdown = scene.results(scene.delivered)
    links = scene.links(height=0 if config.topology is OrderTopology.ONE_LINK else 164)
    finished = scene.finished(note=f"mean {mean}, x {slowdown}" if largest else "")
    return View(
        banner=scene.banner(
            "MERP order",
            f"{shortened(workload, 40)} on {config.topology}{load}, {config.link_gbps:g} Gbit/s, f = {config.f}",
            f"{count_text(len(competing))} compete: which of them goes first?",
            headline=("Largest slowdown so far", ratio_text(largest[0]) if largest else "none yet"),
        ),
        stacks=(Stack(560, (_contest(config, scene, competing),)), Stack(396, (_slowdowns(largest), links, finished))),
        legend=(
            Key(Tone.GOOD, "> has sent until now"),
            Key(Tone.FAINT, "waits"),
            Key(Tone.MUTED, "length of a bar: its size; the filled part is left to send"),
        ),
    )


def _contest(config: MERPOrderConfig, scene: Scene, competing: npt.NDArray[np.int64]) -> Table:
    records, backlog, capacity = scene.records, scene.loads[1], scene.network.capacity

    def contender(_: int, row: int) -> Row:
        size, waiting = float(records.size[row]), scene.now - float(records.arrival_time[row])
        left, sends, links = float(scene.remaining[row]) / size, scene.rate[row] > 0.0, scene.links_of(row)
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
            *(Column("", 16, "left"), Column("flow", 74, "left")),
            *(Column("hosts" if scene.num_hosts else "", 56, "left"), Column("bytes left", 116, "left"), Column()),
            *(Column("size", 64), Column("waiting", 66), Column("slowdown", 62), Column("if last", 60)),
        ),
        rows=Rows(competing, contender),
        slots=config.f,
        shows_hidden=True,
    )


def _slowdowns(largest: list[float]) -> Table:
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


def route_panels(
    config: MERPRouteConfig,
    scene: Scene,
    pending: PathDecision | None,
    layout: Layout,
    observation: npt.NDArray[np.float32],
) -> View:
    """Lists what a picture shows; no flow waits for a path when the episode is over."""
    asked, records = "", scene.records
    if pending is not None:
        row = pending.row
        hosts = f"from host {records.source[row]} to host {records.destination[row]}"
        asked = f"Flow {records.flow_id[row]} goes {hosts}, {size_text(float(records.size[row]))}: by which path?"
    setting = f"{shortened(config.workload, 40)}, k = {config.arity}, {config.sharing}, rerouting {config.rerouting}"
    same_pod = bool(layout.context_column(observation, "same_pod"))
    return View(
        banner=scene.banner("MERP routing", setting, asked),
        stacks=(
            Stack(608, (_fabric(config, scene, pending, same_pod),)),
            Stack(348, (_paths(scene, pending, layout, observation, same_pod), scene.finished())),
        ),
        legend=(
            Key(Tone.FAINT, "cable without flows", width=26, thickness=1),
            Key(Tone.GOOD, "with a flow", width=26, thickness=2),
            Key(Tone.GOOD, "with 3 or more", width=26, thickness=4),
            Key(Tone.BAD, "down", width=26, thickness=2, dashed=True),
            Key(Tone.WARNING, "paths of the flow that waits", width=26, thickness=3),
        ),
    )


def _fabric(config: MERPRouteConfig, scene: Scene, pending: PathDecision | None, same_pod: bool) -> Fabric:
    hosts, half, records = config.num_hosts, config.arity // 2, scene.records
    # The links of each tier of cables, hosts' ones first: those up, then those down.
    up = scene.network.capacity.reshape(3, 2, hosts)[:, 0].ravel() > 0.0
    flows = scene.loads[0].reshape(3, 2, hosts).sum(axis=1).ravel()
    paths, marks = [], {}
    if pending is not None:
        source, destination = int(records.source[pending.row]), int(records.destination[pending.row])
        marks = {(HOSTS, host): (str(host), Tone.WARNING) for host in (source, destination)}
        start, links = scene.network.path_start, scene.network.path_links
        for slot, path in enumerate(range(pending.first, pending.last)):
            crossed = links[start[path] : start[path + 1]]
            open_ = bool((scene.network.capacity[crossed] > 0.0).all())
            node = (AGGREGATION, source // (half * half) * half + slot) if same_pod else (CORE, slot)
            marks[node] = str(slot), Tone.STRONG if open_ else Tone.BAD
            if open_:
                paths += (crossed // hosts // 2 * hosts + crossed % hosts).tolist()
    waiting, down = int(np.count_nonzero(scene.rate[scene.active] == 0.0)), int(np.count_nonzero(~up))
    cables = f"{count_text(down, 'cable')} down" if down else "all cables up"
    return Fabric(
        title=f"Fat-tree of {hosts} hosts",
        note=f"{len(scene.active) - waiting} flows send, {waiting} wait, {cables}",
        tiers=(
            Tier("core", half * half),
            Tier("aggregation", config.arity * half),
            Tier("edge", config.arity * half),
            Tier("hosts", hosts, numbered=True),
        ),
        cables=_cables(config.arity),
        flows=tuple(np.where(up, flows, -1).tolist()),
        paths=tuple(paths),
        marks=marks,
    )


@functools.lru_cache(maxsize=8)
def _cables(arity: int) -> tuple[tuple[int, int, int], ...]:
    """Returns the ends of each cable of a fat-tree: those of the hosts, of the edge, of the aggregation."""
    half, hosts = arity // 2, arity * arity * arity // 4
    of_hosts = [(EDGE, host // half, host) for host in range(hosts)]
    of_edge = [(AGGREGATION, at // half // half * half + at % half, at // half) for at in range(hosts)]
    of_aggregation = [(CORE, at // half % half * half + at % half, at // half) for at in range(hosts)]
    return (*of_hosts, *of_edge, *of_aggregation)


def _paths(
    scene: Scene, pending: PathDecision | None, layout: Layout, observation: npt.NDArray[np.float32], same_pod: bool
) -> Table:
    """Lists the paths as the agent sees them, each by its most loaded link."""
    rows: list[Row] = []
    closed: set[int] = set()
    count = 0 if pending is None else pending.last - pending.first
    seen = zip(*(layout.slot_column(observation, name).tolist()[:count] for name in COLUMNS), strict=True)
    for slot, (is_up, flows, left, ratio, rate) in enumerate(seen):
        name = f"{'aggregation' if same_pod else 'core'} {slot}"
        if is_up:
            rows.append(
                (name, f"{flows:.0f}", size_text(left), ratio_text(ratio), Bar(rate, Tone.GOOD), f"{100 * rate:.0f} %")
            )
        else:
            closed.add(slot)
            rows.append((Text(name, Tone.FAINT), "", "", "", Text("down", Tone.BAD, bold=True), ""))
    return Table(
        title="Nobody asks" if pending is None else f"Paths of flow {scene.records.flow_id[pending.row]}",
        note="" if pending is None else f"alone it takes {duration_text(float(scene.records.ideal_fct[pending.row]))}",
        height=256,
        columns=(
            Column("over", 88, "left"),
            *(Column("flows", 38), Column("left", 62), Column("ratio", 46), Column("rate", 64), Column()),
        ),
        rows=rows,
        slots=count,
        closed=frozenset(closed),
        most_height=34,
        text_rows=36,
        empty="",
    )
