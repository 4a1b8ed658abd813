"""Registers the schemas of the configuration files with Hydra, and reads composed configurations back.

The schema of an environment is made from the frozen dataclass of its arguments, found through the registry, so that
nothing is written twice and a new system needs no edit here. Enumerations are offered by their values (``to-back``).
"""

import dataclasses
import typing
from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from functools import cache
from typing import Any, Final

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from flowsched_gym.baselines.configuration import (
    algorithm_schemas,
    environment_defaults,
    hydra_schemas,
    policy_schemas,
    workload_files,
)
from flowsched_gym.baselines.configuration.environment_defaults import schema_name
from flowsched_gym.core.errors import ConfigError, similar
from flowsched_gym.envs.arguments import types_kept
from flowsched_gym.registration import SYSTEMS, load_target
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.topology import OwnNetwork
from flowsched_gym.workload import WORKLOADS

ID_PREFIX: Final = "flowsched_gym:"
"""Makes Gymnasium import the package first, in fresh processes too."""
ID_FIELD: Final = "environment_id"
"""Field of an environment's schema that is no argument of it."""
WORKLOAD_FIELD: Final = "workload"

SCHEMAS: Final[Mapping[str, Mapping[str, type]]] = {
    "": {
        "train_schema": hydra_schemas.TrainConfig,
        "tune_schema": hydra_schemas.TuneConfig,
        "evaluate_schema": hydra_schemas.EvaluateConfig,
    },
    "policy": {
        "auto_schema": policy_schemas.AutoConfig,
        "flat_schema": policy_schemas.FlatConfig,
        "pathwise_schema": policy_schemas.PathwiseConfig,
        "setwise_schema": policy_schemas.SetwiseConfig,
        "weights_schema": policy_schemas.WeightsConfig,
    },
    "algorithm": {
        "a2c_schema": algorithm_schemas.A2CConfig,
        "a2c_thesis_schema": algorithm_schemas.ThesisA2CConfig,
        "both_agents_schema": algorithm_schemas.BothAgentsConfig,
        "cmaes_schema": algorithm_schemas.CmaEsConfig,
        "ddpg_schema": algorithm_schemas.DDPGConfig,
        "distil_schema": algorithm_schemas.DistilConfig,
        "maskable_ppo_schema": algorithm_schemas.MaskablePPOConfig,
        "ppo_schema": algorithm_schemas.PPOConfig,
        "reinforce_schema": algorithm_schemas.ReinforceConfig,
        "sac_schema": algorithm_schemas.SACConfig,
        "td3_schema": algorithm_schemas.TD3Config,
    },
    "logger": {"logger_schema": hydra_schemas.LoggerConfig},
}
"""Schemas by group and name, those of the environments left out."""
_environment_schemas: dict[str, type] = {}
"""Those of the environments, by id."""


@cache
def register_schemas() -> None:
    """Registers schemas, named workloads and resolvers, which configuration files name; again changes nothing."""
    resolvers = {**environment_defaults.RESOLVERS, **workload_files.RESOLVERS}
    for name, resolver in (resolvers | {"run_folder": hydra_schemas.run_folder}).items():
        # Paths are made absolute once: workers elsewhere have another working folder.
        OmegaConf.register_new_resolver(name, resolver, replace=True, use_cache=name == "absolute")
    store = ConfigStore.instance()
    for name in WORKLOADS:
        store.store(name=name, node=workload_files.named_workload(name), group=workload_files.GROUP)
    for group, schemas in SCHEMAS.items():
        for name, schema in schemas.items():
            store.store(name=name, node=_node(schema), group=group or None)
    for system in SYSTEMS:
        for environment in system.environments:
            store.store(name=schema_name(environment), node=_node(environment_schema(environment)), group="env")


def __getattr__(name: str) -> type:
    """Finds the schema of an environment by its name, as workers do that a launcher sends it to."""
    for system in SYSTEMS:
        for environment in system.environments:
            if environment.config.rpartition(":")[2] == name:
                return environment_schema(environment)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def environment_schema(environment: EnvironmentSpec) -> type:
    """Returns the schema of an environment: the dataclass of its arguments, with the id as one field more."""
    if environment.id not in _environment_schemas:
        schema = _make_schema(environment)
        schema.__module__ = __name__  # where others find it: not all that pickle a dataclass by value can read it
        _environment_schemas[environment.id] = schema
    return _environment_schemas[environment.id]


def _make_schema(environment: EnvironmentSpec) -> type:
    config: type[Any] = load_target(environment.config)
    hints = types_kept(config)
    columns: list[tuple[str, Any, Any]] = [(ID_FIELD, str, field(default=ID_PREFIX + environment.id))]
    for argument in dataclasses.fields(config):
        kind, default = hints[argument.name], argument.default
        if any(typing.get_origin(option) is not None for option in typing.get_args(kind)):
            kind = Any  # OmegaConf knows no choice between a list and something else; the dataclass checks it.
        if OwnNetwork in typing.get_args(kind):
            kind, default = Any, str(default)  # A name, a path or a mapping.
        if argument.name == WORKLOAD_FIELD:
            kind = Any  # A mapping as well as a name.
        if isinstance(kind, type) and issubclass(kind, Enum):
            offered = Enum(kind.__name__, {member.value: member.value for member in kind})  # type: ignore[misc]
            kind, default = offered, offered[kind(default).value]
        if argument.default_factory is not dataclasses.MISSING:
            columns.append((argument.name, kind, field(default_factory=argument.default_factory)))
        elif argument.default is dataclasses.MISSING:
            columns.append((argument.name, kind, field(default=MISSING)))
        else:
            columns.append((argument.name, kind, field(default=default)))
    return dataclasses.make_dataclass(config.__name__, columns, frozen=True, kw_only=True)


def environment_arguments(env: Any) -> tuple[str, dict[str, Any]]:
    """Separates the id of an environment, with ``flowsched_gym:`` before it, from its arguments for ``gym.make``.

    Arguments with their default values are left out; enumerations are text.

    Raises:
        ConfigError: An argument is not allowed.
    """
    values = {column.name: getattr(env, column.name) for column in dataclasses.fields(env)}
    env_id = values.pop(ID_FIELD)
    values = {name: value.value if isinstance(value, Enum) else value for name, value in values.items()}
    spec = next(e for s in SYSTEMS for e in s.environments if ID_PREFIX + e.id == env_id)
    config: Any = load_target(spec.config)(**values)
    defaults = {column.name: column.default for column in dataclasses.fields(config)}
    return env_id, {name: value for name, value in values.items() if value != defaults[name]}


def read_config(config: DictConfig) -> Any:
    """Turns a composed configuration into the frozen object of its schema.

    Raises:
        ConfigError: A value is missing, of another type, or out of its range.
    """
    try:
        return OmegaConf.to_object(config)
    except dataclasses.FrozenInstanceError as error:
        # A key that was forced in by a plus sign.
        key = str(error).rpartition(" ")[2].strip("'")
        hint = similar(key, _keys(config, key))
        raise ConfigError(f"the configuration has a key that its schema does not know: {key!r}{hint}") from error
    except OmegaConfBaseException as error:
        raise ConfigError(str(_cause(error)).splitlines()[0]) from error


def plain_values(config: DictConfig) -> dict[str, Any]:
    """Returns a composed configuration as plain values, enumerations by name."""
    content = OmegaConf.to_container(config, resolve=True, enum_to_str=True)
    assert isinstance(content, dict)
    return {str(key): value for key, value in content.items()}


def _cause(error: BaseException) -> BaseException:
    """Finds the error of this package that OmegaConf has wrapped; the error itself where there is none."""
    inner: BaseException | None = error
    while inner is not None and not isinstance(inner, ConfigError):
        inner = inner.__cause__ or inner.__context__
    return inner or error


def _keys(config: DictConfig, unknown: str) -> list[str]:
    """Lists the keys of a configuration on all levels, but one."""
    keys = [str(key) for key in config if key != unknown]
    for key in keys.copy():
        node = config._get_node(key)
        if isinstance(node, DictConfig) and not node._is_missing() and not node._is_none():
            keys += _keys(node, unknown)
    return keys


def _node(schema: type) -> DictConfig:
    """Makes a node of a schema that overrides may change: OmegaConf locks frozen dataclasses."""
    node: DictConfig = OmegaConf.structured(schema)
    _unlock(node)
    return node


def _unlock(node: Any) -> None:
    if isinstance(node, DictConfig) and not node._is_missing() and not node._is_none():
        OmegaConf.set_readonly(node, None)
        for key in node:
            _unlock(node._get_node(key))
