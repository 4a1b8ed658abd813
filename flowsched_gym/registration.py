"""Registers the environments of all systems with Gymnasium, and finds what belongs to them by name."""

import importlib
import inspect
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

import gymnasium

from flowsched_gym.errors import ConfigError, UnknownArgumentError
from flowsched_gym.suggestions import listed, similar
from flowsched_gym.systems import artemis, auto, merp, qcluster, tafe
from flowsched_gym.systems.spec import EnvironmentSpec, PolicySpec, SystemSpec

__all__ = [
    "SYSTEMS",
    "check_arguments",
    "heuristic_arguments",
    "is_planner",
    "load_target",
    "make_policy",
    "planner_specs",
    "policy_specs",
    "register_environments",
    "system_of",
]

SYSTEMS: Final[tuple[SystemSpec, ...]] = (artemis.SYSTEM, merp.SYSTEM, auto.SYSTEM, qcluster.SYSTEM, tafe.SYSTEM)
"""The systems, one line each."""

OPTIONS: Final = ":"
"""What stands between the name of a planner and its options."""


def register_environments() -> None:
    """Registers every environment; a second call changes nothing."""
    for system in SYSTEMS:
        for environment in system.environments:
            if environment.id not in gymnasium.registry:
                gymnasium.register(
                    environment.id,
                    entry_point=environment.entry_point,
                    vector_entry_point=environment.vector_entry_point,
                )


def system_of(env_id: str) -> tuple[SystemSpec, EnvironmentSpec]:
    """Finds the system and the environment of an id.

    Args:
        env_id: ``flowsched/<Name>-v0``, or that with ``flowsched_gym:`` before it.

    Raises:
        ConfigError: No environment of this package has this id.
    """
    wanted = env_id.removeprefix("flowsched_gym:")
    found = {environment.id: (system, environment) for system in SYSTEMS for environment in system.environments}
    if wanted not in found:
        raise ConfigError(f"environment is {env_id!r}: it must be one of {listed(wanted, found)}")
    return found[wanted]


def check_arguments(env_id: str, kwargs: Iterable[str]) -> dict[str, inspect.Parameter]:
    """Returns the parameters of an environment by name, and refuses arguments that are none of them.

    Raises:
        ConfigError: There is no such environment.
        UnknownArgumentError: It has no such argument.
    """
    spec = system_of(env_id)[1]
    parameters = dict(inspect.signature(load_target(spec.entry_point)).parameters)
    for name in kwargs:
        if name not in parameters:
            raise UnknownArgumentError(f"{spec.id} has no argument {name!r}: it has {listed(name, parameters)}")
    return parameters


def heuristic_arguments(env_id: str, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments under which heuristics meet the same episodes as an agent, and see what they need."""
    return {**kwargs, **system_of(env_id)[1].heuristic_kwargs}


def policy_specs(env_id: str) -> dict[str, PolicySpec]:
    """Lists the policies of an environment by name."""
    return {policy.name: policy for policy in system_of(env_id)[1].policies}


def planner_specs(env_id: str) -> dict[str, PolicySpec]:
    """Lists the planners of an environment by name."""
    return {policy.name: policy for policy in system_of(env_id)[1].planners}


def is_planner(policy: str) -> bool:
    """Returns whether a policy, as it is named on a command line, is a planner of any environment."""
    name = policy.partition(OPTIONS)[0]
    return any(name in planner_specs(environment.id) for system in SYSTEMS for environment in system.environments)


def make_policy(name: str, env: Any, *, seed: int = 0) -> Any:
    """Makes a heuristic policy, or a planner, for an environment.

    Args:
        name: Name of one of its policies; planners may have options: ``search:futures=4,base=sjf``.
        env: The environment, wrapped or not, single or vector.
        seed: Seed of policies that draw.

    Returns:
        An object with Stable-Baselines3's ``predict``.

    Raises:
        ConfigError: There is no such policy, or it needs a column that the observation lacks.
    """
    policies, planners = policy_specs(env.spec.id), planner_specs(env.spec.id)
    chosen, mark, options = name.partition(OPTIONS)
    if chosen in planners:
        return load_target(planners[chosen].target).for_env(env, seed=seed, **_options(name, options if mark else None))
    if name not in policies:
        raise ConfigError(f"policy is {name!r}: {env.spec.id} has {listed(name, (*policies, *planners))}")
    return load_target(policies[name].target).for_env(env, seed=seed)


def _options(policy: str, text: str | None) -> dict[str, Any]:
    """Reads the options of a planner, ``key=value,key=value``: numbers, ``true`` and ``false``, and texts.

    Raises:
        ConfigError: The form is another.
    """
    found: dict[str, Any] = {}
    for entry in () if text is None else text.split(","):
        key, sign, value = entry.partition("=")
        if not sign or not key.isidentifier() or key in found:
            raise ConfigError(f"policy is {policy!r}: its options must be key=value,key=value, each key once")
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found


def load_target(target: str) -> Any:
    """Imports ``module:name``.

    Raises:
        ConfigError: The form is another, or there is no such module or name.
    """
    module_name, _, name = target.partition(":")
    if not module_name or not name or module_name.startswith("."):
        raise ConfigError(f"target is {target!r}: it must have the form module:name")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise ConfigError(f"target is {target!r}: {error}") from error
    if not hasattr(module, name):
        raise ConfigError(f"target is {target!r}: module {module_name} has no {name!r}{similar(name, vars(module))}")
    return getattr(module, name)
