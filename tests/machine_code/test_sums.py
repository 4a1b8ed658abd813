"""Holds sums to NumPy's, bit for bit, and to exact ones."""

import math

import numpy as np
import pytest

from flowsched_gym.machine_code.decorators import compiled_for
from flowsched_gym.machine_code.numerics import pairwise_sum

MANY = 2_000
COMPILED = compiled_for(pairwise_sum, np.zeros(1), 0, 1)


@pytest.mark.parametrize("add", [pairwise_sum, COMPILED], ids=["rule", "compiled"])
def test_sums_of_a_part_have_the_bits_of_numpys(add: object) -> None:
    for count in (0, 1, 7, 8, 9, 127, 128, 129, 257, 4_097, 20_001):
        values = np.random.default_rng(count).lognormal(sigma=4.0, size=count)
        expected = float(values.sum())
        assert add(np.concatenate([[np.nan] * 3, values, [np.nan]]), 3, 3 + count) == expected  # type: ignore[operator]
        assert expected == pytest.approx(math.fsum(values.tolist()), rel=1e-14)


def test_sums_of_every_length_have_the_bits_of_numpys() -> None:
    values = np.random.default_rng(1).normal(size=MANY)
    assert [COMPILED(values[:count].copy(), 0, count) for count in range(MANY)] == [
        float(values[:count].sum()) for count in range(MANY)
    ]
