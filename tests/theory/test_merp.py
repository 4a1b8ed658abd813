"""Holds the order of MERP to exact solutions and brute force, and its tournament to the plain comparison."""

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.fluid.rules.ordering.virtual_deadlines import MATCH, virtual_deadlines, virtual_deadlines_of_many
from tests.cases import TOLERANCE, exact_cases
from tests.theory.rational import Flow, place_by_expansion


def order_of(now: float, capacity: float, *columns: Sequence[Any]) -> tuple[list[int], FloatArray]:
    """Orders flows on one link by sizes, arrivals and what is left; returns the order and when each would finish."""
    rows, deadline = np.arange(len(columns[0])), np.zeros(len(columns[0]))
    virtual_deadlines(now, capacity, rows, *(np.array(column, dtype=float) for column in columns), deadline)
    return rows.tolist(), deadline


@pytest.mark.parametrize("case", exact_cases("vdg"), ids=lambda case: case["id"])
def test_the_order_is_that_of_the_exact_solution(case: dict[str, Any]) -> None:
    order, deadline = order_of(case["now"], case["capacity"], case["size"], case["arrival"], case["remaining"])
    assert order == case["order_first_to_last"]
    ratios = (deadline - np.array(case["arrival"])) * case["capacity"] / np.array(case["size"])
    assert ratios.tolist() == pytest.approx(case["er"], rel=TOLERANCE)


def test_no_order_has_a_smaller_largest_ratio_nor_a_smaller_next() -> None:
    """Ratios are quotients of small whole numbers: equal ones are equal in float64 and others are not."""
    rng = np.random.default_rng(4)
    for _ in range(1000):
        count = int(rng.integers(1, 8))
        size, waited = rng.integers(1, 12, count), rng.integers(0, 8, count)
        remaining = np.ceil(size * rng.random(count)).astype(np.int64)
        order, _ = order_of(0.0, 1.0, size, -waited, remaining)
        orders = np.array([order, *itertools.permutations(range(count))])

        ratios = (np.cumsum(remaining[orders], axis=1) + waited[orders]) / size[orders]

        largest_first = (-np.sort(-ratios, axis=1)).tolist()
        assert largest_first[0] == min(largest_first)


def draw(kind: str, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Draws sizes, times since arrival, and what is left."""
    count = int(rng.integers(1, 60))
    if kind == "arbitrary":
        size, waited = rng.pareto(1.5, count) + 0.1, 10 * rng.random(count)
    elif kind == "many ties":
        size, waited = rng.integers(1, 5, count).astype(float), rng.integers(0, 4, count).astype(float)
    elif kind == "ties but for rounding":
        size, waited = 0.1 * rng.integers(1, 4, count).astype(float), 0.1 * rng.integers(0, 3, count).astype(float)
    else:
        steps, times = (rng.integers(0, 4, count).astype(float) for _ in range(2))
        size, waited = 1 + steps * 2.0**-52, times * 2.0**-50
    return size, waited, size * rng.integers(1, 4, count) / 3


@pytest.mark.parametrize("kind", ["arbitrary", "many ties", "ties but for rounding", "a last bit apart"])
def test_a_tournament_finds_the_same_order(kind: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(500):
        size, waited, remaining = draw(kind, rng)
        count = len(size)
        plain = rng.permutation(count)
        other = plain.copy()
        deadline, other_deadline = np.zeros(count), np.zeros(count)

        virtual_deadlines(0.0, 1.0, plain, size, -waited, remaining, deadline)
        virtual_deadlines_of_many(
            0.0, 1.0, other, size, -waited, remaining, other_deadline, np.zeros(2 * count, dtype=MATCH)
        )

        assert other.tolist() == plain.tolist()
        assert other_deadline.tolist() == deadline.tolist()


@pytest.mark.parametrize("part", [3, 10])
def test_ratios_that_are_equal_are_ties_although_their_parts_are_rounded(part: int) -> None:
    rng = np.random.default_rng(part)
    for _ in range(500):
        count = int(rng.integers(2, 8))
        size = [Fraction(int(value), part) for value in rng.integers(1, 13, count)]
        arrival = [Fraction(int(value), part) for value in rng.integers(0, 8, count)]
        remaining = [
            value * Fraction(int(quarters), 4) for value, quarters in zip(size, rng.integers(1, 5, count), strict=True)
        ]
        now = Fraction(int(rng.integers(8, 60)), part)
        flows = [Flow(row, arrival[row], size[row], None, (), sent=size[row] - remaining[row]) for row in range(count)]
        place_by_expansion(flows, now, Fraction(1))

        order, _ = order_of(float(now), 1.0, size, arrival, remaining)
        assert order == [flow.number for flow in sorted(flows, key=lambda flow: flow.place)]
