"""Registers the environments of all systems with Gymnasium, and finds what belongs to them by name."""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import gymnasium

from flowsched_gym.core.errors import ConfigError, UnknownArgumentError, listed, similar
from flowsched_gym.systems import NOTHING, Ability, EnvironmentSpec, Information, SystemSpec

FOLDERS: Final = ("artemis", "merp", "auto", "qcluster", "tafe")
"""Folders of the systems, in the order of tables."""
SYSTEMS: Final[tuple[SystemSpec, ...]] = tuple(
    importlib.import_module(f"flowsched_gym.systems.{folder}").SYSTEM for folder in FOLDERS
)

ENVIRONMENTS: Final = {spec.id: spec for system in SYSTEMS for spec in system.environments}
SIZES: Final = frozenset({Information.SIZES, Information.BYTES_LEFT})
OF_COPIES: Final = SIZES | {Information.FORECASTS}
"""Information that copies of an episode hold, and agents may lack; what else they may lack, they have seen before."""


def register_environments() -> None:
    """Registers every environment; a second call changes nothing."""
    for spec in ENVIRONMENTS.values():
        if spec.id not in gymnasium.registry:
            gymnasium.register(spec.id, entry_point=spec.entry_point, vector_entry_point=spec.vector_entry_point)


def find_environment(environment: str | EnvironmentSpec) -> EnvironmentSpec:
    """Finds an environment by its id, ``flowsched_gym:`` before it or not; once found, it is passed on as it is."""
    if isinstance(environment, EnvironmentSpec):
        return environment
    wanted = environment.removeprefix("flowsched_gym:")
    if wanted not in ENVIRONMENTS:
        raise ConfigError(f"environment is {environment!r}: it must be one of {listed(wanted, ENVIRONMENTS)}")
    return ENVIRONMENTS[wanted]


def check_arguments(spec: EnvironmentSpec, kwargs: Iterable[str]) -> dict[str, inspect.Parameter]:
    """Returns the parameters of an environment by name, and refuses arguments that are none of them."""
    parameters = dict(inspect.signature(load_target(spec.entry_point)).parameters)
    for name in kwargs:
        if name not in parameters:
            raise UnknownArgumentError(f"{spec.id} has no argument {name!r}: it has {listed(name, parameters)}")
    return parameters


def heuristic_arguments(spec: EnvironmentSpec, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns an agent's arguments, changed so that the environment tells what heuristics may need."""
    return {**kwargs, **spec.heuristic_kwargs}


def agent_ability(spec: EnvironmentSpec, kwargs: Mapping[str, Any], *, trained: bool = False) -> Ability:
    """Returns what an agent, which may have been trained there, may do and knows in an environment."""
    parameters = check_arguments(spec, kwargs)
    found = spec.ability
    for name, additions in spec.abilities.items():
        found += additions.get(str(kwargs.get(name, parameters[name].default)), NOTHING)
    return found + spec.trained if trained else found


def widest_ability(spec: EnvironmentSpec, *, trained: bool = False) -> Ability:
    """Returns all that agents, which may have been trained, may do and know there, whatever the arguments."""
    found = spec.ability
    for additions in spec.abilities.values():
        for addition in additions.values():
            found += addition
    return found + spec.trained if trained else found


def check_planner(
    who: str, spec: EnvironmentSpec, kwargs: Mapping[str, Any], copies: frozenset[str] = OF_COPIES
) -> None:
    """Refuses a planner where agents are not told what ``copies`` of the episode hold, above all the sizes of flows."""
    there, told = copies & set(widest_ability(spec).information), agent_ability(spec, kwargs).information
    if there and there <= set(told):
        return
    showing = [
        f"{name}={value}"
        for name, values in spec.abilities.items()
        for value, ability in values.items()
        if not there.isdisjoint(set(ability.information) - set(told))
    ]
    needed = f"it needs {' and '.join(showing)}" if showing else "no planner plays there"
    hidden = ", ".join(sorted(there - set(told))) or "sizes"
    raise ConfigError(
        f"{who} plans on copies of the episode, which tell it {hidden}; agents of {spec.id} are not told: {needed}"
    )


def load_target(target: str) -> Any:
    """Imports ``module:name``, or ``path.py:name``, or raises ``ConfigError``."""
    module_name, _, name = target.rpartition(":")
    is_file = module_name.endswith(".py")
    if not module_name or not name or (module_name.startswith(".") and not is_file):
        raise ConfigError(f"target is {target!r}: it must have the form module:name")
    try:
        module = _import_file(Path(module_name)) if is_file else importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise ConfigError(f"target is {target!r}: {error}") from error
    if not hasattr(module, name):
        raise ConfigError(f"target is {target!r}: module {module_name} has no {name!r}{similar(name, vars(module))}")
    return getattr(module, name)


def _import_file(path: Path) -> ModuleType:
    """Imports a file, whatever else has its name; modules beside it are found."""
    name = f"flowsched_gym_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ConfigError(f"target is {str(path)!r}: there is no such file")
    if (folder := str(path.resolve().parent)) not in sys.path:
        sys.path.insert(0, folder)
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
