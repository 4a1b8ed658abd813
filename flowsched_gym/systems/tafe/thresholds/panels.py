"""What a picture of an episode of TAFE's thresholds shows: the tasks under way, the queues, and finished tasks."""

import numpy as np

from flowsched_gym.envs import NetworkView
from flowsched_gym.envs.drawing import Scene, View
from flowsched_gym.envs.drawing.formats import duration_text, shortened, size_text
from flowsched_gym.envs.drawing.panels import Bar, Charts, Column, Key, Row, Stack, Table, Text, Tone
from flowsched_gym.envs.thresholds import CLASSES, class_of_size
from flowsched_gym.flows.metrics import task_completion_times
from flowsched_gym.systems.tafe.thresholds.config import TAFEThresholdsConfig
from flowsched_gym.systems.tafe.thresholds.rules import (
    SCALE,
    finished_tasks,
    task_sizes,
    tasks_of,
    unsent,
)


def thresholds_panels(config: TAFEThresholdsConfig, scene: Scene, view: NetworkView) -> View:
    """Lists what a picture shows."""
    period = f"{config.period_flows} flows" if config.period_ms is None else f"{config.period_ms:g} ms"
    times = task_completion_times(scene.records).tct
    times = times[np.isfinite(times)]
    return View(
        banner=scene.banner(
            "TAFE thresholds",
            f"{shortened(config.workload, 30)} on {config.topology}, {config.link_gbps:g} Gbit/s, "
            f"{config.queues} queues, {config.within}, period of {period}",
            f"Period {view.num_periods} begins: which thresholds from now on?",
            headline=(
                "Mean task completion time",
                duration_text(float(times.sum()) / len(times)) if len(times) else "none yet",
            ),
        ),
        top=_sizes(view),
        stacks=(Stack(478, (_queues(config, view),)), Stack(478, (_finished(view),))),
        legend=(
            Key(Tone.FAINT, "tasks under way of a size"),
            Key(Tone.BAD, "threshold: a task that has sent so much is demoted", width=3),
        ),
    )


def _sizes(view: NetworkView) -> Charts:
    """Shows how many tasks of each size are under way, and the thresholds."""
    task = tasks_of(view)[0]
    under_way = np.unique(task[view.active])
    sizes = task_sizes(task, np.ascontiguousarray(view.size))[under_way]
    return Charts(
        title="Sizes of tasks under way, and thresholds",
        height=238,
        charts=(SCALE.chart(sizes, view.thresholds()[0], f"{len(under_way)} under way"),),
        ticks=SCALE.ticks(),
    )


def _queues(config: TAFEThresholdsConfig, view: NetworkView) -> Table:
    """Lists how many tasks and flows each queue holds, and what these have left to send."""
    rows, task = view.active, tasks_of(view)[0]
    queues = view.queues_of(rows)
    tasks = np.bincount(np.unique(np.stack((queues, task[rows])), axis=1)[0], minlength=config.queues).tolist()
    flows = np.bincount(queues, minlength=config.queues).tolist()
    left = np.bincount(queues, unsent(view, rows), config.queues).tolist()
    most = max(*flows, 1)
    return Table(
        title="Queues, the highest first",
        columns=(
            Column("", 64, "left"),
            Column("flows", 150, "left"),
            Column("", 50),
            Column("tasks", 60),
            Column("to send", 90),
        ),
        rows=tuple(
            (
                f"queue {number}",
                Bar(flows[number] / most, Tone.GOOD),
                str(flows[number]),
                str(tasks[number]),
                Text(size_text(left[number]), Tone.MUTED),
            )
            for number in range(config.queues)
        ),
        row_height=22,
    )


def _finished(view: NetworkView) -> Table:
    """Lists how the tasks of each size have fared: since the last action, and in all."""
    task, came, ends = tasks_of(view)
    sizes = task_sizes(task, np.ascontiguousarray(view.size))
    kind = class_of_size(sizes)
    ended = np.flatnonzero((came < np.inf) & (ends < np.inf))
    rows: list[Row] = []
    for name, chosen in (("since the last action", finished_tasks(view, task, ends)), ("in all", ended)):
        rows += [("", "", "")] if rows else []
        rows.append((Text(name, bold=True), "", ""))
        for at, which in enumerate(CLASSES.values()):
            of_class = chosen[kind[chosen] == at]
            times = ends[of_class] - came[of_class]
            mean = duration_text(float(times.sum()) / len(times)) if len(times) else "-"
            rows.append((Text(f"   {which}", Tone.MUTED), str(len(times)), mean))
    return Table(
        title="Finished tasks, and their mean completion times",
        columns=(Column("", 220, "left"), Column("tasks", 80), Column("mean", 100)),
        rows=tuple(rows),
        row_height=17,
    )
