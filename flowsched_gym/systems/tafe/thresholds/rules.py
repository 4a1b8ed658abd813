"""What an agent that sets thresholds of tasks may do, sees and is rewarded with, for both engines."""

from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray, ObservationArray
from flowsched_gym.core.units import BYTES_PER_KILOBYTE, BYTES_PER_MEGABYTE
from flowsched_gym.envs.columns import Column, Layout, named, writer
from flowsched_gym.envs.thresholds import CLASS_ENDS, CLASSES, ThresholdScale, height_of, write_thresholds
from flowsched_gym.flows.decisions import Order
from flowsched_gym.fluid.decision import Decision
from flowsched_gym.machine_code.decorators import inlined_part, rule
from flowsched_gym.systems.tafe.thresholds.config import TAFEReward, TAFEThresholdsConfig

SCALE: Final = ThresholdScale.between(BYTES_PER_KILOBYTE, 1000 * BYTES_PER_MEGABYTE)
"""From the smallest to the largest threshold in B."""
# What becomes one half: tasks or flows; mean completion time, and time of the episode, in s; bytes of a queue.
COUNT_SCALE: Final = 10.0
TCT_SCALE: Final = 0.1
TIME_SCALE: Final = 1.0
SIZE_SCALE: Final = 10 * BYTES_PER_MEGABYTE
NUM_CLASSES: Final = len(CLASSES)
TERMS: Final = tuple(str(term) for term in TAFEReward)
UNFINISHED, TCT = range(len(TERMS))
GO_ON: Final = int(Order.GO_ON)
# Scratch: of flows, and of tasks in the rows of their numbers.
FLOW_FIELDS: Final = (("is_active", "i8"), ("ends", "f8"), ("bytes", "f8"), ("has_ended", "?"), ("seen_in", "i8"))
FINISHED: Final = (Column.squashed("{}_finished", "tasks {} that finished in the step", "tasks", COUNT_SCALE),)
MEAN_TCT: Final = (Column.squashed("{}_tct", "mean completion time of tasks {}", "s", TCT_SCALE),)
TIME: Final = (Column.squashed("time", "time since the episode began", "s", TIME_SCALE),)
THRESHOLD: Final = (Column.fraction("threshold_{}", "threshold {} (log)"),)
QUEUE: Final = (
    Column.squashed("tasks", "tasks with active flows", "tasks", COUNT_SCALE),
    Column.squashed("flows", "active flows", "flows", COUNT_SCALE),
    Column.squashed("sent", "bytes that they have sent", "B", SIZE_SCALE),
    Column.squashed("left", "bytes that they have left", "B", SIZE_SCALE),
)
write_finished, write_tct, write_time = writer(FINISHED), writer(MEAN_TCT), writer(TIME)
write_threshold, write_queue = writer(THRESHOLD), writer(QUEUE)


class TaskThresholdRules(NamedTuple):
    """The thresholds of TAFE's queues, which an agent sets for a period; see ``DecisionRules`` for the methods.

    Attributes:
        rewarded: Index of the term that is the reward.
        reward_scale: Its unit in s.
    """

    num_queues: int
    rewarded: int
    reward_scale: float
    scale: ThresholdScale

    def act(self, decision: Decision, action: FloatArray) -> tuple[int, int, bool]:
        """Sets the thresholds, and begins the period."""
        n = decision.record_number
        write_thresholds(action.reshape(1, self.num_queues - 1), self.scale, decision.record.thresholds[n : n + 1])
        return GO_ON, 0, False

    def observe(self, decision: Decision, observation: ObservationArray) -> None:
        """Writes the columns of ``thresholds_layout``."""
        at = _show_finished(self, decision, observation)
        at = write_time(self, observation, at, time=decision.now)
        for threshold in decision.record.thresholds[decision.record_number]:
            at = write_threshold(self, observation, at, threshold=height_of(threshold, self.scale))
        _show_queues(self, decision, observation, at)

    def reward(self, decision: Decision, num_before: int, terms: FloatArray) -> float:
        """Rewards for the time that tasks took; ``TAFEThresholdsEnv`` has the terms."""
        first, begun_at = decision.first_row, decision.episodes["acted_at"][decision.number]
        last = first + decision.num_flows
        ends, has_ended = _end_tasks(decision, num_before)
        unfinished, tct = sum_task_times(decision.record.came[first:last], ends, has_ended, begun_at, decision.now)
        terms[UNFINISHED] = -unfinished / self.reward_scale
        terms[TCT] = -tct / self.reward_scale
        return float(terms[self.rewarded])


def equal_steps(num_thresholds: int) -> FloatArray:
    """Returns thresholds in B in equal steps on the logarithmic scale, (num_thresholds,)."""
    share = np.arange(1, num_thresholds + 1) / (num_thresholds + 1)
    thresholds: FloatArray = np.rint(SCALE.size_at(share))
    return thresholds


def first_thresholds(config: TAFEThresholdsConfig) -> FloatArray:
    """Returns the thresholds until the first action in B, (num_thresholds,)."""
    given = config.initial_thresholds
    return equal_steps(config.num_thresholds) if given is None else np.array(given)


def thresholds_layout(config: TAFEThresholdsConfig) -> Layout:
    """Lists the columns that the agent sees: of the period, and of each queue."""
    thresholds = {k: k for k in range(1, config.queues)}
    context = (*named(FINISHED, CLASSES), *named(MEAN_TCT, CLASSES), *TIME, *named(THRESHOLD, thresholds))
    return Layout(context=context, slot=QUEUE, num_slots=config.queues)


@rule
def finish_times(task: IntArray, completion_time: FloatArray, ends: FloatArray) -> None:
    """Writes when the last flow of each task finished in s, (num_flows,): inf before, -inf where there is no task."""
    ends[:] = -np.inf
    for row in range(len(task)):
        time = completion_time[row]
        ends[task[row]] = max(ends[task[row]], time if time == time else np.inf)


@rule
def sum_task_times(
    came: FloatArray, ends: FloatArray, has_ended: BoolArray, begun_at: float, now: float
) -> tuple[float, float]:
    """Returns the integral of the number of unfinished tasks over a period, and the sum of the completion times in it.

    Args:
        came: When the first flow of each task was ready, (count,), inf before.
        ends: When each task finished, (count,), inf before.
        has_ended: Whether it finished in the period, (count,).
    """
    unfinished = total = 0.0
    for task in range(len(came)):
        if came[task] < now:
            unfinished += max(min(ends[task], now) - max(came[task], begun_at), 0.0)
        if has_ended[task]:
            total += ends[task] - came[task]
    return unfinished, total


@inlined_part
def _end_tasks(decision: Decision, num_before: int) -> tuple[FloatArray, BoolArray]:
    """Finds when each task ended, and whether that was since the last action, (num_flows,) each."""
    first, num_flows = decision.first_row, decision.num_flows
    task, completion_time = decision.record.task, decision.completion_time[first : first + num_flows]
    ends = decision.flows["ends"][first : first + num_flows]
    has_ended = decision.flows["has_ended"][first : first + num_flows]
    finish_times(task[first : first + num_flows], completion_time, ends)
    has_ended[:] = False
    for index in range(first + num_before, first + decision.num_delivered):
        number = task[decision.delivered[index]]
        has_ended[number] = ends[number] < np.inf
    return ends, has_ended


@inlined_part
def _show_finished(rules: TaskThresholdRules, decision: Decision, observation: ObservationArray) -> int:
    """Writes how many tasks of each class finished, and their mean completion times; returns the index behind them."""
    first, num_flows, came = decision.first_row, decision.num_flows, decision.record.came
    ends, has_ended = _end_tasks(decision, decision.episodes["num_before"][decision.number])
    size_of_task = decision.flows["bytes"]
    for index in range(first, first + num_flows):
        size_of_task[index] = 0.0
    for row in range(first, first + num_flows):
        size_of_task[first + decision.record.task[row]] += decision.state.size[row]
    at = 0
    for writes_tct in (False, True):
        for kind in range(NUM_CLASSES):
            count = total = 0.0
            for number in range(num_flows):
                if has_ended[number] and _class_of(size_of_task[first + number]) == kind:
                    count += 1.0
                    total += ends[number] - came[first + number]
            if writes_tct:
                at = write_tct(rules, observation, at, tct=total / max(count, 1.0))
            else:
                at = write_finished(rules, observation, at, finished=count)
    return at


@inlined_part
def _class_of(size: float) -> int:
    kind = 0
    for end in CLASS_ENDS:
        kind += end < size
    return kind


@inlined_part
def _show_queues(rules: TaskThresholdRules, decision: Decision, observation: ObservationArray, at: int) -> None:
    """Writes the tasks and flows of each queue, and what they have sent and have left, from an index on."""
    record, state, first = decision.record, decision.state, decision.first_row
    last = first + decision.num_flows
    is_active, seen_in = decision.flows["is_active"], decision.flows["seen_in"]
    for row in range(first, last):
        is_active[row] = seen_in[row] = 0
    for index in range(decision.first_active, decision.first_active + decision.num_active):
        is_active[decision.active[index]] = 1
    for queue in range(rules.num_queues):
        tasks = flows = sent = left = 0.0
        for row in range(first, last):
            number = first + record.task[row]
            if is_active[row] == 0 or record.level[number] + record.flow_level[row] != queue:
                continue
            sends = decision.controls.path[row] < record.first_cpu_path
            flows += 1.0
            sent += state.attained[row] if sends else 0.0
            left += state.remaining[row] if sends else state.size[row]
            if seen_in[number] != queue + 1:
                seen_in[number] = queue + 1
                tasks += 1.0
        at = write_queue(rules, observation, at, tasks=tasks, flows=flows, sent=sent, left=left)
