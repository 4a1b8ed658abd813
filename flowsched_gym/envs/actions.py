"""Reads actions and seeds, and says by name what is wrong with them."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from flowsched_gym.core.arrays import FloatArray, IntArray, is_whole
from flowsched_gym.core.errors import ConfigError, InvalidAction, shown
from flowsched_gym.fluid.rules.ordering.feedback import are_within


class MultiDiscrete(spaces.MultiDiscrete):
    """Several choices at once; ``sample`` takes their masks as infos have them, one after the other in one array."""

    def sample(self, mask: Any = None, probability: Any = None) -> npt.NDArray[np.int64]:
        """Draws choices; a mask, int8, is one array or, as Gymnasium has it, a tuple with one for each choice."""
        if isinstance(mask, np.ndarray):
            mask = tuple(np.split(mask, np.cumsum(self.nvec)[:-1]))
        return super().sample(mask, probability)


def read_choice(action: object, num_actions: int) -> int:
    """Reads a discrete action, an integer from 0 to num_actions - 1, a NumPy one included, or raises InvalidAction."""
    try:  # a truth value is an index to Python, and a mistake here
        choice = None if isinstance(action, bool) else operator.index(action)  # type: ignore[arg-type]
    except TypeError:
        choice = None
    if choice is None or not 0 <= choice < num_actions:
        given = action if choice is None else choice
        raise InvalidAction(f"action is {shown(given)}: it must be an integer from 0 to {num_actions - 1}")
    return choice


def read_choices(action: object, num_choices: IntArray, name: str = "action") -> IntArray:
    """Reads an action of several choices, (count,), into a new array; in messages it has a name.

    Raises:
        InvalidAction: These are not integers >= 0, each below the number of choices at its index, (count,).
    """
    given = as_integers(action)
    if given is None or given.shape != num_choices.shape:
        raise InvalidAction(f"{name} is {shown(action)}: it must be {len(num_choices)} integers")
    wrong = (given < 0) | (given >= num_choices)
    if wrong.any():
        index = int(np.argmax(wrong))
        raise InvalidAction(
            f"{name} has {given[index]} at index {index}: it must be an integer from 0 to {num_choices[index] - 1}"
        )
    return given.astype(np.int64)


def read_numbers(action: object, count: int, name: str = "action") -> FloatArray:
    """Reads an action of numbers in [-1, 1], (count,), or raises InvalidAction; in messages it has a name."""
    try:
        values = np.asarray(action, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.shape != (count,) or not are_within(values, 1.0):
        raise InvalidAction(f"{name} is {shown(action)}: it must be {count} numbers in [-1, 1]")
    return values


def as_integers(values: object) -> npt.NDArray[np.integer[Any]] | None:
    """Makes an array of integers; ``None`` of anything else, truth values included."""
    if isinstance(values, (list, tuple)) and any(isinstance(each, (bool, np.bool_)) for each in values):
        return None
    try:
        given = np.asarray(values)
    except ValueError:
        return None
    return given if given.dtype.kind in "iu" else None


def check_seed(seed: object, name: str = "seed") -> int | None:
    """Makes a Python integer of a seed that may be left out; refuses what is neither None nor an integer >= 0."""
    if seed is None:
        return None
    if not is_whole(seed) or seed < 0:
        raise ConfigError(f"{name} is {shown(seed)}: it must be an integer >= 0")
    return int(seed)


def check_seeds(seed: object, count: int) -> list[int | None]:
    """Makes a seed for each of several environments: ``seed + i``, or the entries of a sequence, one for each."""
    many = isinstance(seed, Sequence) or (isinstance(seed, np.ndarray) and seed.ndim > 0)
    if isinstance(seed, (str, bytes)) or not many:
        first = check_seed(seed)
        return [None if first is None else first + number for number in range(count)]
    entries = list(seed)  # type: ignore[call-overload]  # it is a sequence
    if len(entries) != count:
        raise ConfigError(f"seed has {len(entries)} entries: it must have one for each of {count} environments")
    return [check_seed(each, f"seed of environment {number}") for number, each in enumerate(entries)]
