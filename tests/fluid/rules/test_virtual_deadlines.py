"""Holds the tournament for many flows to the plain comparison of all, above all where ratios are equal or nearly so."""

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from flowsched_gym.fluid.rules.ordering.virtual_deadlines import MATCH, virtual_deadlines, virtual_deadlines_of_many
from tests.theory.rational import Flow, place_by_expansion

FloatArray = npt.NDArray[np.float64]


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
        plain, other = rng.permutation(count), np.zeros(count, dtype=np.int64)
        other[:] = plain
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
        rows = np.arange(count)
        flows = [Flow(row, arrival[row], size[row], None, (), sent=size[row] - remaining[row]) for row in range(count)]
        place_by_expansion(flows, now, Fraction(1))

        columns = (np.array(column, dtype=float) for column in (size, arrival, remaining))
        virtual_deadlines(float(now), 1.0, rows, *columns, np.zeros(count))

        assert rows.tolist() == [flow.number for flow in sorted(flows, key=lambda flow: flow.place)]
