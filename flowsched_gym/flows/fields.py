"""Columns that environments keep of flows beside those of the engine, by name."""

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.flows.records import Records
from flowsched_gym.flows.workload import Workload

Fields = tuple[tuple[str, str] | tuple[str, str, tuple[int, ...]], ...]
"""Names and types of the fields of a structured array, with the shapes of those that are arrays."""
OF_WORKLOAD: Final = ("flow_id", "source", "destination", "size", "deadline_span", "cpu_time")
OF_TASK: Final = ("to_first_of_task", "to_next_of_task")

EPISODE_FIELDS: Final = (
    ("empty_slot_choices", "i8"),
    ("num_decisions", "i8"),
    ("num_before", "i8"),  # flows that had been delivered at the last action, and its time in s; 0 before the second
    ("acted_at", "f8"),
)
"""What is kept of an episode of any system. It stands behind what a system keeps itself: Numba takes a record that
begins like another for one of that kind, and warns."""


class FlowColumns(NamedTuple):
    """Columns of flows that an environment whose agent acts once per period may see, (num_flows,) each."""

    flow_id: IntArray
    source: IntArray
    destination: IntArray
    size: FloatArray
    arrival_time: FloatArray
    completion_time: FloatArray
    ideal_fct: FloatArray
    attained: FloatArray
    remaining: FloatArray
    rate: FloatArray
    rate_cap: FloatArray
    path: IntArray
    queue: IntArray


def fill_flow_fields(
    columns: npt.NDArray[Any], names: Iterable[str], flows: Workload, ideal_fct: Callable[[], FloatArray]
) -> None:
    """Sets the columns of an episode that begins.

    Those ``OF_WORKLOAD`` are the workload's, ``by_arrival`` the rows in the order of arrival, ``ideal_fct`` the
    completion times in s alone on the empty network, ``to_first_of_task`` and ``to_next_of_task`` what is to be added
    to a flow's row for that of the first flow of its task, and of the next one (0 at the last); all others become 0.
    """
    steps: dict[str, IntArray] = {}
    for name in names:
        if name == "ideal_fct":
            columns[name] = ideal_fct()
        elif name == "by_arrival":
            columns[name] = np.argsort(flows.arrival_time, kind="stable")
        elif name in OF_TASK:
            steps = steps or dict(zip(OF_TASK, _steps_in_tasks(flows), strict=True))
            columns[name] = steps[name]
        elif name in OF_WORKLOAD:
            columns[name] = getattr(flows, name)
        else:
            columns[name] = 0


def _steps_in_tasks(flows: Workload) -> tuple[IntArray, IntArray]:
    """Returns the steps from each row to the first, and to the next, of its task, (num_flows,) int64 each."""
    ids = _ids_of_tasks(flows)
    order = np.argsort(ids, kind="stable")
    begins = np.ones(len(order), dtype=np.bool_)
    begins[1:] = np.diff(ids[order]) != 0
    to_first, to_next = np.zeros(len(order), dtype=np.int64), np.zeros(len(order), dtype=np.int64)
    to_first[order] = order[np.flatnonzero(begins)][np.cumsum(begins) - 1] - order
    inside = np.flatnonzero(~begins)
    to_next[order[inside - 1]] = order[inside] - order[inside - 1]
    return to_first, to_next


def index_tasks(flows: Workload | Records) -> IntArray:
    """Numbers the tasks from 0, (num_flows,) int64: by their ids, then flows without a task, each of which is one."""
    return np.unique(_ids_of_tasks(flows), return_inverse=True)[1].astype(np.int64)


def _ids_of_tasks(flows: Workload | Records) -> IntArray:
    """Returns the ids of tasks, (num_flows,) int64, with larger ones for flows without a task."""
    assert flows.task_id is not None
    alone = flows.task_id < 0
    ids: IntArray = np.where(alone, flows.task_id.max(initial=-1) + 1 + np.cumsum(alone), flows.task_id)
    return ids
