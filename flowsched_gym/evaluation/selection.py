"""Selects the most flows that one link can serve in time, when it may switch between them at any moment.

With release r_j, due time d_j and transmission time p_j (size / capacity), a set can be served in time exactly if, for
every release r and due time d, the flows with r <= r_j and d_j <= d need no more than d - r together: the condition
on intervals for preemptive scheduling of one machine (Horn, Naval Research Logistics Quarterly 21, 1974; Baruah,
Rosier and Howell, Real-Time Systems 2, 1990). Sharing the link at fractional rates adds nothing to that.

For the largest set, 1 | r_j, pmtn | sum U_j, an integer programme counts how many jobs of each class of equal ones are
served, under these conditions. There are many and few that matter, so they are added as they are found violated, first
to the linear relaxation, then to the integer programme. Every programme solved on the way is a relaxation, so its dual
bound is an upper bound; the lower bound is the size of a set that passes all conditions. The result is exact where
the two meet, whatever the solver's tolerances.
"""

import math
from bisect import insort
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.core.errors import MissingDependencyError

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

RELATIVE_TOLERANCE: Final = 1e-9
"""How much longer than an interval its flows may take, relative to it, so that rounding never forbids an exact fit."""
CLOCK_TOLERANCE: Final = 1e-11
"""The same, relative to the absolute time of its end, which is rounded too; more than simulations forgive."""
MAX_ROUNDS: Final = 60
"""Rounds of adding violated conditions before the bound reached so far is taken."""
NODE_LIMIT: Final = 2_000
"""Nodes of the branch-and-bound tree per programme; a count, not a time, so that results do not depend on speed."""
MAX_COMPONENT: Final = 1_500
"""Jobs per component; a larger one is cut in time, each part with the link to itself, which keeps the bound valid."""
LOOSE: Final = 1e-6
"""Room, relative to the longest job, from which on a condition does not shape a solution."""
DUAL_TOLERANCE: Final = 1e-6
"""What the solver's dual bound may lie below an integer and still mean it."""


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


def _rounding(length: FloatArray, end: FloatArray) -> FloatArray:
    """Returns how much longer than an interval its flows may take, in s, for intervals of this length and end."""
    return RELATIVE_TOLERANCE * np.maximum(length, 0) + CLOCK_TOLERANCE * np.abs(end)


def fits_alone(jobs: Jobs) -> BoolArray:
    """Returns which jobs could be served in time if there were no others, (num_jobs,)."""
    window = jobs.due - jobs.release
    fits: BoolArray = (window > 0) & (jobs.length <= window + _rounding(window, jobs.due))
    return fits


class IntervalSlack:
    """The time that a growing set of jobs, each possible by itself, leaves unused in the intervals.

    Attributes:
        release_row: Row of each job's release among the distinct ones, (num_jobs,) int64.
        due_row: Row of each job's due time among the distinct ones, (num_jobs,) int64.
        length: Lengths of the intervals in s, (num_releases, num_dues) float64; not positive where there is none.
    """

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        releases, self.release_row = np.unique(jobs.release, return_inverse=True)
        dues, self.due_row = np.unique(jobs.due, return_inverse=True)
        self.length = dues[None, :] - releases[:, None]
        self._tolerance = _rounding(self.length, dues[None, :])
        self._slack = self.length.copy()

    def excess(self, count: FloatArray) -> FloatArray:
        """Returns by how much jobs, each ``count`` times, (num_jobs,), exceed intervals, in s; <= 0 where they fit."""
        need = np.zeros_like(self.length)
        np.add.at(need, (self.release_row, self.due_row), count * self._jobs.length)
        demand = np.cumsum(np.cumsum(need[::-1], axis=0)[::-1], axis=1)
        return np.where(self.length > 0, demand - self.length - self._tolerance, -np.inf)

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
    link would fall idle even if it served every job to its end (a subset never keeps it busy longer). Returns the rows
    of each group, in order of release.
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

    At every release and completion the jobs are gone through by due time, and one is served if both its links, out of
    its source and into its destination, are free; a job that can no longer be in time is dropped. On one link, a set
    that can be served in time is.
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
    latest_due = np.maximum.accumulate(jobs.due[rows])
    return np.split(rows, np.flatnonzero(jobs.release[rows][1:] >= latest_due[:-1]) + 1)


def _cut_at_idle_times(jobs: Jobs, rows: IntArray) -> list[IntArray]:
    """Cuts rows, in order of release, where all work released before is done."""
    release, length = jobs.release[rows], jobs.length[rows]
    done = np.cumsum(length)
    # The work released up to a row ends at done + the latest start of a busy period, seen from time zero.
    busy_until = done + np.maximum.accumulate(release - (done - length))
    return np.split(rows, np.flatnonzero(release[1:] >= busy_until[:-1]) + 1)


class Selection(NamedTuple):
    """An upper bound on the jobs that can be served in time, and a set that can be, (num_jobs,) bool."""

    upper: int
    chosen: BoolArray


class _Classes(NamedTuple):
    """Groups of equal jobs: one job of each, how many there are, and the class of each job, (num_jobs,)."""

    jobs: Jobs
    multiplicity: FloatArray
    of_job: IntArray


def select_most_jobs(jobs: Jobs, *, integral: bool, node_limit: int | None = NODE_LIMIT) -> Selection:
    """Bounds the number of jobs that one link can serve in time, from above and by example.

    Without ``integral``, only the linear relaxation is solved, and rounded down per component; the ``node_limit`` is
    that of the branch-and-bound tree per programme, None for no limit.
    """
    possible = np.flatnonzero(fits_alone(jobs))
    chosen = np.zeros(len(jobs), dtype=np.bool_)
    upper = 0
    for component in split_into_components(jobs[possible]):
        rows = possible[component]
        parts = [rows[begin : begin + MAX_COMPONENT] for begin in range(0, len(rows), MAX_COMPONENT)]
        accepted = np.zeros(0, dtype=np.int64)
        for part in parts:
            selection = _select_in_component(jobs[part], integral=integral, node_limit=node_limit)
            upper += selection.upper
            accepted = np.concatenate([accepted, part[selection.chosen]])
        if len(parts) > 1:
            one_link = np.zeros(len(accepted), dtype=np.int64)
            accepted = accepted[serve_earliest_due_first(jobs[accepted], source=one_link, destination=one_link)]
        chosen[accepted] = True
    return Selection(upper=upper, chosen=chosen)


def _select_in_component(jobs: Jobs, *, integral: bool, node_limit: int | None) -> Selection:
    """Solves one component: conditions are added to the relaxation, then to the integer programme."""
    classes = _classes(jobs)
    programme = _Programme(classes)
    if not programme.add_violated(classes.multiplicity):
        return Selection(upper=len(jobs), chosen=np.ones(len(jobs), dtype=np.bool_))
    upper, chosen = len(jobs), np.zeros(len(jobs), dtype=np.bool_)
    for phase in (False, True) if integral else (False,):
        for _ in range(MAX_ROUNDS):
            count, bound = programme.solve(integral=phase, node_limit=node_limit)
            upper = min(upper, bound)
            complete = not programme.add_violated(np.round(count) if phase else count)
            if phase or complete:
                chosen = max(chosen, _grow_a_feasible_set(jobs, classes, count), key=np.count_nonzero)
            if np.count_nonzero(chosen) == upper:
                return Selection(upper=upper, chosen=chosen)
            if complete:
                break
        programme.drop_loose(count)
    return Selection(upper=upper, chosen=chosen)


def _classes(jobs: Jobs) -> _Classes:
    table = np.stack([jobs.release, jobs.due, jobs.length], axis=1)
    unique, of_job, multiplicity = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    members = Jobs(release=unique[:, 0].copy(), due=unique[:, 1].copy(), length=unique[:, 2].copy())
    return _Classes(jobs=members, multiplicity=multiplicity.astype(np.float64), of_job=of_job.reshape(-1))


class _Programme:
    """An integer programme: the most jobs under the interval conditions added so far."""

    def __init__(self, classes: _Classes) -> None:
        self._classes = classes
        self._slack = IntervalSlack(classes.jobs)
        self._known = np.zeros(self._slack.length.shape, dtype=np.bool_)
        # Times in units of the longest job keep the coefficients near 1, where the solver's tolerances are meant.
        self._unit = float(classes.jobs.length.max())

    def add_violated(self, count: FloatArray) -> bool:
        """Adds, for every release and for every due time, the condition that is violated most; says if any is new."""
        excess = self._slack.excess(count)
        wanted = np.zeros_like(self._known)
        wanted[np.arange(len(excess)), excess.argmax(axis=1)] = True
        wanted[excess.argmax(axis=0), np.arange(excess.shape[1])] = True
        new = wanted & (excess > 0) & ~self._known
        self._known |= new
        return bool(new.any())

    def drop_loose(self, count: FloatArray) -> None:
        """Forgets the conditions that a solution leaves room in; they come back if they are violated later."""
        self._known &= self._slack.excess(count) > -LOOSE * self._unit

    def solve(self, *, integral: bool, node_limit: int | None) -> tuple[FloatArray, int]:
        """Returns the jobs of each class in a solution, (num_classes,) float64, and an upper bound on their number."""
        try:
            from scipy import sparse  # noqa: PLC0415 - optional dependency
            from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415 - optional dependency
        except ImportError:
            raise MissingDependencyError(
                "scipy", extra="analysis", purpose="bound the deadlines that can be met"
            ) from None
        begin, end = np.nonzero(self._known)
        inside = (self._slack.release_row[None, :] >= begin[:, None]) & (self._slack.due_row[None, :] <= end[:, None])
        matrix = sparse.csr_array(inside * (self._classes.jobs.length / self._unit))
        limit = self._slack.length[begin, end] / self._unit
        multiplicity = self._classes.multiplicity
        limited = {"node_limit": node_limit} if integral and node_limit is not None else {}
        result: OptimizeResult = milp(
            -np.ones(len(multiplicity)),
            integrality=np.full(len(multiplicity), int(integral)),
            bounds=Bounds(0, multiplicity),
            constraints=LinearConstraint(matrix, -np.inf, limit),
            options={"mip_rel_gap": 0.0, **limited},
        )
        # Where the solver gave no counts or no bound, the trivial ones are valid.
        count = np.zeros_like(multiplicity) if result.x is None else np.clip(result.x, 0, multiplicity)
        dual = result.mip_dual_bound if integral else result.fun
        if dual is None or not math.isfinite(dual):
            return count, int(multiplicity.sum())
        return count, math.floor(-dual + DUAL_TOLERANCE)


def _grow_a_feasible_set(jobs: Jobs, classes: _Classes, count: FloatArray) -> BoolArray:
    """Collects jobs as long as all can be served in time: those that the solution takes first, then short ones."""
    index = np.zeros(len(jobs))
    order = np.argsort(classes.of_job, kind="stable")
    first = np.searchsorted(classes.of_job[order], np.arange(len(count)))
    index[order] = np.arange(len(jobs)) - first[classes.of_job[order]]
    surplus = index >= np.round(count)[classes.of_job]
    slack = IntervalSlack(classes.jobs)
    chosen = np.zeros(len(jobs), dtype=np.bool_)
    for row in np.lexsort((jobs.due, jobs.length, surplus)):
        chosen[row] = slack.add(int(classes.of_job[row]))
    return chosen
