"""Bounds the number of deadlines that any scheduler could meet on a given flow set, knowing all of it beforehand.

The clairvoyant reference: no order, sharing, preemption, token or window does better, because only the capacity of
the links and the stated latencies are kept of the network. On one link the count is the optimum of
1 | r_j, pmtn | sum U_j (`selection`). With several destinations, the links into the hosts are bounded one by one and
so are the links out of them; the smaller of the two sums is valid, since dropping the other side's links only helps.
"""

import math
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.suggestions import listed
from flowsched_gym.evaluation.bounds.feasibility import Jobs, serve_earliest_due_first
from flowsched_gym.evaluation.bounds.selection import NODE_LIMIT, select_most_jobs
from flowsched_gym.flows.workload import Workload

BoundMethod = Literal["auto", "exact", "relaxed"]
METHODS: Final[tuple[str, ...]] = get_args(BoundMethod)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlineBound:
    """Lower and upper bounds on the largest number of deadlines that can be met.

    Attributes:
        num_deadlines: Flows that have a deadline.
        upper: No scheduler meets more.
        lower: A schedule that knows all flows beforehand meets this many.
    """

    num_deadlines: int
    upper: int
    lower: int

    def __post_init__(self) -> None:
        if not 0 <= self.lower <= self.upper <= self.num_deadlines:
            raise ConfigError(
                f"lower is {self.lower}, upper {self.upper}, num_deadlines {self.num_deadlines}: "
                "they must not decrease, from 0 on"
            )

    @property
    def exact(self) -> bool:
        """Whether the largest number is known."""
        return self.lower == self.upper

    @property
    def upper_ratio(self) -> float:
        """Largest deadline hit ratio that any scheduler could reach; NaN without deadlines."""
        return self.upper / self.num_deadlines if self.num_deadlines else math.nan


def deadline_bound(
    workload: Workload,
    *,
    capacity: float,
    latency_before: float | FloatArray = 0.0,
    latency_after: float | FloatArray = 0.0,
    volume: FloatArray | None = None,
    method: BoundMethod = "auto",
) -> DeadlineBound:
    """Bounds the deadlines that any scheduler could meet on these flows.

    Args:
        workload: The flows; those without a deadline neither count nor get in the way.
        capacity: Capacity of every host's link, in and out, in B/s, > 0.
        latency_before: Time in s from a flow's arrival until its first byte can use a link, >= 0 (token, handshake,
            propagation), one for all or (num_flows,).
        latency_after: Time in s from the last byte's use of a link until the flow counts as finished, >= 0, one for
            all or (num_flows,).
        volume: Bytes that each flow puts on the wire, headers included, (num_flows,) float64, > 0. Default: its size.
        method: ``"auto"`` solves integer programmes up to a fixed number of nodes, ``"exact"`` without limit,
            ``"relaxed"`` only linear ones.

    Raises:
        ConfigError: A number or the method is not allowed.
        MissingDependencyError: SciPy is needed and not installed.
    """
    if not (math.isfinite(capacity) and capacity > 0):
        raise ConfigError(f"capacity is {capacity!r}: it must be finite and > 0 B/s")
    for name, latency in (("latency_before", latency_before), ("latency_after", latency_after)):
        if not (np.isfinite(latency) & (np.asarray(latency) >= 0)).all():
            raise ConfigError(f"{name} is {latency!r}: it must be finite and >= 0 s")
    if method not in METHODS:
        raise ConfigError(f"method is {method!r}: it must be one of {listed(method, METHODS)}")
    workload, _ = workload.on_clock()
    assert workload.deadline_span is not None
    rows = np.flatnonzero(np.isfinite(workload.deadline_span))
    jobs = Jobs(
        release=(workload.arrival_time + latency_before)[rows],
        due=(workload.arrival_time + workload.deadline_span - latency_after)[rows],
        length=(workload.size if volume is None else volume)[rows] / capacity,
    )
    source, destination = workload.source[rows], workload.destination[rows]
    sides = [destination, source] if len(np.unique(destination)) > 1 else [destination]
    uppers, lowers = [], []
    for side in sides:
        upper, chosen = _bound_links(jobs, side, method=method)
        uppers.append(upper)
        if len(sides) == 1:
            lowers.append(len(chosen))
        else:
            met = serve_earliest_due_first(jobs[chosen], source=source[chosen], destination=destination[chosen])
            lowers.append(int(np.count_nonzero(met)))
    return DeadlineBound(num_deadlines=len(rows), upper=min(uppers), lower=max(lowers))


def _bound_links(jobs: Jobs, side: IntArray, *, method: BoundMethod) -> tuple[int, IntArray]:
    """Adds the bounds of the links of one side up; returns the sum and the rows that these links could serve."""
    node_limit = None if method == "exact" else NODE_LIMIT
    upper = 0
    chosen = [np.zeros(0, dtype=np.int64)]
    for host in np.unique(side):
        rows = np.flatnonzero(side == host)
        selection = select_most_jobs(jobs[rows], integral=method != "relaxed", node_limit=node_limit)
        upper += selection.upper
        chosen.append(rows[selection.chosen])
    return upper, np.concatenate(chosen)
