"""Holds discrete actions, and those of several choices, to their range."""

import numpy as np
import pytest

from flowsched_gym.core.errors import InvalidAction
from flowsched_gym.envs.actions import read_choice, read_choices


def test_any_integer_in_the_range_is_an_action_and_nothing_else() -> None:
    for action in (2, np.int64(2), np.uint8(2), np.array(2)):
        choice = read_choice(action, 3)
        assert (choice, type(choice)) == (2, int)
    for wrong in (3, -1, np.int64(99), 1.0, "1", None, np.array([1, 2]), np.float32(1)):
        with pytest.raises(InvalidAction, match=r"action is .*: it must be an integer from 0 to 2"):
            read_choice(wrong, 3)


CHOICES = np.array([4, 3, 2])


def test_as_many_integers_as_there_are_choices_are_an_action_and_nothing_else() -> None:
    arrays = np.array([3, 0, 1]), np.array([3, 0, 1], dtype=np.uint8)
    for action in ([3, 0, 1], (3, 0, 1), *arrays):
        choices = read_choices(action, CHOICES)
        assert choices.tolist() == [3, 0, 1]
        assert choices.dtype == np.int64
        assert choices is not action
    lists = [3, 0], [3, 0, 1, 0], [[3, 0, 1]], [3.0, 0.0, 1.0], [True] * 3, [[3], [0, 1]], ["3"] * 3
    for wrong in (*lists, 3, None, "301"):
        with pytest.raises(InvalidAction, match=r"action of number 5 is .*: it must be 3 integers"):
            read_choices(wrong, CHOICES, "action of number 5")


@pytest.mark.parametrize(("action", "place"), [([4, 0, 1], 0), ([0, -1, 0], 1), ([0, 0, 2**40], 2)])
def test_a_choice_outside_its_range_is_refused_with_its_place(action: list[int], place: int) -> None:
    message = f"action has {action[place]} at index {place}: it must be an integer from 0 to {CHOICES[place] - 1}"
    with pytest.raises(InvalidAction, match=message):
        read_choices(action, CHOICES)
