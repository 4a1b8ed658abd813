"""Finds who plays: what it is, what it may do and know, and how it is made.

A text is the first of these that it fits: a heuristic or planner of the environment, with its options
(``paced:base=lifo,active=5``); the bound; an agent of the package (``model:artemis-heavy/cmaes``); a model
(``model.zip``); a policy file (``file.py``); a folder with a model for each training; a class (``module:Class``,
``path.py:Class``). Finding it runs no code that is not the package's, and loads no model.
"""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from inspect import signature
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, cast

from flowsched_gym.core.errors import ConfigError, listed, shown
from flowsched_gym.core.files import open_to_read
from flowsched_gym.core.packed import files_in, folder_of, is_folder
from flowsched_gym.envs.policies import Policy
from flowsched_gym.envs.policies.policy import attribute_of
from flowsched_gym.players.kept import BEST_FILE, MODEL_PREFIX, MODEL_SUFFIX, load_agent
from flowsched_gym.registration import (
    ENVIRONMENTS,
    agent_ability,
    check_arguments,
    find_environment,
    heuristic_arguments,
    load_target,
    widest_ability,
)
from flowsched_gym.systems import NOTHING, OPTIONS, Ability, Action, EnvironmentSpec, Information

BOUND_POLICY: Final = "clairvoyant-bound"
"""Name of what no scheduler exceeds where flows have deadlines, in tables and result files."""
OF_THE_BOUND: Final = Ability((Action.ALL,), (Information.FUTURE,))
MODEL_READER: Final = "flowsched_gym.integrations.models:load_player"
"""What loads models, in a layer above: models may be made of rules."""
FILE_SUFFIX: Final = ".py"
"""What the path of a policy file ends with."""
MAX_LETTERS: Final = 500
"""Letters of a policy's name and options at most."""
SEED_IN_NAME: Final = re.compile(r"seed[-_]?(\d+)")


class Kind(StrEnum):
    """What a player is."""

    RULE = "rule"
    PLANNER = "planner"
    BOUND = "bound"
    CLASS = "class"
    FILE = "file"
    MODEL = "model"
    OBJECT = "object"


@dataclass(frozen=True, slots=True, kw_only=True)
class Player:
    """A policy in an environment.

    Attributes:
        name: Its name in tables: the text that names it, the class of an object; of a file or folder without its path.
        source: The text by which it was found; ``None`` for an object.
        kind: What it is.
        spec: The environment.
        ability: What it may do, and what it knows.
        target: ``module:Class`` of a rule, planner or class, ``path.py:Class`` of a file.
        options: Options of a rule or planner, by name.
        settings: Arguments of the environment that other options of it stand for.
        requires: Arguments without which the environment does not offer the actions of a rule, or of its base.
        models: Model files, one for each training.
        trained_with: Arguments with which an agent of the package was trained, and acts.
        policy: The object.
    """

    name: str
    source: str | None
    kind: Kind
    spec: EnvironmentSpec
    ability: Ability
    target: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    requires: Mapping[str, object] = field(default_factory=dict)
    models: tuple[Path, ...] = ()
    trained_with: Mapping[str, Any] = field(default_factory=dict)
    policy: Policy | None = None

    @property
    def actions(self) -> tuple[Action, ...]:
        """Kinds of actions that it may take."""
        return self.ability.actions

    @property
    def information(self) -> tuple[Information, ...]:
        """Kinds of information that it has."""
        return self.ability.information

    @property
    def learned(self) -> bool:
        """Whether it is a trained model."""
        return self.kind is Kind.MODEL

    @property
    def is_heuristic(self) -> bool:
        """Whether it is a rule or planner of the package, which is shown all that it needs."""
        return self.kind in (Kind.RULE, Kind.PLANNER)

    @property
    def model(self) -> Path:
        """Its only model; raises ``ConfigError`` where there are several, or where it is none."""
        if len(self.models) != 1:
            why = f"it has {len(self.models)} models: name one of them" if self.models else "it takes no actions"
            raise ConfigError(f"policy is {shown(self.source)}: {why}")
        return self.models[0]

    def arguments(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Returns an agent's arguments, changed so that the environment offers and tells what a heuristic needs."""
        seen = {**heuristic_arguments(self.spec, kwargs), **self.requires} if self.is_heuristic else kwargs
        return {**seen, **self.settings}

    def make(self, env: Any, *, seed: int = 0, trust: bool = False) -> Policy:
        """Makes the policy for an environment, wrapped or not, single or vector.

        The seed is that of policies that draw; ``trust`` is that of `flowsched_gym.integrations.models.load_policy`.

        Raises:
            ConfigError: There is no such class or model, or it cannot act in this environment.
            MissingDependencyError: It needs a package that is not installed.
            SpaceMismatchError: The model was trained with other spaces.
        """
        if self.policy is not None:
            return self.policy
        if not self.target:
            return cast(Policy, load_target(MODEL_READER)(self.model, env, trust=trust))
        kind = load_target(self.target)
        for name, value in self.settings.items():
            if (given := getattr(attribute_of(env, "config"), name)) != value:
                raise ConfigError(f"policy is {self.source!r}: it needs {name}={value}, the environment has {given}")
        if hasattr(kind, "for_env"):
            made = kind.for_env(env, seed=seed, **self.options)
            if not hasattr(made, "predict"):
                raise ConfigError(f"policy is {self.source!r}: what its for_env returns has no predict method")
        elif hasattr(kind, "predict") and not _needs_arguments(kind):
            made = kind()
        else:
            allowed = "a class method for_env(env, *, seed), or a method predict and no arguments"
            raise ConfigError(f"policy is {self.source!r}: the class must have {allowed}")
        return cast(Policy, made)


def find_player(
    policy: str | Policy,
    environment: Any,
    kwargs: Mapping[str, Any] = MappingProxyType({}),
    *,
    argument: str = "policy",
) -> Player:
    """Finds who plays in an environment.

    Args:
        policy: A text, as the module says, or an object with ``predict``.
        environment: Id of the environment, its entry in the registry, or the environment itself, wrapped or not, single
            or vector.
        kwargs: Its arguments, by which agents are told more or less; those of an environment itself are known.
        argument: What the policy is called in messages.

    Raises:
        ConfigError: There is no such policy, option, agent, file or class, or it is of another environment.
    """
    if isinstance(environment, (str, EnvironmentSpec)):
        spec = find_environment(environment)
    elif environment.spec is None:
        raise ConfigError(f"env is {environment}: it has no id, by which its policies are found; make it by gym.make")
    else:
        spec = find_environment(environment.spec.id)
        known = check_arguments(spec, ())
        kwargs = {name: value for name, value in environment.spec.kwargs.items() if name in known}
    if not isinstance(policy, str):
        own: Any = {"source": None, "policy": policy, "ability": agent_ability(spec, kwargs)}
        return Player(name=type(policy).__name__, kind=Kind.OBJECT, spec=spec, **own)
    if spec.names(policy):
        return _heuristic(policy, spec, kwargs, argument)
    if policy == BOUND_POLICY and spec.bounded:
        return Player(name=policy, source=policy, kind=Kind.BOUND, spec=spec, ability=OF_THE_BOUND)
    ability = agent_ability(spec, kwargs)
    others: Any = {"source": policy, "spec": spec, "ability": ability}
    if not any(each.names(policy) for each in ENVIRONMENTS.values()):  # which might be the name of a module
        trained = {**others, "kind": Kind.MODEL, "ability": ability + spec.trained}
        if policy.startswith(MODEL_PREFIX):
            agent = load_agent(policy)
            if agent.environment != spec.id:
                raise ConfigError(f"model {agent.name} was trained for {agent.environment}, not for {spec.id}")
            return Player(name=agent.path.stem, models=(agent.path,), trained_with=agent.kwargs, **trained)
        path = Path(policy)
        if policy.endswith(MODEL_SUFFIX):
            return Player(name=path.stem, models=(path,), **trained)
        if policy.endswith(FILE_SUFFIX):
            target = f"{path.resolve()}:{class_of(path)}"
            return Player(name=path.stem, kind=Kind.FILE, target=target, **others)
        if is_folder(folder := folder_of(policy)):
            found = (path for path in files_in(folder, MODEL_SUFFIX) if path.name != BEST_FILE)
            models = tuple(sorted(found, key=_seed_and_name))
            if not models:
                raise ConfigError(f"{argument} is {shown(policy)}: the folder has no model (*{MODEL_SUFFIX})")
            return Player(name=folder.resolve().name, models=models, **trained)
        if OPTIONS in policy:
            return Player(name=policy, kind=Kind.CLASS, target=policy, **others)
    named = listed(policy.partition(OPTIONS)[0], spec.named_policies)
    raise ConfigError(
        f"{argument} is {shown(policy)}: {spec.id} has {named}; it may also be module:Class, file.py, model.zip or "
        "model:NAME"
    )


def _needs_arguments(kind: Any) -> bool:
    try:
        signature(kind).bind()
    except TypeError:
        return True
    return False


def make_policy(policy: str | Policy, env: Any, *, seed: int = 0) -> Any:
    """Finds a policy and makes it for an environment, as `find_player` and `Player.make` do, and raises as they do."""
    return find_player(policy, env).make(env, seed=seed)


def told_apart(players: Sequence[Player]) -> list[Player]:
    """Adds names of folders to the names of models that are called alike; refuses what is given twice."""
    paths = [each.models[0].resolve() if each.learned else None for each in players]
    check_once([str(path or each.name) for path, each in zip(paths, players, strict=True)])
    names = [each.name for each in players]
    folders = [[] if path is None else [folder.name for folder in path.parents] for path in paths]
    while alike := [i for i, name in enumerate(names) if names.count(name) > 1 and folders[i]]:
        for i in alike:
            names[i] = f"{folders[i].pop(0)}-{names[i]}"
    check_once(names)
    return [replace(player, name=name) for player, name in zip(players, names, strict=True)]


def arguments_of_agents(players: Sequence[Player]) -> dict[str, Any]:
    """Returns the arguments with which the agents of the package among them act; refuses two with other ones."""
    agents = [each for each in players if each.trained_with]
    for other in agents[1:]:
        if other.trained_with != agents[0].trained_with:
            raise ConfigError(
                f"{agents[0].source} and {other.source} were trained with other arguments: play them one by one"
            )
    return dict(agents[0].trained_with) if agents else {}


def check_once(names: Sequence[str]) -> None:
    """Refuses a name that comes twice."""
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"policy {name!r} is given twice: each must have a name of its own")


def class_of(path: Path) -> str:
    """Finds the one class of a policy file that has ``predict``, without running the file."""
    with open_to_read(path, "policy", "a policy file (.py)") as file:
        text = file.read_bytes()
    try:
        tree = ast.parse(text, filename=str(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ConfigError(f"{path} is not Python: {error}") from None
    classes = [
        each.name
        for each in tree.body
        if isinstance(each, ast.ClassDef)
        and any(isinstance(part, ast.FunctionDef) and part.name == "predict" for part in each.body)
    ]
    if len(classes) != 1:
        raise ConfigError(f"{path} has {shown(classes)}: it must have one class with a method predict")
    return classes[0]


def _heuristic(policy: str, spec: EnvironmentSpec, kwargs: Mapping[str, Any], argument: str) -> Player:
    """Finds a rule or planner, and reads its options."""
    if len(policy) > MAX_LETTERS:
        raise ConfigError(f"{argument} is {shown(policy)}: it must have at most {MAX_LETTERS} letters")
    name, mark, text = policy.partition(OPTIONS)
    found = spec.named_policies[name]
    options = _read_options(policy, text, argument) if mark else {}
    for key in options:
        if key not in found.options:
            raise ConfigError(f"{name} has no option {shown(key)}: it has {listed(key, found.options)}")
    base = options.get("base", found.base)
    below = _heuristic(base, spec, kwargs, "base") if isinstance(base, str) and spec.names(base) else None
    ability, requires, settings = (
        (NOTHING, {}, {}) if below is None else (below.ability, below.requires, below.settings)
    )
    ability += found.ability
    for key, values in found.settings.items():
        if key in options:
            value = options.pop(key)
            if value not in values:
                raise ConfigError(f"{argument} is {shown(policy)}: {key} must be {' or '.join(values)}")
            settings = {**settings, **values[value][0]}
            ability += values[value][1]
    if plans := spec.plans(name):
        # It plays on copies of the episode, in which everything is known that any agent is told.
        future = Information.FUTURE if options.get("clairvoyant") is True else Information.DRAWN_FUTURES
        told = Ability(information=(*widest_ability(spec).information, future))
        ability = agent_ability(spec, kwargs) + told
    return Player(
        name=policy,
        source=policy,
        kind=Kind.PLANNER if plans else Kind.RULE,
        spec=spec,
        ability=ability,
        target=found.target,
        options=options,
        settings=settings,
        requires={**requires, **found.requires},
    )


def _read_options(policy: str, text: str, argument: str) -> dict[str, Any]:
    """Reads ``key=value,key=value``: numbers, ``true`` and ``false``, and texts; ``base.key`` is of the base."""
    found: dict[str, Any] = {}
    of_others: dict[str, list[str]] = {}
    for entry in text.split(","):
        key, sign, value = entry.partition("=")
        owner, dot, inner = key.partition(".")
        if not sign or not owner.isidentifier() or key in found or (dot and owner not in found):
            raise ConfigError(
                f"{argument} is {shown(policy)}: its options must be key=value,key=value, each key once, and base "
                "before base.key"
            )
        if dot:
            of_others.setdefault(owner, []).append(f"{inner}={value}")
            continue
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found | {owner: f"{found[owner]}{OPTIONS}{','.join(entries)}" for owner, entries in of_others.items()}


def _seed_and_name(path: Path) -> tuple[int, str]:
    """Orders models of a folder by their training seeds."""
    match = SEED_IN_NAME.search(path.stem)
    return (int(match[1]) if match else -1, path.name)
