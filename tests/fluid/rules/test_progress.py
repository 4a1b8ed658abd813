"""Holds the clock to moving on."""

import numpy as np
import pytest

from flowsched_gym.fluid.rules.transport.progress import next_event_time


@pytest.mark.parametrize("now", [0.0, 5e-324, 1e-310, 1e-300, 1.0, 1e9])
def test_the_next_event_is_later_than_now_however_little_is_left(now: float) -> None:
    row = np.zeros(1, dtype=np.int64)
    left = np.array([5e-324])
    time = next_event_time(now, row, 1, np.zeros(1), left, np.array([1e9]), np.array([np.inf]), np.inf)
    assert now < time <= max(now * (1 + 1e-15), 1e-300)
