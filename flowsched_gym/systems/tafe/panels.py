"""What pictures of TAFE's environments show: of tasks whose flows compete, and of thresholds of tasks."""

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.envs.drawing import Scene, View
from flowsched_gym.envs.drawing.formats import count_text, duration_text, shortened, size_share, size_text
from flowsched_gym.envs.drawing.panels import Bar, Charts, Column, Key, Row, Rows, Stack, Table, Text, Tone
from flowsched_gym.envs.thresholds import CLASSES, class_of_size
from flowsched_gym.flows.decisions import OrderDecision
from flowsched_gym.flows.fields import index_tasks
from flowsched_gym.flows.metrics import task_completion_times
from flowsched_gym.fluid.decision import Decision
from flowsched_gym.systems.tafe.config import TAFETopology
from flowsched_gym.systems.tafe.tasks.config import TAFETasksConfig
from flowsched_gym.systems.tafe.thresholds.config import TAFEThresholdsConfig
from flowsched_gym.systems.tafe.thresholds.rules import SCALE, finish_times
from flowsched_gym.topology.network import first_cpu_path


def tasks_panels(config: TAFETasksConfig, scene: Scene, pending: object) -> View:
    """Lists what a picture shows; what waits for a decision is an ``OrderDecision``, or nothing."""
    competing = pending.rows if isinstance(pending, OrderDecision) else np.zeros(0, dtype=np.int64)
    on_cpu = len(competing) > 0 and bool(scene.path[competing[0]] >= first_cpu_path(scene.network))
    links = scene.links(height=0 if config.topology is TAFETopology.ONE_LINK else 164)
    return View(
        banner=scene.banner(
            "TAFE tasks",
            f"{shortened(config.workload, 40)} on {config.topology}, {config.link_gbps:g} Gbit/s, f = {config.f}",
            f"{count_text(len(competing))} compete for {'a CPU' if on_cpu else 'links'}: which of them goes first?",
            headline=("Mean task completion time", _mean_time(scene)),
        ),
        stacks=(
            Stack(560, (_contest(config, scene, competing, on_cpu=on_cpu),)),
            Stack(396, (_tasks(scene), links, scene.finished())),
        ),
        legend=(
            Key(Tone.GOOD, "> has been served until now"),
            Key(Tone.FAINT, "waits"),
            Key(Tone.MUTED, "length of a bar: size of the flow; the filled part is left of its stage"),
        ),
    )


def _mean_time(scene: Scene) -> str:
    times = task_completion_times(scene.records).tct
    finished = times[np.isfinite(times)]
    return duration_text(float(finished.mean())) if len(finished) else "none yet"


def _task_name(scene: Scene, row: int) -> str:
    task = int(scene.records.task_id[row])
    return f"task {task}" if task >= 0 else "alone"


def _contest(config: TAFETasksConfig, scene: Scene, competing: IntArray, *, on_cpu: bool) -> Table:
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
            *(Column("", 16, "left"), Column("flow", 74, "left"), Column("task", 70, "left")),
            *(Column("hosts" if scene.num_hosts else "", 56, "left"), Column("left", 116, "left"), Column()),
            *(Column("", 70), Column("ready for", 76)),
        ),
        rows=Rows(competing, contender),
        slots=config.f,
        shows_hidden=True,
    )


def _tasks(scene: Scene) -> Table:
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
            *(Column("", 70, "left"), Column("sent", 116, "left"), Column()),
            *(Column("size", 66), Column("flows done", 80)),
        ),
        rows=Rows(rows, line),
        row_height=17,
    )


def thresholds_panels(config: TAFEThresholdsConfig, scene: Scene, num_periods: int, decision: Decision) -> View:
    """Lists what a picture shows."""
    period = f"{config.period_flows} flows" if config.period_ms is None else f"{config.period_ms:g} ms"
    tasks = _Tasks(decision)
    return View(
        banner=scene.banner(
            "TAFE thresholds",
            f"{shortened(config.workload, 30)} on {config.topology}, {config.link_gbps:g} Gbit/s, "
            f"{config.queues} queues, {config.within}, period of {period}",
            f"Period {num_periods} begins: which thresholds from now on?",
            headline=("Mean task completion time", _mean_time(scene)),
        ),
        top=_sizes(tasks, decision.record.thresholds[0]),
        stacks=(Stack(478, (_queues(config, tasks),)), Stack(478, (_finished(tasks),))),
        legend=(
            Key(Tone.FAINT, "tasks under way of a size"),
            Key(Tone.BAD, "threshold: a task that has sent so much is demoted", width=3),
        ),
    )


class _Tasks:
    """The tasks of a single environment as they stand, and their active flows.

    Attributes:
        size, came, ends: Bytes of each task, when it began and when it ended in s, (num_flows,); inf before.
        new: Tasks that have ended since the last action.
        active, queue, left: Task of each active flow, its queue, and what it has still to send in B, (num_active,).
    """

    def __init__(self, decision: Decision) -> None:
        record, state, rows = decision.record, decision.state, np.sort(decision.active[: decision.num_active])
        flows = np.s_[: decision.num_flows]
        task, self.came, self.ends = record.task[flows], record.came[flows], np.empty(decision.num_flows)
        finish_times(task, decision.completion_time[flows], self.ends)
        self.size = np.bincount(task, state.size[flows], len(task)).astype(np.float64)
        since = decision.delivered[decision.episodes["num_before"][0] : decision.num_delivered]
        concerned = np.unique(task[since])
        self.new = concerned[self.ends[concerned] < np.inf]
        self.active = task[rows]
        self.queue = record.level[self.active] + record.flow_level[rows]
        sends = decision.controls.path[rows] < record.first_cpu_path
        self.left = np.where(sends, state.remaining[rows], state.size[rows])


def _sizes(tasks: _Tasks, thresholds: FloatArray) -> Charts:
    under_way = np.unique(tasks.active)
    return Charts(
        title="Sizes of tasks under way, and thresholds",
        height=238,
        charts=(SCALE.chart(tasks.size[under_way], thresholds, f"{len(under_way)} under way"),),
        ticks=SCALE.ticks(),
    )


def _queues(config: TAFEThresholdsConfig, tasks: _Tasks) -> Table:
    pairs = np.unique(np.stack((tasks.queue, tasks.active)), axis=1)[0]
    num_tasks = np.bincount(pairs, minlength=config.queues).tolist()
    flows = np.bincount(tasks.queue, minlength=config.queues).tolist()
    left = np.bincount(tasks.queue, tasks.left, config.queues).tolist()
    most = max(*flows, 1)
    return Table(
        title="Queues, the highest first",
        columns=(
            *(Column("", 64, "left"), Column("flows", 150, "left"), Column("", 50)),
            *(Column("tasks", 60), Column("to send", 90)),
        ),
        rows=tuple(
            (
                f"queue {number}",
                Bar(flows[number] / most, Tone.GOOD),
                str(flows[number]),
                str(num_tasks[number]),
                Text(size_text(left[number]), Tone.MUTED),
            )
            for number in range(config.queues)
        ),
        row_height=22,
    )


def _finished(tasks: _Tasks) -> Table:
    kind = class_of_size(tasks.size)
    ended = np.flatnonzero((tasks.came < np.inf) & (tasks.ends < np.inf))
    rows: list[Row] = []
    for name, chosen in (("since the last action", tasks.new), ("in all", ended)):
        rows += [("", "", "")] if rows else []
        rows.append((Text(name, bold=True), "", ""))
        for at, which in enumerate(CLASSES.values()):
            of_class = chosen[kind[chosen] == at]
            times = tasks.ends[of_class] - tasks.came[of_class]
            mean = duration_text(float(times.sum()) / len(times)) if len(times) else "-"
            rows.append((Text(f"   {which}", Tone.MUTED), str(len(times)), mean))
    return Table(
        title="Finished tasks, and their mean completion times",
        columns=(Column("", 220, "left"), Column("tasks", 80), Column("mean", 100)),
        rows=tuple(rows),
        row_height=17,
    )
