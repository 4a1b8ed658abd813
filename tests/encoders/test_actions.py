"""Holds discrete actions to their range."""

import numpy as np
import pytest

from flowsched_gym.encoders import read_choice
from flowsched_gym.errors import InvalidAction


@pytest.mark.parametrize("action", [2, np.int64(2), np.uint8(2), np.array(2)])
def test_any_integer_is_an_action(action: object) -> None:
    choice = read_choice(action, 3)

    assert choice == 2
    assert type(choice) is int


@pytest.mark.parametrize("action", [3, -1, np.int64(99)])
def test_an_integer_outside_the_range_is_refused(action: object) -> None:
    with pytest.raises(InvalidAction, match=rf"action is {action}: it must be an integer from 0 to 2"):
        read_choice(action, 3)


@pytest.mark.parametrize("action", [1.0, "1", None, np.array([1, 2]), np.float32(1)])
def test_what_is_no_integer_is_refused(action: object) -> None:
    with pytest.raises(InvalidAction, match="it must be an integer from 0 to 2"):
        read_choice(action, 3)
