"""Actions of episodes: checked before they are taken, and kept in few bytes.

The actions of a run stand in a result file one after the other, as the smallest type of number that keeps every one of
them. They are not compressed by themselves: a packed folder of results is, which then sees what they have in common.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import gymnasium
import numpy as np
import numpy.typing as npt

from flowsched_gym.core.errors import ConfigError, InvalidAction, shown

Actions = npt.NDArray[Any]

DTYPES: Final = {"uint8": "<u1", "uint16": "<u2", "uint32": "<u4", "float32": "<f4", "float64": "<f8"}
"""Types of numbers in files, by name, with the same order of bytes on all machines."""
FIELDS: Final = {"dtype": str, "shape": list, "data": str}
"""Keys of the actions of a run in a file and the types of their values."""
LONGEST_ACTION: Final = 10_000
"""Numbers of one action."""


def check_action(action: object, space: gymnasium.Space[Any], *, num_envs: int | None = None) -> Actions:
    """Refuses what is no action, or not ``num_envs`` of them, of a space, whose bounds the environment checks."""
    is_box = isinstance(space, gymnasium.spaces.Box)
    shape = space.shape or ()
    values = as_array(action)
    expected = shape if num_envs is None else (num_envs, *shape)
    kinds = "iuf" if is_box else "iu"
    if values.dtype.kind in kinds and values.shape == expected and (not is_box or np.isfinite(values).all()):
        return values
    number = "finite number" if is_box else "integer"
    wanted = f"an {number}" if expected == () else f"{number}s of shape {expected}"
    raise InvalidAction(f"policy chose {shown(action)}: it must be {wanted}")


def as_array(action: object) -> Actions:
    """Makes an array of what a policy chose, one of objects where it is no array of numbers."""
    try:
        return np.asarray(action)
    except ValueError:  # lists of different lengths
        return np.zeros(0, dtype=object)


class ActionLog:
    """Actions that were taken in environments which step together; the space is that of a single one."""

    def __init__(self, space: gymnasium.Space[Any], num_envs: int) -> None:
        count = getattr(space, "n", getattr(space, "nvec", None))
        dtype = np.float64 if count is None else np.min_scalar_type(int(np.max(count)) - 1)
        self._taken: Actions = np.zeros((1, num_envs, *(space.shape or ())), dtype=dtype)
        self._num_steps = 0

    def add(self, actions: Actions) -> None:
        """Adds the actions of a step, which the environments have taken."""
        if self._num_steps == len(self._taken):
            self._taken = np.concatenate([self._taken, np.zeros_like(self._taken)])
        self._taken[self._num_steps] = actions
        self._num_steps += 1

    def of(self, row: int, begun_at: int = 0) -> Actions:
        """Returns what one environment has done since a step, (num_decisions, ...)."""
        taken = self._taken[begun_at : self._num_steps, row].copy()
        taken.flags.writeable = False
        return taken


def pack_actions(episodes: Sequence[Actions]) -> dict[str, object] | None:
    """Returns the actions of the episodes of a run as a file holds them; ``None`` where nobody acted."""
    if not episodes:
        return None
    joined = np.concatenate(episodes)
    name = _smallest(joined)
    return {"dtype": name, "shape": list(joined.shape[1:]), "data": joined.astype(DTYPES[name]).tobytes().hex()}


def unpack_actions(content: Mapping[str, Any], lengths: Sequence[int]) -> list[Actions]:
    """Reads the actions of the episodes of a run (`FIELDS`), given how many decisions each had."""
    dtype, shape = content["dtype"], content["shape"]
    if dtype not in DTYPES:
        raise ConfigError(f"dtype is {shown(dtype)}: it must be one of {', '.join(DTYPES)}")
    if len(shape) > 1 or not all(type(size) is int and 0 < size <= LONGEST_ACTION for size in shape):
        raise ConfigError(f"shape is {shown(shape)}: it must be [] or the length of an action, 1 to {LONGEST_ACTION}")
    per_action = np.dtype(DTYPES[dtype]).itemsize * (shape[0] if shape else 1)
    try:
        data = bytes.fromhex(content["data"])
    except ValueError:
        raise ConfigError(f"data is {shown(content['data'][:20])}: it must be hexadecimal digits") from None
    if len(data) != sum(lengths) * per_action:
        raise ConfigError(f"data does not hold the actions of {shown(sum(lengths))} decisions")
    joined: Actions = np.frombuffer(data, dtype=DTYPES[dtype]).reshape(-1, *shape)
    if joined.dtype.kind == "f" and not np.isfinite(joined).all():
        raise ConfigError("data holds a number that is not finite")
    return np.split(joined, np.cumsum(lengths)[:-1])


def _smallest(actions: Actions) -> str:
    if actions.dtype.kind == "f":
        return "float32" if np.array_equal(actions.astype(np.float32).astype(np.float64), actions) else "float64"
    return str(np.min_scalar_type(int(actions.max(initial=0))))
