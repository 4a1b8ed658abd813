"""How tasks have fared in the period that has ended, and how the queues stand."""

from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray, ObservationArray
from flowsched_gym.core.units import BYTES_PER_KILOBYTE, BYTES_PER_MEGABYTE
from flowsched_gym.envs import NetworkView
from flowsched_gym.envs.columns import Column, Layout
from flowsched_gym.fluid.disciplines import QueuedTasks
from flowsched_gym.systems.tafe.thresholds.config import TAFEThresholdsConfig
from flowsched_gym.systems.tafe.thresholds.mapping import SCALE
from flowsched_gym.systems.tafe.thresholds.rules import finish_times, task_sizes

CLASS_ENDS: Final = (100 * BYTES_PER_KILOBYTE, 10 * BYTES_PER_MEGABYTE)
"""Largest sizes in B of small and of medium tasks."""
CLASSES: Final = {"small": "up to 100 KB", "medium": "of 100 KB to 10 MB", "large": "above 10 MB"}
"""Classes of tasks, and how large these are."""
COUNT_SCALE: Final = 10.0
"""Tasks, and flows, that become one half."""
TCT_SCALE: Final = 0.1
"""Mean completion time in s that becomes one half."""
TIME_SCALE: Final = 1.0
"""Time of the episode in s that becomes one half."""
SIZE_SCALE: Final = 10 * BYTES_PER_MEGABYTE
"""Bytes of a queue that become one half."""


def thresholds_layout(config: TAFEThresholdsConfig) -> Layout:
    """Lists the columns that the agent sees: of the period, and of each queue."""
    context = (
        *(
            Column.squashed(f"{name}_finished", f"tasks {sizes} that finished in the step", "tasks", COUNT_SCALE)
            for name, sizes in CLASSES.items()
        ),
        *(
            Column.squashed(f"{name}_tct", f"mean completion time of tasks {sizes}", "s", TCT_SCALE)
            for name, sizes in CLASSES.items()
        ),
        Column.squashed("time", "time since the episode began", "s", TIME_SCALE),
        *(Column.fraction(f"threshold_{k}", f"threshold {k} (log)") for k in range(1, config.queues)),
    )
    slot = (
        Column.squashed("tasks", "tasks with active flows", "tasks", COUNT_SCALE),
        Column.squashed("flows", "active flows", "flows", COUNT_SCALE),
        Column.squashed("sent", "bytes that they have sent", "B", SIZE_SCALE),
        Column.squashed("left", "bytes that they have left", "B", SIZE_SCALE),
    )
    return Layout(context=context, slot=slot, num_slots=config.queues)


def class_of_size(size: FloatArray) -> IntArray:
    """Returns the classes of sizes in B, indices into ``CLASSES``."""
    classes: IntArray = np.searchsorted(CLASS_ENDS, size)
    return classes


def tasks_of(view: NetworkView) -> tuple[IntArray, FloatArray, FloatArray]:
    """Returns the task of each flow, and when each task began and ended in s, (num_flows,); see ``finish_times``."""
    assert isinstance(view.discipline, QueuedTasks)
    task, came = view.discipline.tasks(view.first_row, view.num_flows)
    return task, came, finish_times(task, np.ascontiguousarray(view.completion_time))


def unsent(view: NetworkView, rows: IntArray) -> FloatArray:
    """Returns the bytes that active flows have still to send, (count,): all of them for one that is on its CPU."""
    assert isinstance(view.discipline, QueuedTasks)
    return np.where(view.discipline.send(view.path[rows]), view.remaining[rows], view.size[rows])


def finished_tasks(view: NetworkView, task: IntArray, ends: FloatArray) -> IntArray:
    """Returns the tasks that finished since the last action, increasing: those of delivered flows that have ended."""
    concerned = np.unique(task[view.finished])
    finished: IntArray = concerned[ends[concerned] < np.inf]
    return finished


def observe(config: TAFEThresholdsConfig, view: NetworkView) -> ObservationArray:
    """Returns what the agent sees, (size,) float32."""
    assert isinstance(view.discipline, QueuedTasks)
    task, came, ends = tasks_of(view)
    sizes = task_sizes(task, np.ascontiguousarray(view.size))
    finished = finished_tasks(view, task, ends)
    kind = class_of_size(sizes[finished])
    count = np.bincount(kind, minlength=len(CLASSES)).astype(np.float64)
    total = np.bincount(kind, ends[finished] - came[finished], len(CLASSES))
    rows = view.active
    sends = view.discipline.send(view.path[rows])
    queue = view.queues_of(rows)
    active_tasks = np.unique(np.stack((queue, task[rows])), axis=1)[0]
    columns = (
        np.bincount(active_tasks, minlength=config.queues),
        np.bincount(queue, minlength=config.queues),
        np.bincount(queue, np.where(sends, view.attained[rows], 0.0), config.queues),
        np.bincount(queue, unsent(view, rows), config.queues),
    )
    values = np.concatenate((count, total / np.maximum(count, 1.0), [view.now]))
    context = values / (values + np.array([COUNT_SCALE] * len(CLASSES) + [TCT_SCALE] * len(CLASSES) + [TIME_SCALE]))
    slots = np.stack(columns, axis=1).astype(np.float64)
    slots /= slots + np.array([COUNT_SCALE, COUNT_SCALE, SIZE_SCALE, SIZE_SCALE])
    shown = np.concatenate((context, SCALE.position_of(view.thresholds())[0], slots.ravel()))
    return shown.astype(np.float32)
