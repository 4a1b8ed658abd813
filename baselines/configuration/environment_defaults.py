"""Defaults that depend on the environment: what a command line leaves open is what the registry says of it.

The configuration files ask by resolvers: ``${default_of:${env},workload}`` in a list of defaults, and
``${environment_metric:}`` and ``${environment_baselines:}`` for the comparison with heuristics, which is smaller for
short trainings (``${final_episodes:}``). ``${job_folder:}`` names the folder of a sweep's job by what it computes: one
that is started again, by the same command or after a lost worker, finds its checkpoints there, or its result, whatever
its number, its launcher and the order of the command line.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import closing
from enum import Enum
from pathlib import Path
from typing import Any, Final

import gymnasium
from gymnasium import spaces
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from flowsched_gym.core.errors import ConfigError, listed
from flowsched_gym.registration import ENVIRONMENTS, SYSTEMS, find_environment
from flowsched_gym.systems import EnvironmentSpec

LEARNERS: Final[Mapping[type[spaces.Space[Any]], Mapping[str, str]]] = {
    spaces.Discrete: {"policy": "setwise", "algorithm": "ppo"},
    spaces.Box: {"policy": "thresholds", "algorithm": "ppo_auto"},
    spaces.MultiDiscrete: {"policy": "pathwise", "algorithm": "maskable_ppo"},
}
"""Network and algorithm, by the actions of an environment."""
FLAT: Final = "flat"
"""Network for discrete actions once per period, which choose among no slots."""

EVOLUTION: Final = "cmaes"
DECISIONS: Final = 1_000_000
"""Decisions of a training that follows a gradient."""
OF_EVOLUTION: Final[Mapping[type[spaces.Space[Any]], int]] = {
    spaces.Discrete: 20_000_000,
    spaces.Box: 40_000,
    spaces.MultiDiscrete: 40_000,
}
"""Decisions of evolution, by the actions of an environment: tens of seconds where each event asks, minutes where each
period does, whose flows all have to be simulated."""
DISTILLATION: Final = "distil"
OF_DISTILLATION: Final = 150_000
"""Decisions of distilling search, a minute for each 50,000."""
PARTS: Final = 10
"""Comparisons and checkpoints of a long training."""

SHORT: Final = 100_000
"""Decisions below which a training is short."""
EPISODES: Final = (10, 20)
"""Episodes of the final comparison of a short training, the fewest that have intervals, and of any other."""
IDENTITY: Final = ("env", "policy", "algorithm", "seed", "total_timesteps", "evaluation", "vectorization")
"""Parts of a configuration that tell the jobs of a sweep apart, beside ``start``."""
DIGITS: Final = 8


def schema_name(environment: EnvironmentSpec) -> str:
    """Returns the name of an environment's schema: ``merp_order_schema`` for ``flowsched/MERPOrder-v0``."""
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
    actions = _actions(spec)
    if group == "policy" and actions is spaces.Discrete and _has_periods(spec):
        return FLAT
    return LEARNERS[actions][group]


def job_folder(run_name: str, identity: dict[str, Any]) -> str:
    """Names the folder of a job: the name of its run, and a digest of its settings."""
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    return f"{run_name.replace('/', '-')}-{digest[:DIGITS]}"


def _file_name(environment: EnvironmentSpec) -> str:
    name = environment.id.rpartition("/")[2].rpartition("-v")[0].lower()
    system = next(each.name for each in SYSTEMS if environment in each.environments)
    own = name.removeprefix(system)
    return f"{system}_{own}" if own and own != name else name


def _decisions(*, _root_: DictConfig) -> int:
    """Returns how many decisions a training makes by default."""
    if _root_.algorithm.name == EVOLUTION:
        return OF_EVOLUTION[_actions(_spec(_root_))]
    return OF_DISTILLATION if _root_.algorithm.name == DISTILLATION else DECISIONS


def _interval(*, _root_: DictConfig) -> int:
    """Returns how many decisions lie between two comparisons, or checkpoints, by default."""
    part = max(int(_root_.total_timesteps) // PARTS, 1)
    return part if _root_.algorithm.name == EVOLUTION else max(part, SHORT)


def _actions(spec: EnvironmentSpec) -> type[spaces.Space[Any]]:
    """Returns the kind of the actions of an environment."""
    with closing(gymnasium.make(spec.id)) as made:
        return next(kind for kind in LEARNERS if isinstance(made.action_space, kind))


def _has_periods(spec: EnvironmentSpec) -> bool:
    """Returns whether the agent of an environment is asked once per period."""
    with closing(gymnasium.make(spec.id)) as made:
        return made.get_wrapper_attr("_network").period is not None


def _spec(root: DictConfig) -> EnvironmentSpec:
    return find_environment(str(root.env.environment_id))


def _resolve_job_folder(*, _root_: DictConfig) -> str:
    content = {key: _plain(_root_, key) for key in IDENTITY}
    if _root_.start is not None:  # folders of jobs without one keep their names
        content["start"] = _root_.start
    return job_folder(str(_root_.run_name), content)


def _resolve_sweep_name() -> str | None:
    if not HydraConfig.initialized() or HydraConfig.get().mode is not RunMode.MULTIRUN:
        return None
    return Path(HydraConfig.get().sweep.dir).name


def _plain(root: DictConfig, key: str) -> Any:
    value = root[key]
    if OmegaConf.is_config(value):
        return OmegaConf.to_container(value, resolve=True, enum_to_str=True)
    return value.name if isinstance(value, Enum) else value


RESOLVERS: Final[Mapping[str, Callable[..., object]]] = {
    "default_of": default_of,
    "environment_metric": lambda *, _root_: _spec(_root_).metric,
    "environment_baselines": lambda *, _root_: list(_spec(_root_).baselines),
    "final_episodes": lambda *, _root_: EPISODES[_root_.total_timesteps >= SHORT],
    "decisions": _decisions,
    "interval": _interval,
    "job_folder": _resolve_job_folder,
    "absolute": lambda path: str(Path(path).absolute()),
    "sweep_name": _resolve_sweep_name,
}
"""What the configuration files refer to."""
