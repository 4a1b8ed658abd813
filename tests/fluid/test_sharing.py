"""Holds the sharing of links to its definition, on random networks, and to exact solutions."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsched_gym.fluid.rules.sharing import new_filling, share_links
from flowsched_gym.fluid.state import Controls
from flowsched_gym.topology.network import Network as Links
from tests.exact import TOLERANCE, cases_of

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


@pytest.mark.parametrize("case", cases_of("maxmin"), ids=lambda case: case["id"])
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
