"""Reads actions and seeds, and says by name what is wrong with them."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray, is_whole
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


def num_options(space: spaces.Space[Any]) -> int:
    """Counts the entries of an action mask: the actions, or those of all choices together; 0 where there are none."""
    if isinstance(space, spaces.Discrete):
        return int(space.n)
    return int(space.nvec.sum()) if isinstance(space, spaces.MultiDiscrete) else 0


def no_actions(space: spaces.Space[Any]) -> npt.NDArray[Any]:
    """Returns no action, (0, ...), of the type in which machine code takes them."""
    return np.zeros((0, *(space.shape or ())), dtype=np.int64 if num_options(space) else np.float64)


def read_action(space: spaces.Space[Any], action: object, name: str = "action") -> Any:
    """Reads an action as ``DecisionRules.act`` takes it: an integer, or an array of integers or float64.

    Raises ``InvalidAction`` for one outside the space, with its name.
    """
    if isinstance(space, spaces.Discrete):
        return read_choice(action, int(space.n))
    if isinstance(space, spaces.MultiDiscrete):
        return read_choices(action, space.nvec, name)
    return read_numbers(action, int(np.prod(space.shape or ())), name)


def read_actions(space: spaces.Space[Any], actions: object, over: BoolArray) -> npt.NDArray[Any]:
    """Reads an action for each of several environments, (num_envs, ...), but for those that are over.

    Raises ``InvalidAction`` for one outside the space, with the number of its environment.
    """
    if isinstance(space, spaces.Discrete):
        return _read_all_choices(actions, int(space.n), over)
    given = list(actions) if np.iterable(actions) else []
    if len(given) != len(over):
        raise InvalidAction(f"actions is {shown(actions)}: there must be one for each of {len(over)} environments")
    none = no_actions(space)
    read = np.zeros((len(over), *none.shape[1:]), dtype=none.dtype)
    for number in np.flatnonzero(~over).tolist():
        read[number] = read_action(space, given[number], f"action of environment {number}")
    return read


def _read_all_choices(actions: object, num_actions: int, over: BoolArray) -> IntArray:
    chosen = as_integers(actions)
    if chosen is None or chosen.shape != over.shape:
        raise InvalidAction(f"actions is {shown(actions)}: it must be {len(over)} integers")
    contiguous = np.ascontiguousarray(chosen, dtype=np.int64)
    if contiguous.view(np.uint64).max() >= num_actions:
        outside = np.flatnonzero(((contiguous < 0) | (contiguous >= num_actions)) & ~over)
        if len(outside):
            raise InvalidAction(
                f"action of environment {outside[0]} is {contiguous[outside[0]]}: "
                f"it must be an integer from 0 to {num_actions - 1}"
            )
    return contiguous


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
