"""Measures what a schedule achieved: pure functions from records to numbers, named as in the literature.

The flow deadline hit ratio is the figure that the Artemis thesis reports (section 4.1.2), also known as application
throughput. Flows without a deadline never enter it.

Tasks are groups of flows that are of use only together. The task completion time is the last flow's completion minus
the task's arrival, the instant at which the first of its flows was ready: it had arrived, and the flows that it comes
after had finished.
"""

import math
from dataclasses import dataclass, fields
from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.flows.records import Records
from flowsched_gym.flows.workload import start_of_clock

__all__ = [
    "METRIC_NAMES",
    "SMALLER_IS_BETTER",
    "DeadlineCount",
    "Metrics",
    "TaskTimes",
    "count_deadlines",
    "deadline_hit_ratio",
    "jain_index",
    "merit",
    "percentile",
    "summary",
    "task_completion_times",
    "unit_of",
    "utilisation",
]

UNITS: Final = {
    "goodput": "B/s",
    "makespan": "s",
    "num_flows": "flows",
    "num_finished": "flows",
    "deadlines_met": "flows",
    "deadlines_missed": "flows",
    "num_tasks": "tasks",
    **dict.fromkeys(("packets", "drops", "marks", "disordered", "dropped", "marked"), "packets"),
    "timeouts": "timeouts",
}
"""Units of the metrics that are neither times in flow, in s, nor ratios."""


def percentile(ordered: FloatArray, percent: float) -> float:
    """Interpolates a percentile linearly between order statistics, as NumPy's default does, but without its overhead.

    Values are in increasing order, (num_values,) float64, no NaN; of none, the percentile, in [0, 100], is NaN.

    Raises:
        ConfigError: ``percent`` lies outside [0, 100].
    """
    if not 0 <= percent <= 100:
        raise ConfigError(f"percent is {percent!r}: it must lie in [0, 100]")
    if not len(ordered):
        return math.nan
    position = percent / 100 * (len(ordered) - 1)
    below = int(position)
    value = float(ordered[below])
    fraction = position - below
    if fraction > 0:
        value += fraction * (float(ordered[below + 1]) - value)
    return value


def times_on_clock(records: Records) -> tuple[FloatArray, FloatArray]:
    """Returns arrival and completion times in s, (num_flows,) each, with no digit lost where all are far from 0."""
    start = start_of_clock(records.arrival_time)
    if start == 0.0:
        return records.arrival_time, records.completion_time
    arrival = records.arrival_time - start
    return arrival, arrival + records.fct


def utilisation(goodput: float, destination: IntArray, *, capacity: float) -> float:
    """Returns the share of the receiving links' capacity that a goodput takes, in [0, 1]; NaN where the goodput is.

    The goodput is of all hosts together, in B/s. Each receiving host, (num_flows,) int64, counts once, with a link of
    this capacity in B/s.

    Raises:
        ConfigError: The capacity is not a finite number > 0.
    """
    if not (math.isfinite(capacity) and capacity > 0):
        raise ConfigError(f"capacity is {capacity!r}: it must be finite and > 0 B/s")
    num_destinations = len(np.unique(destination))
    return goodput / (capacity * num_destinations) if num_destinations else math.nan


class DeadlineCount(NamedTuple):
    """Numbers of flows that finished by their deadline, and of those with one that did not."""

    met: int
    missed: int

    @property
    def ratio(self) -> float:
        """Share of deadlines met, in [0, 1]; NaN where there are none."""
        count = self.met + self.missed
        return self.met / count if count else math.nan


def count_deadlines(records: Records, *, now: float | None = None) -> DeadlineCount:
    """Counts the deadlines met and missed.

    Of a simulation that was stopped at a time in s, only flows that were due by then count, whether they met their
    deadline or not: counting early finishers among the others would flatter the schedule. Of one that ran to its end,
    all flows count, and one that never finished has missed its deadline.
    """
    counted = records.deadline_span < np.inf
    if now is not None:
        counted &= records.arrival_time + records.deadline_span <= now
    num_deadlines = int(np.count_nonzero(counted))
    met = int(np.count_nonzero(counted & records.deadline_met))
    return DeadlineCount(met=met, missed=num_deadlines - met)


def deadline_hit_ratio(records: Records, *, now: float | None = None) -> float:
    """Returns the share of deadlines met, in [0, 1]; NaN if no flow that counts has one; see ``count_deadlines``."""
    return count_deadlines(records, now=now).ratio


def jain_index(values: FloatArray) -> float:
    """Returns Jain's fairness index ``(sum x)^2 / (n sum x^2)`` (Jain, Chiu and Hawe, DEC-TR-301, 1984, Eq. 2).

    Of one value per flow, (num_flows,) float64, >= 0, no NaN, it is in [1 / num_flows, 1]: 1 where all are equal; NaN
    where there is no value or all are zero.
    """
    total = float(values.sum())
    squares = float((values * values).sum())
    return total * total / (len(values) * squares) if squares > 0 else math.nan


class TaskTimes(NamedTuple):
    """The tasks with their completion times.

    Attributes:
        task_id: Tasks, (num_tasks,) int64, increasing.
        tct: Task completion times in s, (num_tasks,) float64; NaN where a flow of the task had not finished.
    """

    task_id: IntArray
    tct: FloatArray


def task_completion_times(records: Records) -> TaskTimes:
    """Returns the completion time of every task; flows that belong to none are left out."""
    task_id = records.task_id
    arrival, completion = times_on_clock(records)
    ready = arrival + (records.ready_time - records.arrival_time)
    if task_id.size and task_id.min() < 0:
        inside = task_id >= 0
        task_id, ready, completion = task_id[inside], ready[inside], completion[inside]
    if not len(task_id):
        return TaskTimes(task_id=np.empty(0, dtype=np.int64), tct=np.empty(0))
    if (task_id[1:] < task_id[:-1]).any():
        order = np.argsort(task_id, kind="stable")
        task_id, ready, completion = task_id[order], ready[order], completion[order]
    first = np.concatenate([[0], np.flatnonzero(task_id[1:] != task_id[:-1]) + 1])
    tct = np.maximum.reduceat(completion, first) - np.minimum.reduceat(ready, first)
    return TaskTimes(task_id=task_id[first], tct=tct)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """Metrics of one episode. A value that the flows do not define is NaN (no deadline, no task, ...).

    Attributes:
        num_finished: Flows that finished; all times below are over these, in s.
        makespan: First arrival to last completion.
        goodput: Bytes of finished flows per second of makespan, B/s.
        utilisation: Goodput over the capacity of all receiving links; NaN where the capacity was not given.
        mean_fct: Mean flow completion time, waiting included.
        p999_fct: 99.9th percentile of it, as all percentiles linear between order statistics.
        mean_slowdown: Mean of fct / ideal fct.
        slowdown_fairness: Jain's index of the slowdowns, in (0, 1].
        deadlines_met: Flows that finished by their deadline.
        deadlines_missed: Flows with a deadline that did not.
        deadline_hit_ratio: Met / (met + missed), in [0, 1].
        mean_tct: Mean completion time of the tasks that finished.
    """

    num_flows: int
    num_finished: int
    makespan: float
    goodput: float
    utilisation: float
    mean_fct: float
    median_fct: float
    p95_fct: float
    p99_fct: float
    p999_fct: float
    max_fct: float
    mean_slowdown: float
    p99_slowdown: float
    max_slowdown: float
    slowdown_fairness: float
    deadlines_met: int
    deadlines_missed: int
    deadline_hit_ratio: float
    num_tasks: int
    mean_tct: float
    p99_tct: float

    def as_dict(self) -> dict[str, float]:
        """Returns the metrics by name, all as floats."""
        return {name: float(getattr(self, name)) for name in METRIC_NAMES}


METRIC_NAMES: Final[tuple[str, ...]] = tuple(field.name for field in fields(Metrics))
"""Names of all metrics, in the order of `Metrics`."""

SMALLER_IS_BETTER: Final = frozenset(
    name
    for name in METRIC_NAMES
    if name in ("makespan", "deadlines_missed") or name.endswith(("_fct", "_slowdown", "_tct"))
)
"""Names of the metrics of which a smaller value is the better one."""


def unit_of(name: str) -> str:
    """Returns the unit of a metric, or of the reward: ``1`` for a ratio and for what has none."""
    return "s" if name.endswith(("_fct", "_tct", "_time")) else UNITS.get(name, "1")


def merit(name: str, value: float) -> float:
    """Returns the value of a metric, negated where a smaller one is better: the largest merit is the best."""
    return -value if name in SMALLER_IS_BETTER else value


def summary(records: Records, *, capacity: float | None = None, now: float | None = None) -> Metrics:
    """Computes all metrics of one episode, in about 0.1 ms for 1000 flows.

    The capacity of every host's link in B/s is for the utilisation; for deadlines, ``now`` is the time in s at which
    the simulation was stopped early: see ``count_deadlines``.

    Raises:
        ConfigError: The capacity is not a finite number > 0.
    """
    finished = np.isfinite(records.completion_time)
    num_finished = int(np.count_nonzero(finished))
    fct, slowdown, size = records.fct, records.slowdown, records.size
    arrival, completion = times_on_clock(records)
    if num_finished < records.num_flows:
        fct, slowdown, size, completion = fct[finished], slowdown[finished], size[finished], completion[finished]
    span = float(completion.max() - arrival.min()) if num_finished else math.nan
    goodput = float(size.sum()) / span if num_finished else math.nan
    ordered_fct = np.sort(fct)
    ordered_slowdown = np.sort(slowdown)
    deadlines = count_deadlines(records, now=now)
    tct = task_completion_times(records).tct
    ordered_tct = np.sort(tct[np.isfinite(tct)])
    return Metrics(
        num_flows=records.num_flows,
        num_finished=num_finished,
        makespan=span,
        goodput=goodput,
        utilisation=math.nan if capacity is None else utilisation(goodput, records.destination, capacity=capacity),
        mean_fct=float(fct.mean()) if num_finished else math.nan,
        median_fct=percentile(ordered_fct, 50),
        p95_fct=percentile(ordered_fct, 95),
        p99_fct=percentile(ordered_fct, 99),
        p999_fct=percentile(ordered_fct, 99.9),
        max_fct=percentile(ordered_fct, 100),
        mean_slowdown=float(slowdown.mean()) if num_finished else math.nan,
        p99_slowdown=percentile(ordered_slowdown, 99),
        max_slowdown=percentile(ordered_slowdown, 100),
        slowdown_fairness=jain_index(slowdown),
        deadlines_met=deadlines.met,
        deadlines_missed=deadlines.missed,
        deadline_hit_ratio=deadlines.ratio,
        num_tasks=len(tct),
        mean_tct=float(ordered_tct.mean()) if len(ordered_tct) else math.nan,
        p99_tct=percentile(ordered_tct, 99),
    )
