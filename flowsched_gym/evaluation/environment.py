"""Makes the environments that policies are evaluated in: single ones, and vectors that play many episodes at once."""

from collections.abc import Mapping
from typing import Any, cast

import gymnasium
from gymnasium.vector import AutoresetMode

from flowsched_gym.envs import DecisionEnv, FlowSchedVectorEnv
from flowsched_gym.envs.drawing.render_modes import check_render_mode
from flowsched_gym.fluid.compiled.loop import run_many
from flowsched_gym.fluid.compiled.stepping import step
from flowsched_gym.machine_code.decorators import compiles, is_compiled
from flowsched_gym.registration import check_arguments, system_of


def make_environment(env_id: str, kwargs: Mapping[str, Any]) -> gymnasium.Env[Any, Any]:
    """Makes a single environment of this package.

    Args:
        env_id: ``flowsched/<Name>-v0``, or that with ``flowsched_gym:`` before it.
        kwargs: Its arguments.

    Raises:
        ConfigError: The id or an argument is unknown, or a value is not allowed.
        MissingDependencyError: A package that the render mode needs is not installed.
    """
    spec = system_of(env_id)[1]
    check_arguments(env_id, kwargs)
    check_render_mode(kwargs.get("render_mode"))  # before Gymnasium, which warns and then wraps the environment
    return gymnasium.make(spec.id, **kwargs)


def has_vector(env_id: str) -> bool:
    """Returns whether a system has a native vector environment, and machine code is not switched off.

    Raises:
        ConfigError: There is no such environment.
    """
    return system_of(env_id)[1].vector_entry_point is not None and compiles()


def has_machine_code(env_id: str) -> bool:
    """Returns whether the native vector environment of a system that has one can start at once.

    If not, its rules are compiled first, which takes half a minute; then they are on disk.
    """
    base = gymnasium.make(system_of(env_id)[1].id).unwrapped
    if isinstance(base, DecisionEnv):
        return is_compiled(step, for_record=type(base.rules))
    # One loop runs the networks of all others.
    return is_compiled(run_many)


def make_vector(env_id: str, kwargs: Mapping[str, Any], *, num_envs: int) -> FlowSchedVectorEnv:
    """Makes the native vector environment of a system that has one.

    Nothing is reset by itself: whoever plays says which environments begin which episodes.

    Args:
        env_id: ``flowsched/<Name>-v0``, or that with ``flowsched_gym:`` before it.
        kwargs: Arguments that a single environment can be made with.
        num_envs: Number of environments, >= 1.

    Raises:
        ConfigError: There is no such environment.
    """
    envs: Any = gymnasium.make_vec(
        system_of(env_id)[1].id,
        num_envs=num_envs,
        vectorization_mode="vector_entry_point",
        autoreset_mode=AutoresetMode.DISABLED,
        **kwargs,
    )
    return cast(FlowSchedVectorEnv, envs)
