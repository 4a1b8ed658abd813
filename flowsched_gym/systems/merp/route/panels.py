"""What a picture of a routing episode shows: the fat-tree with its flows, the paths to choose from, and the results.

Core switches stand on top, hosts at the bottom. A line is a cable: thin and grey where no flow uses it, blue and wider
with flows, dashed and red when it has failed. The paths of the flow that waits are orange, with the numbers of their
slots on the switches that tell them apart.
"""

import functools

import numpy as np
import numpy.typing as npt

from flowsched_gym.envs.columns import Layout
from flowsched_gym.envs.drawing import Scene, View
from flowsched_gym.envs.drawing.formats import count_text, duration_text, ratio_text, shortened, size_text
from flowsched_gym.envs.drawing.panels import Bar, Column, Fabric, Key, Row, Stack, Table, Text, Tier, Tone
from flowsched_gym.fluid.decision import PathDecision
from flowsched_gym.systems.merp.route.config import MERPRouteConfig

CORE, AGGREGATION, EDGE, HOSTS = range(4)
"""Tiers from top to bottom."""
COLUMNS = ("live", "num_flows", "bytes_left", "expansion_ratio", "expected_rate")


def route_panels(
    config: MERPRouteConfig,
    scene: Scene,
    pending: PathDecision | None,
    layout: Layout,
    observation: npt.NDArray[np.float32],
) -> View:
    """Lists what a picture shows.

    Args:
        config: The arguments of the environment.
        scene: The episode as it stands.
        pending: The flow that waits for a path; ``None`` when the episode is over.
        layout: Columns of the observation.
        observation: What the agent sees.
    """
    asked, records = "", scene.records
    if pending is not None:
        row = pending.row
        hosts = f"from host {records.source[row]} to host {records.destination[row]}"
        asked = f"Flow {records.flow_id[row]} goes {hosts}, {size_text(float(records.size[row]))}: by which path?"
    setting = f"{shortened(config.workload, 40)}, k = {config.arity}, {config.discipline}, rerouting {config.rerouting}"
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
    """Shows the network, and where the flow that waits may go."""
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
            Column("flows", 38),
            Column("left", 62),
            Column("ratio", 46),
            Column("rate", 64, "right"),
            Column(),
        ),
        rows=rows,
        slots=count,
        closed=frozenset(closed),
        most_height=34,
        text_rows=36,
        empty="",
    )
