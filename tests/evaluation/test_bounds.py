"""Holds the clairvoyant bound to brute force, to a linear programme over the switch, and to simulated schedules."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation import DeadlineBound, deadline_bound
from flowsched_gym.evaluation import selection as selection_module
from flowsched_gym.workload import make_workload
from tests import simulate

GIGABIT = 125e6


def make_flows(rows, **hosts):
    """Builds a workload from (arrival, size, span) rows; without hosts, all flows go from host 1 to host 0."""
    arrival, size, span = zip(*rows, strict=True)
    return simulate.make_flows(arrival, size, span=span, **hosts)


def served_in_time(rows):
    """Tells whether one link of capacity 1 serves all rows of whole numbers in time, unit by unit, by due time."""
    left = {row: size for row, (_, size, _) in enumerate(rows)}
    for now in itertools.count():
        if any(rows[row][0] + rows[row][2] <= now for row in left):
            return False
        ready = [row for row in left if rows[row][0] <= now]
        if ready:
            first = min(ready, key=lambda row: rows[row][0] + rows[row][2])
            left[first] -= 1
            if not left[first]:
                del left[first]
        if not left:
            return True


def best_by_brute_force(rows):
    """Tries all subsets, largest first."""
    for count in range(len(rows), 0, -1):
        if any(served_in_time(subset) for subset in itertools.combinations(rows, count)):
            return count
    return 0


whole_rows = st.lists(st.tuples(st.integers(0, 12), st.integers(1, 5), st.integers(1, 9)), min_size=1, max_size=7)


@settings(max_examples=60)
@given(whole_rows)
def test_on_one_link_the_bound_is_the_best_of_all_subsets_and_the_relaxed_one_encloses_it(rows):
    best = best_by_brute_force(rows)
    for method in ("auto", "exact"):
        bound = deadline_bound(make_flows(rows), capacity=1.0, method=method)
        assert (bound.lower, bound.upper, bound.exact) == (best, best, True)
    bound = deadline_bound(make_flows(rows), capacity=1.0, method="relaxed")
    assert bound.lower <= best <= bound.upper


def fits_on_the_switch(rows, source, destination):
    """Tells whether rates exist that serve all rows in time, by a linear programme over intervals."""
    times = sorted({t for arrival, _, span in rows for t in (arrival, arrival + span)})
    intervals = list(itertools.pairwise(times))
    use = [
        (i, e)
        for i, (arrival, _, span) in enumerate(rows)
        for e, (begin, end) in enumerate(intervals)
        if arrival <= begin and end <= arrival + span
    ]
    sums = np.array([[float(i == row) for i, _ in use] for row in range(len(rows))])
    limits, lengths = [], []
    for side in (source, destination):
        for host in set(side):
            for e, (begin, end) in enumerate(intervals):
                limits.append([float(side[i] == host and interval == e) for i, interval in use])
                lengths.append(end - begin)
    sizes = [size for _, size, _ in rows]
    result = linprog(np.zeros(len(use)), A_ub=limits, b_ub=lengths, A_eq=sums, b_eq=sizes)
    return result.status == 0


hosts = st.sampled_from([(0, 2), (0, 3), (1, 2), (1, 3)])
switch_rows = st.tuples(st.integers(0, 5), st.integers(1, 4), st.integers(1, 6), hosts)


@settings(max_examples=30)
@given(st.lists(switch_rows, min_size=1, max_size=5))
def test_on_a_switch_the_bound_encloses_what_rates_can_do(cases):
    rows = [case[:3] for case in cases]
    source, destination = (list(hosts) for hosts in zip(*(case[3] for case in cases), strict=True))
    subsets = [some for count in range(1, len(cases) + 1) for some in itertools.combinations(cases, count)]
    fitting = (
        len(some)
        for some in subsets
        if fits_on_the_switch([case[:3] for case in some], *zip(*(case[3] for case in some), strict=True))
    )
    best = max(fitting, default=0)
    bound = deadline_bound(make_flows(rows, source=source, destination=destination), capacity=1.0)
    assert bound.lower <= best <= bound.upper


def test_bounds_by_hand():
    scatter = make_flows([(0, 1, 1)] * 3, source=[0, 0, 0], destination=[1, 2, 3])  # bounded by its source
    # Flows 0 and 2 compete for [0, 9], although the window of flow 1 closes before flow 2 arrives.
    tied = make_flows([(0, 6, 9), (1, 1, 1), (3, 5, 6)])
    # Times that are no binary fractions fit exactly.
    exact = make_flows([*((0.1 * i, 0.1, 0.3) for i in range(3)), (0.3, 0.1, 0.1)])
    for flows, upper in ((scatter, 1), (tied, 2), (exact, 4)):
        bound = deadline_bound(flows, capacity=1.0)
        assert (bound.lower, bound.upper) == (upper, upper)
    # Five seconds hold five thirds of a flow of three: a whole number, rounded down.
    assert deadline_bound(make_flows([(0, 3, 5), (0, 3, 5)]), capacity=1.0, method="relaxed").upper == 1


def test_flows_without_deadline_do_not_count_or_stand_in_the_way_and_latencies_shorten_the_window():
    bound = deadline_bound(make_flows([(0, 5, np.inf), (0, 2, 2)]), capacity=1.0)
    none = deadline_bound(make_flows([(0, 5, np.inf)]), capacity=1.0)
    assert (bound.num_deadlines, bound.upper, bound.upper_ratio) == (1, 1, 1.0)
    assert (none.num_deadlines, none.upper, none.lower) == (0, 0, 0)
    assert np.isnan(none.upper_ratio)
    two = make_flows([(0, 2, 5), (0, 2, 5)])
    for before, after, upper in ((0.5, 0.5, 2), (0.5, 0.6, 1), (3.1, 0.0, 0)):
        assert deadline_bound(two, capacity=1.0, latency_before=before, latency_after=after).upper == upper


def test_the_heavy_gather_workload_is_solved_exactly_within_the_limit_of_nodes():
    drawn = make_workload("gather-heavy").draw(3)
    bound = deadline_bound(drawn, capacity=GIGABIT, latency_before=1e-3, latency_after=0.5e-3)
    assert bound.exact
    assert 800 < bound.upper < 1000
    relaxed = deadline_bound(drawn, capacity=GIGABIT, latency_before=1e-3, latency_after=0.5e-3, method="relaxed")
    assert relaxed.lower <= bound.upper <= relaxed.upper


def test_a_component_too_large_to_solve_is_cut_and_the_bound_stays_valid(monkeypatch):
    generator = np.random.default_rng(5)
    rows = [(float(i) * 0.8, float(generator.integers(1, 3)), float(generator.integers(1, 9))) for i in range(60)]
    whole = deadline_bound(make_flows(rows), capacity=1.0)
    monkeypatch.setattr(selection_module, "MAX_COMPONENT", 7)
    cut = deadline_bound(make_flows(rows), capacity=1.0)
    assert whole.exact
    assert cut.lower <= whole.lower == whole.upper <= cut.upper
    assert cut.upper - cut.lower < 20


def test_an_argument_that_is_not_allowed_is_named():
    for change, message in (
        ({"capacity": 0.0}, "capacity is 0.0"),
        ({"capacity": float("nan")}, "capacity is nan"),
        ({"capacity": 1.0, "latency_before": -1.0}, "latency_before is -1.0"),
        ({"capacity": 1.0, "latency_after": float("inf")}, "latency_after is inf"),
        ({"capacity": 1.0, "method": "guess"}, "method is 'guess': it must be one of auto, exact, relaxed"),
    ):
        with pytest.raises(ConfigError, match=message):
            deadline_bound(make_flows([(0, 1, 1)]), **change)
    with pytest.raises(ConfigError, match="must not decrease"):
        DeadlineBound(num_deadlines=3, upper=1, lower=2)
