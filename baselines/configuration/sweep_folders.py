"""Folders of a sweep's jobs, named by what a job computes, so that a sweep can be interrupted and continued.

A job has the same folder whatever its number, its launcher and the order of the command line. A job that is started
again, after a lost worker or by the same command, finds its checkpoints there, or its result.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Final

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

IDENTITY: Final = ("env", "policy", "algorithm", "seed", "total_timesteps", "evaluation", "vectorization")
"""Parts of a configuration that tell the jobs of a sweep apart."""
DIGITS: Final = 8


def job_folder(run_name: str, identity: dict[str, Any]) -> str:
    """Names the folder of a job: the name of its run, and a digest of its settings."""
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    return f"{run_name.replace('/', '-')}-{digest[:DIGITS]}"


def _resolve_job_folder(*, _root_: DictConfig) -> str:
    content = {key: _plain(_root_, key) for key in IDENTITY}
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
    "job_folder": _resolve_job_folder,
    "absolute": lambda path: str(Path(path).absolute()),
    "sweep_name": _resolve_sweep_name,
}
"""What `train.yaml` refers to."""
