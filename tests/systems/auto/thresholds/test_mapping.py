"""Holds the translation of actions into thresholds to its formula, and to being undone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsched_gym.envs.thresholds import LEAST_RATIO
from flowsched_gym.systems.auto.thresholds.config import HIGHEST, LOWEST, SCALE

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
