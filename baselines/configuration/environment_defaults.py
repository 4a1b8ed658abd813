"""Defaults that depend on the environment: what a command line leaves open is what the registry says of it.

The configuration files ask by resolvers: ``${default_of:${env},workload}`` in a list of defaults, and
``${environment_metric:}`` and ``${environment_baselines:}`` for the comparison with heuristics, which is smaller for
short trainings (``${final_episodes:}``).
"""

from collections.abc import Mapping
from typing import Any, Final

import gymnasium
from gymnasium import spaces
from omegaconf import DictConfig, OmegaConf

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.suggestions import listed
from flowsched_gym.registration import ENVIRONMENTS, SYSTEMS, find_environment
from flowsched_gym.systems.spec import EnvironmentSpec

__all__ = ["default_of", "register_environment_defaults", "schema_name"]

LEARNERS: Final[Mapping[type[spaces.Space[Any]], Mapping[str, str]]] = {
    spaces.Discrete: {"policy": "setwise", "algorithm": "ppo"},
    spaces.Box: {"policy": "thresholds", "algorithm": "ppo_auto"},
    spaces.MultiDiscrete: {"policy": "pathwise", "algorithm": "maskable_ppo"},
}
"""Network and algorithm, by the actions of an environment."""

SHORT: Final = 100_000
"""Decisions below which a training is short."""
EPISODES: Final = (10, 20)
"""Episodes of the final comparison of a short training, the fewest that have intervals, and of any other."""


def register_environment_defaults() -> None:
    """Registers what the configuration files refer to; a second call changes nothing."""
    OmegaConf.register_new_resolver("default_of", default_of, replace=True)
    OmegaConf.register_new_resolver("environment_metric", _metric, replace=True)
    OmegaConf.register_new_resolver("environment_baselines", _baselines, replace=True)
    OmegaConf.register_new_resolver("final_episodes", _episodes, replace=True)


def schema_name(environment: EnvironmentSpec) -> str:
    """Returns the name of an environment's schema.

    It is ``artemis_schema`` for ``flowsched/Artemis-v0`` and ``merp_order_schema`` for ``flowsched/MERPOrder-v0``: an
    underscore follows the name of the system.
    """
    return f"{_file_name(environment)}_schema"


def default_of(env: str, group: str) -> str:
    """Names the configuration file that a group has by default for an environment.

    Args:
        env: Name of the environment's configuration file.
        group: ``workload``, ``policy`` or ``algorithm``.

    Raises:
        ConfigError: The environment is none of the package.
    """
    environments = {_file_name(each): each for each in ENVIRONMENTS.values()}
    if env not in environments:
        raise ConfigError(
            f"env is {env!r}: it must be one of {listed(env, environments)}; with a file of your own, workload, policy "
            "and algorithm have no defaults and are named too"
        )
    spec = environments[env]
    if group == "workload":
        return spec.workloads[0]
    made = gymnasium.make(spec.id)
    try:
        return LEARNERS[type(made.action_space)][group]
    finally:
        made.close()


def _file_name(environment: EnvironmentSpec) -> str:
    name = environment.id.rpartition("/")[2].rpartition("-v")[0].lower()
    system = next(each.name for each in SYSTEMS if environment in each.environments)
    own = name.removeprefix(system)
    return f"{system}_{own}" if own and own != name else name


def _metric(*, _root_: DictConfig) -> str:
    return _spec(_root_).metric


def _baselines(*, _root_: DictConfig) -> list[str]:
    return list(_spec(_root_).baselines)


def _episodes(*, _root_: DictConfig) -> int:
    return EPISODES[_root_.total_timesteps >= SHORT]


def _spec(root: DictConfig) -> EnvironmentSpec:
    return find_environment(str(root.env.environment_id))
