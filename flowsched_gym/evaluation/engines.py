"""Makes environments to play in, and tells which engine plays them soonest: the only place that decides it."""

from collections.abc import Mapping
from typing import Any, cast

import gymnasium
from gymnasium.vector import AutoresetMode

from flowsched_gym.envs import DecisionEnv, FlowSchedVectorEnv
from flowsched_gym.envs.drawing.render_modes import check_render_mode
from flowsched_gym.fluid.compiled.stepping import step as fluid_step
from flowsched_gym.machine_code.decorators import compiles, is_compiled
from flowsched_gym.packets.compiled.stepping import step as packets_step
from flowsched_gym.registration import check_arguments, find_environment
from flowsched_gym.systems import EnvironmentSpec


def make_environment(environment: str | EnvironmentSpec, kwargs: Mapping[str, Any]) -> gymnasium.Env[Any, Any]:
    """Makes a single environment of this package, with these arguments; `find_environment` tells how it is named.

    Raises:
        ConfigError: The id or an argument is unknown, or a value is not allowed.
        MissingDependencyError: A package that the render mode needs is not installed.
    """
    spec = find_environment(environment)
    check_arguments(spec, kwargs)
    check_render_mode(kwargs.get("render_mode"))  # before Gymnasium, which warns and then wraps the environment
    return gymnasium.make(spec.id, **kwargs)


def make_vector(environment: str | EnvironmentSpec, kwargs: Mapping[str, Any], *, num_envs: int) -> FlowSchedVectorEnv:
    """Makes the native vector environment of a system that has one; whoever plays says what is reset, and when."""
    modes: dict[str, Any] = {"vectorization_mode": "vector_entry_point", "autoreset_mode": AutoresetMode.DISABLED}
    envs: Any = gymnasium.make_vec(find_environment(environment).id, num_envs, **modes, **kwargs)
    return cast(FlowSchedVectorEnv, envs)


def has_vector(spec: EnvironmentSpec) -> bool:
    """Returns whether an environment has a native vector form, and machine code is not switched off."""
    return spec.vector_entry_point is not None and compiles()


def has_machine_code(spec: EnvironmentSpec, kwargs: Mapping[str, Any]) -> bool:
    """Returns whether a native vector form can start at once; if not, compiling its rules takes half a minute."""
    env = cast(DecisionEnv[Any], make_environment(spec, kwargs).unwrapped)
    step = packets_step if env.is_of_packets else fluid_step
    return is_compiled(step, for_record=type(env.rules))


def with_faster_engine(
    spec: EnvironmentSpec, kwargs: Mapping[str, Any], *, compile_first: bool = False
) -> dict[str, Any]:
    """Returns arguments by which an environment gives the same bits sooner, unless they name an engine themselves.

    Machine code that is not there yet is compiled only where there is enough to play: ``compile_first``.
    """
    faster = has_vector(spec) and (compile_first or has_machine_code(spec, kwargs))
    return {"engine": "compiled", **kwargs} if faster else dict(kwargs)
