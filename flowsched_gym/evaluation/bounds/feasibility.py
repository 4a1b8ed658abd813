"""Decides which sets of flows one link can serve in time, when it may switch between flows at any moment.

With release r_j, due time d_j and transmission time p_j (size / capacity), a set can be served in time exactly if, for
every release r and due time d, the flows with r <= r_j and d_j <= d need no more than d - r together: the condition
on intervals for preemptive scheduling of one machine (Horn, Naval Research Logistics Quarterly 21, 1974; Baruah,
Rosier and Howell, Real-Time Systems 2, 1990). Sharing the link at fractional rates adds nothing to that.
"""

from bisect import insort
from dataclasses import dataclass
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray

RELATIVE_TOLERANCE: Final = 1e-9
"""How much longer than an interval its flows may take, relative to it, so that rounding never forbids an exact fit."""
CLOCK_TOLERANCE: Final = 1e-11
"""The same, relative to the absolute time of its end, which is rounded too; more than simulations forgive."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Jobs:
    """The jobs of one link, one row per flow.

    Attributes:
        release: Earliest times in s at which the link can serve the flow, (num_jobs,) float64.
        due: Times in s by which the link must have served it, (num_jobs,) float64.
        length: Transmission times in s at the full rate, (num_jobs,) float64, > 0.
    """

    release: FloatArray
    due: FloatArray
    length: FloatArray

    def __len__(self) -> int:
        return len(self.length)

    def __getitem__(self, rows: IntArray) -> "Jobs":
        return Jobs(release=self.release[rows], due=self.due[rows], length=self.length[rows])

    def possible(self) -> BoolArray:
        """Marks the jobs that can be served in time if they have the link to themselves, (num_jobs,) bool."""
        window = self.due - self.release
        return (window > 0) & (self.length <= window + _rounding(window, self.due))


def _rounding(length: FloatArray, end: FloatArray) -> FloatArray:
    """Returns how much longer than an interval its flows may take, in s, for intervals of this length and end."""
    return RELATIVE_TOLERANCE * np.maximum(length, 0) + CLOCK_TOLERANCE * np.abs(end)


class IntervalSlack:
    """The time that a growing set of jobs leaves unused between every release and every due time.

    Args:
        jobs: All jobs that may enter the set, each possible by itself.

    Attributes:
        release_row: Row of each job's release among the distinct ones, (num_jobs,) int64.
        due_row: Row of each job's due time among the distinct ones, (num_jobs,) int64.
        length: Lengths of the intervals in s, (num_releases, num_dues) float64; not positive where there is none.
    """

    __slots__ = ("_jobs", "_slack", "_tolerance", "due_row", "length", "release_row")

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        releases, self.release_row = np.unique(jobs.release, return_inverse=True)
        dues, self.due_row = np.unique(jobs.due, return_inverse=True)
        self.length = dues[None, :] - releases[:, None]
        self._tolerance = _rounding(self.length, dues[None, :])
        self._slack = self.length.copy()

    def demand(self, count: FloatArray) -> FloatArray:
        """Returns the time that jobs need in every interval, (num_releases, num_dues) float64.

        Args:
            count: How many times each job is in the set, (num_jobs,) float64, >= 0.
        """
        need = np.zeros_like(self.length)
        np.add.at(need, (self.release_row, self.due_row), count * self._jobs.length)
        return np.cumsum(np.cumsum(need[::-1], axis=0)[::-1], axis=1)

    def excess(self, count: FloatArray) -> FloatArray:
        """Returns by how much the need exceeds each interval, in s, (num_releases, num_dues); <= 0 where it fits."""
        excess = self.demand(count) - self.length - self._tolerance
        return np.where(self.length > 0, excess, -np.inf)

    def add(self, row: int) -> bool:
        """Adds a job to the set if the set can still be served in time; returns whether it was added."""
        block = np.s_[: self.release_row[row] + 1, self.due_row[row] :]
        slack = self._slack[block] - self._jobs.length[row]
        if (slack < -self._tolerance[block]).any():
            return False
        self._slack[block] = slack
        return True


def split_into_components(jobs: Jobs) -> list[IntArray]:
    """Splits jobs into groups that never compete, whatever subset of them is served.

    Two cuts are used in turn until neither finds more: where the windows [release, due] leave a gap, and where the
    link would fall idle even if it served every job to its end (a subset never keeps it busy longer).

    Args:
        jobs: Jobs, each possible by itself.

    Returns:
        Rows of each group, in order of release.
    """
    components: list[IntArray] = []
    pending = [np.argsort(jobs.release, kind="stable")]
    while pending:
        rows = pending.pop()
        pieces = [piece for group in _cut_at_gaps(jobs, rows) for piece in _cut_at_idle_times(jobs, group)]
        if len(pieces) == 1:
            components.append(rows)
        else:
            pending.extend(reversed(pieces))
    return components


def serve_earliest_due_first(jobs: Jobs, *, source: IntArray, destination: IntArray) -> BoolArray:
    """Serves jobs over a switch, each at the full rate or not at all, and marks those served in time.

    At every release and completion the jobs are gone through by due time, and one is served if both its links are
    free; a job that can no longer be in time is dropped. On one link, a set that can be served in time is.

    Args:
        jobs: Jobs, in any order.
        source: Host whose outgoing link each job takes, (num_jobs,) int64.
        destination: Host whose incoming link each job takes, (num_jobs,) int64.
    """
    order = np.argsort(jobs.release, kind="stable")
    release, due, remaining = jobs.release.tolist(), jobs.due.tolist(), jobs.length.tolist()
    latest = (jobs.due + _rounding(jobs.due - jobs.release, jobs.due)).tolist()
    sources, destinations = source.tolist(), destination.tolist()
    served = np.zeros(len(jobs), dtype=np.bool_)
    arrivals = order.tolist()[::-1]
    waiting: list[tuple[float, int]] = []
    now = 0.0
    while arrivals or waiting:
        if not waiting:
            now = release[arrivals[-1]]
        while arrivals and release[arrivals[-1]] <= now:
            row = arrivals.pop()
            insort(waiting, (due[row], row))
        waiting = [entry for entry in waiting if now + remaining[entry[1]] <= latest[entry[1]]]
        busy_sources, busy_destinations = set[int](), set[int]()
        active: list[int] = []
        for _, row in waiting:
            if sources[row] not in busy_sources and destinations[row] not in busy_destinations:
                busy_sources.add(sources[row])
                busy_destinations.add(destinations[row])
                active.append(row)
        if not active:
            continue
        first = min(active, key=remaining.__getitem__)
        end = now + remaining[first]
        until_arrival = release[arrivals[-1]] if arrivals else end
        elapsed = min(end, until_arrival) - now
        for row in active:
            remaining[row] -= elapsed
        if end <= until_arrival:
            remaining[first] = 0.0
        for row in active:
            if remaining[row] <= 0:
                served[row] = True
                waiting.remove((due[row], row))
        now = min(end, until_arrival)
    return served


def _cut_at_gaps(jobs: Jobs, rows: IntArray) -> list[IntArray]:
    """Cuts rows, in order of release, where every earlier window has closed."""
    if not len(rows):
        return []
    latest_due = np.maximum.accumulate(jobs.due[rows])
    cuts = np.flatnonzero(jobs.release[rows][1:] >= latest_due[:-1]) + 1
    return np.split(rows, cuts)


def _cut_at_idle_times(jobs: Jobs, rows: IntArray) -> list[IntArray]:
    """Cuts rows, in order of release, where all work released before is done."""
    release, length = jobs.release[rows], jobs.length[rows]
    done = np.cumsum(length)
    # The work released up to a row ends at done + the latest start of a busy period, seen from time zero.
    busy_until = done + np.maximum.accumulate(release - (done - length))
    cuts = np.flatnonzero(release[1:] >= busy_until[:-1]) + 1
    return np.split(rows, cuts)
