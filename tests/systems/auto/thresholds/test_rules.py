"""Holds the choice of a rank among values to a sorted list."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsched_gym.machine_code.decorators import compiled_for
from flowsched_gym.systems.auto.thresholds.rules import select

SELECT = compiled_for(select, np.zeros(1), 0, 1, 0)


@pytest.mark.parametrize("find", [select, SELECT], ids=["rule", "compiled"])
@given(values=st.lists(st.integers(-5, 5) | st.floats(allow_nan=False), min_size=1, max_size=40), data=st.data())
def test_the_value_of_a_rank_is_found_and_no_value_is_lost(find, values, data) -> None:
    numbers = np.array([0.5, *values, -0.5])
    rank = data.draw(st.integers(0, len(values) - 1))
    found = find(numbers, 1, 1 + len(values), 1 + rank)  # type: ignore[operator]

    assert found == numbers[1 + rank] == sorted(values)[rank]
    assert (numbers[1 : 1 + rank] <= found).all()
    assert (numbers[1 + rank : -1] >= found).all()
    assert sorted(numbers[1:-1].tolist()) == sorted(values)
    assert numbers[[0, -1]].tolist() == [0.5, -0.5]
