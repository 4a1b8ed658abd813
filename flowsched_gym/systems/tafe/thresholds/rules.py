"""What an agent that sets thresholds of tasks may do, sees and is rewarded with, for both engines."""

from typing import Final

import numpy as np
from gymnasium import spaces

from flowsched_gym.core.arrays import FloatArray, IntArray, ObservationArray
from flowsched_gym.core.units import BYTES_PER_KILOBYTE, BYTES_PER_MEGABYTE
from flowsched_gym.envs import FluidControl, NetworkView
from flowsched_gym.envs.actions import read_numbers
from flowsched_gym.envs.columns import Column, Layout
from flowsched_gym.envs.thresholds import CLASSES, ThresholdScale, class_of_size
from flowsched_gym.fluid.disciplines import QueuedTasks, Tafe
from flowsched_gym.machine_code.decorators import allocating_rule
from flowsched_gym.systems.tafe.thresholds.config import TAFEReward, TAFEThresholdsConfig

SCALE: Final = ThresholdScale(BYTES_PER_KILOBYTE, 1000 * BYTES_PER_MEGABYTE)
"""From the smallest to the largest threshold in B."""
# What becomes one half: tasks or flows; mean completion time, and time of the episode, in s; bytes of a queue.
COUNT_SCALE: Final = 10.0
TCT_SCALE: Final = 0.1
TIME_SCALE: Final = 1.0
SIZE_SCALE: Final = 10 * BYTES_PER_MEGABYTE


class TAFEThresholdsControl(FluidControl[FloatArray]):
    """Control of the thresholds of TAFE's queues."""

    memory_size = 0
    terms = tuple(str(term) for term in TAFEReward)

    def __init__(self, config: TAFEThresholdsConfig) -> None:
        self.layout = thresholds_layout(config)
        self.action_space = spaces.Box(-1.0, 1.0, (config.num_thresholds,), np.float32)
        self._config = config

    def new_discipline(self) -> Tafe:
        """Makes the queues."""
        config = self._config
        given = config.initial_thresholds
        return Tafe(equal_steps(config.num_thresholds) if given is None else given, config.within, config.demotion)

    def check(self, action: object, name: str = "action") -> FloatArray:
        """Reads an action, and refuses what is not so many numbers in [-1, 1]."""
        return read_numbers(action, self._config.num_thresholds, name)

    def act(self, view: NetworkView, memory: FloatArray, action: FloatArray) -> None:
        """Sets the thresholds."""
        view.set_thresholds(SCALE.thresholds_of(action.reshape(1, -1)))

    def reward(self, view: NetworkView, memory: FloatArray) -> tuple[float, dict[str, float]]:
        """Rewards for the time that tasks took."""
        task, came, ends = tasks_of(view)
        sums = -sum_task_times(came, ends, finished_tasks(view, task, ends), view.begun_at, view.now)
        sums = (sums / self._config.reward_scale).tolist()
        terms = dict(zip(self.terms, sums, strict=True))
        return terms[self._config.reward], terms

    def observe(self, view: NetworkView, memory: FloatArray) -> ObservationArray:
        """Returns what the agent sees."""
        return _observe(self._config, view)


def equal_steps(num_thresholds: int) -> FloatArray:
    """Returns thresholds in B in equal steps on the logarithmic scale, (num_thresholds,)."""
    share = np.arange(1, num_thresholds + 1) / (num_thresholds + 1)
    thresholds: FloatArray = np.rint(SCALE.size_at(share))
    return thresholds


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


def _observe(config: TAFEThresholdsConfig, view: NetworkView) -> ObservationArray:
    assert isinstance(view.discipline, QueuedTasks)
    task, came, ends = tasks_of(view)
    finished = finished_tasks(view, task, ends)
    kind = class_of_size(task_sizes(task, np.ascontiguousarray(view.size))[finished])
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


@allocating_rule
def finish_times(task: IntArray, completion_time: FloatArray) -> FloatArray:
    """Returns when the last flow of each task finished in s, (num_flows,): inf before, -inf where there is no task."""
    ends = np.full(len(task), -np.inf)
    for row in range(len(task)):
        time = completion_time[row]
        ends[task[row]] = max(ends[task[row]], time if time == time else np.inf)
    return ends


@allocating_rule
def task_sizes(task: IntArray, size: FloatArray) -> FloatArray:
    """Returns the bytes of each task, (num_flows,)."""
    sizes = np.zeros(len(task))
    for row in range(len(task)):
        sizes[task[row]] += size[row]
    return sizes


@allocating_rule
def sum_task_times(came: FloatArray, ends: FloatArray, finished: IntArray, begun_at: float, now: float) -> FloatArray:
    """Returns the integral of the number of unfinished tasks over a period, and the sum of the completion times in it.

    Args:
        came: When the first flow of each task was ready, (count,), inf before.
        ends: When each task finished, (count,), inf before.
        finished: Tasks that finished in the period.
    """
    sums = np.zeros(2)
    for task in range(len(came)):
        if came[task] < now:
            sums[0] += max(min(ends[task], now) - max(came[task], begun_at), 0.0)
    for task in finished:
        sums[1] += ends[task] - came[task]
    return sums
