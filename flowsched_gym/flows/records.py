"""The outcome of a simulation: one row per flow."""

import importlib
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.core.checks import check_choice
from flowsched_gym.core.errors import MissingDependencyError
from flowsched_gym.flows.workload import NO_TASK, Workload
from flowsched_gym.machine_code.decorators import allocating_rule

DEADLINE_TOLERANCE: Final = 1e-12
"""A flow that is late by this part of its deadline is late by rounding only."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Records:
    """The outcome of each flow, in the order of the workload, and what it has of them. Arrays are not writeable.

    Attributes:
        ready_time: Absolute times in s at which the flow had arrived and all flows that it comes after had finished,
            (num_flows,) float64; the arrival time where it comes after none; NaN where that has not happened.
        grant_time: Absolute times in s at which the flow was allowed to send, (num_flows,) float64; the arrival time
            where no token is needed; NaN for a flow never granted.
        completion_time: Absolute times in s at which the last byte reached the destination, (num_flows,) float64;
            NaN for a flow that had not finished when the simulation stopped.
        fct: Flow completion times in s, completion - arrival, (num_flows,) float64, NaN where not finished; by the
            clock of the episode, where absolute times far from 0 would round.
        ideal_fct: Flow completion times in s alone on the empty network, CPU work included, (num_flows,) float64, > 0.
        slowdown: ``fct / ideal_fct``, (num_flows,) float64, >= 1 up to rounding, NaN where not finished.
        deadline_met: True where the flow finished by its deadline, (num_flows,) bool. A flow without deadline that
            finished counts as met; metrics look only at flows that have one.
    """

    flow_id: IntArray
    task_id: IntArray
    source: IntArray
    destination: IntArray
    size: FloatArray
    arrival_time: FloatArray
    deadline_span: FloatArray
    ready_time: FloatArray
    grant_time: FloatArray
    completion_time: FloatArray
    fct: FloatArray
    ideal_fct: FloatArray
    slowdown: FloatArray
    deadline_met: BoolArray

    def __post_init__(self) -> None:
        for field in fields(self):
            getattr(self, field.name).setflags(write=False)

    @property
    def num_flows(self) -> int:
        """Number of flows."""
        return len(self.flow_id)

    def to_frame(self, library: str = "pandas") -> Any:
        """Returns a frame of pandas or Polars, one row per flow, with the columns of the records file.

        Missing values are those of the library: no task, no deadline, a flow that has not finished.

        Args:
            library: ``pandas`` or ``polars``.

        Raises:
            ConfigError: It is another library.
            MissingDependencyError: It is not installed.
        """
        check_choice("library", library, ("pandas", "polars"))
        try:
            frames = importlib.import_module(library)
        except ImportError:
            how = f"pip install {library}"
            raise MissingDependencyError(library, purpose="make frames of records", how=how) from None
        due, finished = np.isfinite(self.deadline_span), np.isfinite(self.completion_time)
        columns = {
            "flow_id": (self.flow_id, None),
            "task_id": (self.task_id, self.task_id != NO_TASK),
            "source": (self.source, None),
            "destination": (self.destination, None),
            "size_bytes": (self.size, None),
            "arrival_s": (self.arrival_time, None),
            "deadline_s": (self.deadline_span, due),
            "ready_s": (self.ready_time, np.isfinite(self.ready_time)),
            "completion_s": (self.completion_time, finished),
            "fct_s": (self.fct, finished),
            "slowdown": (self.slowdown, finished),
            "deadline_met": (self.deadline_met, due),
        }
        kinds = {"i": "Int64", "b": "boolean", "f": "float64"}
        series = {}
        for name, (values, filled) in columns.items():
            entries: Any = values.copy()
            if filled is not None and not filled.all():
                entries = [each if there else None for each, there in zip(values.tolist(), filled, strict=True)]
            dtype = {} if library == "polars" or filled is None else {"dtype": kinds[values.dtype.kind]}
            series[name] = frames.Series(entries, name=name, **dtype) if library == "pandas" else entries
        return frames.DataFrame(series)

    def since(self, start: float, arrival_time: FloatArray) -> "Records":
        """Returns absolute times from those on a clock that starts at this time in s; arrival times are given, too."""
        if start == 0.0:
            return self
        return replace(
            self,
            arrival_time=arrival_time,
            ready_time=np.where(self.ready_time == self.arrival_time, arrival_time, start + self.ready_time),
            grant_time=start + self.grant_time,
            completion_time=start + self.completion_time,
        )


def complete_records(
    flows: Workload, *, grant_time: FloatArray, completion_time: FloatArray, ideal_fct: FloatArray
) -> Records:
    """Builds records from what an engine measured; see ``Records`` for the arrays."""
    deadline_span, task_id = flows.deadline_span, flows.task_id
    assert deadline_span is not None
    assert task_id is not None
    fct = completion_time - flows.arrival_time
    return Records(
        flow_id=flows.flow_id,
        task_id=task_id,
        source=flows.source,
        destination=flows.destination,
        size=flows.size,
        arrival_time=flows.arrival_time,
        deadline_span=deadline_span,
        ready_time=ready_times(flows, completion_time),
        grant_time=grant_time,
        completion_time=completion_time,
        fct=fct,
        ideal_fct=ideal_fct,
        slowdown=fct / ideal_fct,
        deadline_met=completion_time <= latest_completion(flows.arrival_time + deadline_span),
    )


@allocating_rule
def latest_completion(deadline: FloatArray) -> FloatArray:
    """Returns the latest completion times in s that still meet the deadlines, rounding aside."""
    return deadline + DEADLINE_TOLERANCE * deadline


def ready_times(flows: Workload, completion_time: FloatArray) -> FloatArray:
    """Returns when flows had arrived and all that they come after had completed; NaN where that has not happened."""
    ready = flows.arrival_time.copy()
    if flows.after is not None:
        earlier, later = flows.after.rows(flows.flow_id)
        with np.errstate(invalid="ignore"):
            np.maximum.at(ready, later, completion_time[earlier])
    return ready
