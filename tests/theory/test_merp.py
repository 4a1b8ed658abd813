"""Holds minimal-expansion-ratio scheduling to exact solutions and to brute force."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import flowsched_gym
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.fluid.rules.ordering.virtual_deadlines import virtual_deadlines
from flowsched_gym.topology import big_switch
from tests.exact import TOLERANCE, cases_of
from tests.simulate import make_flows
from tests.theory.test_exact import replay_case
from tests.topology.test_fabrics import CASES, with_paths_of


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
@pytest.mark.parametrize("mode", ["greedy", "strict"])
def test_networks_finish_each_flow_when_the_exact_solution_does(mode: str, engine: str) -> None:
    switches = [
        (big_switch(num_hosts=case["hosts"], capacity=np.array(case["caps"])), case)
        for case in cases_of("net_bigswitch")
    ]
    for topology, case in [*switches, *((with_paths_of(topology, case), case) for topology, case in CASES)]:
        records = replay_case(case, "merp", {"mode": mode}, topology, engine)
        finish = case["finish"][f"merp_{mode}"]
        assert records.completion_time.tolist() == pytest.approx(finish, rel=TOLERANCE, abs=0.0), case["id"]


def order_of(
    now: float, capacity: float, size: list[float], arrival: list[float], remaining: list[float]
) -> tuple[list[int], npt.NDArray[np.float64]]:
    """Orders flows on one link; returns the order and when each would finish."""
    rows, deadline = np.arange(len(size)), np.zeros(len(size))
    virtual_deadlines(now, capacity, rows, np.array(size), np.array(arrival), np.array(remaining), deadline)
    return rows.tolist(), deadline


@pytest.mark.parametrize("case", cases_of("vdg"), ids=lambda case: case["id"])
def test_the_order_is_that_of_the_exact_solution(case: dict[str, Any]) -> None:
    order, deadline = order_of(case["now"], case["capacity"], case["size"], case["arrival"], case["remaining"])
    assert order == case["order_first_to_last"]
    ratios = (deadline - np.array(case["arrival"])) * case["capacity"] / np.array(case["size"])
    assert ratios.tolist() == pytest.approx(case["er"], rel=TOLERANCE)


def ratios_of_all_orders(
    size: npt.NDArray[np.int64], waited: npt.NDArray[np.int64], remaining: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Returns the ratios of every order on a link of capacity 1, largest first.

    They are quotients of small whole numbers: equal ones are equal in float64 and others are not.
    """
    orders = np.array(list(itertools.permutations(range(len(size)))))
    ratios = (np.cumsum(remaining[orders], axis=1) + waited[orders]) / size[orders]
    return -np.sort(-ratios, axis=1)


def test_no_order_has_a_smaller_largest_ratio_nor_a_smaller_next() -> None:
    rng = np.random.default_rng(4)
    for _ in range(1000):
        count = int(rng.integers(1, 8))
        size, waited = rng.integers(1, 12, count), rng.integers(0, 8, count)
        remaining = np.ceil(size * rng.random(count)).astype(np.int64)
        order = order_of(0.0, 1.0, *(column.astype(float).tolist() for column in (size, -waited, remaining)))[0]
        ours = sorted(
            (
                Fraction(int(remaining[order[: place + 1]].sum() + waited[flow]), int(size[flow]))
                for place, flow in enumerate(order)
            ),
            reverse=True,
        )

        best = min(map(tuple, ratios_of_all_orders(size, waited, remaining)))

        assert [float(ratio) for ratio in ours] == list(best)


def test_parameters_out_of_range_are_refused() -> None:
    flows = make_flows([0.0], [1.0])
    for parameters, message in (
        ({"alpha": 0.0}, "alpha is 0.0: it must be a number > 0 and <= 1"),
        ({"alpha": float("nan")}, "alpha is nan"),
        ({"alpha": "high"}, "alpha is 'high'"),
        ({"gap": -1.0}, "gap is -1.0: it must be a finite number >= 0 s"),
        ({"mode": "lenient"}, "mode is 'lenient': it must be one of greedy, strict"),
        ({"gap": 0.1}, "only one link has a gap"),
    ):
        with pytest.raises(ConfigError, match=message):
            flowsched_gym.replay(flows, discipline="merp", topology="big-switch", parameters=parameters)
