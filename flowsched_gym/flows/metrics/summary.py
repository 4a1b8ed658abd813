"""Sums an episode up in one flat record of numbers, fast enough to be drawn at the end of every episode."""

import math
from dataclasses import dataclass, fields
from typing import Final

import numpy as np

from flowsched_gym.flows.metrics.completion import finished_flows, percentile, times_on_clock, utilisation
from flowsched_gym.flows.metrics.deadlines import count_deadlines
from flowsched_gym.flows.metrics.fairness import jain_index
from flowsched_gym.flows.metrics.tasks import task_completion_times
from flowsched_gym.flows.records import Records


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """Metrics of one episode. A value that the flows do not define is NaN (no deadline, no task, ...).

    Attributes:
        num_flows: Flows of the workload.
        num_finished: Flows that finished; all times below are over these.
        makespan: First arrival to last completion, s.
        goodput: Bytes of finished flows per second of makespan, B/s.
        utilisation: Goodput over the capacity of all receiving links; NaN where the capacity was not given.
        mean_fct: Mean flow completion time, s, waiting included.
        median_fct: Median of it, s.
        p95_fct: 95th percentile, s, linear between order statistics.
        p99_fct: 99th percentile, s.
        p999_fct: 99.9th percentile, s.
        max_fct: Largest flow completion time, s.
        mean_slowdown: Mean of fct / ideal fct.
        p99_slowdown: 99th percentile of it.
        max_slowdown: Largest slowdown.
        slowdown_fairness: Jain's index of the slowdowns, in (0, 1].
        deadlines_met: Flows that finished by their deadline.
        deadlines_missed: Flows with a deadline that did not.
        deadline_hit_ratio: Met / (met + missed), in [0, 1].
        num_tasks: Tasks of the workload.
        mean_tct: Mean completion time of the tasks that finished, s.
        p99_tct: 99th percentile of it, s.
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


UNITS: Final = {
    "goodput": "B/s",
    "makespan": "s",
    "num_flows": "flows",
    "num_finished": "flows",
    "deadlines_met": "flows",
    "deadlines_missed": "flows",
    "num_tasks": "tasks",
}
"""Units of the metrics that are neither completion times, in s, nor ratios."""


def unit_of(name: str) -> str:
    """Returns the unit of a metric, or of the reward: ``1`` for a ratio and for what has none."""
    return "s" if name.endswith(("_fct", "_tct")) else UNITS.get(name, "1")


def merit(name: str, value: float) -> float:
    """Returns the value of a metric, negated where a smaller one is better: the largest merit is the best."""
    return -value if name in SMALLER_IS_BETTER else value


def summary(records: Records, *, capacity: float | None = None, now: float | None = None) -> Metrics:
    """Computes all metrics of one episode, in about 0.1 ms for 1000 flows.

    Args:
        records: What became of each flow.
        capacity: Capacity of every host's link in B/s, for the utilisation. Default: unknown, utilisation is NaN.
        now: Time in s at which the simulation was stopped early, for the deadlines: flows due later are left out of
            them (`count_deadlines`). Default: it ran to its end.

    Raises:
        ConfigError: The capacity is not a finite number > 0.
    """
    finished = finished_flows(records)
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
    num_deadlines = deadlines.met + deadlines.missed
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
        deadline_hit_ratio=deadlines.met / num_deadlines if num_deadlines else math.nan,
        num_tasks=len(tct),
        mean_tct=float(ordered_tct.mean()) if len(ordered_tct) else math.nan,
        p99_tct=percentile(ordered_tct, 99),
    )
