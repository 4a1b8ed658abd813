"""Workloads of the commands: those of the registry by name, files of the package, and a user's own.

A named workload has its name and the arguments that environments take beside it. Every other key makes it a variant
(``flowsched_gym.workload.finding``), which an environment gets as a whole: no key is left out in silence.
"""

from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from flowsched_gym.core.errors import ConfigError, naming
from flowsched_gym.workload import WORKLOADS, read_workload

GROUP: Final = "workload"
ENVIRONMENT_ARGUMENTS: Final = ("burst_rate", "load", "destinations", "bursts", "seconds", "flows", "tasks")
"""Keys of a workload that environments may take as arguments of their own; null keeps what the workload has."""
CONFIGS: Final = "flowsched_gym.configs"
FILE_SCHEMA: Final = "file"


def named_workload(name: str) -> dict[str, str | None]:
    """Returns what a file of a named workload would have."""
    return {"name": name, **dict.fromkeys(ENVIRONMENT_ARGUMENTS)}


def refuse_hidden_files() -> None:
    """Refuses a file of the user's by the name of one of the package that differs, or of a named workload.

    Raises:
        ConfigError: There is such a file among those that are chosen.
    """
    for group, choice in HydraConfig.get().runtime.choices.items():
        packaged = resources.files(CONFIGS).joinpath(f"{group}/{choice}.yaml")
        named = group == GROUP and choice in WORKLOADS
        for folder in own_folders():
            own = folder / group / f"{choice}.yaml"
            if own.is_file() and (named or (packaged.is_file() and own.read_bytes() != packaged.read_bytes())):
                raise ConfigError(f"{own} is not read: {group}={choice} is one of the package, rename yours")


def _source(*, _parent_: DictConfig, _root_: DictConfig) -> object:
    """Returns the name of the workload, or the mapping of a variant."""
    content = _content(_root_)
    if not _is_variant(content, _parent_):
        return content.get("name")
    chosen = HydraConfig.get().runtime.choices.get(GROUP) if HydraConfig.initialized() else None
    file = next((path for folder in own_folders() if (path := folder / GROUP / f"{chosen}.yaml").is_file()), None)
    if file is None:
        return read_workload(content).plain()
    with naming(str(file)):
        return read_workload({"name": chosen, **content}, file.parent).plain()


def _argument(key: str, *, _parent_: DictConfig, _root_: DictConfig) -> object:
    """Returns an argument of the workload file; None where the workload is a variant, which has it."""
    content = _content(_root_)
    return None if _is_variant(content, _parent_) else content.get(key)


def _content(root: DictConfig) -> dict[str, Any]:
    """Returns the keys of the workload, without arguments that are null."""
    content = OmegaConf.to_container(root[GROUP], resolve=True)
    if not isinstance(content, dict):
        raise ConfigError(f"workload is {content!r}: it must be a mapping with a name and fields")
    return {str(key): value for key, value in content.items() if value is not None or key not in ENVIRONMENT_ARGUMENTS}


def _is_variant(content: Mapping[str, Any], env: DictConfig) -> bool:
    """Returns whether the workload is more than a name and arguments that the environment has."""
    # Asking `key in env` would resolve the reference that is being resolved.
    passed_on = set(ENVIRONMENT_ARGUMENTS).intersection(map(str, env.keys()))
    return any(key != "name" and key not in passed_on for key in content)


def own_folders() -> list[Path]:
    """Lists the folders of configuration files that the user has named."""
    if not HydraConfig.initialized():
        return []
    sources = HydraConfig.get().runtime.config_sources
    return [Path(source.path) for source in sources if source.schema == FILE_SCHEMA]


RESOLVERS: Final[Mapping[str, Callable[..., object]]] = {"workload_source": _source, "workload_argument": _argument}
"""What the files of the environments refer to."""
