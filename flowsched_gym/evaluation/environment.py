"""Makes the environments that policies are evaluated in: single ones, and vectors that play many episodes at once."""

import inspect
from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium.vector import AutoresetMode, VectorEnv

from flowsched_gym.errors import ConfigError
from flowsched_gym.registration import load_target, system_of

__all__ = ["make_environment", "make_vector"]


def make_environment(env_id: str, kwargs: Mapping[str, Any]) -> gymnasium.Env[Any, Any]:
    """Makes a single environment of this package.

    Args:
        env_id: ``flowsched/<Name>-v0``, or that with ``flowsched_gym:`` before it.
        kwargs: Its arguments.

    Raises:
        ConfigError: The id or an argument is unknown, or a value is not allowed.
    """
    spec = system_of(env_id)[1]
    target = load_target(spec.entry_point)
    allowed = [name for name in inspect.signature(target).parameters if name != "self"]
    for name in kwargs:
        if name not in allowed:
            raise ConfigError(f"{spec.id} has no argument {name!r}: it has {', '.join(allowed)}")
    mode, modes = kwargs.get("render_mode"), target.metadata["render_modes"]
    if mode is not None and mode not in modes:
        raise ConfigError(f"render_mode is {mode!r}: it must be None or one of {', '.join(modes)}")
    return gymnasium.make(spec.id, **kwargs)


def make_vector(env_id: str, kwargs: Mapping[str, Any], *, num_envs: int) -> VectorEnv[Any, Any, Any]:
    """Makes a vector of environments of this package: the system's own one, or else Gymnasium's of single ones.

    Nothing is reset by itself: whoever plays says which environments begin which episodes.

    Args:
        env_id: ``flowsched/<Name>-v0``, or that with ``flowsched_gym:`` before it.
        kwargs: Arguments that a single environment can be made with.
        num_envs: Number of environments, >= 1.

    Raises:
        ConfigError: There is no such environment.
    """
    spec = system_of(env_id)[1]
    mode: dict[str, Any] = {"autoreset_mode": AutoresetMode.DISABLED}
    own = spec.vector_entry_point is not None
    return gymnasium.make_vec(
        spec.id,
        num_envs=num_envs,
        vectorization_mode="vector_entry_point" if own else "sync",
        vector_kwargs=None if own else mode,
        **(mode if own else {}),
        **kwargs,
    )
