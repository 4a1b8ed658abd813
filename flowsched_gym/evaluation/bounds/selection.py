"""Selects the most jobs that one link can serve in time: 1 | r_j, pmtn | sum U_j.

An integer programme counts how many jobs of each class of equal ones are served, under the interval conditions of
`feasibility`. There are many conditions and few that matter, so they are added as they are found violated, first to
the linear relaxation, then to the integer programme. Every programme solved on the way is a relaxation, so its dual
bound is an upper bound; the lower bound is the size of a set that passes all conditions. The result is exact where
the two meet, whatever the solver's tolerances.
"""

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.core.errors import MissingDependencyError
from flowsched_gym.evaluation.bounds.feasibility import (
    IntervalSlack,
    Jobs,
    serve_earliest_due_first,
    split_into_components,
)

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult


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


class Selection(NamedTuple):
    """Bounds on the number of jobs that can be served in time.

    Attributes:
        upper: No schedule serves more.
        chosen: A set that can be served in time, (num_jobs,) bool.
    """

    upper: int
    chosen: BoolArray


class _Classes(NamedTuple):
    """Groups of equal jobs.

    Attributes:
        jobs: One job of each class.
        multiplicity: How many there are, (num_classes,) float64.
        of_job: Class of each job, (num_jobs,) int64.
    """

    jobs: Jobs
    multiplicity: FloatArray
    of_job: IntArray


def select_most_jobs(jobs: Jobs, *, integral: bool, node_limit: int | None = NODE_LIMIT) -> Selection:
    """Bounds the number of jobs that one link can serve in time, from above and by example.

    Args:
        jobs: The jobs of the link.
        integral: Whether to solve integer programmes; else the linear relaxation alone, rounded down per component.
        node_limit: Nodes of the branch-and-bound tree per programme, None for no limit.

    Raises:
        MissingDependencyError: SciPy is needed and not installed. It is not where all jobs, or none, fit.
    """
    possible = np.flatnonzero(jobs.possible())
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
    everything = np.ones(len(jobs), dtype=np.bool_)
    classes = _classes(jobs)
    slack = IntervalSlack(classes.jobs)
    programme = _Programme(classes, slack)
    if not programme.add_violated(classes.multiplicity):
        return Selection(upper=len(jobs), chosen=everything)
    upper, chosen = len(jobs), ~everything
    for phase in (False, True) if integral else (False,):
        for _ in range(MAX_ROUNDS):
            count, bound = programme.solve(integral=phase, node_limit=node_limit)
            upper = min(upper, bound)
            complete = not programme.add_violated(np.round(count) if phase else count)
            if phase or complete:
                feasible = _grow_a_feasible_set(jobs, classes, IntervalSlack(classes.jobs), count)
                chosen = max(chosen, feasible, key=np.count_nonzero)
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

    def __init__(self, classes: _Classes, slack: IntervalSlack) -> None:
        self._classes = classes
        self._slack = slack
        self._known = np.zeros(slack.length.shape, dtype=np.bool_)
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
        """Solves the programme.

        Returns:
            Jobs of each class in the solution, (num_classes,) float64, and an upper bound on their number.
        """
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
        options: dict[str, float] = {"mip_rel_gap": 0.0}
        if node_limit is not None and integral:
            options["node_limit"] = node_limit
        result: OptimizeResult = milp(
            -np.ones(len(self._classes.multiplicity)),
            integrality=np.full(len(self._classes.multiplicity), int(integral)),
            bounds=Bounds(0, self._classes.multiplicity),
            constraints=LinearConstraint(matrix, -np.inf, limit),
            options=options,
        )
        return _solution(result, self._classes.multiplicity, integral=integral)


def _solution(result: "OptimizeResult", multiplicity: FloatArray, *, integral: bool) -> tuple[FloatArray, int]:
    """Reads the counts and the bound out of the solver's answer; where it gave none, the trivial ones."""
    count = np.zeros_like(multiplicity) if result.x is None else np.clip(result.x, 0, multiplicity)
    dual = result.mip_dual_bound if integral else result.fun
    if dual is None or not math.isfinite(dual):
        return count, int(multiplicity.sum())
    return count, math.floor(-dual + DUAL_TOLERANCE)


def _grow_a_feasible_set(jobs: Jobs, classes: _Classes, slack: IntervalSlack, count: FloatArray) -> BoolArray:
    """Collects jobs as long as all can be served in time: those that the solution takes first, then short ones."""
    index = np.zeros(len(jobs))
    order = np.argsort(classes.of_job, kind="stable")
    first = np.searchsorted(classes.of_job[order], np.arange(len(count)))
    index[order] = np.arange(len(jobs)) - first[classes.of_job[order]]
    surplus = index >= np.round(count)[classes.of_job]
    chosen = np.zeros(len(jobs), dtype=np.bool_)
    for row in np.lexsort((jobs.due, jobs.length, surplus)):
        chosen[row] = slack.add(int(classes.of_job[row]))
    return chosen
