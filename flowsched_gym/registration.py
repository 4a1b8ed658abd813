"""Registers the environments of all systems with Gymnasium, and finds what belongs to them by name."""

import importlib
import importlib.util
import inspect
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import gymnasium

from flowsched_gym.core.errors import ConfigError, UnknownArgumentError, listed, shown, similar
from flowsched_gym.systems import NOTHING, OPTIONS, Ability, EnvironmentSpec, PolicySpec, SystemSpec

FOLDERS: Final = ("artemis", "merp", "auto", "qcluster", "tafe")
"""Folders of the systems, in the order of tables."""
SYSTEMS: Final[tuple[SystemSpec, ...]] = tuple(
    importlib.import_module(f"flowsched_gym.systems.{folder}").SYSTEM for folder in FOLDERS
)

ENVIRONMENTS: Final = {spec.id: spec for system in SYSTEMS for spec in system.environments}
MODEL_SUFFIX: Final = ".zip"
"""What the path of a trained model ends with."""
MODEL_PREFIX: Final = "model:"
"""Stands before the name of a trained agent of the package (`flowsched_gym.leaderboard.kept`)."""
MAX_POLICY_LETTERS: Final = 500
"""Letters of a policy's name and options at most."""
SIZES: Final = frozenset({"sizes", "bytes left"})
OF_COPIES: Final = SIZES | {"forecasts"}
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


def heuristic_arguments(spec: EnvironmentSpec, kwargs: Mapping[str, Any], policy: str | None = None) -> dict[str, Any]:
    """Returns an agent's arguments, changed so that the environment offers what a policy, by default any, takes."""
    needed = {} if policy is None else _required(spec, policy)
    return {**kwargs, **spec.heuristic_kwargs, **needed}


def is_named(policy: str) -> bool:
    """Returns whether a policy, as it is given on a command line, is one of any environment, options or not."""
    return any(spec.names(policy) for spec in ENVIRONMENTS.values())


def is_model(policy: str) -> bool:
    """Returns whether a policy, as it is given on a command line, is a model, not a planner that follows one."""
    return policy.startswith(MODEL_PREFIX) or (policy.endswith(MODEL_SUFFIX) and not is_named(policy))


def policy_ability(spec: EnvironmentSpec, policy: str) -> Ability:
    """Returns what a heuristic of an environment, with its options, does and uses, its base included."""
    found, options = _read_policy(spec, policy)
    base = options.get("base", found.base)
    of_base = policy_ability(spec, base) if isinstance(base, str) and spec.names(base) else NOTHING
    return of_base + found.ability


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


def make_policy(name: str, env: Any, *, seed: int = 0) -> Any:
    """Makes a heuristic policy, or a planner, with ``predict`` for an environment, wrapped or not, single or vector.

    Those that have options take them behind their name: ``paced:base=lifo,active=5``. The options of a base policy are
    named after it: ``search:base=paced,base.active=5``. The seed is that of policies that draw.

    Raises:
        ConfigError: There is no such policy or option, it needs a column that the observation lacks, or an action
            that the environment does not offer; or the environment has no id.
    """
    if env.spec is None:
        raise ConfigError(f"env is {env}: it has no id, by which its policies are found; make it by gym.make")
    found, options = _read_policy(find_environment(env.spec.id), name)
    return load_target(found.target).for_env(env, seed=seed, **options)


def _required(spec: EnvironmentSpec, policy: str) -> dict[str, Any]:
    """Returns the arguments that a policy needs, and those that its base needs."""
    found, options = _read_policy(spec, policy)
    base = options.get("base")
    of_base = _required(spec, base) if isinstance(base, str) and spec.names(base) else {}
    return {**of_base, **found.requires}


def _read_policy(spec: EnvironmentSpec, policy: str) -> tuple[PolicySpec, dict[str, Any]]:
    """Finds a policy, and reads its options."""
    if len(policy) > MAX_POLICY_LETTERS:
        raise ConfigError(f"policy is {shown(policy)}: it must have at most {MAX_POLICY_LETTERS} letters")
    known = spec.named_policies
    name, mark, text = policy.partition(OPTIONS)
    if name not in known:
        raise ConfigError(f"policy is {shown(policy)}: {spec.id} has {listed(name, known)}")
    options = _read_options(policy, text) if mark else {}
    for key in options:
        if key not in known[name].options:
            raise ConfigError(f"{name} has no option {shown(key)}: it has {listed(key, known[name].options)}")
    return known[name], options


def _read_options(policy: str, text: str) -> dict[str, Any]:
    """Reads ``key=value,key=value``: numbers, ``true`` and ``false``, and texts; ``base.key`` is of the base."""
    found: dict[str, Any] = {}
    of_others: dict[str, list[str]] = {}
    for entry in text.split(","):
        key, sign, value = entry.partition("=")
        owner, dot, inner = key.partition(".")
        if not sign or not owner.isidentifier() or key in found or (dot and owner not in found):
            raise ConfigError(
                f"policy is {shown(policy)}: its options must be key=value,key=value, each key once, and base before "
                "base.key"
            )
        if dot:
            of_others.setdefault(owner, []).append(f"{inner}={value}")
            continue
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found | {owner: f"{found[owner]}{OPTIONS}{','.join(entries)}" for owner, entries in of_others.items()}


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
