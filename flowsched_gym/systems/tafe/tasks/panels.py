"""What a picture of an episode of tasks shows: the flows that compete, the tasks that are under way, and the links."""

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.envs.drawing import Scene, View
from flowsched_gym.envs.drawing.formats import count_text, duration_text, shortened, size_share, size_text
from flowsched_gym.envs.drawing.panels import Bar, Column, Key, Row, Rows, Stack, Table, Text, Tone
from flowsched_gym.flows.fields import index_tasks
from flowsched_gym.flows.metrics import task_completion_times
from flowsched_gym.fluid.decision import OrderDecision
from flowsched_gym.fluid.stages import first_cpu_path
from flowsched_gym.systems.tafe.config import TAFETopology
from flowsched_gym.systems.tafe.tasks.config import TAFETasksConfig


def tasks_panels(config: TAFETasksConfig, scene: Scene, pending: object) -> View:
    """Lists what a picture shows.

    Args:
        config: The arguments of the environment.
        scene: The episode as it stands.
        pending: What waits for a decision: an ``OrderDecision``, or nothing.
    """
    competing = pending.rows if isinstance(pending, OrderDecision) else np.zeros(0, dtype=np.int64)
    on_cpu = len(competing) > 0 and bool(_runs(scene, int(competing[0])))
    return View(
        banner=scene.banner(
            "TAFE tasks",
            f"{shortened(config.workload, 40)} on {config.topology}, {config.link_gbps:g} Gbit/s, f = {config.f}",
            f"{count_text(len(competing))} compete for {'a CPU' if on_cpu else 'links'}: which of them goes first?",
            headline=("Mean task completion time", _mean_time(scene)),
        ),
        stacks=(
            Stack(560, (_contest(config, scene, competing, on_cpu=on_cpu),)),
            Stack(
                396,
                (
                    _tasks(scene),
                    scene.links(height=164 if config.topology is TAFETopology.BIG_SWITCH else 0),
                    scene.finished(),
                ),
            ),
        ),
        legend=(
            Key(Tone.GOOD, "> has been served until now"),
            Key(Tone.FAINT, "waits"),
            Key(Tone.MUTED, "length of a bar: size of the flow; the filled part is left of its stage"),
        ),
    )


def _runs(scene: Scene, row: int) -> bool:
    """Returns whether a flow is on its CPU."""
    return bool(scene.path[row] >= first_cpu_path(scene.network))


def _mean_time(scene: Scene) -> str:
    """Writes the mean over the tasks that have finished."""
    times = task_completion_times(scene.records).tct
    finished = times[np.isfinite(times)]
    return duration_text(float(finished.mean())) if len(finished) else "none yet"


def _task_name(scene: Scene, row: int) -> str:
    """Names the task of a flow."""
    task = int(scene.records.task_id[row])
    return f"task {task}" if task >= 0 else "alone"


def _contest(config: TAFETasksConfig, scene: Scene, competing: IntArray, *, on_cpu: bool) -> Table:
    """Lists the flows that compete."""
    records = scene.records
    ready = records.ready_time

    def contender(_: int, row: int) -> Row:
        size, served = float(records.size[row]), scene.rate[row] > 0.0
        left = float(scene.remaining[row] / scene.volume[row])
        return (
            Text(">" if served else "", Tone.GOOD, bold=True),
            scene.flow(row),
            Text(_task_name(scene, row), Tone.MUTED),
            Text(scene.hosts(row), Tone.MUTED),
            Bar(left, Tone.GOOD if served else Tone.FAINT, length=size_share(size, scene.size_range)),
            f"{100 * left:.0f} %",
            duration_text(float(scene.remaining[row])) if on_cpu else size_text(float(scene.remaining[row])),
            duration_text(scene.now - float(ready[row])),
        )

    return Table(
        title=f"Flows that compete for {'a CPU' if on_cpu else 'links'}, longest ready first",
        columns=(
            Column("", 16, "left"),
            Column("flow", 74, "left"),
            Column("task", 70, "left"),
            Column("hosts" if scene.num_hosts else "", 56, "left"),
            Column("left", 116, "left"),
            Column(),
            Column("", 70),
            Column("ready for", 76),
        ),
        rows=Rows(competing, contender),
        slots=config.f,
        shows_hidden=True,
    )


def _tasks(scene: Scene) -> Table:
    """Lists the tasks with active flows, longest under way first."""
    records, task = scene.records, index_tasks(scene.records)
    total = np.bincount(task, records.size)
    sent = np.where(scene.path >= first_cpu_path(scene.network), 0.0, scene.sent) * records.size
    part = np.bincount(task, sent) / total
    done = np.bincount(task, np.isfinite(records.completion_time))
    count = np.bincount(task)
    under_way = np.unique(task[scene.active], return_index=True)[1]
    rows = scene.active[under_way]
    rows = rows[np.lexsort((rows, records.ready_time[rows]))]

    def line(_: int, row: int) -> Row:
        number = task[row]
        return (
            Text(_task_name(scene, row), Tone.MUTED),
            Bar(float(part[number])),
            f"{100 * part[number]:.0f} %",
            size_text(float(total[number])),
            f"{int(done[number])} of {int(count[number])}",
        )

    return Table(
        title="Tasks under way, and what they have sent",
        height=176,
        columns=(
            Column("", 70, "left"),
            Column("sent", 116, "left"),
            Column(),
            Column("size", 66),
            Column("flows done", 80),
        ),
        rows=Rows(rows, line),
        row_height=17,
    )
