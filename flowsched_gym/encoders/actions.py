"""Reads actions."""

import operator

import numpy as np
import numpy.typing as npt

from flowsched_gym.errors import InvalidAction

__all__ = ["read_choice", "read_choices"]


def read_choice(action: object, num_actions: int) -> int:
    """Reads a discrete action.

    Args:
        action: What the agent chose; any integer, a NumPy one included.
        num_actions: Actions are 0 to num_actions - 1.

    Raises:
        InvalidAction: The action is not an integer in that range.
    """
    try:
        choice = operator.index(action)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidAction(f"action is {action!r}: it must be an integer from 0 to {num_actions - 1}") from None
    if not 0 <= choice < num_actions:
        raise InvalidAction(f"action is {choice}: it must be an integer from 0 to {num_actions - 1}")
    return choice


def read_choices(action: object, num_choices: npt.NDArray[np.int64], name: str = "action") -> npt.NDArray[np.int64]:
    """Reads an action of several choices.

    Args:
        action: What the agent chose; integers, (count,).
        num_choices: The choice in each place is one of 0 to so many - 1, (count,).
        name: What the action is called in messages.

    Returns:
        A new array, (count,).

    Raises:
        InvalidAction: These are not so many integers, or one of them is out of its range.
    """
    try:
        given = np.asarray(action)
    except ValueError:
        given = np.empty(0)
    if given.shape != num_choices.shape or not np.issubdtype(given.dtype, np.integer):
        raise InvalidAction(f"{name} is {action!r}: it must be {len(num_choices)} integers")
    wrong = (given < 0) | (given >= num_choices)
    if wrong.any():
        place = int(np.argmax(wrong))
        raise InvalidAction(
            f"{name} has {given[place]} in place {place}: it must be an integer from 0 to {num_choices[place] - 1}"
        )
    return given.astype(np.int64)
