"""Holds the translation of actions into thresholds, and the choice of a rank among values, to what defines them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsched_gym.envs.thresholds import LEAST_RATIO
from flowsched_gym.machine_code.decorators import compiled_for
from flowsched_gym.systems.auto.thresholds.config import HIGHEST, LOWEST, SCALE
from flowsched_gym.systems.auto.thresholds.rules import select

ROUNDING = 0.5
"""Thresholds are in whole bytes."""

actions = st.integers(1, 7).flatmap(lambda n: st.lists(st.floats(-1.0, 1.0), min_size=n, max_size=n))


@given(actions)
def test_any_action_stands_for_thresholds_that_increase_between_1_kb_and_1_gb(action: list[float]) -> None:
    (thresholds,) = SCALE.thresholds_of(np.array([action]))
    assert thresholds[0] >= LOWEST
    assert thresholds[-1] <= HIGHEST
    assert (thresholds[1:] >= LEAST_RATIO * (thresholds[:-1] - ROUNDING) - ROUNDING).all()
    assert (np.diff(thresholds) > 0).all()
    assert SCALE.thresholds_of(SCALE.action_of(thresholds[None]))[0] == pytest.approx(thresholds, abs=1)


def test_each_number_chooses_its_part_of_the_logarithmic_scale_that_is_left() -> None:
    # Half of the six powers of ten above 1 KB, then half of what is left up to 1 GB, less the room of a neighbour.
    (first, second), (lowest, highest) = SCALE.thresholds_of(np.array([[0.0, 0.0], [-1.0, 1.0]]))
    assert first == pytest.approx(1e6 / LEAST_RATIO**0.5, abs=1)
    assert second == pytest.approx((first * LEAST_RATIO * HIGHEST) ** 0.5, rel=1e-6)
    assert (lowest, highest) == (LOWEST, HIGHEST)


@pytest.mark.parametrize("place", range(3))
def test_a_larger_number_never_lowers_a_threshold(place: int) -> None:
    grid = np.zeros((21, 3))
    grid[:, place] = np.linspace(-1.0, 1.0, 21)
    thresholds = SCALE.thresholds_of(grid)
    assert (np.diff(thresholds[:, place]) > 0).all()
    assert (np.diff(thresholds, axis=0) >= 0).all()
    assert (thresholds[:, :place] == thresholds[0, :place]).all()


def test_thresholds_out_of_range_stand_for_the_nearest_ones() -> None:
    action = SCALE.action_of(np.array([[1.0, 2e6, 4e9]]))
    assert SCALE.thresholds_of(action)[0].tolist() == pytest.approx([1e3, 2e6, 1e9], abs=1)
    crowded = SCALE.thresholds_of(SCALE.action_of(np.array([[2e9, 3e9, 4e9]])))
    assert crowded[0] == pytest.approx([1e9 / LEAST_RATIO**2, 1e9 / LEAST_RATIO, 1e9], abs=1)


@pytest.mark.parametrize("find", [select, compiled_for(select, np.zeros(1), 0, 1, 0)], ids=["rule", "compiled"])
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
