"""Holds the sharing of links to its definition, on random networks, and to exact solutions.

Incremental max-min sets the rates of links shared anew, to the last bit, from change to change.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.flows.state import Controls, new_controls
from flowsched_gym.fluid.compiled.allocation_cache import forget, new_allocation_cache
from flowsched_gym.fluid.compiled.incremental import DIRTY, leave, share_incrementally
from flowsched_gym.fluid.rules.sharing import new_filling, share_links
from flowsched_gym.machine_code.decorators import engine_function
from flowsched_gym.topology.network import Network as Links
from tests.cases import TOLERANCE, exact_cases

ROUNDING = 1e-9


class Network(NamedTuple):
    """Links, and flows on them."""

    capacity: npt.NDArray[np.float64]
    paths: list[list[int]]
    priority: npt.NDArray[np.int64]
    weight: npt.NDArray[np.float64]
    rate_cap: npt.NDArray[np.float64]
    admitted: npt.NDArray[np.bool_]

    @classmethod
    def plain(cls, capacity: Sequence[float], paths: list[list[int]], **columns: Any) -> Self:
        """Builds one whose flows are equal, save for some columns."""
        count = len(paths)
        equal = cls(
            capacity=np.array(capacity, dtype=float),
            paths=paths,
            priority=np.zeros(count, dtype=np.int64),
            weight=np.ones(count),
            rate_cap=np.full(count, np.inf),
            admitted=np.ones(count, dtype=np.bool_),
        )
        return equal._replace(**{name: np.array(column) for name, column in columns.items()})


@st.composite
def networks(draw: st.DrawFn, *, priorities: int) -> Network:
    """Draws up to five links and eight flows over them."""
    num_links, num_flows = draw(st.integers(1, 5)), draw(st.integers(1, 8))

    def for_each(count: int, values: st.SearchStrategy[object]) -> list[object]:
        return draw(st.lists(values, min_size=count, max_size=count))

    return Network(
        capacity=np.array(for_each(num_links, st.floats(0.1, 100.0))),
        paths=[draw(st.permutations(range(num_links)))[: draw(st.integers(1, num_links))] for _ in range(num_flows)],
        priority=np.array(for_each(num_flows, st.integers(0, priorities - 1))),
        weight=np.array(for_each(num_flows, st.floats(0.1, 10.0))),
        rate_cap=np.array(for_each(num_flows, st.floats(0.1, 100.0) | st.just(np.inf))),
        admitted=np.array(for_each(num_flows, st.sampled_from([True, True, True, False]))),
    )


def rates(network: Network) -> npt.NDArray[np.float64]:
    """Shares the links, after another sharing; the scratch arrays must be left clean, and the flows sorted."""
    num_flows = len(network.paths)
    active, rate = np.arange(num_flows)[::-1].copy(), np.zeros(num_flows)
    path_start = np.cumsum([0, *(len(path) for path in network.paths)])
    links = Links(network.capacity, path_start, np.concatenate(network.paths))
    filling = new_filling(links, num_flows)
    served = np.zeros(num_flows, dtype=np.int64)
    num_served = 0
    for priority, admitted in (
        (network.priority[::-1], np.ones(num_flows, dtype=np.bool_)),
        (network.priority, network.admitted),
    ):
        path, never = np.arange(num_flows), np.full(num_flows, np.inf)
        controls = Controls(admitted, priority, network.weight, network.rate_cap, path, never)
        num_served = share_links(active, num_flows, controls, links, rate, filling, served, num_served)
    assert sorted(served[:num_served]) == np.flatnonzero(rate).tolist()
    assert active.tolist() == sorted(range(num_flows), key=lambda row: (network.priority[row], row))
    assert not filling.links["load"].any()
    assert not filling.links["open_flows"].any()
    return rate


def on_link(network: Network, link: int, rate: npt.NDArray[np.float64], *, up_to: int) -> float:
    """Adds up what flows up to a priority send over a link."""
    return float(
        sum(rate[row] for row, path in enumerate(network.paths) if link in path and network.priority[row] <= up_to)
    )


@settings(max_examples=60)
@given(network=networks(priorities=3))
def test_no_link_is_overloaded_and_no_cap_or_ban_is_passed(network: Network) -> None:
    rate = rates(network)
    assert (rate >= 0).all()
    assert (rate[~network.admitted] == 0).all()
    assert (rate <= network.rate_cap * (1 + ROUNDING)).all()
    for link, capacity in enumerate(network.capacity):
        assert on_link(network, link, rate, up_to=3) <= capacity * (1 + ROUNDING)


@settings(max_examples=60)
@given(network=networks(priorities=3))
def test_a_flow_below_its_cap_meets_a_link_where_none_of_its_priority_has_more(network: Network) -> None:
    """Checks what defines weighted max-min fairness: a bottleneck for each flow, inside its priority."""
    rate = rates(network)
    per_weight = rate / network.weight

    for row, path in enumerate(network.paths):
        if not network.admitted[row] or rate[row] >= network.rate_cap[row] * (1 - ROUNDING):
            continue
        bottlenecks = [
            link
            for link in path
            if on_link(network, link, rate, up_to=network.priority[row]) >= network.capacity[link] * (1 - ROUNDING)
            and all(
                per_weight[other] <= per_weight[row] * (1 + ROUNDING) + ROUNDING
                for other, other_path in enumerate(network.paths)
                if link in other_path and network.priority[other] == network.priority[row]
            )
        ]
        assert bottlenecks, f"flow {row} could send faster than {rate[row]}"


@settings(max_examples=50)
@given(network=networks(priorities=2))
def test_a_lower_priority_takes_nothing_from_a_higher_one(network: Network) -> None:
    alone = network._replace(admitted=network.admitted & (network.priority == 0))
    with_others, without = rates(network), rates(alone)
    assert with_others[network.priority == 0].tolist() == without[network.priority == 0].tolist()


def test_three_flows_on_a_line_of_two_links_share_as_in_the_textbook() -> None:
    # Flow 0 crosses both links; the second link, of capacity 2, has room that only flow 2 can use.
    for columns, expected in (
        ({}, [0.5, 0.5, 1.5]),
        ({"weight": [3.0, 1.0, 1.0]}, [0.75, 0.25, 1.25]),
        ({"rate_cap": [0.25, np.inf, np.inf]}, [0.25, 0.75, 1.75]),
        ({"admitted": [False, True, True]}, [0.0, 1.0, 2.0]),
        ({"priority": [1, 0, 0]}, [0.0, 1.0, 2.0]),
        ({"priority": [0, 1, 1]}, [1.0, 0.0, 1.0]),
    ):
        assert rates(Network.plain([1.0, 2.0], [[0, 1], [0], [1]], **columns)).tolist() == expected, columns


def test_light_flows_share_what_heavy_ones_leave() -> None:
    # Beside a weight of 1e100, one of 1e-100 is lost by rounding; alone it is not.
    network = Network.plain([1.0, 0.75], [[0, 1], [0], [1], [1]], weight=[1e100, 1e100, 1e-100, 1e-100])
    assert rates(network).tolist() == [0.5, 0.5, 0.125, 0.125]


@pytest.mark.parametrize("case", exact_cases("maxmin"), ids=lambda case: case["id"])
def test_flows_share_as_solved_exactly_max_min_fair_and_in_the_order_of_their_priorities(case: dict[str, Any]) -> None:
    weights = {} if case["weights"] is None else {"weight": case["weights"]}
    network = Network.plain(case["caps"], case["paths"], **weights)
    assert rates(network).tolist() == pytest.approx(case["maxmin"], rel=TOLERANCE, abs=0.0)
    in_order = rates(network._replace(priority=np.argsort(case["priority_order"])))
    assert in_order.tolist() == pytest.approx(case["greedy"], rel=TOLERANCE, abs=TOLERANCE)


def filled_plainly(network: Network) -> list[float]:
    """Fills one priority by looking at all links and all flows in every round, with the same roundings."""
    residual = network.capacity.tolist()
    on_link = [[row for row, path in enumerate(network.paths) if link in path] for link in range(len(residual))]
    load = [sum(network.weight[row] for row in rows) for rows in on_link]
    rate: dict[int, float] = {}
    while len(rate) < len(network.paths):
        unfixed = [link for link, rows in enumerate(on_link) if any(row not in rate for row in rows)]
        level, tightest = min((residual[link] / load[link], link) for link in unfixed)
        capped = [
            row
            for row in range(len(network.paths))
            if row not in rate and network.rate_cap[row] <= level * network.weight[row]
        ]
        for row in capped or [row for row in on_link[tightest] if row not in rate]:
            rate[row] = min(level * network.weight[row], network.rate_cap[row])
            for link in network.paths[row]:
                residual[link] = max(residual[link] - rate[row], 0.0)
                load[link] -= network.weight[row]
    return [rate[row] for row in range(len(network.paths))]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("capped", [False, True])
def test_many_flows_are_filled_as_round_by_round_to_the_last_bit(weighted: bool, capped: bool) -> None:
    rng = np.random.default_rng(5)
    for _ in range(30):
        num_links, num_flows = int(rng.integers(5, 40)), int(rng.integers(10, 80))
        network = Network.plain(
            rng.integers(1, 4, num_links),
            [rng.permutation(num_links)[: rng.integers(1, 6)].tolist() for _ in range(num_flows)],
            weight=rng.integers(1, 4, num_flows) / 3 if weighted else np.ones(num_flows),
            rate_cap=rng.integers(1, 9, num_flows) / 10 if capped else np.full(num_flows, np.inf),
        )

        assert rates(network).tolist() == filled_plainly(network)


NUM_FLOWS = 60
LONGEST = 4
ROW = np.uint32
compiled_leave, compiled_forget = engine_function(leave), engine_function(forget)


class Changing:
    """Links shared among flows that come, change and go."""

    def __init__(self, seed: int, *, num_links: int, num_priorities: int, paths: list[list[int]] | None = None) -> None:
        """Draws links and paths; no flow is there yet. Capacities are few, so that many links are equally tight."""
        self.rng = np.random.default_rng(seed)
        capacity = self.rng.integers(1, 4, num_links).astype(float)
        if paths is None:
            drawn = [self.rng.permutation(num_links)[: self.rng.integers(1, LONGEST + 1)] for _ in range(2 * NUM_FLOWS)]
            paths = [path.tolist() for path in drawn]
        path_start = np.cumsum([0, *(len(path) for path in paths)]).astype(ROW)
        self.network = Links(capacity, path_start, np.concatenate(paths).astype(ROW))
        self.num_priorities = num_priorities
        self.controls = new_controls(np.arange(NUM_FLOWS, dtype=ROW))
        self.rate = np.zeros(NUM_FLOWS)
        self.active: list[int] = []
        self.changed: set[int] = set()
        self.served = np.zeros(NUM_FLOWS, dtype=ROW)
        self.num_served = 0
        # The second network of two, with a flow's index among the rows of both.
        self.cache = new_allocation_cache(2, num_priorities, self.network, 2 * NUM_FLOWS)

    def changes(self, count: int) -> Iterator[None]:
        """Lets something change so often; mostly one flow, at times many."""
        for _ in range(count):
            for _ in range(int(self.rng.choice([0, 1, 1, 1, 8]))):
                self.change()
            if self.rng.random() < 0.03:
                self.network.capacity[self.rng.integers(len(self.network.capacity))] = self.rng.integers(0, 4)
                compiled_forget(0, self.cache)
                compiled_forget(1, self.cache)
                # The rows of the second network are counted from 0 here.
                assert not self.cache.flows["level"].any()
            yield

    def change(self) -> None:
        """Lets a flow come or go, or changes what it is."""
        row = int(self.rng.integers(NUM_FLOWS))
        self.changed.add(row)
        controls = self.controls
        if row not in self.active:
            self.active.append(row)
            controls.priority[row] = self.rng.integers(self.num_priorities)
            return
        what = self.rng.integers(5)
        if what < 2:
            self.active.remove(row)
            self.rate[row] = 0.0
            self.num_served = compiled_leave(1, ROW(row), self.rate, self.served, self.num_served, self.cache)
        elif what == 2:
            controls.priority[row] = min(controls.priority[row] + 1, self.num_priorities - 1)
        elif what == 3:
            controls.admitted[row] = not controls.admitted[row]
        else:
            controls.path[row] = self.rng.integers(2 * NUM_FLOWS)

    def incrementally(self) -> FloatArray:
        """Shares from the cache, told of the flows that have changed."""
        known = self.cache.networks["known"][1]
        rows = [row for row in self.active if row in self.changed or not known]
        self.changed.clear()
        self.num_served = share_incrementally(
            1,
            np.array([*rows, 0], dtype=ROW),
            len(rows),
            self.controls,
            self.network,
            self.rate,
            self.served,
            self.num_served,
            self.cache,
        )
        assert sorted(self.served[: self.num_served]) == np.flatnonzero(self.rate).tolist()
        return self.rate

    def anew(self) -> FloatArray:
        """Shares without a cache."""
        rate, served = np.zeros(NUM_FLOWS), np.zeros(NUM_FLOWS, dtype=ROW)
        if self.active:
            active, filling = np.array(self.active, dtype=ROW), new_filling(self.network, NUM_FLOWS)
            share_links(active, len(active), self.controls, self.network, rate, filling, served, 0)
        return rate


@pytest.mark.parametrize("num_priorities", [1, 3])
@pytest.mark.parametrize("num_links", [1, 6, 40])
def test_rates_are_those_of_links_shared_anew_to_the_last_bit(num_links: int, num_priorities: int) -> None:
    for seed in range(10):
        network = Changing(seed, num_links=num_links, num_priorities=num_priorities)
        for _ in network.changes(100):
            assert network.incrementally().tolist() == network.anew().tolist()


def test_links_that_a_change_does_not_reach_are_not_filled_anew() -> None:
    """One flow more on one of two networks of links that no flow connects."""
    paths = [[0, 1], [0, 1], [2, 3], [2, 3], [0]]
    network = Changing(0, num_links=4, num_priorities=1, paths=paths)
    network.active = [0, 1, 2, 3]
    network.incrementally()
    network.active.append(4)
    network.changed.add(4)

    network.incrementally()

    links = network.cache.links[4:]
    looked_at = links["filling"] == network.cache.networks["filling"][1]
    assert (looked_at & (links["stage"] & DIRTY > 0)).tolist() == [True, True, False, False]


def test_priorities_above_a_change_are_not_filled_anew() -> None:
    """Three flows on links of their own; the second is demoted. Rates that were tampered with tell who is looked at."""
    network = Changing(0, num_links=3, num_priorities=3, paths=[[0], [1], [2]])
    network.active = [0, 1, 2]
    network.controls.priority[:3] = [0, 1, 2]
    rate = network.incrementally()[:3].tolist()
    network.rate[:3] = 7.0
    network.controls.priority[1] = 2
    network.changed.add(1)

    assert network.incrementally()[:3].tolist() == [7.0, rate[1], 7.0]
