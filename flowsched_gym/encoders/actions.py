"""Reads actions."""

import operator

from flowsched_gym.errors import InvalidAction

__all__ = ["read_choice"]


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
